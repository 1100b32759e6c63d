"""
From a CSV file to a decision
=============================

You have a file of past decisions. Do the arms wear out, with use or with time? Which policy would have earned more? This page
asks a simulated log, whose truth is known, takes the recommended policy live, and then asks logs of real data.
"""

# %%
# The file
# --------
# Five ads run in 20 countries, some of which have much more traffic than others. Each row is an hour of one ad in one country;
# the reward is its number of clicks. An ad wears out with the hours that it ran *in the same country*, each ad at its own
# speed, and the logo not at all. Until now, ads were drawn at random, most often those that sell best while they are new.

import csv
import pathlib
import tempfile

import numpy as np

import rotting

ADS = {"sale": (14.0, 12), "beach": (12.0, 16), "family": (10.0, 20), "video": (9.0, 25), "logo": (6.0, np.inf)}
NAMES, CHANCES = list(ADS), [0.25, 0.25, 0.2, 0.2, 0.1]
rng = np.random.default_rng(0)
traffic, levels = rng.lognormal(0.0, 1.0, 20), rng.lognormal(0.0, 0.2, 20)


def clicks(ad, country, hours):
    """Return the clicks of an hour, after this many hours of the ad in the country."""
    first, half_life = ADS[ad]
    return int(rng.poisson(levels[country] * first * 0.5 ** (hours / half_life)))


folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name, "clicks.csv")
shown = {}
with path.open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["ad", "country", "clicks", "propensity"])
    for country in rng.choice(20, 2_000, p=traffic / traffic.sum()).tolist():
        ad = str(rng.choice(NAMES, p=CHANCES))
        hours = shown.get((ad, country), 0)
        rows.writerow([ad, country, clicks(ad, country, hours), CHANCES[NAMES.index(ad)]])
        shown[ad, country] = hours + 1
print(*path.read_text().splitlines()[:4], sep="\n")

# %%
# What the log holds
# ------------------
# An arm is what can be chosen, an ad. A unit is who gets tired of it, a country. ``describe`` says what was read, and what is
# odd about it.

log = rotting.Log(path, arm="ad", reward="clicks", unit="country", propensity="propensity")
print(log.describe())

# %%
# Do ads wear out?
# ----------------
# ``diagnose`` compares ads with each other at the same time, and busy countries with quiet ones: if use wears ads out, they
# fall faster where they ran more often; if time does, they fall everywhere at once. Compare the verdict with the truth above.
# "Too few" and "cannot tell" are not "steady", but not known.

diagnosis = rotting.diagnose(log)
print(diagnosis.table())

# %%
figure = diagnosis.plot()

# %%
# What would other policies have earned?
# --------------------------------------
# ``replay`` pays a policy the rewards of the log, arm by arm in their order. It answers few rounds here, because each country
# has its own rewards, and one of them soon runs out of an ad. A replay of less than a fifth of the rounds says too little for a
# row of the table.

policies = [rotting.RAWUCB(sigma="estimate"), rotting.UCB1(sigma="estimate"), rotting.Uniform()]
replayed = rotting.replay(log, policies)
print(replayed.table())

# %%
# The log has propensities: it also says what each ad paid on average, without any model. That is not what an ad would have paid
# if it had run all the time: it would have worn out sooner.

print(replayed.fixed_table())

# %%
# To go beyond the log, fit problems that it could have come from, and let the policies play them to the end. Every run of
# ``fit`` is another problem: what the log leaves open differs between runs.

family = rotting.fit(log, clock="pulls")
result = rotting.simulate(policies, family, runs=40, seed=0)
print(result.table())

# %%
# UCB1 does worse than choosing at random. It averages all rewards of an ad, so an ad that sold well while it was new keeps a
# high average, and UCB1 goes on showing it after it has worn out. RAW-UCB also looks at the last few rewards of each ad.
#
# Which policy to take
# --------------------
# ``advise`` plays such problems under every reading that the log allows, and compares the policies with the choices of the log
# itself. It recommends a policy only if the interval of its gain begins at 1 % or more under each of these readings.

advice = rotting.advise(log, policies, runs=40)
print(advice.table())

