"""The widths of confidence bounds."""

import math

from rotting.kernels.elementary import log
from rotting.policy import Params


def width(alpha: float, sigma: float, t: int, h: int) -> float:
    """Return `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, with `delta_t = 2 t**-alpha`."""
    return sigma * math.sqrt(2.0 * alpha * log(t) / h)


def window_width(p: Params, level: float, h: float, root: float) -> float:
    """Return the width of a window of h rewards, with root = sqrt(h), for policies that compute a level once per round.

    With the level `c(1, delta_t)` this is `c(h, delta_t)`. A policy with other widths binds its own function here; the width
    must not increase with h.
    """
    return level / root
