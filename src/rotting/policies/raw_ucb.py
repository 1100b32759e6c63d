"""RAW-UCB (Algorithm 1): the tightest of the UCBs over every window that ends with the last pull.

Algorithm 1 pulls each arm once, and then in every round t the arm with the largest index

    index_i = min over h <= N_i of mean_i^h + c(h, delta_t),    c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h).

`by_tightest_bound` finds the arm with the largest index, the lowest on a tie. It does not keep all windows, only those that can
ever have the tightest bound: the vertices of a hull (`parts/hull.py`).
"""

import math
from typing import Literal

from rotting.common.rules import POSITIVE, SCALE
from rotting.kernels.elementary import log
from rotting.parts.hull_windows import Windows, by_tightest_bound, new_windows
from rotting.parts.noise_scale import given_sigma, is_estimated
from rotting.policy import Kernel, Params, Policy, parameter


class RAWUCB(Policy):
    """Rotting Adaptive Window Upper Confidence Bound, exact: every window h <= N_i.

    Pulls the arm with the largest index `min over h <= N_i of mean_i^h + c(h, delta_t)`, where `mean_i^h` is the mean of the
    last h rewards of arm i and `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. Each arm once first; ties to the lowest arm.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory asks for 4 (restless) or 5 (rested); 1.4 in practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> RAWUCB(alpha=1.4)
        RAWUCB(alpha=1.4, sigma=1.0)

    Reference: Seznec, Ménard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits",
    AISTATS 2020, Algorithm 1.
    """

    alpha: float = parameter(POSITIVE, "confidence level: delta_t = 2 / t**alpha", default=1.4)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)

    name = "raw-ucb"
    title = "RAW-UCB"
    has_index = True
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


def init(p: Params, n_arms: int, capacity: int) -> Windows:
    return new_windows(n_arms, capacity)


def level_at(p: Params, t: int, n_arms: int) -> float:
    return given_sigma(p) * math.sqrt(2.0 * p.alpha * log(t))  # c(1, delta_t), computed once a round


def width(p: Params, level: float, h: int, root: float) -> float:
    return level / root  # c(h, delta_t), with root = sqrt(h)


RAWUCB.kernel = Kernel(init, **by_tightest_bound(level_at, is_estimated))
