"""
Case study: news that gets old
==============================

An editor shows one of eight groups of news items at a time and wants readers to share them. All of them age. Which policy
should decide?
"""

# %%
# The data
# --------
# The data are shares of news items on Facebook over their first two days, in slices of 20 minutes (Moniz and Torgo 2018, UCI
# Machine Learning Repository no. 432). An arm is a group of items; a pull shows one of them and pays 1 if it gains a share
# within the slice. The file is not part of the library. If it is missing, this page says so and plays a synthetic night of news
# instead.

import matplotlib.pyplot as plt
import numpy as np

import rotting

try:
    problem, real = rotting.datasets.news(rounds_per_slice=200), True
    print("This page uses the real data.")
except rotting.errors.MissingDataError as error:
    problem, real = rotting.datasets.synthetic_nights()[2].problem(), False
    print("NOT the real data, but a synthetic night:", error)
horizon = min(problem.horizon, 28_000)
print(problem.n_arms, "groups,", horizon, "rounds")

# %%
rounds = np.arange(1, horizon + 1, 200)
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i in range(problem.n_arms):
    axes.plot(rounds, [problem.mean(i, int(t), 0) for t in rounds], lw=1.2)
axes.set(xlabel="round t", ylabel="chance of a share")
axes.set_title("Every group fades, and the best one changes", loc="left")

# %%
# The means fall, cross, and sometimes rise a little, so the assumption of the theorems holds only approximately. That is
# typical of real data.
#
# The candidates
# --------------
# The rewards are 0 and 1. ``RAWKLUCB`` models the noise of such rewards, ``sigma="estimate"`` learns its scale, and UCB1 and
# Thompson sampling are the usual choices for arms that do not age. On the synthetic night a reward is a number of clicks, so
# only policies that estimate sigma, and ``Uniform``, play.

policies = [
    rotting.RAWUCB(sigma="estimate"),
    rotting.EffRAWUCB(sigma="estimate"),
    rotting.UCB1(sigma="estimate"),
]
if real:
    policies += [rotting.RAWUCB(sigma=0.5), rotting.RAWKLUCB(), rotting.ThompsonSampling()]
policies += [rotting.Uniform()]
result = rotting.simulate(policies, problem, horizon=horizon, runs=40, seed=0)
print(result.table())

# %%
axes = result.plot()

# %%
# The recommendation
# ------------------
# The recommendation is computed from these games: the policy with the smallest mean regret. Policies that a paired test ties
# with it are listed as equally good.

order = np.argsort(result.regret[:, :, -1].mean(axis=1))
best = result.policies[order[0]]
print("Recommended:", best.label)
for row in result.compare().rows:
    if row["verdict"] == "tied":
        print(f"  as good, as far as {result.runs} runs can tell: {row['policy']}")
losses = result.regret[:, :, -1].mean(axis=1)
uniform = losses[result.policies.index(rotting.Uniform())]
print(f"Its regret is {losses[order[0]] / uniform:.0%} of the regret of showing items at random.")

# %%
# On the real data Thompson sampling has the smallest regret, and UCB1 loses no more than RAW-UCB, although neither of them ever
# forgets. This page does not investigate why. Other data give other results: among the articles that get boring in :doc:`the
# guide on clicks </guides/clicks>`, Thompson sampling and UCB1 lose far more than RAW-UCB, and so does UCB1 on :ref:`the next
# page <sphx_glr_tutorials_batteries.py>`.
#
# Less traffic
# ------------
# With a fifth of the visitors there is less to learn from in the same two days, and the best policy may be a different one. Try
# it with your own traffic:

if real:
    few = rotting.datasets.news(rounds_per_slice=40)
    print(rotting.simulate(policies, few, runs=40, seed=0).table())
