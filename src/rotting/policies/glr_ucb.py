"""GLR-UCB: a UCB index that restarts an arm when a generalised likelihood ratio test finds a change."""

import math
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT, INDEX, NONNEGATIVE, POSITIVE, PROBABILITY, option, positive_int
from rotting.kernels.binding import Parts, bind_all
from rotting.parts.divergences import GAUSSIAN, KIND, exploration, kl_gaussian
from rotting.parts.divergences import upper as kl_upper
from rotting.parts.glr_test import glr_test
from rotting.parts.prefix_blocks import new_history, record
from rotting.parts.restarts import GLOBAL, RESTART, restarting, round_robin
from rotting.policy import Kernel, Policy, Reason

THRESHOLD = option("practical", "theory")


class Params(NamedTuple):
    delta: Annotated[float, PROBABILITY, "chance of a false alarm of one test; 0 never restarts"] = 0.01
    sigma: Annotated[float, POSITIVE, "sub-Gaussian scale of the rewards"] = 1.0
    rate: Annotated[float, PROBABILITY, "share of the rounds that explore all arms in turn; 0 for rotting arms"] = 0.0
    restart: Annotated[int, RESTART, "what an alarm makes forget: its arm, or all arms"] = 0
    c: Annotated[float, NONNEGATIVE, "weight of ln ln in the index"] = 3.0
    threshold: Annotated[int, THRESHOLD, "threshold of the test"] = 0
    test_every: Annotated[int, COUNT, "samples of an arm between two tests"] = 1
    split_every: Annotated[int, COUNT, "distance of the splits that a test looks at"] = 1
    bound: Annotated[int, KIND, "divergence of the index"] = GAUSSIAN
    horizon: Annotated[int, INDEX, "number of rounds to tune delta for; 0 = delta as given"] = 0


class State(NamedTuple):
    pulls: Ints  # [K] samples since the restart
    restart: Ints  # [K] round of the last restart
    high: Floats  # [K, capacity + 1] their prefix sums, as high + low
    low: Floats
    slope: Floats  # [K, blocks] blocks of the prefix sums, as in a `prefix_blocks.History`
    top: Floats
    bottom: Floats
    filled: Ints  # [K] blocks so far
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)


def reset(p: Any, s: State, horizon: int) -> None:
    for i in range(s.pulls.size):
        clear(s, i, 0)
    s.epoch[0], s.epoch[1] = 0, horizon


def clear(s: State, i: int, t: int) -> None:
    """Let arm i restart after round t."""
    s.pulls[i], s.filled[i] = 0, 0
    s.restart[i] = t


def init(p: Any, n_arms: int, capacity: int) -> State:
    h = new_history(n_arms, capacity)
    restart, epoch = np.zeros(n_arms, np.int64), np.zeros(2, np.int64)
    s = State(h.pulls, restart, h.high, h.low, h.slope, h.top, h.bottom, h.filled, epoch)
    reset(p, s, p.horizon)
    return s


def upper(p: Params, mean: float, d: float) -> float:
    return kl_upper(p.bound, mean, d, p.sigma)


def index(p: Any, s: State, t: int, i: int) -> Reason:
    n = s.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean = s.high[i, n] / n
    value = upper(p, mean, exploration(t - s.restart[i], p.c) / n)
    return Reason(value, mean, n, value - mean)


def explore(p: Any, s: State, t: int, key: int, arms: Ints) -> int:
    if p.rate == 0.0:
        return -1
    return round_robin(float(math.floor(s.pulls.size / p.rate)), t - 1, arms)


def kl(p: Params, x: float, y: float) -> float:
    return kl_gaussian(x, y, p.sigma)


def curvature(p: Params, mean: float) -> float:
    return 2.0 * p.sigma**2


def practical(n: int, delta: float) -> float:
    """Return the Gaussian threshold `(1 + 1/n) ln(2 n^(3/2) / delta)`."""
    return (1.0 + 1.0 / n) * math.log(2.0 * n**1.5 / delta)


def theory(n: int, delta: float) -> float:
    """Return `2 T(ln(3 n^(3/2) / delta) / 2) + 6 ln(1 + ln n)`, with `T(x)` replaced by `x + 4 ln(1 + x + sqrt(2 x))`."""
    x = math.log(3.0 * n**1.5 / delta) / 2.0
    return 2.0 * (x + 4.0 * math.log(1.0 + x + math.sqrt(2.0 * x))) + 6.0 * math.log(1.0 + math.log(n))


