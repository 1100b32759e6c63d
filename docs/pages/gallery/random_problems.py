"""
A new problem in every run
==========================

Means that fall at random times. The regret of each run is measured on its own problem.
"""

import matplotlib.pyplot as plt

import rotting

family = rotting.problems.RandomBreakpoints(n_arms=4, horizon=1_000, pieces=5)
figure, axes = plt.subplots(1, 3, figsize=(8.4, 2.8), sharey=True, layout="constrained")
for run, ax in enumerate(axes):
    game = rotting.play(rotting.RAWUCB(sigma=0.3), family, run=run)
    ax.plot(game.means, lw=1)
    ax.set(title=f"run {run}: regret {game.regret[-1]:.0f}", xlabel="round t")
