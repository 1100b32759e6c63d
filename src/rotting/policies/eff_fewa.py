"""EFF-FEWA: FEWA on the delayed windows of EFF_UPDATE (Algorithm 2)."""

from typing import Annotated, NamedTuple

from rotting.linking import rebind
from rotting.policies import fewa
from rotting.policies.eff_raw_ucb import update
from rotting.policy import Kernel, Policy
from rotting.rules import ABOVE_ONE, POSITIVE
from rotting.windows import Grid, eff_length, eff_mean, eff_reach, new_grid


class Params(NamedTuple):
    alpha: Annotated[float, POSITIVE, "confidence level: delta_t = 2 / t**alpha"] = 0.06
    sigma: Annotated[float, POSITIVE, "sub-Gaussian scale of the rewards"] = 1.0
    m: Annotated[float, ABOVE_ONE, "ratio of neighbouring windows"] = 2.0


def init(p: Params, n_arms: int, capacity: int) -> Grid:
    return new_grid(p.m, n_arms, capacity)


expanding_filter = rebind(fewa.expanding_filter, reach=eff_reach, length=eff_length, window_mean=eff_mean)
choose = rebind(fewa.choose, expanding_filter=expanding_filter)
explain = rebind(fewa.explain, expanding_filter=expanding_filter, length=eff_length, window_mean=eff_mean)


class EffFEWA(Policy):
    """FEWA on O(log t) windows an arm: about as good, with constant memory and time in practice.

    The filter of FEWA on the grid `h_0 = 1, h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of
    less than h_j pulls (EFF_UPDATE).

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory (m = 2) asks for 3 (restless) or 4 (rested); 0.06 in
            practice.
        sigma: sub-Gaussian scale of the rewards.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs neither the horizon nor the number of changes. Sound for rested and for restless rotting.

    Example:
        >>> EffFEWA()
        EffFEWA(alpha=0.06, sigma=1.0, m=2.0)

    Reference: Seznec, Ménard, Lazaric, Valko, AISTATS 2020, Algorithm 2 and the appendix on efficient algorithms.
    """

    name = "eff-fewa"
    kernel = Kernel(Params, init, choose, update, explain)
