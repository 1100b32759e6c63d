"""
Your own policy, noise and problem
==================================

All three are plain Python. The library compiles, checks and simulates your code, and uses it live, just like its own.
"""

# %%
# A problem
# ---------
# A problem is a list of arms and a noise. The mean of an arm depends on its own pulls (*rested*), on the rounds (*restless*),
# or on both. Suppose that songs get boring when they are played, and that one of them is a seasonal hit:

import rotting
from rotting.problems import Abrupt, Exponential, Linear, Problem, Product, Rested

songs = Problem(
    [
        Rested(Abrupt(0.9, 0.3, at=150)),  # loved for 150 plays, then no longer
        Rested(Linear(0.7, slope=-0.0003)),  # slowly gets boring
        Product(rested=Exponential(0.8, rate=0.002), restless=Exponential(1.0, rate=0.001)),  # boring, and seasonal
    ],
    noise=rotting.Bernoulli(),
    horizon=1_000,
)
print(songs.kind, bool(songs.is_rotting()))

# %%
# You can also pass a table of means: ``Problem.rested(table)`` with a row for each arm and a column for each pull, or
# ``Problem.restless(table)`` with a column for each round.
#
# A policy
# --------
# A policy is a class with a field for each parameter, and a few functions of two tuples: ``p``, the parameters as numbers, and
# ``s``, the state: arrays that the functions modify. This policy pulls the arm with the largest upper bound, computed from its
# last ``window`` rewards.

import math
from typing import NamedTuple

import numpy as np
from rotting.kit import COUNT, POSITIVE, Floats, Ints, Kernel, Params, Policy, Reason, by_index, log, parameter


class LastPullsUCB(Policy):
    """UCB1 on the last pulls of each arm."""

    window: int = parameter(COUNT, "number of rewards remembered for each arm", default=20)
    sigma: float = parameter(POSITIVE, "scale of the noise", default=0.5)

    name = "last-pulls-ucb"
    has_index = True


class State(NamedTuple):
    last: Floats  # [K, window] the newest rewards of each arm, in a circular buffer
    pulls: Ints  # [K]


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(last=np.zeros((n_arms, p.window)), pulls=np.zeros(n_arms, np.int64))


def index(p: Params, s: State, t: int, i: int) -> Reason:
    h = min(s.pulls[i], p.window)
    if h == 0:
        return Reason(np.inf, 0.0, 0, np.inf)
    mean = s.last[i, :h].sum() / h
    width = p.sigma * math.sqrt(2.0 * log(float(t)) / h)
    return Reason(mean + width, mean, h, width)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.last[arm, s.pulls[arm] % p.window] = reward
    s.pulls[arm] += 1


LastPullsUCB.kernel = Kernel(init, update=update, **by_index(index))
LastPullsUCB(window=50)

# %%
# ``by_index`` builds ``choose`` and ``explain`` from the index. ``rotting.kit`` also exports the other building blocks of the
# library's policies: windows, exact sums, random numbers, rules. ``check_policy`` plays the policy compiled and interpreted,
# saved and restored, and with arms added and removed. It raises an error if the policy breaks a rule; this one breaks none.

rotting.check_policy(LastPullsUCB())

# %%
# Invalid parameters raise an error whose message is derived from the field:

try:
    LastPullsUCB(window=0)
except rotting.errors.InvalidValueError as error:
    print(error)

# %%
# A noise
# -------
# A noise defines the distribution of the reward for a given mean. In this example listeners give zero to four stars, and the
# reward is the number of stars divided by four: one of the two possible values around the mean, drawn so that the expectation
# is right. The random number depends only on where it is used, so every policy meets the same rewards.

from dataclasses import dataclass

from rotting.kit import Noise, floor, reward_uniform


@dataclass(frozen=True)
class Stars(Noise):
    """Rewards of 0, 1/4, 1/2, 3/4 or 1."""

    lowest_mean = 0.0
    highest_mean = 1.0
    mean_rule = "a number from 0 to 1"
    support = (0.0, 1.0)

    @staticmethod
    def draw(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
        below = floor(4.0 * mean)
        u = reward_uniform(key, run, arm, clock, 0)
        return (below + 1.0 if u < 4.0 * mean - below else below + 0.0) / 4.0


rotting.check_noise(Stars())

# %%
# All together
# ------------
# The mean of the third song depends on both its pulls and the rounds. For such a problem the optimal policy is not known, so
# regret is measured against the greedy oracle, as the table says; it can then be negative.

policies = [LastPullsUCB(window=50), rotting.RAWUCB(sigma=0.5), rotting.UCB1(sigma=0.5)]
for noise in (rotting.Bernoulli(), Stars()):
    problem = Problem(songs.arms, noise=noise, horizon=1_000)
    result = rotting.simulate(policies, problem, runs=100, seed=0)
    print(result.table(), end="\n\n")

# %%
# Stars have less noise than likes, so the policies learn more from the same number of listeners.

axes = result.plot(title="Songs, with stars")

# %%
# Live
# ----
# The same policy makes live decisions, one song at a time:

bandit = rotting.Bandit(LastPullsUCB(window=50), arms=["jazz", "rock", "folk"], seed=0)
for _ in range(60):
    song = bandit.pull()
    bandit.update(song, 0.9 if song == "jazz" else 0.4)
print(bandit.explain())

# %%
# :doc:`Your own policy </your-own-policy>` has the rules for policies that draw random numbers, restart or need a horizon, and
# a complete example.
