"""
Bounds and measured regret
==========================

Measured regret of RAW-UCB, with the parameters that the theorems require, and their upper bounds.
"""

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=5_000, sigma=0.05)
result = rotting.simulate(rotting.RAWUCB(alpha=5, sigma=0.05), problem, runs=50)
axes = result.plot(bounds=True)
