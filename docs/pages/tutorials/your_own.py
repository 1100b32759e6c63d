"""
Add your own
============

Policies, arms and noises of your own play beside those of the library, on the same rewards. You need neither a fork nor a
checkout. For a policy, begin with a plain class; write it as functions when you want it fast, or live.
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
# Step 1: a plain class
# ---------------------
# Any class that is made from the number of arms, with ``pull()`` (or ``select()``) and ``update(arm, reward)``, is a policy.
# This one pulls the arm with the largest upper bound, computed from its last 50 rewards.

import math
from collections import deque


class LastPulls:
    def __init__(self, n_arms, window=50, sigma=0.5):
        self.window, self.sigma, self.round = window, sigma, 0
        self.last = [deque(maxlen=window) for _ in range(n_arms)]

    def bound(self, rewards):
        if not rewards:
            return math.inf
        return math.fsum(rewards) / len(rewards) + self.sigma * math.sqrt(2 * math.log(self.round) / len(rewards))

    def pull(self):
        self.round += 1
        bounds = [self.bound(each) for each in self.last]
        return bounds.index(max(bounds))

    def update(self, arm, reward):
        self.last[arm].append(reward)


policies = [LastPulls, rotting.RAWUCB(sigma=0.5), rotting.UCB1(sigma=0.5)]
print(rotting.simulate(policies, songs, runs=20, seed=0).table())

# %%
# The class is called anew for each run. If it draws random numbers, give it an argument ``seed``, which is another number in
# each run. For other parameters, pass a function, such as ``lambda n_arms: LastPulls(n_arms, window=20)``. The help of
# ``rotting.simulate`` has the rules, such as for arms that come and leave and for rewards that come late.
#
# Step 2: functions with the library's windows
# --------------------------------------------
# The same policy as functions of two tuples: ``p``, the parameters as numbers, and ``s``, the state: arrays that the functions
# modify. They are compiled, and take a fraction of a microsecond per round. ``PrefixSums``, ``record`` and ``window_mean`` of
# ``rotting.kit`` keep the mean of every window of every arm.

from typing import NamedTuple

from rotting.kit import COUNT, POSITIVE, Kernel, Params, Policy, PrefixSums, Reason
from rotting.kit import by_index, new_prefix_sums, parameter, record, width, window_mean


class LastPullsUCB(Policy):
    """UCB1 on the last pulls of each arm."""

    window: int = parameter(COUNT, "number of rewards remembered for each arm", default=20)
    sigma: float = parameter(POSITIVE, "scale of the noise", default=0.5)
    name = "last-pulls-ucb"
    has_index = True


class State(NamedTuple):
    history: PrefixSums


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(history=new_prefix_sums(n_arms, capacity))


def index(p: Params, s: State, t: int, i: int) -> Reason:
    h = min(s.history.pulls[i], p.window)
    if h == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean, c = window_mean(s.history, i, h), width(1.0, p.sigma, t, h)
    return Reason(mean + c, mean, h, c)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    record(s.history, arm, reward)


LastPullsUCB.kernel = Kernel(init, update=update, **by_index(index))

# %%
# ``by_index`` builds ``choose`` and ``explain`` from the index. ``check_policy`` plays the policy compiled and interpreted,
# saved and restored, and with arms added and removed. It raises an error if the policy breaks a rule; this one breaks none. And
# it makes the decisions of the plain class, in every round of every run:

rotting.check_policy(LastPullsUCB())
result = rotting.simulate([LastPulls, LastPullsUCB(window=50)], songs, runs=20, seed=0)
assert (result.regret[0] == result.regret[1]).all()

# %%
# Invalid parameters raise an error whose message is derived from the field:

try:
    LastPullsUCB(window=0)
except rotting.errors.InvalidValueError as error:
    print(error)

# %%
# Step 3: an arm with a memory
# ----------------------------
# An arm may have a small state of its own, here how bored its listeners are. Plain functions say what it pays, and how the
# state moves on; they are compiled into the game, too. These songs get boring when they are played, and recover while others
# are. No policy below expects that, and UCB1 profits from exploring longest:

from rotting.kit import power
from rotting.problems import Stateful


class Taste(NamedTuple):
    best: float
    decay: float


def fresh(p):
    return 0.0


def mean(p, bored, t, n):
    return p.best - bored


def step(p, bored, t, n, pulled):
    return p.decay * (bored + 0.1 * pulled)


def rest(p, bored, t, n, rounds):  # the same as so many steps without a pull, in one
    return power(p.decay, rounds) * bored


radio = Problem([Stateful(fresh, mean, step, Taste(best, 0.95), rest) for best in (0.9, 0.8, 0.7)], horizon=1_000)
print(rotting.simulate([LastPulls, LastPullsUCB(), rotting.UCB1(sigma=0.5)], radio, runs=20, seed=0).table())

# %%
# :doc:`Problems </problems>` has the rules for such arms, and some of the literature.
#
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

policies[0] = LastPullsUCB(window=50)
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
# In other libraries
# ------------------
# ``rotting.adapters.Environment(problem)`` is the problem as a Gymnasium environment, for agents that are written for it:
# episode r is run r of ``simulate``, with the same rewards and the same regret. ``rotting.adapters.Agent`` and ``RiverPolicy``
# take the library's policies to Gymnasium and River.
#
# :doc:`Your own policy </your-own-policy>` has the rules for policies that draw random numbers, restart or need a horizon, and
# a complete example.
