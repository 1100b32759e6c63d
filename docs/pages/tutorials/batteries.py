"""
Case study: batteries that wear out
===================================

There are four batteries, and each discharge delivers a little less than the one before. Which battery should be used next, so
that they deliver as much as possible in total?
"""

# %%
# The data
# --------
# The data are the capacities of four lithium-ion cells, discharge by discharge (Saha and Goebel 2007, NASA Ames). A pull is a
# discharge, and its reward is the number of ampere-hours delivered. The decay is *rested*: a battery that is not used does not
# wear out. The files are not part of the library. If they are missing, this page says so and uses four curves of the same
# shape.

import matplotlib.pyplot as plt
import numpy as np

import rotting
from rotting.problems import Linear, Problem

SIGMA = 0.05  # a gauge ten times less precise than NASA's
try:
    problem = rotting.datasets.batteries(sigma=SIGMA)
    print("This page uses the real data.")
except rotting.errors.MissingDataError as error:
    lines = [Linear(start, slope=slope) for start, slope in ((1.86, -0.003), (2.03, -0.005), (1.89, -0.0028), (1.85, -0.0037))]
    problem = Problem.rested(lines, rotting.Gaussian(SIGMA), horizon=300)
    print("NOT the real data, but straight lines of a similar shape:", error)
print(problem.n_arms, "batteries,", problem.horizon, "discharges")

# %%
pulls = np.arange(problem.horizon // 2)
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i in range(problem.n_arms):
    axes.plot(pulls, [problem.mean(i, int(n) + 1, int(n)) for n in pulls], label=f"battery {i}")
axes.set(xlabel="discharges of the battery", ylabel="ampere-hours")
axes.set_title("Each battery wears out at its own speed", loc="left")
axes.legend(frameon=False)

# %%
# The candidates
# --------------
# With a gauge this precise, exploration costs little, and the scale of the noise matters: a policy that assumes sigma = 1
# explores for the whole life of the batteries.

policies = [
    rotting.RAWUCB(sigma=SIGMA),
    rotting.RAWUCB(sigma="estimate"),
    rotting.RAWUCB(sigma=1.0),
    rotting.FEWA(alpha=0.06, sigma=SIGMA),
    rotting.SWUCB(sigma=SIGMA, tau=40),
    rotting.UCB1(sigma=SIGMA),
    rotting.Uniform(),
]
result = rotting.simulate(policies, problem, runs=200, seed=0)
print(result.table())

# %%
axes = result.plot(legend="upper left")

# %%
# The recommendation
# ------------------
# The recommendation is computed from these games.

order = np.argsort(result.regret[:, :, -1].mean(axis=1))
best = result.policies[order[0]]
print("Recommended:", best.label)
for row in result.compare().rows:
    if row["verdict"] == "tied":
        print(f"  as good, as far as {result.runs} runs can tell: {row['policy']}")
losses = result.regret[:, :, -1].mean(axis=1)
print(f"Its regret is {losses[order[0]]:.2f} Ah; choosing batteries at random has a regret of {losses[-1]:.2f} Ah.")
