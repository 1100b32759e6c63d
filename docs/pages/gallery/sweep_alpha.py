"""
A sweep as a heat map
=====================

RAW-UCB with seven values of alpha on drops of five sizes. The numbers are the regret divided by that of the best alpha for
each problem.
"""

import rotting

policies = rotting.grid(rotting.RAWUCB, alpha=[0.1, 0.3, 0.6, 1.0, 1.4, 2.0, 4.0])
problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 0.3, 1.0, 3.0, 10.0], horizon=2_000)
study = rotting.sweep(policies, problems, runs=100)
figure = study.heat_map()
