"""The width of a confidence bound, as the paper writes it."""

import math

from rotting.kernels.elementary import log


def width(alpha: float, sigma: float, t: int, h: int) -> float:
    """Return `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, with `delta_t = 2 t**-alpha`."""
    return sigma * math.sqrt(2.0 * alpha * log(t) / h)
