"""
The hull theorem
================

An arm with a thousand rewards has a thousand windows. Almost none of them can ever have the smallest upper bound. The few
candidates start at the vertices of a convex hull, and there are about ``ln n`` of them.
"""

# %%
# Prefix sums
# -----------
# Plot the sum of the first ``k`` rewards over ``k``. A window is a chord from some point to the right end, and its slope is the
# mean of the window. The upper hull is like a string stretched over the points. RAW-UCB's smallest bound always belongs to a
# window that starts at a vertex of the hull.

import matplotlib.pyplot as plt
import numpy as np

import rotting

rng = np.random.default_rng(1)
rewards = np.where(np.arange(300) < 200, 0.5, -0.2) + 0.5 * rng.standard_normal(300)
sums = np.concatenate([[0.0], np.cumsum(rewards)])
starts = rotting.theory.hull(rewards)
vertices = np.append(starts, 300)

widths = np.array([rotting.kit.width(1.4, 0.5, 600, int(300 - k)) for k in range(300)])
bounds = (sums[-1] - sums[:-1]) / (300 - np.arange(300)) + widths
chosen = int(np.argmin(bounds))

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
axes.plot(sums, lw=1, label="sum of the first k rewards")
axes.plot(vertices, sums[vertices], "o-", ms=4, label=f"upper hull: {starts.size} windows of 300")
axes.plot([chosen, 300], sums[[chosen, 300]], ls="--", label=f"the window with the smallest bound: {300 - chosen}")
axes.set(xlabel="pulls k", ylabel="sum")
axes.legend(frameon=False)
print(chosen in starts)

# %%
# Why
# ---
# Take a point below the hull. The length of its window is a weighted average of the lengths of the windows at the two
# neighbouring vertices, and its sum is at least the same weighted average of their sums. An upper bound that increases with the
# sum and is quasi-concave in sum and length cannot be smaller there than at both vertices. :doc:`The hull </hull>` states the
# theorem with its conditions, proves it, and lists the indices that it covers.
#
# How many vertices
# -----------------
# A new reward adds a point at the right end and removes the points that are now below the hull: the vertices form a stack. A
# removed point never comes back. So the library keeps only the vertices, discards all other rewards, and is still exact.

sizes = np.unique(np.logspace(1, 4, 25).astype(int))
noise = rng.standard_normal((20, sizes[-1]))
steady = [np.mean([rotting.theory.hull(row[:n]).size for row in noise]) for n in sizes]
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.semilogx(sizes, steady, "o", ms=3, label="vertices, mean of 20 stationary arms")
axes.semilogx(sizes, np.log(sizes), label="ln n")
axes.set(xlabel="rewards n", ylabel="vertices")
axes.legend(frameon=False)
