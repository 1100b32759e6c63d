"""
The hull and the chosen window
==============================

Prefix sums of an arm's rewards, their upper hull, and the window that RAW-UCB chose.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

game = rotting.play(rotting.RAWUCB(sigma=0.5), rotting.problems.two_arms(L=1.0, horizon=400, sigma=0.5), run=2)
rewards = game.reward[game.arm == 1]
sums = np.concatenate([[0.0], np.cumsum(rewards)])
vertices = np.append(rotting.theory.hull(rewards), rewards.size)
start = rewards.size - game.window[-1, 1]
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.plot(sums, lw=1, label="sum of the rewards of arm 1")
axes.plot(vertices, sums[vertices], "o-", ms=4, label="upper hull")
axes.plot([start, rewards.size], sums[[start, -1]], "--", label="the window that was chosen")
axes.set(xlabel="pulls", ylabel="sum")
axes.legend(frameon=False)
