"""EFF-RAW-UCB: RAW-UCB on the delayed windows of EFF_UPDATE (Algorithm 2)."""

from typing import Annotated, NamedTuple

from rotting.common.rules import ABOVE_ONE, POSITIVE
from rotting.parts.delayed_windows import Grid, by_delayed_bound, new_grid
from rotting.policies.raw_ucb import level, width
from rotting.policy import Kernel, Policy


class Params(NamedTuple):
    alpha: Annotated[float, POSITIVE, "confidence level: delta_t = 2 / t**alpha"] = 1.4
    sigma: Annotated[float, POSITIVE, "sub-Gaussian scale of the rewards"] = 1.0
    m: Annotated[float, ABOVE_ONE, "ratio of neighbouring windows"] = 2.0


def init(p: Params, n_arms: int, capacity: int) -> Grid:
    return new_grid(p.m, n_arms, capacity)


class EffRAWUCB(Policy):
    """RAW-UCB on O(log t) windows an arm: about as good, with constant memory and time in practice.

    Pulls the arm with the largest `min over h_j <= N_i of mean_i^{h_j} + c(h_j, delta_t)` on the grid `h_0 = 1,
    h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of less than h_j pulls (EFF_UPDATE) and
    `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. With `m <= 1 + 1/T` it is RAW-UCB.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory (m = 2) asks for 3 (restless) or 4 (rested); 1.4 in
            practice.
        sigma: sub-Gaussian scale of the rewards.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma in advance, and neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> EffRAWUCB(m=1.1)
        EffRAWUCB(alpha=1.4, sigma=1.0, m=1.1)

    Reference: Seznec, Ménard, Lazaric, Valko, AISTATS 2020, Algorithm 2 and the appendix on efficient algorithms.
    """

    name = "eff-raw-ucb"
    kernel = Kernel(Params, init, **by_delayed_bound(level, width, straight=True))
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"
