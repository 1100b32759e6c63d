"""RAW-UCB (Algorithm 1): the tightest of the UCBs over every window that ends with the last pull."""

import math
from typing import Annotated, NamedTuple

from rotting.indexes import by_index
from rotting.policy import Kernel, Policy, Reason
from rotting.rules import POSITIVE
from rotting.windows import History, new_history, record, width
from rotting.windows import history_length as length
from rotting.windows import history_mean as window_mean
from rotting.windows import history_reach as reach


class Params(NamedTuple):
    alpha: Annotated[float, POSITIVE, "confidence level: delta_t = 2 / t**alpha"] = 1.4
    sigma: Annotated[float, POSITIVE, "sub-Gaussian scale of the rewards"] = 1.0


def init(p: Params, n_arms: int, capacity: int) -> History:
    return new_history(n_arms, capacity)


def index(p: Params, s: History, t: int, i: int) -> Reason:
    best = Reason(math.inf, math.nan, 0, math.inf)
    for j in range(reach(s, i)):
        h = length(s, j)
        mean, c = window_mean(s, i, j), width(p.alpha, p.sigma, t, h)
        if mean + c < best.value:
            best = Reason(mean + c, mean, h, c)
    return best


def update(p: Params, s: History, t: int, arm: int, reward: float) -> None:
    record(s, arm, reward)


class RAWUCB(Policy):
    """Rotting Adaptive Window Upper Confidence Bound, exact: every window h <= N_i.

    Pulls the arm with the largest index `min over h <= N_i of mean_i^h + c(h, delta_t)`, where `mean_i^h` is the mean of the
    last h rewards of arm i and `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. Each arm once first; ties to the lowest arm.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory asks for 4 (restless) or 5 (rested); 1.4 in practice.
        sigma: sub-Gaussian scale of the rewards.

    Needs neither the horizon nor the number of changes. Sound for rested and for restless rotting.

    Example:
        >>> RAWUCB(alpha=1.4)
        RAWUCB(alpha=1.4, sigma=1.0)

    Reference: Seznec, Ménard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits",
    AISTATS 2020, Algorithm 1.
    """

    name = "raw-ucb"
    kernel = Kernel(Params, init, update=update, **by_index(index))
