"""
Pulls after a drop
==================

Number of pulls of the arm that drops, in each run: RAW-UCB stops soon after the drop, UCB1 much later.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=2_000)
result = rotting.simulate([rotting.RAWUCB(), rotting.EffRAWUCB(), rotting.UCB1()], problem, runs=200)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for label, pulls in zip(result.labels, result.pulls[:, :, 1], strict=True):
    axes.hist(pulls, bins=np.arange(400, 1_400, 25), alpha=0.6, label=label)
axes.axvline(500, color="grey", ls=":")
axes.set(xlabel="pulls of the arm that drops after 500 pulls", ylabel="runs")
axes.legend(frameon=False)
