"""
Case study: news that gets old
==============================

An editor shows one of eight groups of news items at a time, and wants shares. All of them age. Which policy should decide?
"""

# %%
# The data
# --------
# Shares of news items on Facebook over their first two days, in slices of 20 minutes (Moniz and Torgo 2018, UCI Machine
# Learning Repository no. 432). An arm is a group of items; a pull shows one of them and pays 1 if it gains a share within the
# slice. The file is not part of the library. Where it is missing, this page says so, and plays a synthetic night of news
# instead.

import matplotlib.pyplot as plt
import numpy as np

import rotting

try:
    problem, real = rotting.datasets.news(rounds_per_slice=200), True
    print("The real data: see below.")
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
# The means fall, cross, and rise a little at times: the assumption of the theorems holds only roughly. That is what real data
# is like.
#
# The candidates
# --------------
# Rewards are 0 and 1 here. ``RAWKLUCB`` knows the noise of clicks, ``sigma="estimate"`` learns it, and UCB1 and Thompson
# sampling are what one would take if nothing aged. On the synthetic night a reward is a number of clicks, so only those that
# learn the noise play.

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
# What to do
# ----------
# The figures decide, not we: the policy with the smallest mean regret is the recommendation, and those whose paired
# difference to it may be zero are as good.

order = np.argsort(result.regret[:, :, -1].mean(axis=1))
best = result.policies[order[0]]
print("Take", best.label)
for row in result.differences(best).rows:
    if row["low"] <= 0:
        print(f"  as good, as far as {result.runs} runs can tell: {row['policy']}")
losses = result.regret[:, :, -1].mean(axis=1)
uniform = losses[result.policies.index(rotting.Uniform())]
print(f"It loses {losses[order[0]] / uniform:.0%} of what showing items at random loses.")

# %%
# On the real data Thompson sampling wins, and UCB1 loses no more than RAW-UCB, though neither of them ever forgets. This page
# does not measure why. It is not so everywhere: among the articles that get boring in :doc:`the guide on clicks
# </guides/clicks>`, Thompson sampling and UCB1 lose far more than RAW-UCB, and so does UCB1 on :ref:`the next page
# <sphx_glr_tutorials_batteries.py>`.
#
# On another day
# --------------
# With a fifth of the visitors, there is less to learn from in the same two days, and what is best can differ. Ask with your
# own traffic:

if real:
    few = rotting.datasets.news(rounds_per_slice=40)
    print(rotting.simulate(policies, few, runs=40, seed=0).table())
