"""The step that FEWA and EFF-FEWA share: keep the arms whose mean is close to the best."""

import math
from typing import Any

from rotting.kernels.binding import slot


@slot
def window_mean(s: Any, i: int, h: int) -> float:
    """Stand for the mean of arm i over one window; each policy binds its own."""
    raise NotImplementedError


def keep_close(s: Any, size: int, h: int, reach: float) -> int:
    """Filter the first `size` arms in `s.scratch` on window h, in place and in order; return how many are left.

    Arm i stays if `mean_i^h >= max over the arms of mean_j^h - reach`.
    """
    kept = s.scratch
    top = -math.inf
    for k in range(size):
        top = max(top, window_mean(s, kept[k], h))
    left = 0
    for k in range(size):
        if window_mean(s, kept[k], h) >= top - reach:
            kept[left] = kept[k]
            left += 1
    return left


def least_pulled(s: Any, size: int) -> int:
    """Return the least pulled of the first `size` arms in `s.scratch`, the lowest of them on a tie."""
    best = s.scratch[0]
    for k in range(1, size):
        if s.pulls[s.scratch[k]] < s.pulls[best]:
            best = s.scratch[k]
    return int(best)
