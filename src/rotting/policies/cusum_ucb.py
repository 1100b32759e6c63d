"""CUSUM-UCB: a UCB index that restarts an arm when a two-sided cumulative sum leaves its first mean."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT, FINITE, INDEX, NONNEGATIVE, POSITIVE, PROBABILITY
from rotting.errors import InvalidValueError
from rotting.policies.kernels.elementary import log
from rotting.policies.kernels.exact_sums import add
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.indices import by_index, first_new
from rotting.policies.parts.presence import GLOBAL, RESTART
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class CUSUMUCB(Policy):
    """UCB for rewards in [0, 1], restarted where cumulative sums find that the mean has left its first value.

    Pulls the arm with the largest `mean_i + sqrt(xi ln(n) / n_i)` over the n_i samples of arm i since its last restart,
    `n = sum_i n_i`, or, with probability `rate`, any arm. With u0 the mean of the first M of an arm's samples, each sample y
    after these gives

        g+ = max(0, g+ + u0 - y - epsilon),    g- = max(0, g- + y - u0 - epsilon),

    and the arm restarts when one of the two reaches h. An arm without a sample since its restart goes first.

    Args:
        h: threshold of the sums; not to be given with a horizon.
        rate: probability of exploration; not to be given with a horizon. The default, 0.021, is that of h = 10.
        M: samples behind the reference mean u0.
        epsilon: tolerated distance from u0, in units of the range; smaller than the smallest change to be found.
        xi: weight of the bonus.
        restart: "local" restarts the arm that changed, as published, "global" all arms.
        horizon: number of rounds T to tune for: `h = ln(T / Y)` and `rate = sqrt((Y / T) ln(T / Y))`; 0 for both as given.
        breakpoints: number of changes Y, fewer than T, with a horizon.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    The tuning is that of Besson et al., who drop the constants and the factor K of the publication's corollary,
    `h = ln(T / Y) / C1` and `rate = K sqrt(C2 Y ln(T / Y) / (C1 T))`, with C1 and C2 from epsilon and M. The corollary's rate
    balances `rate T` rounds of exploration and, in each of K arms, Y delays of `C2 h` samples that come every `K / rate`
    rounds. Its C1, the smaller of `ln(1 + 4 epsilon binomial(M, 2 epsilon M) (2 epsilon)^M / (1 +- epsilon)^2)`, is of no use
    in practice: it is 2e-50 for the defaults here, and no sum of rewards reaches such an h.

    Needs the horizon, the number of changes and the range of the rewards, and something of the size of the changes (epsilon).
    Made for arms that change with time; unsound for rested rotting: exploration at random costs a regret in T where arms are
    worn, and a slow decay below epsilon goes unseen.

    Example:
        >>> CUSUMUCB(horizon=10_000, breakpoints=4, epsilon=0.05).max_rounds
        10000

    Reference: Liu, Lee, Shroff, "A change-detection based framework for piecewise-stationary multi-armed bandit problem",
    AAAI 2018; the tuning of Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling
    piecewise-stationary bandits", JMLR 2022.
    """

    h: float = parameter(POSITIVE, "threshold of the two sums", default=10.0)
    rate: float = parameter(PROBABILITY, "probability of a round that explores at random", default=0.021)
    M: int = parameter(COUNT, "samples that an arm's reference mean is taken from", default=100)
    epsilon: float = parameter(NONNEGATIVE, "distance from the reference mean that is tolerated", default=0.1)
    xi: float = parameter(POSITIVE, "weight of the bonus", default=1.0)
    restart: Literal["local", "global"] = parameter(
        RESTART, "what restarts after an alarm: its arm, or all arms", default="local"
    )
    horizon: int = parameter(INDEX, "number of rounds to tune h and rate for; 0 = h and rate as given", default=0)
    breakpoints: int = parameter(COUNT, "number of changes, with a horizon", default=1)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "cusum-ucb"
    title = "CUSUM-UCB"
    tuning_params = ("breakpoints",)
    manual_params = ("h", "rate")
    needs_horizon = True
    needs_changes = True
    randomised = True
    restless = True

    def check(self) -> None:
        """Refuse an empty range, and as many changes as rounds."""
        check_range(self)
        if self.max_rounds is not None and self.breakpoints >= self.max_rounds:
            raise InvalidValueError("breakpoints", f"be fewer than the horizon {self.max_rounds}", self.breakpoints)


class State(NamedTuple):
    pulls: Ints  # [K] n_i: samples of each arm since its restart
    total: Ints  # [1] n: their sum over all arms
    high: Floats  # [K] sum of the samples of each arm, as high + low
    low: Floats
    reference: Floats  # [K] u0, once the arm has M samples
    down: Floats  # [K] g+: evidence that the mean fell
    up: Floats  # [K] g-: evidence that it rose
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        pulls=np.zeros(n_arms, np.int64),
        total=np.zeros(1, np.int64),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
        reference=np.zeros(n_arms),
        down=np.zeros(n_arms),
        up=np.zeros(n_arms),
        epoch=np.zeros(2, np.int64),
    )
    reset(p, s, p.horizon)
    return s


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return `mean_i + sqrt(xi ln(n) / n_i)`."""
    n = s.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean, c = s.high[i] / n, math.sqrt(p.xi * log(s.total[0]) / n)
    return Reason(mean + c, mean, n, c)


