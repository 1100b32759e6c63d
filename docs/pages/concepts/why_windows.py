"""
Why windows
===========

How good is an arm now? Its last reward says little, because of the noise. The mean of all its rewards says much, but about the
past. A window of the last ``h`` rewards is a compromise, and RAW-UCB considers every ``h``.
"""

# %%
# Bias and variance
# -----------------
# An arm paid 1/2 on average for 60 pulls, and -1/2 for the 12 pulls since then. For each window, plot the mean of its rewards
# and an upper bound: the mean plus a width that decreases with the square root of the window length.

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
# Short windows have large widths: few rewards, much noise. Long windows contain rewards from before the drop. Since means never
# rise, the mean of every window is, in expectation, at least the current mean. So every one of these bounds is an upper bound
# of the current mean, and the smallest one is the tightest: it is the *index* of the arm. You do not have to know how fast the
# arm decays.
#
# A fixed window
# --------------
# SW-UCB fixes the window length in advance. It works well if the window fits the decay, and the best window differs from
# problem to problem. The plot compares three windows, for drops from small to large:

import rotting

policies = [rotting.RAWUCB(), *(rotting.SWUCB(sigma=1.0, tau=tau) for tau in (50, 200, 800))]
problems = rotting.grid(rotting.problems.two_arms, L=[0.3, 1.0, 3.0], horizon=2_000)
study = rotting.sweep(policies, problems, runs=40, seed=0)
figure = study.plot(x="L", log=True)
