"""
Where greedy loses
==================

One arm follows its pulls, the other the rounds. The greedy oracle knows all means, and loses a quarter of the rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

first, _ = rotting.theory.unlearnable(400)
best, greedy = rotting.theory.optimal_arms(first), rotting.play(rotting.GreedyOracle(), first)
earned = [first.mean(int(i), t + 1, int(np.sum(best[:t] == i))) for t, i in enumerate(best)]
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(np.cumsum(earned), label="the best player: first what will be gone")
axes.plot(np.cumsum(greedy.mean), label="greedy: first what pays more")
axes.set(xlabel="round t", ylabel="reward so far")
axes.legend(frameon=False)
