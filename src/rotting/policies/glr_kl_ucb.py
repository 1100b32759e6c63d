"""GLR-klUCB: kl-UCB for rewards in [0, 1] that restarts an arm when a generalised likelihood ratio test finds a change."""

import math
from typing import Literal

from rotting.common.rules import FINITE, INDEX, NONNEGATIVE, PROBABILITY
from rotting.policies import glr_ucb
from rotting.policies.glr_ucb import THRESHOLD, State, glr_kernel
from rotting.policies.kernels.elementary import log
from rotting.policies.parts.divergences import kl_bernoulli, kl_bernoulli_upper
from rotting.policies.parts.noise_scale import is_estimated
from rotting.policies.parts.presence import RESTART
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policy import Params, Policy, parameter


class GLRKLUCB(Policy):
    """kl-UCB for rewards in [0, 1], restarted where a generalised likelihood ratio test finds a change.

    Pulls the arm with the largest `sup{q: n_i kl(mean_i, q) <= f(t - r_i)}`, `f(x) = ln x + c ln ln x`, over the n_i samples of
    arm i since its last restart, after round r_i, with `kl(x, y) = x ln(x / y) + (1 - x) ln((1 - x) / (1 - y))`. After each
    sample of an arm, it restarts if for some split s of its n samples

        s kl(mean_1:s, mean_1:n) + (n - s) kl(mean_s+1:n, mean_1:n) >= beta(n, delta),

    with `beta = ln(3 n^(3/2) / delta)` in practice, and in theory as in `GLRUCB`. An arm without a sample since its restart
    goes first. The test looks only at splits that can have the largest statistic, vertices of two hulls; its alarms are those
    of the full scan, up to the last digit of the statistic.

    Args:
        delta: chance of a false alarm; 0 is an infinite threshold, a kl-UCB that never forgets. Not to be given with a
            horizon.
        rate: forced exploration: arm a in the rounds with `(t - 1) mod floor(K / rate) = a`. Arms that only rot need none.
        restart: "local" restarts the arm that changed, "global" all arms.
        c: weight of `ln ln` in the index.
        threshold: "practical" or "theory".
        horizon: number of rounds T to tune for: `delta = 1 / sqrt(T)`; 0 for delta as given.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    Needs the range of the rewards, and the horizon for its delta; not the number of changes. Made for arms that change with
    time; no guarantee for rested arms.

    Example:
        >>> GLRKLUCB(horizon=10_000, high=10.0).reward_range
        (0.0, 10.0)

    Reference: Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling piecewise-stationary
    bandits", JMLR 2022 (first as Besson, Kaufmann 2019).
    """

    delta: float = parameter(PROBABILITY, "chance of a false alarm of one test; 0 never restarts", default=0.01)
    rate: float = parameter(PROBABILITY, "share of the rounds that explore all arms in turn; 0 for rotting arms", default=0.0)
    restart: Literal["local", "global"] = parameter(
        RESTART, "what restarts after an alarm: its arm, or all arms", default="local"
    )
    c: float = parameter(NONNEGATIVE, "weight of ln ln in the index", default=3.0)
    threshold: Literal["practical", "theory"] = parameter(THRESHOLD, "threshold of the test", default="practical")
    horizon: int = parameter(INDEX, "number of rounds to tune delta for; 0 = delta as given", default=0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "glr-kl-ucb"
    title = "GLR-klUCB"
    has_index = True
    check = check_range
    manual_params = ("delta",)
    needs_horizon = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


# The kernel is that of GLR-UCB, with these functions in the place of its own.


def upper(p: Params, s: State, i: int, mean: float, d: float) -> float:
    """Return the largest q with `kl(mean, q) <= d`."""
    return kl_bernoulli_upper(mean, d)


def kl(p: Params, x: float, y: float) -> float:
    return kl_bernoulli(x, y)


def curvature(p: Params, mean: float) -> float:
    return mean * (1.0 - mean)  # the divergence is at most the chi-square distance


def practical(n: int, delta: float) -> float:
    """Return the Bernoulli threshold `ln(3 n^(3/2) / delta)`."""
    return log(3.0 * n * math.sqrt(n) / delta)


def sample(p: Params, reward: float) -> float:
    return to_unit(p.low, p.high, reward)


def is_never_estimated(p: Params) -> bool:
    """Return False: the policy has no sigma."""
    return False


GLRKLUCB.kernel = glr_kernel(
    {
        glr_ucb.upper: upper,
        glr_ucb.kl: kl,
        glr_ucb.curvature: curvature,
        glr_ucb.practical: practical,
        glr_ucb.sample: sample,
        is_estimated: is_never_estimated,
    },
)
