"""The filter that FEWA and EFF-FEWA share: keep the arms whose mean is close to the best.

The arms kept so far are the first `size` numbers of `s.kept`, in increasing order; `s.scale` has their `noise_scale.scale_of`.
"""

import math
from typing import Protocol

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.binding import slot
from rotting.policies.parts.indices import window_width
from rotting.policies.parts.noise_scale import HasNoise, is_estimated, scale_of
from rotting.policies.parts.prefix_sums import FAN, PrefixSums, mean_range, sum_range
from rotting.policy import Params


class HasFilter(HasNoise, Protocol):
    """A state with the working space of the filter."""

    @property
    def kept(self) -> Ints:
        """[K] the arms kept so far."""

    @property
    def scale(self) -> Floats:
        """[K] the estimated scale of each arm's noise, 1 if sigma is given."""


class HasFilteredHistory(HasFilter, Protocol):
    """A state with the filter, and all windows that it looks at."""

    @property
    def history(self) -> PrefixSums:
        """All windows of each arm."""


@slot
def window_mean(s: object, i: int, h: int) -> float:
    """Slot: the mean of arm i over one window."""
    raise NotImplementedError


def keep_all(p: Params, s: HasFilter, arms: Ints) -> int:
    """Start the filter with all arms; return their number."""
    for k in range(arms.size):
        s.kept[k] = arms[k]
        s.scale[arms[k]] = scale_of(p, s.noise, arms[k])
    return int(arms.size)


def is_kept(s: HasFilter, size: int, i: int) -> bool:
    """Return whether arm i is among the first `size` arms kept."""
    for k in range(size):  # noqa: SIM110 - a generator does not compile
        if s.kept[k] == i:
            return True
    return False


def keep_close(p: Params, s: HasFilter, size: int, h: int, c: float) -> int:
    """Filter the arms on window h, whose width is c, in place and in order; return how many are left.

    Arm i stays if `mean_i^h >= max over the arms of mean_j^h - 2 c`. Where the scales of the arms' noise are estimated, and
    differ, it stays if `mean_i^h + scale_i c >= max over the arms of mean_j^h - scale_j c`.
    """
    estimated = is_estimated(p)
    top = -math.inf
    for k in range(size):
        i = s.kept[k]
        top = max(top, window_mean(s, i, h) - (s.scale[i] * c if estimated else 0.0))
    left = 0
    for k in range(size):
        i = s.kept[k]
        mean = window_mean(s, i, h)
        if (mean + s.scale[i] * c >= top) if estimated else (mean >= top - 2.0 * c):
            s.kept[left] = i
            left += 1
    return left


def least_pulled(s: HasFilter, pulls: Ints, size: int) -> int:
    """Return the least pulled of the arms kept, the lowest of them on a tie."""
    best = s.kept[0]
    for k in range(1, size):
        if pulls[s.kept[k]] < pulls[best]:
            best = s.kept[k]
    return int(best)


def _bounds_pass(p: Params, level: float, h: int, low: float, high: float, least: float) -> bool:
    """Return whether arms pass window h if their means are between `low` and `high`, and their scales at least `least`."""
    c = window_width(p, level, h, math.sqrt(h))
    return bool(low + least * c >= high - least * c) if is_estimated(p) else bool(low >= high - 2.0 * c)


def _passes(p: Params, s: HasFilteredHistory, level: float, size: int, h: int) -> bool:
    """Return whether bounds by plain arithmetic, which take few reads, show that every arm passes window h."""
    low, high, least = math.inf, -math.inf, math.inf
    for k in range(size):
        i = s.kept[k]
        arm_low, arm_high = sum_range(s.history, i, h)
        low, high = min(low, arm_low), max(high, arm_high)
        if is_estimated(p):
            least = min(least, s.scale[i])
    return _bounds_pass(p, level, h, low / h, high / h, least)


def _last_passed(p: Params, s: HasFilteredHistory, level: float, size: int, h: int, last: int) -> int:
    """Return a window up to which bounds alone show that every arm passes all windows after h, or h: at most `last`.

    Bounds of the means over all these windows also hold for fewer of them, which are shorter and have larger widths.
    """
    low, high, least = math.inf, -math.inf, math.inf
    for k in range(size):
        i = s.kept[k]
        arm_low, arm_high = mean_range(s.history, i, h + 1, last)
        low, high = min(low, arm_low), max(high, arm_high)
        if is_estimated(p):
            least = min(least, s.scale[i])
    if _bounds_pass(p, level, last, low, high, least):
        return last
    if last - h < 2 * FAN or not _bounds_pass(p, level, h + FAN, low, high, least):
        return h
    while True:
        last = h + (last - h) // (2 * FAN) * FAN
        if last - h == FAN or _bounds_pass(p, level, last, low, high, least):
            return last


def skip_windows(p: Params, s: HasFilteredHistory, level: float, size: int, h: int, end: int) -> int:
    """Return a window from h to `end`, such that the bounds of `s.history` show that every arm passes all windows up to it.

    From multiples of `FAN`, the size of a block, windows are skipped in strides that double and halve; the others one by one.
    """
    if size == 1:
        return end
    stride = FAN
    while h < end:
        if h >= FAN and h % FAN == 0 and end - h >= FAN:
            last = min(h + stride, end)
            passed = _last_passed(p, s, level, size, h, last)
            skipped = passed > h or stride > FAN
            stride = min(2 * stride, last) if passed == last else max(FAN, stride // 2)
            h = passed
            if skipped:
                continue
        if not _passes(p, s, level, size, h + 1):
            break
        h += 1
    return h
