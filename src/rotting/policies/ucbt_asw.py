"""UCBT-ASW: one arm at a time, until a window of its last rewards shows that it is no longer good enough."""

import math
from typing import Any, NamedTuple

import numpy as np

from rotting.kit import (
    FINITE,
    NONNEGATIVE,
    POSITIVE,
    Floats,
    Ints,
    Kernel,
    Params,
    Policy,
    Rule,
    add,
    difference,
    log,
    parameter,
    power,
)

HORIZON = Rule("a whole number, 2 or more", low=2, high=2**53, whole=True)


class UCBTASW(Policy):
    """UCBT-ASW, for rotting arms that are very many: plays one arm as long as it is good enough, and most arms never.

    After n rewards of the current arm in a row, its statistic is the least `mean of the last h + sigma sqrt(12 ln(T) / h)` over
    h = 1, 2, 4, ... up to n. The arm is kept while its statistic is at least `high - delta`; then the lowest arm that was never
    played follows. The arms are taken as drawn at random, with a chance of the order of x^beta that one starts within x of the
    top, and `delta = max((V / T)^(1 / (beta + 2)), T^(-1 / (beta + 1)))`; for beta < 1, both exponents are those of beta = 1:
    `max((V / T)^(1/3), T^(-1/2))`.

    Args:
        horizon: number of rounds T, 2 or more.
        budget: V, how much the means of the played arms fall in all; 0 if they do not fall.
        beta: how rare good arms are; 1 for uniform means.
        sigma: sub-Gaussian scale of the rewards.
        high: the best mean that an arm can have.

    Ours, as the publication has infinitely many arms: where none is left that was never played, the arm with the largest
    statistic is played, and what it had when it was left stays an upper bound: means only fall. The current arm is that of the
    last reward, so that late rewards of other arms begin new rows.

    Needs the horizon, the scale of the noise, the best possible mean, and the total fall. Made for rested rotting, and for more
    arms than can be tried. The publication proves a regret of the order of `max(V^(1 / (beta + 2)) T^((beta + 1) / (beta + 2)),
    T^(beta / (beta + 1)))`, up to logarithms, and that for beta >= 1 no policy has a lower order. In three problems of
    20,000 rounds with 1,000 arms of uniform means and sigma = 0.1, 20 runs each, the mean regret, against the best order of all
    pulls, was 663 if the means stay (UCB1: 1,041), and 952 if they fall by 1e-5 with each pull (UCB1: 871, so that trying every
    arm paid).

    Example:
        >>> UCBTASW(horizon=100_000, budget=1.0, sigma=0.1)
        UCBTASW(horizon=100000, budget=1.0, beta=1.0, sigma=0.1, high=1.0)

    Reference: Kim, Vojnović, Yun, "An adaptive approach for infinitely many-armed bandits under generalized rotting
    constraints", NeurIPS 2024, Algorithm 1.
    """

    horizon: int = parameter(HORIZON, "number of rounds T")
    budget: float = parameter(NONNEGATIVE, "total fall of the means of the played arms", default=0.0)
    beta: float = parameter(POSITIVE, "how rare good arms are; 1 for uniform means", default=1.0)
    sigma: float = parameter(POSITIVE, "sub-Gaussian scale of the rewards", default=1.0)
    high: float = parameter(FINITE, "the best mean that an arm can have", default=1.0)

    name = "ucbt-asw"
    title = "UCBT-ASW"
    first_pulls = False
    needs_horizon = True
    needs_changes = True
    rested = True
    cost = "O(K + log t)"
    memory = "O(K + t)"


class State(NamedTuple):
    pulls: Ints  # [K] rewards of each arm
    statistic: Floats  # [K] infinite before the first reward
    current: Ints  # [2] the arm of the last reward, or -1, and its rewards in a row
    before: Floats  # [1] its statistic before this row
    high: Floats  # [capacity + 1] sum of the first n rewards of the row, as high + low
    low: Floats
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length T


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        pulls=np.zeros(n_arms, np.int64),
        statistic=np.full(n_arms, math.inf),
        current=np.zeros(2, np.int64),
        before=np.full(1, math.inf),
        high=np.zeros(capacity + 1),
        low=np.zeros(capacity + 1),
        epoch=np.zeros(2, np.int64),
    )
    reset(p, s, p.horizon)
    return s


def threshold(p: Params, s: State) -> float:
    """Return `high - delta`."""
    T = float(s.epoch[1])
    beta = max(1.0, p.beta)
    return float(p.high - max(power(p.budget / T, 1.0 / (beta + 2.0)), power(T, -1.0 / (beta + 1.0))))


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return next_arm(s, threshold(p, s), arms)


# UCB-TP shares the functions of `s: Any`, and has the same rows in its own state.


def next_arm(s: Any, enough: float, arms: Ints) -> int:
    """Return the current arm if it is good enough; else the lowest new one; else that with the largest statistic."""
    best = arms[0]
    for i in arms:
        if i == s.current[0] and s.statistic[i] >= enough:
            return int(i)
        if s.statistic[i] > s.statistic[best]:
            best = i
    return int(best)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    begin_row(s, arm)
    n = s.current[1]
    s.high[n + 1], s.low[n + 1] = add(s.high[n], s.low[n], reward)
    s.current[1] = n = n + 1
    value, h, variance = s.before[0], 1, 12.0 * log(float(s.epoch[1]))
    while h <= n:
        mean = difference(s.high[n], s.low[n], s.high[n - h], s.low[n - h]) / h
        value = min(value, mean + p.sigma * math.sqrt(variance / h))
        h *= 2
    s.statistic[arm] = value


def begin_row(s: Any, arm: int) -> None:
    """Count the reward, and begin a new row if the last reward was another arm's."""
    s.pulls[arm] += 1
    if arm != s.current[0]:
        s.current[0], s.current[1] = arm, 0
        s.before[0] = s.statistic[arm]


def forget(p: Params, s: Any, arm: int) -> None:
    if s.current[0] == arm:
        s.current[0], s.current[1] = -1, 0


def reset_rows(s: Any, horizon: int) -> None:
    s.pulls[:] = 0
    s.statistic[:] = math.inf
    s.current[0], s.current[1] = -1, 0
    s.before[0] = math.inf
    s.epoch[0], s.epoch[1] = 0, horizon


def reset(p: Params, s: State, horizon: int) -> None:
    reset_rows(s, horizon)


UCBTASW.kernel = Kernel(init, choose, update, forget=forget, reset=reset)
