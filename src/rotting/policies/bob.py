"""BOB: bandit over bandit, which learns the window of SW-UCB from block to block."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, POSITIVE
from rotting.policies.kernels.elementary import ceil, exp, floor, log, power
from rotting.policies.kernels.exact_sums import add
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.forgetting import Recent, add_recent, forget_recent, new_recent, recent_sum, slide_to, start_recent
from rotting.policies.parts.indices import by_index
from rotting.policies.parts.presence import Presence, new_presence
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policies.ucbt_asw import HORIZON
from rotting.policy import Kernel, Params, Policy, Reason, parameter

_CANDIDATES = 64  # room for the windows: their number is ceil(ln H) + 1, with H at most 2^53


class BOB(Policy):
    """BOB: SW-UCB in blocks, each from scratch, with a window that Exp3 draws for the block.

    Blocks have `H = floor(sqrt(K T))` rounds. With `D = ceil(ln H)`, the windows are `floor(H^(j / D))` for j = 0, ..., D. When
    a block begins, j is drawn with the probability `p_j = (1 - gamma) w_j / W + gamma / (D + 1)`, where `gamma = min(1,
    sqrt((D + 1) ln(D + 1) / ((e - 1) ceil(T / H))))`. In the block, the arm with the largest
    `mean_i + sqrt(xi ln(min(t, tau)) / N_i)` is played, as by SW-UCB, with rounds t of the block. Rewards are mapped from
    [low, high] to [0, 1]; after the block, `w_j *= exp(gamma x / ((D + 1) p_j))`, where x is the sum of its rewards over H.

    Args:
        horizon: number of rounds T, 2 or more.
        xi: confidence level of SW-UCB.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Ours is the x: rewards of a known range are in [0, 1] on average, as Exp3 wants them, where the publication maps sums of
    unbounded rewards there with high probability. The rule was written from a summary of the publication. A reward that comes
    late counts in the block in which it comes, one that comes before the first choice in none.

    Needs the horizon and the range of the rewards; not how much the means change. Made for arms that change with time
    (restless), not sound for rested rotting: each block begins with every arm. The publication proves a regret of the order of
    `V^(1/3) (K T)^(2/3) + K^(1/2) T^(3/4)`, up to logarithms, for a total variation V. For two arms whose
    means change places, `0.5 +- 0.3 sin(5 pi t / T)`, with T = 10,000, the mean regret of 100 runs was 958, for SW-UCB with a
    window of 1,000 rounds 107, and for UCB1 370: blocks of 141 rounds begin too often, and 71 of them are few for Exp3.

    Example:
        >>> BOB(horizon=10_000)
        BOB(horizon=10000, xi=0.6, low=0.0, high=1.0, outside='refuse')

    Reference: Cheung, Simchi-Levi, Zhu, "Learning to optimize under non-stationarity", AISTATS 2019; "Hedging the drift:
    learning to optimize under nonstationarity", Management Science 2022.
    """

    horizon: int = parameter(HORIZON, "number of rounds T")
    xi: float = parameter(POSITIVE, "confidence level of SW-UCB; above 1/2 in theory", default=0.6)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "bob"
    title = "BOB"
    first_pulls = False
    check = check_range
    needs_horizon = True
    randomised = True
    restless = True
    memory = "O(K + t)"


class State(NamedTuple):
    recent: Recent  # the rewards of the last rounds of the block
    log_weights: Floats  # [64] ln w_j
    chances: Floats  # [64] p_j
    drawn: Floats  # [1] the number that j was drawn with
    total: Floats  # [2] sum of the rewards of the block, as high + low
    block: Ints  # [3] first round of the block, its length H (0 = none has begun), and j
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length T
    presence: Presence  # K


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        recent=new_recent(n_arms, capacity),
        log_weights=np.zeros(_CANDIDATES),
        chances=np.zeros(_CANDIDATES),
        drawn=np.zeros(1),
        total=np.zeros(2),
        block=np.zeros(3, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )
    reset(p, s, p.horizon)
    return s


def last_candidate(H: int) -> int:
    """Return `D = ceil(ln H)`."""
    return ceil(log(float(H)))


def exploration(s: State, H: int) -> float:
    """Return `gamma = min(1, sqrt((D + 1) ln(D + 1) / ((e - 1) ceil(T / H))))`."""
    number = last_candidate(H) + 1.0
    blocks = (s.epoch[1] + H - 1) // H
    return min(1.0, math.sqrt(number * log(number) / ((math.e - 1.0) * blocks)))


def is_over(s: State, t: int) -> bool:
    """Return whether round t begins a block."""
    return bool(t >= s.block[0] + s.block[1])


def begin_block(s: State, t: int, key: int) -> None:
    """Reward the window of the block that is over, and draw that of the next."""
    if s.block[1] > 0:
        j, H = s.block[2], s.block[1]
        s.log_weights[j] += exploration(s, H) * (s.total[0] / H) / ((last_candidate(H) + 1) * s.chances[j])
    start_recent(s.recent, 0)
    s.total[:] = 0.0
    s.block[0], s.drawn[0] = t, uniform(key, t, 0)
    set_up(s)


def set_up(s: State) -> None:
    """Set the length and the window of this block by the number of arms and by what was drawn."""
    H = floor(math.sqrt(float(s.presence.number[0]) * s.epoch[1]))
    D, gamma = last_candidate(H), exploration(s, H)
    top, total = -math.inf, 0.0
    for j in range(D + 1):
        top = max(top, s.log_weights[j])
    for j in range(D + 1):
        s.chances[j] = exp(s.log_weights[j] - top)
        total += s.chances[j]
    for j in range(D + 1):
        s.chances[j] = (1.0 - gamma) * (s.chances[j] / total) + gamma / (D + 1)
    below, j = s.chances[0], 0
    while s.drawn[0] >= below and j < D:
        j += 1
        below += s.chances[j]
    s.block[1], s.block[2] = H, j
    # A power that is a whole number may be rounded to just below it.
    s.recent.tau[0] = floor(power(float(H), j / D) + 1e-9) if D > 0 else 1


def tune(p: Params, s: State) -> None:
    """Set up the block for the arms that are there now, unless it has rewards: then the next block is the first for them."""
    if s.block[1] > 0 and s.recent.marks[2] == 0:
        set_up(s)


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return the index of SW-UCB in the block, in the units of the mapped rewards."""
    n = s.recent.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean = recent_sum(s.recent, i) / n
    c = math.sqrt(p.xi * log(float(min(t - s.block[0] + 1, s.recent.tau[0]))) / n)
    return Reason(mean + c, mean, n, c)


