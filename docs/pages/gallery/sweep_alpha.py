"""
A sweep as a heat map
=====================

RAW-UCB with seven alphas on five sizes of a drop: regret over that of the best alpha of each problem.
"""

import rotting

policies = rotting.grid(rotting.RAWUCB, alpha=[0.1, 0.3, 0.6, 1.0, 1.4, 2.0, 4.0])
problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 0.3, 1.0, 3.0, 10.0], horizon=2_000)
study = rotting.sweep(policies, problems, runs=100)
figure = study.heat_map()
