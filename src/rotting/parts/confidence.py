"""The width of a confidence bound, as the paper writes it."""

import math
from typing import Protocol

from rotting.kernels.elementary import log


class HasConfidence(Protocol):
    """The parameters of a policy with this width."""

    @property
    def alpha(self) -> float:
        """The exponent of delta_t."""

    @property
    def sigma(self) -> float:
        """The sub-Gaussian scale of the rewards."""


def width(alpha: float, sigma: float, t: int, h: int) -> float:
    """Return `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, with `delta_t = 2 t**-alpha`."""
    return sigma * math.sqrt(2.0 * alpha * log(t) / h)
