"""
Rewards that come late
======================

Regret of RAW-UCB when rewards arrive 0, 10, 100 or 500 rounds late on average.
"""

import matplotlib.pyplot as plt

import rotting
from rotting.problems import GeometricDelay

problem = rotting.problems.two_arms(L=1.0, horizon=4_000)
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for mean in (0, 10, 100, 500):
    played = problem.delayed(GeometricDelay(mean)) if mean else problem
    result = rotting.simulate(rotting.RAWUCB(), played, runs=50)
    axes.plot(result.checkpoints, result.regret[0].mean(axis=0), label=f"{mean} rounds late")
axes.set(xlabel="round t", ylabel="regret")
axes.legend(frameon=False)
