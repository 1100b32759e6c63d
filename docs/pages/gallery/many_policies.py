"""
Many policies
=============

Seven policies on the ten-arm game of Seznec et al. (2019), with a shorter horizon.
"""

import rotting

problem = rotting.problems.ten_arms(horizon=2_000)
names = ["raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa", "ucb1", "uniform"]
policies = [*map(rotting.make, names), rotting.GLRUCB(horizon=2_000)]
result = rotting.simulate(policies, problem, runs=40)
axes = result.plot(log_y=True, band=None)