# %%
# Since this log is simulated, the gain can be checked. The policy plays live, in the world that made the log. If none were
# recommended, this page would go on with RAW-UCB, which need not be told the clock.

policy = advice.policy or rotting.RAWUCB(sigma="estimate")
bandit = rotting.Bandit(policy, arms=NAMES, seed=0)
shown, earned = {}, 0
for country in rng.choice(20, 2_000, p=traffic / traffic.sum()).tolist():
    ad = bandit.pull()
    reward = clicks(ad, country, shown.get((ad, country), 0))
    shown[ad, country] = shown.get((ad, country), 0) + 1
    bandit.update(ad, reward)
    earned += reward
before = int(log.reward.sum())
print(f"{policy.label} earned {earned:,} clicks, the log {before:,}: {100 * (earned / before - 1):+.0f} %")

# %%
# In your own program the bandit goes on from what the log has shown: ``bandit.learn(path)`` reads the same file.
#
# Real data: batteries, where pulls are the clock
# -----------------------------------------------
# A battery wears out with its discharges (see :ref:`the page on batteries <sphx_glr_tutorials_batteries.py>`). This log draws
# batteries at random. It has no units, so it cannot tell pulls from time, and ``advise`` plays both readings. The last line
# shows what the policy gains in truth, to compare with the reading of pulls, which is the true one here. The files are not part
# of the library; without them, straight lines stand in.

from rotting.problems import Linear, Problem

RUNS = 40


def ask(problem, policy):
    """Write a log of random choices in a problem, and say what it tells about a policy, and what is true."""
    game = rotting.play(rotting.Uniform(), problem)
    log = rotting.Log({"arm": game.arm, "reward": game.reward})
    diagnosis = rotting.diagnose(log)
    worn = [arm.name for arm in diagnosis.arms if arm.verdict == "wears out"]
    print(f"{len(worn)} of {len(log.arms)} arms wear out; clock: {diagnosis.decay}")
    print(rotting.replay(log, policy).table(), end="\n\n")
    print(rotting.advise(log, policy, runs=RUNS).table(), end="\n\n")
    truth = rotting.simulate([policy, rotting.Uniform()], problem, horizon=len(log), runs=RUNS)
    best = rotting.problems.optimal_rewards(problem, checkpoints=[len(log)]).cumulative[-1]
    earned, uniform = best - truth.regret[:, :, -1].mean(axis=1)
    print(f"In truth {policy.label} gains {100 * (earned / uniform - 1):+.1f} % over random choices.")


try:
    batteries = rotting.datasets.batteries(sigma=0.05)
    print("This part uses the real data.")
except rotting.errors.MissingDataError as error:
    lines = [Linear(start, slope=slope) for start, slope in ((1.86, -0.003), (2.03, -0.005), (1.89, -0.0028), (1.85, -0.0037))]
    batteries = Problem.rested(lines, rotting.Gaussian(0.05), horizon=300)
    print("NOT the real data, but straight lines of a similar shape:", error)
ask(batteries, rotting.RAWUCB(sigma="estimate"))

# %%
# Real data: news, where time is the clock
# ----------------------------------------
# News gets old whether it is read or not (see :ref:`the page on news <sphx_glr_tutorials_news.py>`). Again the log cannot tell
# which clock it is. A policy that gains under both readings does not depend on the answer. This log is short, of a fortieth of
# the visitors: if the intervals reach below zero, no policy is recommended, and :doc:`the guide </guides/which-policy-to-take>`
# says what to do then.

try:
    news = rotting.datasets.news(rounds_per_slice=5)
    print("This part uses the real data.")
except rotting.errors.MissingDataError as error:
    curves = [Linear(start, slope=slope) for start, slope in ((0.42, -4e-4), (0.35, -1e-4), (0.3, -1e-4), (0.25, -1e-4))]
    news = Problem.restless(curves, rotting.Bernoulli(), horizon=700)
    print("NOT the real data, but straight lines of a similar shape:", error)
ask(news, rotting.RAWUCB(sigma="estimate"))

# %%
folder.cleanup()
