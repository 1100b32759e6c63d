"""
The moment of a drop
====================

The window that determines an arm's index grows while its mean is constant, and becomes short after the mean has dropped.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

problem = rotting.problems.two_arms(L=2.0, horizon=400, sigma=0.5)
game = rotting.play(rotting.RAWUCB(sigma=0.5), problem, run=4)
pulls = np.cumsum(game.arm == 1)
drop = int(np.argmax(pulls == 100)) + 1  # after a quarter of the game, in pulls of arm 1
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(game.window[:, 1], label="window of arm 1")
axes.plot(pulls, label="its pulls")
axes.axvline(drop, color="grey", ls=":", label="it drops")
axes.set(xlabel="round t", ylabel="rewards")
axes.legend(frameon=False)
