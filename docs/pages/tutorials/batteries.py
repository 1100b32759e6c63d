"""
Case study: batteries that wear out
===================================

Four batteries; each discharge delivers a little less than the one before. Which to use next, so that they deliver most in
total?
"""

# %%
# The data
# --------
# Capacities of four lithium-ion cells, discharge by discharge (Saha and Goebel 2007, NASA Ames). A pull is a discharge, and
# pays the ampere-hours it delivered: *rested* decay, since a battery that is not used does not wear. The files are not part
# of the library. Where they are missing, this page says so, and takes four curves of the same shape.

import matplotlib.pyplot as plt
import numpy as np

import rotting
from rotting.problems import Linear, Problem

SIGMA = 0.05  # a gauge that is ten times less exact than NASA's
try:
    problem = rotting.datasets.batteries(sigma=SIGMA)
    print("The real data: see below.")
except rotting.errors.MissingDataError as error:
    lines = [Linear(start, slope=slope) for start, slope in ((1.86, -0.003), (2.03, -0.005), (1.89, -0.0028), (1.85, -0.0037))]
    problem = Problem.rested(lines, rotting.Gaussian(SIGMA), horizon=300)
    print("NOT the real data, but lines of the same kind:", error)
print(problem.n_arms, "batteries,", problem.horizon, "discharges")

# %%
pulls = np.arange(problem.horizon // 2)
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i in range(problem.n_arms):
    axes.plot(pulls, [problem.mean(i, int(n) + 1, int(n)) for n in pulls], label=f"battery {i}")
axes.set(xlabel="discharges of the battery", ylabel="ampere-hours")
axes.set_title("Each wears out at its own speed", loc="left")
axes.legend(frameon=False)

# %%
# The candidates
# --------------
# With a gauge this exact, exploring costs little, and the scale of the noise matters: a policy that believes in sigma = 1
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
# What to do
# ----------
# The recommendation is computed from these games.

order = np.argsort(result.regret[:, :, -1].mean(axis=1))
best = result.policies[order[0]]
print("Take", best.label)
for row in result.differences(best).rows:
    if row["low"] <= 0:
        print(f"  as good, as far as {result.runs} runs can tell: {row['policy']}")
losses = result.regret[:, :, -1].mean(axis=1)
print(f"It loses {losses[order[0]]:.2f} Ah against perfect knowledge; taking turns at random loses {losses[-1]:.2f} Ah.")
