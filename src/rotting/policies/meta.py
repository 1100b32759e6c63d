"""META: eliminate arms that are significantly worse, replay them at random, and start afresh when none is left."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, POSITIVE
from rotting.policies.kernels.elementary import log
from rotting.policies.kernels.exact_sums import add
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.presence import Presence, new_presence
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policies.ucbt_asw import HORIZON
from rotting.policy import Kernel, Params, Policy, parameter

_ORDERS = 64  # room for the replays of 2, 4, 8, ... rounds, since T is at most 2^53


class META(Policy):
    """META: track the most significant arm switches, whose number and size need not be known.

    In each round, an arm is drawn from a set A of arms, all with the same probability. With `x_s = |A_s| reward_s`, the gap of
    arm a behind arm b over the rounds r to t is the sum of x_s over the rounds s in which b was drawn and a was in A_s, less
    that over those in which a was drawn.

    - An episode begins with A = all arms, its master set. Arm a leaves the master set when its gap over some rounds r to t of
      the episode exceeds `C ln(T) max(sqrt(K (t - r)), K)` for some b. When the master set is empty, a new episode begins.
    - In each round number s = 1, 2, ... after the first of the episode, for m = 2, 4, 8, ..., the first power of 2 from T on, a
      replay is drawn with probability `min(1, P / sqrt(m s))`. The longest that is drawn begins now and lasts m + 1 rounds. Its
      set A has all arms in the beginning, and loses those whose gap over rounds of the replay exceeds the same bound. A replay
      may interrupt another one, which goes on afterwards; without a replay, arms are drawn from the master set.

    Args:
        horizon: number of rounds T, 2 or more.
        C: scale of the bound.
        P: scale of the probability of replays; 1 in the publication.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    The form is ours: the rule was written from memory of the publication, not from its text, and its C is some constant that is
    large enough. The code of its authors was no check: it tests other intervals for two arms, and is unfinished for more. Also
    ours: an arm that is not available is in no A, and all that are available are drawn if A has none of them; a reward that
    comes late counts in the round in which it comes, and for the size of A when its arm was drawn last, or K if it never was.

    Needs the horizon and the range of the rewards; not how much the means change. Made for arms that change with time
    (restless); no guarantee for rested rotting. The publication proves a regret of the order of `sqrt(K L T)`, up to
    logarithms, where L counts significant shifts: changes after which every arm has been too far behind over some rounds. With
    the bound of the theory, hardly an arm leaves A in so few rounds: for two arms with means 0.8 and 0.2 that change places
    four times in T = 10,000 rounds, the mean regret of 100 runs was 2,982, hardly less than that of drawing uniformly, 3,004.
    With C = 0.3 and P = 0.1 it was 1,280, for SW-UCB with a window of 1,000 rounds 177, and for UCB1 330.

    Example:
        >>> META(horizon=10_000)
        META(horizon=10000, C=1.0, P=1.0, low=0.0, high=1.0, outside='refuse')

    Reference: Suk, Kpotufe, "Tracking most significant arm switches in bandits", COLT 2022.
    """

    horizon: int = parameter(HORIZON, "number of rounds T")
    C: float = parameter(POSITIVE, "scale of the gap at which an arm is eliminated", default=1.0)
    P: float = parameter(POSITIVE, "scale of the probability of replays", default=1.0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "meta"
    title = "META"
    first_pulls = False
    check = check_range
    needs_horizon = True
    randomised = True
    restless = True
    cost = "O(K t)"
    memory = "O(K t)"


class State(NamedTuple):
    gone: Ints  # [K, 64] 1 if the arm has left the set of the replay of 2^j rounds; column 0: the master set
    drawn: Ints  # [K] 1 if the arm was in A, and available, in the last round that was played
    size: Ints  # [K] the |A| from which the arm was drawn last
    inside: Ints  # [K, capacity + 1] `drawn` in the round of each reward of this episode
    played: Ints  # [capacity + 1] arm of each of these rewards, -1 if it was forgotten
    value: Floats  # [capacity + 1] x_s
    rounds: Ints  # [capacity + 1] its round
    rewards: Ints  # [1] how many there are
    start: Ints  # [64] the first round of the replay of 2^j rounds, or 0 if none runs; of the episode for j = 0
    now: Ints  # [1] the last round that was played
    epoch: Ints  # [2] of the doubling trick, not the episodes above: rounds before, and length T
    presence: Presence  # K


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        gone=np.zeros((n_arms, _ORDERS), np.int64),
        drawn=np.zeros(n_arms, np.int64),
        size=np.zeros(n_arms, np.int64),
        inside=np.zeros((n_arms, capacity + 1), np.int64),
        played=np.zeros(capacity + 1, np.int64),
        value=np.zeros(capacity + 1),
        rounds=np.zeros(capacity + 1, np.int64),
        rewards=np.zeros(1, np.int64),
        start=np.zeros(_ORDERS, np.int64),
        now=np.zeros(1, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )
    reset(p, s, p.horizon)
    return s


def reset(p: Params, s: State, horizon: int) -> None:
    begin_episode(s, 0)
    s.drawn[:] = 0
    s.size[:] = 0
    s.now[0] = 0
    s.epoch[0], s.epoch[1] = 0, horizon


def begin_episode(s: State, t: int) -> None:
    s.gone[:] = 0
    s.start[:] = 0
    s.start[0] = t
    s.rewards[0] = 0


def settle(s: State, t: int) -> None:
    """Begin an episode at round t if the master set is empty, and end the replays that do not last until round t."""
    left = 0
    for i in range(s.drawn.size):
        left += s.presence.here[i] * (1 - s.gone[i, 0])
    if left == 0 or s.start[0] == 0:
        begin_episode(s, t)
    for j in range(1, s.start.size):
        if s.start[j] > 0 and t > s.start[j] + (1 << j):
            s.start[j] = 0


def chance(p: Params, s: State, j: int, t: int) -> float:
    """Return the probability with which a replay of 2^j rounds is drawn in round t."""
    return min(1.0, float(p.P / math.sqrt(float(1 << j) * (t - s.start[0]))))


def longest(s: State) -> int:
    """Return the j of the longest replays: 2^j is the first power of 2 from T on."""
    j = 1
    while (1 << j) < s.epoch[1]:
        j += 1
    return j


def begin_replay(p: Params, s: State, t: int, u: float) -> None:
    """Begin the longest replay that is drawn, if one is. Those that would end before it never go on."""
    none = 1.0
    for j in range(longest(s), 0, -1):
        none *= 1.0 - chance(p, s, j, t)
        if u < 1.0 - none:
            s.start[1 : j + 1] = 0
            s.start[j] = t
            s.gone[:, j] = 0
            return


def active(s: State) -> int:
    """Return the j of the replay that is played, the shortest; 0 for none."""
    for j in range(1, s.start.size):
        if s.start[j] > 0:
            return j
    return 0


def gather(s: State, arms: Ints, out: Ints) -> int:
    """Write 1 into `out` for every arm that may be drawn, and return their number: all arms, if A has none of them."""
    j, number = active(s), 0
    out[:] = 0
    for i in arms:
        if s.gone[i, j] == 0:
            out[i] = 1
            number += 1
    if number == 0:
        for i in arms:
            out[i] = 1
        number = arms.size
    return number


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    settle(s, t)
    if s.now[0] < t and s.start[0] < t:
        begin_replay(p, s, t, uniform(key, t, 0))
    s.now[0] = t
    number = gather(s, arms, s.drawn)
    rank = int(uniform(key, t, 1) * number)
    chosen = arms[0]
    for i in arms:
        if s.drawn[i] == 1:
            if rank == 0:
                chosen = i
            rank -= 1
    s.size[chosen] = number
    return int(chosen)


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    settle(s, t)
    none = 1.0
    if s.now[0] < t and s.start[0] < t:
        for j in range(longest(s), 0, -1):
            none *= 1.0 - chance(p, s, j, t)
    number = gather(s, arms, s.drawn)
    for k in range(arms.size):
        out[k] = (1.0 - none) / arms.size + none * s.drawn[arms[k]] / number


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the reward, and eliminate the arms that are now too far behind its arm."""
    if s.start[0] == 0:  # before the first choice
        begin_episode(s, t)
    if s.size[arm] == 0:
        s.size[arm] = s.presence.number[0]
    n = s.rewards[0]
    s.played[n], s.value[n], s.rounds[n] = arm, s.size[arm] * to_unit(p.low, p.high, reward), t
    for i in range(s.drawn.size):
        s.inside[i, n] = s.drawn[i]
    s.rewards[0] = n + 1
    if s.value[n] == 0.0:
        return  # no gap has grown
    bound = p.C * log(float(s.epoch[1]))
    for a in range(s.drawn.size):
        if s.drawn[a] == 1 and a != arm:
            first = last_violation(s, a, arm, t, bound)
            for j in range(s.start.size):
                if 0 < s.start[j] <= first:
                    s.gone[a, j] = 1


def last_violation(s: State, a: int, b: int, t: int, bound: float) -> int:
    """Return the last round r such that arm a is too far behind arm b over the rounds r to t, or 0."""
    K = s.presence.number[0]
    high, low = 0.0, 0.0
    for n in range(s.rewards[0] - 1, -1, -1):
        r = s.rounds[n]
        if s.played[n] == b and s.inside[a, n] == 1:
            high, low = add(high, low, s.value[n])
        elif s.played[n] == a:
            high, low = add(high, low, -s.value[n])
        whole = n == 0 or s.rounds[n - 1] < r  # late rewards may share a round
        if whole and high > bound * K and high > bound * math.sqrt(float(K * (t - r))):
            return int(r)
    return 0


def forget(p: Params, s: State, arm: int) -> None:
    for n in range(s.rewards[0]):
        if s.played[n] == arm:
            s.played[n] = -1


META.kernel = Kernel(init, choose, update, propensities=propensities, forget=forget, reset=reset)
