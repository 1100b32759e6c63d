"""Ada-ILTCB+: blocks that double, replays of earlier blocks at random, and a new epoch when a replay or a block differs."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.kit import (
    FINITE,
    FRACTION,
    OUTSIDE,
    POSITIVE,
    Floats,
    Ints,
    Kernel,
    Params,
    Policy,
    Presence,
    Rule,
    add,
    ceil,
    check_range,
    log,
    new_presence,
    parameter,
    to_unit,
    uniform,
)

_HORIZON = Rule("a whole number, 2 or more", low=2, high=2**53, whole=True)
_LENGTH = Rule("a positive number of at most 1e6", low=0.0, open_low=True, high=1e6)


class AdaILTCB(Policy):
    """Ada-ILTCB+ without contexts: minimax for changing arms without knowing the changes, after very long exploration.

    Epochs consist of blocks 0, 1, 2, ... of L, L, 2L, 4L, ... rounds, where `L = ceil(length K C0)` and
    `C0 = ln(8 T^3 K^2 / delta)`. With `nu_j = sqrt(C0 / (K 2^j L))`, at most 1 / (2K), and Reg_j(i) the difference between the
    largest estimated mean in block j and that of arm i (sums of `reward / probability of its draw`, over the rounds of the
    block):

    - Q_j gives arm i the probability `max(nu_j, 1 / (2K + Reg_{j-1}(i) / (C nu_j)))`, and what is left to the arm with the
      largest mean; arms that tie share it. In Q_0 all arms tie.
    - In each round of block j, a replay of order m = 0, ..., j - 1 starts with probability `2^(-j/2) 2^(-m/2) / L`, and lasts
      2^m L rounds or to the end of the block. While replays run, one of their orders m is drawn, each alike, and the arm is
      drawn from Q_m; else from Q_j.
    - A new epoch begins after a replay of order m or a block whose Reg is too far from that of an earlier block for some arm:
      one of the two exceeds `multiple` times the other by more than `D K nu_m ln(T)`. A replay is compared with the block
      before, a block with every earlier block m of the epoch.

    Args:
        horizon: number of rounds T, 2 or more.
        delta: chance of a wrong confidence bound, in (0, 1].
        length: length of the first block, in units of `K C0` rounds.
        C: weight of exploration in Q_j. The larger, the closer to equal are the shares of the other arms.
        D: difference at which the tests begin a new epoch, in units of `K nu_m ln(T)`.
        multiple: multiple of the other estimate that the tests allow for.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    How long it explores: all arms have the same probability in the first L rounds of every epoch. With the defaults, L is
    10,910 rounds for 2 arms and T = 10,000, more than the whole game; 70,751 for 10 arms and T = 100,000; 81,804 for 10 arms
    and T = 1,000,000. After that, the best of 10 arms gets little more than half of the rounds: if the others are 0.5 behind,
    57 % in block 1 and 62 % in block 5, which begins after `16 L` rounds. And the tests find nothing: `D K nu_m ln(T)` falls
    below 1, the largest difference that means can have, at m = 7 if T is a million, so after `128 L` rounds. Use it as the
    baseline of the theory. In practice, take AdSwitch or GLR-klUCB, or give constants that are far smaller.

    Without contexts, the publication's optimisation problem, `sum_i Q(i) Reg(i) <= 2 K C nu` with
    `1 / Q^nu(i) <= 2K + Reg(i) / (C nu)` for every arm, is solved by the Q_j above, which is Q^nu. Its tests of the variance
    compare 1 / Q^nu(i) with itself: they cannot fail and are left out. Ours are the defaults of `C` (that of ILTCB, Agarwal et
    al. 2014), `D` and `multiple`; one draw for the starts of replays, so that at most one starts in a round; and that a reward
    is divided by the probability of its arm before that draw. In the estimate of an arm, a round in which it is not available
    counts as a reward of 0. An arm that is added begins a new epoch, which starts with its first reward. The rule was written
    from a summary of the publication, and not compared with code of its authors.

    Needs the horizon and the range of the rewards; not the number of changes. Made for arms that change with time (restless);
    no guarantee for rested rotting, where its estimates compare arms that its own draws have worn.

    Example:
        >>> AdaILTCB(horizon=1_000_000)  # doctest: +NORMALIZE_WHITESPACE
        AdaILTCB(horizon=1000000, delta=0.05, length=160.0, C=100.0, D=10.0, multiple=4.0, low=0.0, high=1.0,
        outside='refuse')

    Reference: Chen, Lee, Luo, Wei, "A new algorithm for non-stationary contextual bandits: efficient, optimal, and
    parameter-free", COLT 2019.
    """

    horizon: int = parameter(_HORIZON, "number of rounds T")
    delta: float = parameter(FRACTION, "chance of a wrong confidence bound", default=0.05)
    length: float = parameter(_LENGTH, "length of the first block, in units of K ln(8 T^3 K^2 / delta) rounds", default=160.0)
    C: float = parameter(POSITIVE, "weight of exploration after the first block", default=100.0)
    D: float = parameter(POSITIVE, "difference at which a new epoch begins, in units of K nu_m ln(T)", default=10.0)
    multiple: float = parameter(POSITIVE, "multiple of the other estimate that the tests allow for", default=4.0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "ada-iltcb"
    title = "Ada-ILTCB+"
    first_pulls = False
    needs_horizon = True
    randomised = True
    restless = True
    cost = "O(K log t)"
    memory = "O(K log t + t)"
    check = check_range


class State(NamedTuple):
    mean: Floats  # [K, orders] column j + 1: estimated mean in block j, or in a replay of that block; column 0: all equal
    low: Floats  # [K] low parts of the sums in the making, and working space of `choose`
    chances: Floats  # [K] working space of `choose`
    propensity: Floats  # [K] the probability with which each arm was last drawn
    known: Ints  # [K] whether the arm has been there since the epoch began
    played: Ints  # [capacity + 1] arm of each reward of this block, -1 if it was forgotten
    estimate: Floats  # [capacity + 1] the reward over the probability of its arm
    rounds: Ints  # [capacity + 1] the round in which it came
    started: Ints  # [capacity + 1] order of the replay that started in each round, or -1
    last: Ints  # [orders] round in which a replay of each order started last in this block, or 0
    block: Ints  # [3] number of the block, its first round, and L
    rewards: Ints  # [1] how many there are in this block
    now: Ints  # [1] the round that is played
    epoch: Ints  # [2] of the doubling trick, not the epochs above: rounds before, and length T
    presence: Presence


def reset(p: Params, s: State, horizon: int) -> None:
    s.propensity[:] = 1.0
    s.low[:] = 0.0
    s.chances[:] = 0.0
    s.known[:] = 0
    s.started[:] = -1
    s.last[:] = 0
    s.block[:] = 0
    s.rewards[0] = 0
    s.now[0] = 0
    s.epoch[0], s.epoch[1] = 0, horizon


def orders(capacity: int) -> int:
    """Return how many columns of `mean` so many rounds can need: block j, of 2^(j-1) rounds or more, writes column j + 1."""
    number = 2
    while capacity > 0:
        number += 1
        capacity //= 2
    return number


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        mean=np.zeros((n_arms, orders(capacity))),
        low=np.zeros(n_arms),
        chances=np.zeros(n_arms),
        propensity=np.ones(n_arms),
        known=np.zeros(n_arms, np.int64),
        played=np.zeros(capacity + 1, np.int64),
        estimate=np.zeros(capacity + 1),
        rounds=np.zeros(capacity + 1, np.int64),
        started=np.zeros(capacity + 1, np.int64),
        last=np.zeros(orders(capacity), np.int64),
        block=np.zeros(3, np.int64),
        rewards=np.zeros(1, np.int64),
        now=np.zeros(1, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )
    reset(p, s, p.horizon)
    return s


def log_term(p: Params, s: State) -> float:
    """Return `C0 = ln(8 T^3 K^2 / delta)`."""
    K, T = float(s.presence.number[0]), float(s.epoch[1])
    return log(8.0 * (T * T * T) * (K * K) / p.delta)


def nu(p: Params, s: State, m: int) -> float:
    """Return nu_m: `sqrt(C0 / (K 2^m L))`, at most 1 / (2K)."""
    K = float(s.presence.number[0])
    return min(0.5 / K, math.sqrt(log_term(p, s) / (K * replay_rounds(s, m))))


def replay_rounds(s: State, m: int) -> int:
    """Return `2^m L`."""
    return int(s.block[2] << m)


def block_rounds(s: State) -> int:
    """Return the length of this block: L, L, 2L, 4L, ..."""
    return replay_rounds(s, max(0, s.block[0] - 1))


def runs(s: State, m: int) -> bool:
    """Return whether a replay of order m is running."""
    return bool(s.last[m] > 0 and s.now[0] - s.last[m] < replay_rounds(s, m))


def start_probability(s: State, m: int) -> float:
    """Return `2^(-j/2) 2^(-m/2) / L`: the probability that a replay of order m < j starts in a round of block j."""
    return 1.0 / (math.sqrt(float(1 << s.block[0]) * float(1 << m)) * float(s.block[2]))


def add_probabilities(p: Params, s: State, m: int, weight: float, arms: Ints, out: Floats) -> None:
    """Add `weight Q_m(i)` of the available arms to `out`; their gaps are to the best of them."""
    K, nu_m = s.presence.number[0], nu(p, s, m)
    top, ties, left = -math.inf, 0, 1.0
    for i in arms:
        top = max(top, s.mean[i, m])
    for i in arms:
        if s.mean[i, m] == top:
            ties += 1
        else:
            left -= max(nu_m, 1.0 / (2.0 * K + (top - s.mean[i, m]) / (p.C * nu_m)))
    for k in range(arms.size):
        gap = top - s.mean[arms[k], m]
        out[k] += weight * (left / ties if gap == 0.0 else max(nu_m, 1.0 / (2.0 * K + gap / (p.C * nu_m))))


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    """Write the probability of each arm, over the start of a replay in this round, the order that is played, and the arm."""
    advance(p, s, t)
    j, running, start = s.block[0], 0, 0.0
    for m in range(j):
        if runs(s, m):
            running += 1
        else:
            start += start_probability(s, m)  # that of an order which does not run yet, so that one more does
    for k in range(arms.size):
        out[k] = 0.0
    for m in range(j):
        if runs(s, m):
            add_probabilities(p, s, m, (1.0 - start) / running + start / (running + 1), arms, out)
        else:
            add_probabilities(p, s, m, start_probability(s, m) / (running + 1), arms, out)
    if running == 0:
        add_probabilities(p, s, j, 1.0 - start, arms, out)


def start_replay(s: State, t: int, u: float) -> None:
    """Start a replay of the order that `u` falls on, if it falls on one: the probabilities sum to less than 1."""
    below = 0.0
    for m in range(s.block[0]):
        below += start_probability(s, m)
        if u < below:
            s.started[t], s.last[m] = m, t
            return


def drawn_order(s: State, u: float) -> int:
    """Return one of the orders of which a replay is running, or the number of the block if none is."""
    running = 0
    for m in range(s.block[0]):
        running += runs(s, m)
    rank = int(u * running)
    for m in range(s.block[0]):
        if runs(s, m):
            if rank == 0:
                return m
            rank -= 1
    return int(s.block[0])


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    propensities(p, s, t, arms, s.chances)
    start_replay(s, t, uniform(key, t, 0))
    for k in range(arms.size):
        s.low[k] = 0.0
    add_probabilities(p, s, drawn_order(s, uniform(key, t, 1)), 1.0, arms, s.low)
    u, k, below = uniform(key, t, 2), 0, s.low[0]
    while u >= below and k < arms.size - 1:
        k += 1
        below += s.low[k]
    s.propensity[arms[k]] = s.chances[k]
    return int(arms[k])


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    advance(p, s, t)
    n = s.rewards[0]
    s.played[n], s.estimate[n], s.rounds[n] = arm, to_unit(p.low, p.high, reward) / s.propensity[arm], s.now[0]
    s.rewards[0] = n + 1


def advance(p: Params, s: State, t: int) -> None:
    """Do what comes before round t: end the rounds before, or begin an epoch if an arm has come."""
    if arm_came(s):
        begin_blocks(p, s, t)
        s.now[0] = t
    for i in range(s.known.size):
        s.known[i] = s.presence.here[i]
    while s.now[0] < t:
        end_round(p, s, s.now[0])
        s.now[0] += 1


def arm_came(s: State) -> bool:
    """Return whether an arm is there that was not there, or not all the time, since the epoch began."""
    for i in range(s.known.size):  # noqa: SIM110 - a generator does not compile
        if s.presence.here[i] > s.known[i]:
            return True
    return False


def begin_blocks(p: Params, s: State, t: int) -> None:
    """Begin an epoch at round t: blocks are counted from 0 again, and L is that of the arms that are there."""
    s.block[2] = ceil(p.length * s.presence.number[0] * log_term(p, s))
    begin_block(s, 0, t)


def begin_block(s: State, j: int, t: int) -> None:
    s.block[0], s.block[1] = j, t
    s.last[:] = 0
    s.rewards[0] = 0


def end_round(p: Params, s: State, t: int) -> None:
    """Test the replays and the block that end with round t."""
    j, first = s.block[0], s.block[1]
    if j == 0 and s.rewards[0] == 0:
        s.block[1] = t + 1  # an epoch begins with its first reward: pulls without rewards tell nothing
        return
    for m in range(j):
        start = t - replay_rounds(s, m) + 1
        if start >= first and s.started[start] == m:
            estimate_means(s, start, t)
            if differs(p, s, m, j - 1):
                begin_blocks(p, s, t + 1)
                return
    if t - first + 1 == block_rounds(s):
        estimate_means(s, first, t)
        for m in range(j):
            if differs(p, s, m, m):
                begin_blocks(p, s, t + 1)
                return
        begin_block(s, j + 1, t + 1)


def estimate_means(s: State, first: int, last: int) -> None:
    """Write the means of the rounds from `first` to `last`, which is now, where those of this block will stand."""
    j, n = s.block[0], s.rewards[0] - 1
    for i in range(s.low.size):
        s.mean[i, j + 1], s.low[i] = 0.0, 0.0
    while n >= 0 and s.rounds[n] >= first:
        i = s.played[n]
        if i >= 0:
            s.mean[i, j + 1], s.low[i] = add(s.mean[i, j + 1], s.low[i], s.estimate[n])
        n -= 1
    for i in range(s.low.size):
        s.mean[i, j + 1] /= last - first + 1


def differs(p: Params, s: State, m: int, block: int) -> bool:
    """Return whether the regret of an arm by the newest means and that in an earlier block differ, for the test of order m."""
    new, old = s.block[0] + 1, block + 1
    slack = p.D * s.presence.number[0] * nu(p, s, m) * log(s.epoch[1])
    top, old_top = -math.inf, -math.inf
    for i in range(s.known.size):
        if s.presence.here[i] == 1:
            top, old_top = max(top, s.mean[i, new]), max(old_top, s.mean[i, old])
    for i in range(s.known.size):
        regret, old_regret = top - s.mean[i, new], old_top - s.mean[i, old]
        if s.presence.here[i] == 1 and max(regret - p.multiple * old_regret, old_regret - p.multiple * regret) > slack:
            return True
    return False


def forget(p: Params, s: State, arm: int) -> None:
    for n in range(s.rewards[0]):
        if s.played[n] == arm:
            s.played[n] = -1


AdaILTCB.kernel = Kernel(init, choose, update, propensities=propensities, forget=forget, reset=reset)
