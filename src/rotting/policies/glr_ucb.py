"""GLR-UCB: a UCB index that restarts an arm when a generalised likelihood ratio test finds a change."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import INDEX, NONNEGATIVE, PROBABILITY, SCALE, option
from rotting.policies.kernels.binding import Bindings, bind_all
from rotting.policies.kernels.elementary import floor, log
from rotting.policies.parts.divergences import KIND, exploration, kl_gaussian
from rotting.policies.parts.divergences import upper as kl_upper
from rotting.policies.parts.glr_test import discard_samples, glr_test, record_sample
from rotting.policies.parts.hull import Stacks, enlarged, new_stacks, pulls, top
from rotting.policies.parts.indices import by_index, first_new, pulled
from rotting.policies.parts.noise_scale import (
    NoiseScale,
    forget_noise,
    given_sigma,
    new_noise_scale,
    observe_noise,
    reset_noise,
    scale_of,
    sigma_of,
)
from rotting.policies.parts.presence import GLOBAL, RESTART, Presence, new_presence, round_robin
from rotting.policy import Kernel, Params, Policy, Reason, parameter

THRESHOLD = option("practical", "theory")


class GLRUCB(Policy):
    """UCB for sub-Gaussian rewards, restarted where a generalised likelihood ratio test finds a change.

    Pulls the arm with the largest `mean_i + sigma sqrt(2 f(t - r_i) / n_i)`, `f(x) = ln x + c ln ln x`, over the n_i samples
    of arm i since its last restart, after round r_i. After each sample of an arm, it restarts if for some split s of its n
    samples

        s kl(mean_1:s, mean_1:n) + (n - s) kl(mean_s+1:n, mean_1:n) >= beta(n, delta),    kl(x, y) = (x - y)^2 / (2 sigma^2),

    with `beta = (1 + 1/n) ln(2 n^(3/2) / delta)` in practice. In theory `beta = 2 T(ln(3 n^(3/2) / delta) / 2) +
    6 ln(1 + ln n)`, where we take `x + 4 ln(1 + x + sqrt(2 x))` for `T(x)`. An arm without a sample since its restart goes
    first. The test looks only at splits that can have the largest statistic, vertices of two hulls; its alarms are those of the
    full scan, up to the last digit of the statistic.

    Args:
        delta: chance of a false alarm; 0 is an infinite threshold, a UCB that never forgets. Not to be given with a horizon.
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md.
        rate: forced exploration: arm a in the rounds with `(t - 1) mod floor(K / rate) = a`. Arms that only rot need none.
        restart: "local" restarts the arm that changed, "global" all arms.
        c: weight of `ln ln` in the index.
        threshold: "practical" or "theory".
        bound: divergence of the index: "gaussian", as above, or "bernoulli", as in the code behind the published curves of
            GLR-UCB on rotting bandits: the kl-UCB index with the Gaussian test. It is not a bound for means outside [0, 1].
        horizon: number of rounds T to tune for: `delta = 1 / sqrt(T)`; 0 for delta as given.

    Needs the horizon for its delta; not the number of changes. Made for arms that change with time; on rested arms it has no
    guarantee, but the rotting papers found it to do well, with `rate = 0` and local restarts.

    Example:
        >>> GLRUCB(horizon=10_000, sigma=0.5).sigma
        0.5

    Reference: Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling piecewise-stationary
    bandits", JMLR 2022 (first as Besson, Kaufmann 2019); the practical threshold after Maillard, "Sequential change-point
    detection", ALT 2019, as used in the first author's code.
    """

    delta: float = parameter(PROBABILITY, "chance of a false alarm of one test; 0 never restarts", default=0.01)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)
    rate: float = parameter(PROBABILITY, "share of the rounds that explore all arms in turn; 0 for rotting arms", default=0.0)
    restart: Literal["local", "global"] = parameter(
        RESTART, "what restarts after an alarm: its arm, or all arms", default="local"
    )
    c: float = parameter(NONNEGATIVE, "weight of ln ln in the index", default=3.0)
    threshold: Literal["practical", "theory"] = parameter(THRESHOLD, "threshold of the test", default="practical")
    bound: Literal["bernoulli", "gaussian"] = parameter(KIND, "divergence of the index", default="gaussian")
    horizon: int = parameter(INDEX, "number of rounds to tune delta for; 0 = delta as given", default=0)

    name = "glr-ucb"
    title = "GLR-UCB"
    has_index = True
    manual_params = ("delta",)
    needs_horizon = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


class State(NamedTuple):
    upper: Stacks  # the samples of each arm since its restart: the upper hull of their prefix sums
    lower: Stacks  # and the lower one
    noise: NoiseScale  # what sigma is estimated from
    least: Floats  # [K] a lower bound of the threshold
    restart: Ints  # [K] r_i: round of the last restart
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)
    presence: Presence  # K, for the exploration in turn
    full: Ints  # [1] 1 if the hulls had no room for a sample (`Kernel.enlarge`)


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        upper=new_stacks(n_arms, capacity),
        lower=new_stacks(n_arms, capacity),
        noise=new_noise_scale(n_arms),
        least=np.zeros(n_arms),
        restart=np.zeros(n_arms, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
        full=np.zeros(1, np.int64),
    )
    reset(p, s, p.horizon)
    return s


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return the largest q with `n_i kl(mean_i, q) <= f(t - r_i)`."""
    n = pulls(s.upper, i)
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean = s.upper.high[top(s.upper, i)] / n
    value = upper(p, s, i, mean, exploration(t - s.restart[i], p.c) / n)
    return Reason(value, mean, n, value - mean)


