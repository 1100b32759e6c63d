"""
Regret against the size of the drop
===================================

The paper's rested benchmark, with fewer sizes of the drop, a shorter horizon and fewer runs.
"""

import rotting

policies = [rotting.RAWUCB(), rotting.EffRAWUCB(), rotting.FEWA(alpha=0.06), rotting.UCB1()]
problems = rotting.grid(rotting.problems.two_arms, L=[0.02 * 1.25**i for i in range(0, 30, 4)], horizon=2_000)
study = rotting.sweep(policies, problems, runs=60)
figure = study.plot(x="L", log=True, log_y=True)