fires = glr_test(kl, curvature)


def alarm(p: Any, s: State, i: int) -> bool:
    n = s.pulls[i]
    delta = 1.0 / math.sqrt(s.epoch[1]) if s.epoch[1] > 0 else p.delta
    if n < 2 or n % p.test_every != 0 or delta == 0.0:
        return False
    beta = practical(n, delta) if p.threshold == 0 else theory(n, delta)
    return fires(p, s, i, beta, p.split_every)


def sample(p: Any, reward: float) -> float:
    return reward


def update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    record(s, arm, sample(p, reward))
    if alarm(p, s, arm):
        for i in range(s.pulls.size):
            if i == arm or p.restart == GLOBAL:
                clear(s, i, t)


def glr_kernel(params: type, replaced: Parts) -> Kernel:
    """Return the kernel of GLR-UCB with other functions in the place of some of this module's.

    Args:
        params: the policy's `Params`.
        replaced: `upper`, `fires`, `practical` and `sample`, or some of them: the bound of the index, the test, its
            threshold, and the mapping of rewards to samples.
    """
    return Kernel(params, init, reset=reset, **bind_all({"update": update, **restarting(index, explore)}, replaced))


class GLRUCB(Policy):
    """UCB for sub-Gaussian rewards, restarted where a generalised likelihood ratio test finds a change.

    Pulls the arm with the largest `mean_i + sigma sqrt(2 f(t - r_i) / n_i)`, `f(x) = ln x + c ln ln x`, over the n_i samples
    of arm i since its last restart, after round r_i. After each sample of an arm, it restarts if for some split s of its n
    samples

        s kl(mean_1:s, mean_1:n) + (n - s) kl(mean_s+1:n, mean_1:n) >= beta(n, delta),    kl(x, y) = (x - y)^2 / (2 sigma^2),

    with `beta = (1 + 1/n) ln(2 n^(3/2) / delta)` in practice. In theory `beta = 2 T(ln(3 n^(3/2) / delta) / 2) +
    6 ln(1 + ln n)`, where we take `x + 4 ln(1 + x + sqrt(2 x))` for `T(x)`. An arm without a sample since its restart goes
    first. The test skips the blocks of splits that cannot raise the alarm; its alarms are those of the full scan.

    Args:
        delta: chance of a false alarm; 0 is an infinite threshold, a UCB that never forgets. Not to be given with a horizon.
        sigma: sub-Gaussian scale of the rewards.
        rate: forced exploration: arm a in the rounds with `(t - 1) mod floor(K / rate) = a`. Arms that only rot need none.
        restart: "local" restarts the arm that changed, "global" all arms.
        c: weight of `ln ln` in the index.
        threshold: "practical" or "theory".
        test_every: test an arm at every so many of its samples only.
        split_every: look at every so many splits only.
        bound: divergence of the index: "gaussian", as above, or "bernoulli", as in the code behind the published curves of
            GLR-UCB on rotting bandits: the kl-UCB index with the Gaussian test. It is no bound for means outside [0, 1].
        horizon: number of rounds T to tune for: `delta = 1 / sqrt(T)`; 0 for delta as given.

    Needs the horizon for its delta; not the number of changes. Made for arms that change with time; on rested arms it has no
    guarantee, but the rotting papers found it to do well, with `rate = 0` and local restarts.

    Example:
        >>> GLRUCB.from_horizon(10_000, sigma=0.5).sigma
        0.5

    Reference: Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling piecewise-stationary
    bandits", JMLR 2022 (first as Besson, Kaufmann 2019); the practical threshold after Maillard, "Sequential change-point
    detection", ALT 2019, as used in the first author's code.
    """

    name = "glr-ucb"
    kernel = glr_kernel(Params, {})
    without_horizon = ("delta",)
    needs_horizon = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K t)"

    @classmethod
    def from_horizon(cls, T: int, **params: float | str) -> Self:
        """Return the policy for T rounds: `delta = 1 / sqrt(T)`.

        Example:
            >>> GLRUCB.from_horizon(10_000).limit
            10000
        """
        return cls(horizon=positive_int("T", T), **params)