largest_index = by_index(index)["choose"]


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the first arm without a sample; else the arm to be explored in this round; else the one of the largest index."""
    arm = first_new(s, arms)
    if arm < 0 and p.rate > 0.0:
        arm = round_robin(s.presence, float(floor(s.presence.number[0] / p.rate)), t - 1, arms)
    return arm if arm >= 0 else largest_index(p, s, t, key, arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the sample, and restart the arm, or all arms, if the test finds a change."""
    if not record_sample(s, arm, sample(p, reward)):
        return
    observe_noise(p, s.noise, arm, reward)
    delta = 1.0 / math.sqrt(s.epoch[1]) if s.epoch[1] > 0 else p.delta
    if delta > 0.0 and finds_change(p, s, arm, delta):
        for i in range(s.restart.size):
            if i == arm or p.restart == GLOBAL:
                restart(s, i, t)


def has_sample(s: State, i: int) -> bool:
    return bool(s.upper.size[i] > 0)


# GLR-klUCB has functions of its own in the place of these five.


def sample(p: Params, reward: float) -> float:
    return reward


def upper(p: Params, s: State, i: int, mean: float, d: float) -> float:
    """Return the largest q with `kl(mean, q) <= d`."""
    return kl_upper(p.bound, mean, d, sigma_of(p, s.noise, i))


def kl(p: Params, x: float, y: float) -> float:
    """Return the divergence, with sigma = 1 where it is estimated: `units` has the estimate."""
    return kl_gaussian(x, y, given_sigma(p))


def curvature(p: Params, mean: float) -> float:
    sigma = given_sigma(p)
    return 2.0 * (sigma * sigma)


def practical(n: int, delta: float) -> float:
    """Return the Gaussian threshold `(1 + 1/n) ln(2 n^(3/2) / delta)`."""
    return (1.0 + 1.0 / n) * log(2.0 * n * math.sqrt(n) / delta)


def units(p: Params, s: State, i: int) -> float:
    scale = scale_of(p, s.noise, i)
    return scale * scale


def theory(n: int, delta: float) -> float:
    """Return `2 T(ln(3 n^(3/2) / delta) / 2) + 6 ln(1 + ln n)`, with `T(x)` replaced by `x + 4 ln(1 + x + sqrt(2 x))`."""
    x = log(3.0 * n * math.sqrt(n) / delta) / 2.0
    return 2.0 * (x + 4.0 * log(1.0 + x + math.sqrt(2.0 * x))) + 6.0 * log(1.0 + log(n))


def beta(p: Params, n: int, delta: float) -> float:
    return practical(n, delta) if p.threshold == 0 else theory(n, delta)


finds_change = glr_test(kl, curvature, beta, units)


def restart(s: State, i: int, t: int) -> None:
    """Restart arm i after round t."""
    discard_samples(s, i)
    s.restart[i] = t


def reset(p: Params, s: State, horizon: int) -> None:
    for i in range(s.restart.size):
        restart(s, i, 0)
    reset_noise(s.noise)
    s.epoch[0], s.epoch[1] = 0, horizon


def forget(p: Params, s: State, arm: int) -> None:
    restart(s, arm, 0)
    forget_noise(s.noise, arm)


def enlarge(p: Params, s: State, capacity: int) -> State:
    upper, lower = enlarged(s.upper, capacity), enlarged(s.lower, capacity)
    return State(upper, lower, s.noise, s.least, s.restart, s.epoch, s.presence, full=np.zeros(1, np.int64))


def glr_kernel(replaced: Bindings) -> Kernel:
    """Return the kernel of GLR-UCB with other functions in the place of some of this module's.

    Args:
        replaced: `upper`, `kl`, `curvature`, `practical` and `sample`, or some of them: the bound of the index, the divergence
            of the test, its threshold, and the mapping of rewards to samples; `is_estimated` if the policy has no sigma.
    """
    functions = {"choose": choose, "update": update, "explain": by_index(index)["explain"]}
    return Kernel(init, reset=reset, forget=forget, enlarge=enlarge, **bind_all(functions, {pulled: has_sample, **replaced}))


GLRUCB.kernel = glr_kernel({})