largest_index = by_index(index)["choose"]


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the first arm without a sample; else any arm, with probability `rate`; else the arm with the largest index."""
    arm = first_new(s, arms)
    if arm < 0 and uniform(key, t, 0) < exploration_rate(p, s):
        arm = int(arms[int(uniform(key, t, 1) * arms.size)])
    return arm if arm >= 0 else largest_index(p, s, t, key, arms)


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    leader, rate = first_new(s, arms), 0.0
    if leader < 0:
        leader, rate = largest_index(p, s, t, 0, arms), exploration_rate(p, s)
    for k in range(arms.size):
        out[k] = rate / arms.size
        if arms[k] == leader:
            out[k] += 1.0 - rate


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the sample. From sample M + 1 on, update the two sums, and restart when one of them reaches h."""
    y = to_unit(p.low, p.high, reward)
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], y)
    s.pulls[arm] += 1
    s.total[0] += 1
    n = s.pulls[arm]
    if n == p.M:
        s.reference[arm] = s.high[arm] / n
    if n > p.M:
        u0 = s.reference[arm]
        s.down[arm] = max(0.0, s.down[arm] + (u0 - y - p.epsilon))
        s.up[arm] = max(0.0, s.up[arm] + (y - u0 - p.epsilon))
        if max(s.down[arm], s.up[arm]) >= threshold(p, s):
            for i in range(s.pulls.size):
                if i == arm or p.restart == GLOBAL:
                    forget(p, s, i)


def forget(p: Params, s: State, arm: int) -> None:
    """Forget the samples of an arm: it restarts."""
    s.total[0] -= s.pulls[arm]
    s.pulls[arm] = 0
    s.high[arm], s.low[arm] = 0.0, 0.0
    s.reference[arm], s.down[arm], s.up[arm] = 0.0, 0.0, 0.0


def reset(p: Params, s: State, horizon: int) -> None:
    for i in range(s.pulls.size):
        forget(p, s, i)
    s.epoch[0], s.epoch[1] = 0, horizon


def threshold(p: Params, s: State) -> float:
    """Return `h = ln(T / Y)`, or h as given."""
    return log(s.epoch[1] / p.breakpoints) if s.epoch[1] > 0 else p.h


def exploration_rate(p: Params, s: State) -> float:
    """Return `sqrt((Y / T) ln(T / Y))`, or the rate as given."""
    if s.epoch[1] == 0:
        return float(p.rate)
    return math.sqrt((p.breakpoints / s.epoch[1]) * log(s.epoch[1] / p.breakpoints))


CUSUMUCB.kernel = Kernel(init, choose, update, by_index(index)["explain"], propensities, forget=forget, reset=reset)
