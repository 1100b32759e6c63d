"""
Where greedy is not optimal
===========================

One arm is rested, the other restless. The greedy oracle knows all means, and its regret is a quarter of the number of rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

first, _ = rotting.theory.unlearnable(400)
best, greedy = rotting.theory.optimal_arms(first), rotting.play(rotting.GreedyOracle(), first)
earned = [first.mean(int(i), t + 1, int(np.sum(best[:t] == i))) for t, i in enumerate(best)]
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(np.cumsum(earned), label="optimal policy: first the arm about to lose its value")
axes.plot(np.cumsum(greedy.mean), label="greedy oracle: first the arm that pays more now")
axes.set(xlabel="round t", ylabel="reward so far")
axes.legend(frameon=False)
