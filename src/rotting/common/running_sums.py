"""Running sums accurate to about one unit in the last place, of single numbers or of runs of equal numbers.

A number is split in two: its leading bits, which are added exactly as 64-bit integers, and a rest, whose running sum is so
small that its rounding errors do not matter. A run of equal numbers is added in a few steps. So sums at a few marks take time
and memory in proportion to the number of runs and marks, and equal those of the numbers added one by one bit for bit.
"""

import math

import numpy as np

from rotting.common.arrays import Floats, Ints

_LONG_RUN = 1 << 12  # runs of at least this length are added by `add_repeatedly`, which takes as long as this many additions
_BLOCK = 16 * _LONG_RUN  # additions that are done at a time; a shorter run always fits
_SMALLEST = math.ulp(0.0)


def cumulative_sum(values: Floats) -> Floats:
    """Return the running sums of `values`, accurate to about one unit in the last place however large their offset.

    Example:
        >>> float(cumulative_sum(np.full(1_000_000, 0.1))[-1]), float(np.full(1_000_000, 0.1).cumsum()[-1])
        (100000.0, 100000.00000133288)
    """
    shift = _shift(float(np.abs(values).max()), len(values))
    leading, rest = _split(values, shift)
    return _together(leading.cumsum(), rest.cumsum(), shift)


def sums_at(marks: Ints, values: Floats, lengths: Ints) -> Floats:
    """Return the entries `marks - 1` of `cumulative_sum` of numbers, each of which is repeated, bit for bit.

    Args:
        marks: how many numbers to add up, in increasing order, at most the sum of the lengths.
        values: the numbers.
        lengths: how often each is repeated.

    Example:
        >>> sums_at(np.array([2, 1_000_000]), np.array([0.1, 0.2]), np.array([3, 999_997]))
        array([2.000000e-01, 1.999997e+05])
    """
    ends = lengths.cumsum()
    shift = _shift(float(np.abs(values).max()), int(ends[-1]))
    leading, rest = _split(values, shift)
    place = np.searchsorted(ends, marks)
    inside = ends[place] > marks
    cuts = np.insert(ends, place[inside], marks[inside])  # runs are cut at the marks, so that no mark lies inside a part
    run, parts, at = np.searchsorted(ends, cuts), np.diff(cuts, prepend=0), np.searchsorted(cuts, marks)
    return _together((leading[run] * parts).cumsum()[at], _add_runs(rest[run], parts)[at], shift)


def add_repeatedly(total: float, term: float, times: int) -> float:
    """Return `total` after `times` additions of `term`, each of them rounded.

    Between two powers of two all numbers are multiples of one unit, so every addition moves the total by the same distance.
    Only the first one may differ, if `term` is half-way between two multiples and is rounded to the even one. So all additions
    up to the next power of two are one multiplication.

    Example:
        >>> add_repeatedly(0.0, 0.1, 10)
        0.9999999999999999
        >>> add_repeatedly(2.0**53, 1.0, 10**18)
        9007199254740992.0
    """
    while times > 0:
        before, total, times = total, total + term, times - 1
        if total == before:
            return total
        unit = math.ulp(total)
        if math.ulp(before) == unit and (before > 0.0) == (total > 0.0):
            place, pace = int(total / unit), int((total + term - total) / unit)
            if pace == 0:
                if total + term == total:
                    return total
                continue  # the total gets smaller, and so does its unit
            # Strictly inside: below a power of two the unit is smaller.
            if (pace > 0) == (place > 0):
                room = 2**53 - 1 - abs(place)
            else:
                room = abs(place) - (0 if unit == _SMALLEST else 2**52) - 1
            leaps = min(times, max(0, room) // abs(pace))
            total, times = (place + leaps * pace) * unit, times - leaps
    return total


def _shift(largest: float, count: int) -> int:
    """Return the power of two that makes the sum of `count` numbers up to `largest` fit in 62 bits."""
    return 62 - count.bit_length() - math.frexp(largest)[1]


def _split(values: Floats, shift: int) -> tuple[Ints, Floats]:
    """Return the leading bits of `values`, in units of 2**-shift, and what is left of each."""
    leading = np.rint(np.ldexp(values, shift))
    return leading.astype(np.int64), values - np.ldexp(leading, -shift)


def _together(high: Ints, low: Floats, shift: int) -> Floats:
    return np.asarray(np.ldexp(high.astype(np.float64), -shift) + low)


def _add_runs(terms: Floats, lengths: Ints) -> Floats:
    """Return the total after each run of additions, every addition rounded."""
    totals = np.empty(terms.size)
    ends = lengths.cumsum()
    long = np.flatnonzero(lengths >= _LONG_RUN)
    k, total = 0, 0.0
    while k < terms.size:
        if lengths[k] >= _LONG_RUN:
            totals[k] = add_repeatedly(total, float(terms[k]), int(lengths[k]))
            stop = k + 1
        else:
            begin = int(ends[k] - lengths[k])
            fit = int(np.searchsorted(ends, begin + _BLOCK, side="right"))
            following = int(np.searchsorted(long, k))
            stop = min(fit, int(long[following])) if following < long.size else fit
            steps = np.concatenate([[total], np.repeat(terms[k:stop], lengths[k:stop])])
            totals[k:stop] = steps.cumsum()[ends[k:stop] - begin]
        total, k = float(totals[stop - 1]), stop
    return totals
