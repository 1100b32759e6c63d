"""
Simulate and compare
====================

Text.
"""

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=500)
result = rotting.simulate([rotting.RAWUCB(), rotting.UCB1()], problem, runs=20, seed=0)
print(result.table())

# %%
# A picture.

result.plot()
