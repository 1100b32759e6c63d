"""Tsallis-INF: weights by the 1/2-Tsallis entropy, optimal for stochastic and for adversarial rewards."""

import math
from typing import Literal

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE
from rotting.policies.kernels.binding import bind
from rotting.policies.parts import exponential_weights
from rotting.policies.parts.exponential_weights import Weights, forget, new_weights, rescale
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, parameter

_MOST_STEPS = 100  # of Newton's method, which needs fewer than ten
_LEAST = 2.0**-30  # probability by which a loss is divided: rewards that nobody drew must not overflow


class TsallisINF(Policy):
    """Tsallis-INF with reduced variance: knows neither the horizon nor whether rewards are random or chosen against it.

    Draws arm i with probability `p_i = 1 / (eta_t (L_i - x))^2`, where `eta_t = 2 / sqrt(t)` and x, below every L_i, is the
    number for which they sum to 1. A reward, mapped from [low, high] to [0, 1], is a loss of 1 minus the reward. Then every arm
    gets `L_i += b_i`, with `b_i = 1/2` if `p_i >= 16 / t` and 0 if not, and the arm that was played `(loss - b_i) / p_i` more.

    With the publication's regulariser, twice ours, this is its `eta_t = 4 / sqrt(t)` and its `b_i = 1/2` where
    `p_i >= eta_t^2`, for which its Theorem 1 is stated. When only some arms are available, the p_i are those of these arms; the
    b_i are those of all arms. A reward that comes late is divided by the probability with which its arm was drawn, but the b_i
    are those of the round in which it is learned. No probability below 2^-30 divides a loss. An arm that is added starts level
    with the leader. These rules are ours.

    Args:
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Needs the range of the rewards and nothing else; there is nothing to tune. Not sound for rotting of either kind: it competes
    with the best single arm. Its home is an adversary that moves all means and keeps the gap between the best arm and the
    others. The publication bounds the regret against any adversary by `2 sqrt(K T) + 10 K ln T + 16`, and by the order of
    `sum of ln(T) / gap_i` in that home, where it shows UCB1 and Thompson sampling to fail. With ten arms, a gap of 1/4 and
    T = 10,000, in phases in which the means are 0 and 1/4 or 3/4 and 1, a mean regret of 159 over 100 runs was measured
    (the first bound is 1,569); 727 for Exp3 tuned to T, and 673 for UCB1.

    Example:
        >>> TsallisINF(high=10)
        TsallisINF(low=0.0, high=10.0, outside='refuse')

    Reference: Zimmert, Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", JMLR 2021,
    Algorithm 1.
    """

    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "tsallis-inf"
    title = "Tsallis-INF"
    first_pulls = False
    check = check_range
    randomised = True


def init(p: Params, n_arms: int, capacity: int) -> Weights:
    """Return weights in which `log_weights` is `-L_i`, relative to the best arm, and `rates[0]` the eta of this round."""
    return new_weights(n_arms)


def spread(values: Floats, n: int) -> None:
    """Replace the first n values, `eta L_i`, by `1 / (eta (L_i - x))^2`: Newton's method for y = eta (min L - x).

    The sum of these numbers is convex and falls with y, and is at least 1 at y = 1: each step goes up, and none too far.
    """
    least = math.inf
    for k in range(n):
        least = min(least, values[k])
    y, total = 1.0, 0.0
    for _ in range(_MOST_STEPS):
        total, slope = 0.0, 0.0
        for k in range(n):
            root = 1.0 / (values[k] - least + y)
            total += root * root
            slope += root * root * root
        following = y + (total - 1.0) / (2.0 * slope)
        if following <= y:
            break
        y = following
    for k in range(n):
        root = 1.0 / (values[k] - least + y)
        values[k] = root * root / total


def probabilities(s: Weights, arms: Ints, out: Floats) -> None:
    """Write the probabilities of the available arms into `out`, in their order."""
    for k in range(arms.size):
        out[k] = -s.rates[0] * s.log_weights[arms[k]]
    spread(out, arms.size)


draw_arm = bind(exponential_weights.draw_arm, {exponential_weights.probabilities: probabilities})


def choose(p: Params, s: Weights, t: int, key: int, arms: Ints) -> int:
    s.rates[0] = 2.0 / math.sqrt(t)
    return draw_arm(s, t, key, arms)


def propensities(p: Params, s: Weights, t: int, arms: Ints, out: Floats) -> None:
    s.rates[0] = 2.0 / math.sqrt(t)
    probabilities(s, arms, out)


def update(p: Params, s: Weights, t: int, arm: int, reward: float) -> None:
    """Add the estimated loss of each arm: `b_i`, and `(loss - b_i) / p_i` of the arm that was played."""
    n, eta = 0, 2.0 / math.sqrt(t)
    for i in range(s.log_weights.size):
        if s.presence.here[i] == 1:
            s.scratch[n] = -eta * s.log_weights[i]
            n += 1
    spread(s.scratch, n)
    loss, n = 1.0 - to_unit(p.low, p.high, reward), 0
    for i in range(s.log_weights.size):
        baseline = 0.0
        if s.presence.here[i] == 1:
            baseline = 0.5 if s.scratch[n] >= 16.0 / t else 0.0
            n += 1
        s.log_weights[i] -= baseline
        if i == arm:
            s.log_weights[i] -= (loss - baseline) / max(s.propensity[i], _LEAST)
    rescale(s)


TsallisINF.kernel = Kernel(init, choose, update, propensities=propensities, forget=forget)
