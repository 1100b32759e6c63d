"""
Why windows
===========

How good is an arm now? Its last reward says little, because of noise. The mean of all its rewards says much, of the past. A
window of the last ``h`` rewards lies between; RAW-UCB tries every ``h``.
"""

# %%
# A trade
# -------
# An arm paid 1/2 on average for 60 pulls, and -1/2 since, 12 times. For each window the mean of the rewards in it, and an
# upper bound: the mean and a width, which falls with the square root of the window.

import matplotlib.pyplot as plt
import numpy as np

from rotting.kit import width

rng = np.random.default_rng(3)
rewards = np.where(np.arange(72) < 60, 0.5, -0.5) + 0.5 * rng.standard_normal(72)
windows = np.arange(1, 73)
means = np.cumsum(rewards[::-1]) / windows
widths = np.array([width(1.4, 0.5, 100, int(h)) for h in windows])
bounds = means + widths

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.plot(windows, means, label="mean of the window")
axes.plot(windows, bounds, label="upper bound")
best = int(np.argmin(bounds))
axes.axvline(windows[best], color="grey", lw=1, ls=":")
axes.annotate(f"h = {windows[best]}", (windows[best], bounds[best]), (windows[best] + 4, bounds[best] - 0.5))
axes.axhline(-0.5, color="grey", lw=1)
axes.set(xlabel="window h: the last rewards of the arm", ylabel="reward", ylim=(-1.5, 2.5))
axes.legend(frameon=False)

# %%
# Short windows are wide: few rewards, much noise. Long windows hold rewards from before the drop. Since means never rise,
# every window's mean is, on average, at least the mean of now. So every bound is an upper bound, and the smallest is the
# best: it is the *index* of the arm. Nothing has to be known of how fast the arm falls.
#
# A window that is fixed
# ----------------------
# SW-UCB fixes the window. It is good if the window fits the decay, and the best one differs from problem to problem. Here are
# three windows, for drops from small to large:

import rotting

policies = [rotting.RAWUCB(), *(rotting.SWUCB(sigma=1.0, tau=tau) for tau in (50, 200, 800))]
problems = rotting.grid(rotting.problems.two_arms, L=[0.3, 1.0, 3.0], horizon=2_000)
study = rotting.sweep(policies, problems, runs=40, seed=0)
figure = study.plot(x="L", log=True)
