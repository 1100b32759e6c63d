"""
Paired games
============

Each dot is a run in which two policies met the same rewards. Below the line, RAW-UCB had less regret.
"""

import matplotlib.pyplot as plt

import rotting

result = rotting.simulate([rotting.UCB1(), rotting.RAWUCB()], rotting.problems.two_arms(L=1.0, horizon=1_000), runs=200)
ucb, raw = result.regret[:, :, -1]
figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
axes.scatter(ucb, raw, s=12)
axes.axline((0, 0), slope=1, color="grey", lw=1)
axes.set(xlabel="regret of UCB1", ylabel="regret of RAW-UCB")
