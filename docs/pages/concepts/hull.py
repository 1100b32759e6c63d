"""
The hull theorem
================

An arm with a thousand rewards has a thousand windows. Nearly none of them can ever have the smallest bound. Those that can
are the corners of a curve, and there are about ``ln n`` of them.
"""

# %%
# Prefix sums
# -----------
# Draw the sum of the first ``k`` rewards over ``k``. A window is a chord from some point to the right end: its slope is the
# mean of the window. The upper hull is a string stretched over the points. RAW-UCB's smallest bound is always that of a
# window that starts at a corner of the hull.

import matplotlib.pyplot as plt
import numpy as np

import rotting

rng = np.random.default_rng(1)
rewards = np.where(np.arange(300) < 200, 0.5, -0.2) + 0.5 * rng.standard_normal(300)
sums = np.concatenate([[0.0], np.cumsum(rewards)])
starts = rotting.theory.hull(rewards)
corners = np.append(starts, 300)

widths = np.array([rotting.kit.width(1.4, 0.5, 600, int(300 - k)) for k in range(300)])
bounds = (sums[-1] - sums[:-1]) / (300 - np.arange(300)) + widths
chosen = int(np.argmin(bounds))

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
axes.plot(sums, lw=1, label="sum of the first k rewards")
axes.plot(corners, sums[corners], "o-", ms=4, label=f"upper hull: {starts.size} windows of 300")
axes.plot([chosen, 300], sums[[chosen, 300]], ls="--", label=f"the window with the smallest bound: {300 - chosen}")
axes.set(xlabel="pulls k", ylabel="sum")
axes.legend(frameon=False)
print(chosen in starts)

# %%
# Why
# ---
# Take a point below the string. Its window is, in length, a mixture of the windows of the two corners beside it, and its sum
# is at least the same mixture. An upper bound that grows with the sum and is quasi-concave in sum and length cannot be
# smaller there than at both corners. :doc:`The hull </hull>` has the theorem with its conditions, the proof, and which
# indices it covers.
#
# How many corners
# ----------------
# A new reward adds a point at the right end and removes those that fall below the string: a stack. A point once removed never
# comes back. So the library keeps the corners, forgets all other rewards, and is still exact.

sizes = np.unique(np.logspace(1, 4, 25).astype(int))
noise = rng.standard_normal((20, sizes[-1]))
steady = [np.mean([rotting.theory.hull(row[:n]).size for row in noise]) for n in sizes]
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.semilogx(sizes, steady, "o", ms=3, label="corners, mean of 20 arms whose mean stays")
axes.semilogx(sizes, np.log(sizes), label="ln n")
axes.set(xlabel="rewards n", ylabel="corners")
axes.legend(frameon=False)
