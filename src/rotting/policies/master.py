"""MASTER over UCB1: instances of UCB1 on many scales, and a restart when what they promise and what they earn disagree."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, FRACTION, POSITIVE
from rotting.policies.ada_iltcb import orders
from rotting.policies.kernels.elementary import log
from rotting.policies.kernels.exact_sums import add
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.presence import Presence, new_presence
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policies.ucbt_asw import HORIZON
from rotting.policy import Kernel, Params, Policy, parameter


class MASTER(Policy):
    """MASTER over UCB1: play it on blocks of doubling length, with shorter instances at random, and restart at an alarm.

    A block of order n has 2^n rounds. In each of its rounds number 0, `2^m`, `2 2^m`, ..., for m = n, ..., 0, an instance of
    UCB1 of order m begins with probability `rho(2^n) / rho(2^m)`, where `rho(t) = sqrt(K / t) + K / t`. It runs for 2^m rounds.
    The shortest instance that runs is played: it pulls the arm with the largest `mean_i + sqrt(2 ln(T / delta) / N_i)` of its
    own rewards, and this reward is its own. Let f be that largest index, at most 1, U the smallest f of the block so far, and
    `rho'(t) = C (log2(T) + 1) ln(T / delta) rho(t)`. After a round, the next block has order 0 if

    - an instance of order m has ended, and the mean reward of all its rounds is `U + 9 rho'(2^m)` or more; or
    - the mean of f less that of the rewards, over the t rounds of this block, is `3 rho'(t)` or more.

    Otherwise, a block of order n is followed by one of order n + 1. The first block has order 0.

    Args:
        horizon: number of rounds T, 2 or more.
        delta: chance of a wrong confidence bound, in (0, 1].
        C: scale of the tests; 6 in theory.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    Ours are the index and its cut at 1, where the publication admits any optimistic estimate, and that `rho` has no logarithm,
    as in active_ptw. The rule was written from a summary, and compared with the code of Gerogiannis et al. (2024), which has
    the same instances and tests. A reward that comes late counts in the instances of the round in which it comes; one that
    comes before the first choice begins the first block.

    Needs the horizon and the range of the rewards; not how much the means change. Made for arms that change with time
    (restless); no guarantee for rested rotting. The publication proves a regret of the order of
    `min(sqrt(L T), V^(1/3) T^(2/3))`, up to logarithms, for L changes and a total variation V. With C = 6, no test can fire in
    practice, as Gerogiannis et al. ("Is prior-free black-box non-stationary reinforcement learning feasible?", 2024) prove: if
    T = 10,000 and K = 2, `3 rho'(t)` is above 1, the largest difference there can be, for t below 19 million. What is left is
    UCB1 with random restarts. For two arms with means 0.8 and 0.2 that change places four times in T = 10,000 rounds, the mean
    regret of 100 runs was 1,215, with C = 0.02 1,471, for SW-UCB with a window of 1,000 rounds 177, and for UCB1 330. With ten
    times as many rounds it was 4.9 times as large, where a root would be 3.2 times.

    Example:
        >>> MASTER(horizon=10_000)
        MASTER(horizon=10000, delta=0.05, C=6.0, low=0.0, high=1.0, outside='refuse')

    Reference: Wei, Luo, "Non-stationary reinforcement learning without prior knowledge: an optimal black-box approach", COLT
    2021.
    """

    horizon: int = parameter(HORIZON, "number of rounds T")
    delta: float = parameter(FRACTION, "chance of a wrong confidence bound", default=0.05)
    C: float = parameter(POSITIVE, "scale of the tests; 6 in theory, far less in practice", default=6.0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "master"
    title = "MASTER"
    first_pulls = False
    check = check_range
    needs_horizon = True
    randomised = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


class State(NamedTuple):
    pulls: Ints  # [K, orders] pulls of each arm by the instance of each order
    high: Floats  # [K, orders] sum of their rewards, as high + low
    low: Floats
    start: Ints  # [orders] the first round of the instance of each order, or 0 if none runs
    rewards: Ints  # [orders] number of all rewards since then
    total: Floats  # [orders] their sum, as total + rest
    rest: Floats
    block: Ints  # [3] order of the block, its first round (0 = none has begun), and the last round that was played
    rounds: Ints  # [1] rounds of the block that were played
    promised: Floats  # [3] the sum of f over these rounds, as high + low, and the smallest f
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length T
    presence: Presence  # K


def init(p: Params, n_arms: int, capacity: int) -> State:
    M = orders(capacity)
    s = State(
        pulls=np.zeros((n_arms, M), np.int64),
        high=np.zeros((n_arms, M)),
        low=np.zeros((n_arms, M)),
        start=np.zeros(M, np.int64),
        rewards=np.zeros(M, np.int64),
        total=np.zeros(M),
        rest=np.zeros(M),
        block=np.zeros(3, np.int64),
        rounds=np.zeros(1, np.int64),
        promised=np.zeros(3),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )
    reset(p, s, p.horizon)
    return s


def reset(p: Params, s: State, horizon: int) -> None:
    begin_block(s, 0, 0)
    s.block[2] = 0
    s.epoch[0], s.epoch[1] = 0, horizon


def begin_block(s: State, n: int, t: int) -> None:
    s.block[0], s.block[1] = n, t
    s.rounds[0] = 0
    s.promised[0], s.promised[1], s.promised[2] = 0.0, 0.0, math.inf
    s.start[:] = 0


def rho(s: State, t: int) -> float:
    """Return `rho(t) = sqrt(K / t) + K / t`."""
    ratio = float(s.presence.number[0]) / t
    return math.sqrt(ratio) + ratio


def log_term(p: Params, s: State) -> float:
    """Return `ln(T / delta)`."""
    return log(s.epoch[1] / p.delta)


def slack(p: Params, s: State, t: int) -> float:
    """Return `rho'(t)`."""
    return float(p.C * (log(float(s.epoch[1])) / log(2.0) + 1.0) * log_term(p, s) * rho(s, t))


def settle(p: Params, s: State, t: int) -> None:
    """Do what follows the rounds before t: test the instances that have ended, and the block, and begin the next block."""
    n, first = s.block[0], s.block[1]
    if first == 0:
        begin_block(s, 0, t)
        return
    if s.block[2] == t:
        return
    alarm = False
    if s.rewards[n] > 0 and s.rounds[0] > 0:
        behind = s.promised[0] / s.rounds[0] - s.total[n] / s.rewards[n]
        alarm = behind >= 3.0 * slack(p, s, s.block[2] - first + 1)
    for m in range(n + 1):
        if s.start[m] > 0 and t >= s.start[m] + (1 << m):
            s.start[m] = 0
            if s.rewards[m] > 0:
                alarm = alarm or s.total[m] / s.rewards[m] >= s.promised[2] + 9.0 * slack(p, s, 1 << m)
    if alarm:
        begin_block(s, 0, t)
    elif t >= first + (1 << n):
        begin_block(s, n + 1, t)


def active(s: State) -> int:
    """Return the order of the shortest instance that runs, or -1 if none does."""
    for m in range(s.block[0] + 1):
        if s.start[m] > 0:
            return m
    return -1


def begins(s: State, m: int, t: int) -> float:
    """Return the probability that an instance of order m begins with round t."""
    elapsed = t - s.block[1]
    return 0.0 if s.start[m] > 0 or elapsed % (1 << m) != 0 else min(1.0, rho(s, 1 << s.block[0]) / rho(s, 1 << m))


def begin_instances(s: State, t: int, key: int) -> None:
    """Begin instances at random; that of the order of the block begins with it, for certain."""
    draw = 0
    for m in range(s.block[0], -1, -1):
        chance = begins(s, m, t)
        if chance > 0.0:
            if uniform(key, t, draw) < chance:
                begin_instance(s, m, t)
            draw += 1


def begin_instance(s: State, m: int, t: int) -> None:
    s.start[m] = t
    s.rewards[m], s.total[m], s.rest[m] = 0, 0.0, 0.0
    s.pulls[:, m] = 0
    s.high[:, m] = 0.0
    s.low[:, m] = 0.0


def index(p: Params, s: State, m: int, i: int) -> float:
    """Return the index of an arm in the instance of order m."""
    n = s.pulls[i, m]
    return math.inf if n == 0 else s.high[i, m] / n + math.sqrt(2.0 * log_term(p, s) / n)


def largest(p: Params, s: State, m: int, arms: Ints) -> int:
    """Return the arm with the largest index in the instance of order m."""
    best, best_index = arms[0], -math.inf
    for i in arms:
        value = index(p, s, m, i)
        if value > best_index:
            best, best_index = i, value
    return int(best)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    settle(p, s, t)
    if s.block[2] < t:
        begin_instances(s, t, key)
    m = active(s)
    arm = largest(p, s, m, arms)
    if s.block[2] < t:
        f = min(1.0, index(p, s, m, arm))
        s.promised[0], s.promised[1] = add(s.promised[0], s.promised[1], f)
        s.promised[2] = min(s.promised[2], f)
        s.rounds[0] += 1
        s.block[2] = t
    return arm


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    """Write the probability of each arm: a shorter instance that begins now pulls the first one."""
    settle(p, s, t)
    m = active(s)
    stays = 0.0 if m < 0 else 1.0
    if s.block[2] < t:
        for shorter in range(m):
            stays *= 1.0 - begins(s, shorter, t)
    chosen = arms[0] if m < 0 else largest(p, s, m, arms)
    for k in range(arms.size):
        out[k] = stays if arms[k] == chosen else 0.0
    out[0] += 1.0 - stays


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Count the reward in every instance that runs; the one that is played learns it."""
    if s.block[1] == 0:  # before the first choice
        begin_block(s, 0, t)
        begin_instance(s, 0, t)
    m = active(s)
    x = to_unit(p.low, p.high, reward)
    s.pulls[arm, m] += 1
    s.high[arm, m], s.low[arm, m] = add(s.high[arm, m], s.low[arm, m], x)
    for order in range(m, s.block[0] + 1):
        if s.start[order] > 0:
            s.rewards[order] += 1
            s.total[order], s.rest[order] = add(s.total[order], s.rest[order], x)


MASTER.kernel = Kernel(init, choose, update, propensities=propensities, reset=reset)
