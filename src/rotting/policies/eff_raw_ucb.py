"""EFF-RAW-UCB: RAW-UCB on the delayed windows of EFF_UPDATE (Algorithm 2).

`delayed_windows.eff_update` is Algorithm 2. The index is RAW-UCB's on its windows. `by_delayed_bound` finds the arm with the
largest index, the lowest on a tie, without computing every index.
"""

from typing import Literal

from rotting.common.rules import ABOVE_ONE, POSITIVE, SCALE
from rotting.parts.delayed_windows import DelayedWindows, by_delayed_bound, new_delayed_windows
from rotting.parts.noise_scale import is_estimated
from rotting.policies.raw_ucb import level_at, width
from rotting.policy import Kernel, Params, Policy, parameter


class EffRAWUCB(Policy):
    """RAW-UCB on O(log t) windows an arm: about as good, with constant memory and time in practice.

    Pulls the arm with the largest `min over h_j <= N_i of mean_i^{h_j} + c(h_j, delta_t)` on the grid `h_0 = 1,
    h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of less than h_j pulls (EFF_UPDATE) and
    `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. With `m <= 1 + 1/T` it is RAW-UCB.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory (m = 2) asks for 3 (restless) or 4 (rested); 1.4 in
            practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> EffRAWUCB(m=1.1)
        EffRAWUCB(alpha=1.4, sigma=1.0, m=1.1)

    Reference: Seznec, Ménard, Lazaric, Valko, AISTATS 2020, Algorithm 2 and the appendix on efficient algorithms.
    """

    alpha: float = parameter(POSITIVE, "confidence level: delta_t = 2 / t**alpha", default=1.4)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)
    m: float = parameter(ABOVE_ONE, "ratio of neighbouring windows", default=2.0)

    name = "eff-raw-ucb"
    title = "EFF-RAW-UCB"
    has_index = True
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


def init(p: Params, n_arms: int, capacity: int) -> DelayedWindows:
    return new_delayed_windows(p.m, n_arms, capacity)


EffRAWUCB.kernel = Kernel(init, **by_delayed_bound(level_at, width, linear_in_level=True, estimated=is_estimated))