def begin_round(s: State, t: int) -> None:
    slide_to(s.recent, t)


largest = by_index(index, begin_round)["choose"]


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    if is_over(s, t):
        begin_block(s, t, key)
    return int(largest(p, s, t, key, arms))


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    """Write 1 for the arm of the largest index: only windows are drawn, and in the first round of a block all arms are new."""
    chosen = arms[0] if is_over(s, t) else largest(p, s, t, 0, arms)
    for k in range(arms.size):
        out[k] = 1.0 if arms[k] == chosen else 0.0


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    if is_over(s, t):
        return Reason(math.inf, math.nan, 0, math.inf)  # as of any arm when a block begins
    slide_to(s.recent, t)
    reason = index(p, s, t, i)
    span = p.high - p.low
    return Reason(p.low + span * reason.value, p.low + span * reason.mean, reason.window, span * reason.width)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    x = to_unit(p.low, p.high, reward)
    add_recent(s.recent, t, arm, x)
    s.total[0], s.total[1] = add(s.total[0], s.total[1], x)


def forget(p: Params, s: State, arm: int) -> None:
    forget_recent(s.recent, arm)


def reset(p: Params, s: State, horizon: int) -> None:
    start_recent(s.recent, horizon)
    s.log_weights[:] = 0.0
    s.chances[:] = 0.0
    s.drawn[0] = 0.0
    s.total[:] = 0.0
    s.block[:] = 0
    s.epoch[0], s.epoch[1] = 0, horizon


BOB.kernel = Kernel(init, choose, update, explain, propensities, forget=forget, reset=reset, tune=tune)
