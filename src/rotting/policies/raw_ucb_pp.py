"""RAW-UCB++: RAW-UCB with the narrower widths of MOSS."""

import math
from typing import Literal

from rotting.common.rules import NONNEGATIVE, POSITIVE, SCALE
from rotting.kernels.elementary import log, log1p
from rotting.parts.block_windows import BlockWindows, by_block_bound, new_windows
from rotting.parts.noise_scale import given_sigma, is_estimated
from rotting.policy import Kernel, Params, Policy, parameter


class RAWUCBpp(Policy):
    """RAW-UCB++, exact: every window h <= N_i, with widths that shrink to nothing for windows of t / K pulls.

    Pulls the arm with the largest index `min over h <= N_i of mean_i^h + c(h, t)`, where `mean_i^h` is the mean of the last h
    rewards of arm i, `c(h, t) = sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))` and `x = max(1, t / (K h))`, with K
    the number of available arms. Each arm once first; ties to the lowest arm.

    The width is RAW-UCB's, `sigma sqrt(2 ln(1 / delta) / h)`, with the author's `delta = 1 / (x (1 + ln x)^beta)` at alpha = 1
    and his `delta = x^-alpha` at beta = 0; one formula for both is ours. His code multiplies the second by alpha once more: its
    alpha = 1.4 is alpha = 1.96 here.

    Args:
        alpha: confidence level. The author's runs: 1 with beta up to 3.5, or 1.4 to 2 with beta = 0.
        beta: weight of the logarithm of the logarithm, zero or more.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.

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


def init(p: Params, n_arms: int, capacity: int) -> BlockWindows:
    return new_windows(n_arms, capacity)


def level_at(p: Params, t: int, n_arms: int) -> float:
    return t / n_arms


def width(p: Params, level: float, h: int, root: float) -> float:
    x = level / h
    if x <= 1.0:
        return 0.0
    first = log(x)
    return given_sigma(p) * math.sqrt((2.0 / h) * (p.alpha * first + p.beta * log1p(first)))


RAWUCBpp.kernel = Kernel(init, **by_block_bound(level_at, width, is_estimated))
