"""RAW-UCB++: RAW-UCB with the narrower widths of MOSS."""

import math
from typing import Literal, NamedTuple

from rotting.common.arrays import Ints
from rotting.common.rules import NONNEGATIVE, POSITIVE, SCALE
from rotting.policies.kernels.binding import bind_all
from rotting.policies.kernels.elementary import log, log1p
from rotting.policies.parts.indices import arm_scale, largest_index, window_width
from rotting.policies.parts.noise_scale import NoiseScale, arm_noise, forget, given_sigma, new_noise_scale, observe_noise
from rotting.policies.parts.prefix_sums import (
    BLOCK_WINDOWS,
    BlockLines,
    PrefixSums,
    new_block_lines,
    new_prefix_sums,
    record_in_blocks,
    tightest_in_blocks,
)
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class RAWUCBpp(Policy):
    """RAW-UCB++, exact: every window h <= N_i, with widths that shrink to nothing for windows of t / K pulls.

    Pulls the arm with the largest index `min over h <= N_i of mean_i^h + c(h, t)`, where `mean_i^h` is the mean of the last h
    rewards of arm i, `c(h, t) = sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))` and `x = max(1, t / (K h))`, with K
    the number of available arms. Each arm once first; ties to the lowest arm.

    The width is RAW-UCB's `sigma sqrt(2 ln(1 / delta) / h)`. At alpha = 1, delta is the author's `1 / (x (1 + ln x)^beta)`; at
    beta = 0 it is his `x^-alpha`. The formula that joins the two is ours. His code multiplies the second ln(1 / delta) by alpha
    once more: alpha = 1.4 there is alpha = 1.96 here.

    Args:
        alpha: confidence level. The author's runs: 1 with beta up to 3.5, or 1.4 to 2 with beta = 0.
        beta: weight of the logarithm of the logarithm, zero or more.
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Meant for rested and for restless
    rotting, as RAW-UCB is.

    Example:
        >>> RAWUCBpp(alpha=1, beta=3.5)
        RAWUCBpp(alpha=1.0, beta=3.5, sigma=1.0)

    Reference: Seznec, "Sequential machine learning for intelligent tutoring systems", PhD thesis, Université de Lille, 2020.
    """

    alpha: float = parameter(POSITIVE, "confidence level", default=1.4)
    beta: float = parameter(NONNEGATIVE, "weight of the logarithm of the logarithm", default=0.0)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)

    name = "raw-ucb-pp"
    title = "RAW-UCB++"
    has_index = True
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K t)"


class State(NamedTuple):
    history: PrefixSums  # all windows of each arm
    lines: BlockLines  # the window of each arm that had the tightest bound last: its bound is at least the index
    noise: NoiseScale  # what sigma is estimated from


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(history=new_prefix_sums(n_arms, capacity), lines=new_block_lines(n_arms), noise=new_noise_scale(n_arms))


def width(p: Params, level: float, h: int, root: float) -> float:
    """Return c(h, t), of which `level` is t / K."""
    x = level / h
    if x <= 1.0:
        return 0.0
    first = log(x)
    return given_sigma(p) * math.sqrt((2.0 / h) * (p.alpha * first + p.beta * log1p(first)))


def index(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the minimum over h <= N_i of mean_i^h + c(h, t)."""
    return tightest_in_blocks(p, s, t / arms.size, i)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the arm with the largest index, the lowest on a tie; each arm once first. Few of the indices are computed."""
    return largest_index(p, s, t / arms.size, arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the reward, and learn from it the scale of the noise if sigma is estimated."""
    record_in_blocks(s, arm, reward)
    observe_noise(p, s.noise, arm, reward)


RAWUCBpp.kernel = Kernel(
    init,
    update=update,
    forget=forget,
    **bind_all({"choose": choose, "explain": index}, {**BLOCK_WINDOWS, window_width: width, arm_scale: arm_noise}),
)
