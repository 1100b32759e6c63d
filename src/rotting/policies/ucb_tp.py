"""UCB-TP: one arm at a time, as long as an upper bound of its mean, which falls at a known pace, is high enough."""

import math
from typing import NamedTuple

import numpy as np

from rotting.kit import FINITE, POSITIVE, PROBABILITY, Floats, Ints, Kernel, Params, Policy, add, log, parameter, power
from rotting.policies.ucbt_asw import HORIZON, begin_row, forget, next_arm, reset_rows


class UCBTP(Policy):
    """UCB-TP, for very many rotting arms whose fall per pull is bounded: UCBT-ASW's forerunner.

    After n rewards X_1, ..., X_n of the current arm in a row, its statistic is
    `mean of (X_j + rho (j - 1)) - rho n + sigma sqrt(8 ln(T) / n)`: the mean is that of the first pull if each pull costs rho.
    The arm is kept while its statistic is at least `high - delta`, with `delta = max(rho^(1/3), T^(-1/2))`; then the lowest arm
    that was never played follows.

    Args:
        horizon: number of rounds T, 2 or more.
        rho: the most that a mean falls with a pull.
        sigma: sub-Gaussian scale of the rewards.
        high: the best mean that an arm can have.

    Ours: `T^(-1/2)` in delta, which counts where rho is below `T^(-3/2)`; and, as the publication has infinitely many arms,
    that the arm with the largest statistic is played where none is left that was never played. What an arm had when it was left
    stays an upper bound. The current arm is that of the last reward, so that late rewards of other arms begin new rows.

    Needs the horizon, the scale of the noise, the best possible mean, and the fall per pull. Made for rested rotting, uniform
    means, and more arms than can be tried. The publication proves a regret of the order of `max(rho^(1/3) T, sqrt(T))`, up to
    logarithms, and that none has a lower order. In three problems of 20,000 rounds
    with 1,000 arms of uniform means that fall by 1e-4 with each pull, sigma = 0.1 and 20 runs each, the mean regret, against
    the best order of all pulls, was 1,178, and 1,446 for UCBT-ASW.

    Example:
        >>> UCBTP(horizon=100_000, rho=1e-5, sigma=0.1)
        UCBTP(horizon=100000, rho=1e-05, sigma=0.1, high=1.0)

    Reference: Kim, Vojnović, Yun, "Rotting infinitely many-armed bandits", ICML 2022, Algorithm 1.
    """

    horizon: int = parameter(HORIZON, "number of rounds T")
    rho: float = parameter(PROBABILITY, "the most that a mean falls with a pull", default=0.001)
    sigma: float = parameter(POSITIVE, "sub-Gaussian scale of the rewards", default=1.0)
    high: float = parameter(FINITE, "the best mean that an arm can have", default=1.0)

    name = "ucb-tp"
    title = "UCB-TP"
    first_pulls = False
    needs_horizon = True
    needs_changes = True
    rested = True


class State(NamedTuple):
    pulls: Ints  # [K] rewards of each arm
    statistic: Floats  # [K] infinite before the first reward
    current: Ints  # [2] the arm of the last reward, or -1, and its rewards in a row
    before: Floats  # [1] its statistic before this row
    total: Floats  # [2] sum of the row, as high + low
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length T


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        pulls=np.zeros(n_arms, np.int64),
        statistic=np.full(n_arms, math.inf),
        current=np.zeros(2, np.int64),
        before=np.full(1, math.inf),
        total=np.zeros(2),
        epoch=np.zeros(2, np.int64),
    )
    reset(p, s, p.horizon)
    return s


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return next_arm(s, p.high - max(power(p.rho, 1.0 / 3.0), 1.0 / math.sqrt(float(s.epoch[1]))), arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    begin_row(s, arm)
    if s.current[1] == 0:
        s.total[:] = 0.0
    s.current[1] += 1
    s.total[0], s.total[1] = add(s.total[0], s.total[1], reward)
    n = s.current[1]
    # The mean of rho (j - 1) is rho (n - 1) / 2.
    value = s.total[0] / n - p.rho * (n + 1) / 2.0 + p.sigma * math.sqrt(8.0 * log(float(s.epoch[1])) / n)
    s.statistic[arm] = min(s.before[0], value)


def reset(p: Params, s: State, horizon: int) -> None:
    reset_rows(s, horizon)
    s.total[:] = 0.0


UCBTP.kernel = Kernel(init, choose, update, forget=forget, reset=reset)
