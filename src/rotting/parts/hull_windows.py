"""The exact index `min over h <= N_i of U(S, h)` of RAW-UCB and RAW-klUCB, from the vertices of the hull alone.

Only vertices (`hull.py`) can have the smallest bound. A search looks for bounds of at most `limit`. A cheap test rules out most
vertices. Take a window of h rewards with the sum S, and let x = limit h - S. Its bound is above the limit if

    x <= 0    or    x^2 < square h,

where `square` depends on the limit but not on the window. For RAW-UCB, U = S / h + level / sqrt(h), it is `level^2`; for a
divergence with `kl(x, y) <= (x - y)^2 / v(y)` it is the level times v(limit). The test takes neither a root nor a division. Up
to some dozens of vertices are tested at once, in a loop without a branch. Mostly all are ruled out, and the search is over.

Otherwise the search goes from the newest vertex to the oldest: h grows, and so does the mean. So if a window has h and x, all
longer ones have `limit - mean <= x / h`. The bounds of those with up to h' rewards are above the limit if

    x <= 0    or    x^2 h' < square h^2.

If this holds for h' = N, the search is over. On long hulls, the search leaps over as many vertices as this allows: it tries
twice as many after each leap, and half as many after each failure. What is not ruled out is computed as the definition says.
All tests are widened by more than their rounding errors, so what is found is the smallest of the vertices' computed bounds.

Lower bounds that one search leaves to the next could skip further vertices, but testing all vertices costs only 10 to 15 ns per
round, about what it costs to maintain such a bound.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import Bindings
from rotting.parts.confidence import window_width
from rotting.parts.first_pulls import pulled
from rotting.parts.hull import SLACK, push, top, window_mean
from rotting.parts.lazy_choice import arm_scale, line, search
from rotting.parts.stack_pool import Stacks, ensure_room
from rotting.parts.tournament import intercept, root
from rotting.policy import Params, Reason

_MANY_VERTICES = 96  # with at least this many, leaps are faster than testing all
_MARGIN = 1.0 - 2.0**-40  # more than the roundings of the products in a test
_TINY = 2.0**-900  # squares below it, which may have lost their digits, rule nothing out


class HullLines(NamedTuple):
    """The window that each arm keeps; its upper bound is the arm's line, and is at least the arm's index."""

    mean: Floats  # [K] mean of the window
    root: Floats  # [K] sqrt(h) of its length
    depth: Ints  # [K] which vertex it starts from, counted from the oldest


class HasHull(Protocol):
    """A state with the hulls of the arms, one of whose windows is the line of each arm."""

    @property
    def hull(self) -> Stacks:
        """The windows of each arm that can have the tightest bound."""

    @property
    def lines(self) -> HullLines:
        """The window that each arm keeps."""


class HasGrowingHull(HasHull, Protocol):
    """A state whose hulls can run out of room."""

    @property
    def full(self) -> Ints:
        """[1] 1 if there was no room for a reward."""


def new_hull_lines(n_arms: int) -> HullLines:
    """Return the lines of arms that were never pulled."""
    return HullLines(mean=np.zeros(n_arms), root=np.ones(n_arms), depth=np.zeros(n_arms, np.int64))


def bound(p: Params, level: float, mean: float, h: float, best: float) -> float:
    """Return the upper bound of a window if it is below `best`, else any number that is not below `best`.

    This function and the next two are those of RAW-UCB; a policy with other bounds replaces them.
    """
    return mean + window_width(p, level, h, math.sqrt(h))


def line_bound(p: Params, s: HasHull, level: float, i: int) -> float:
    """Return the upper bound of the window that arm i keeps."""
    return float(s.lines.mean[i] + level / s.lines.root[i])


def square(p: Params, level: float, limit: float) -> float:
    """Return a number such that `x^2 < square h` rules out that the bound of a window is at most `limit`."""
    return level * level


def _keep_line(s: HasHull, i: int, newest: int, place: int, mean: float) -> None:
    s.lines.mean[i], s.lines.root[i] = mean, math.sqrt(s.hull.start[newest] - s.hull.start[place])
    s.lines.depth[i] = place - s.hull.first[i]


def record_on_hull(s: HasGrowingHull, i: int, reward: float) -> bool:
    """Append a reward to arm i if there is room for it. Return whether there was; else `s.full` asks for a larger state.

    The arm's line starts where it did or, if that vertex is dominated now, at the one before, whose bound is lower.
    """
    if not ensure_room(s.hull, i):
        s.full[0] = 1
        return False
    push(s.hull, i, reward)
    newest = top(s.hull, i)
    place = min(s.hull.first[i] + s.lines.depth[i], newest - 1)
    _keep_line(s, i, newest, place, window_mean(s.hull, newest, place))
    return True


def _none_is_below(start: Floats, high: Floats, limit: float, total: float, over_h: float, n: float) -> bool:
    """Return whether the bounds of the windows from all these starts are ruled out."""
    base, found = limit * n - total + SLACK * (abs(limit) * n + abs(total)), False
    for k in range(start.size):
        x = base - (limit * start[k] - high[k]) + SLACK * abs(high[k])
        found |= (x > 0.0) & (x * x >= over_h * (n - start[k]))
    return not found


def search_hull(p: Params, s: HasHull, level: float, i: int, threshold: float) -> float:
    """Search arm i, as `lazy_choice.search` says."""
    best = line_bound(p, s, level, i)
    if threshold == -math.inf:  # there is no other arm
        return best
    first, newest = s.hull.first[i], top(s.hull, i)
    n, total = s.hull.start[newest], s.hull.high[newest]
    limit = min(best, threshold)
    over_h = square(p, level, limit) * _MARGIN - _TINY
    leap = 1
    if newest - first >= _MANY_VERTICES:
        leap = 2
    elif _none_is_below(s.hull.start[first:newest], s.hull.high[first:newest], limit, total, over_h, n):
        return best
    place = newest - 1
    while place >= first:
        h, before = n - s.hull.start[place], s.hull.high[place]
        x = limit * h - (total - before) + SLACK * (abs(limit) * h + abs(total) + abs(before))
        if x <= 0.0 or x * x * n < over_h * h * h:
            break
        if leap > 1:
            oldest = max(first, place - leap + 1)
            if x * x * (n - s.hull.start[oldest]) < over_h * h * h:
                place, leap = oldest - 1, 2 * leap
                continue
            leap = max(2, leap // 2)
        if x * x >= over_h * h:
            mean = window_mean(s.hull, newest, place)
            value = bound(p, level, mean, h, best)
            if value < best:
                _keep_line(s, i, newest, place, mean)
                best, limit = value, min(value, threshold)
                over_h = square(p, level, limit) * _MARGIN - _TINY
        place -= 1
    return best


def line_window(s: HasHull, i: int) -> float:
    """Return the length of the window that arm i keeps."""
    return float(s.hull.start[top(s.hull, i)] - s.hull.start[s.hull.first[i] + s.lines.depth[i]])


def was_pulled(s: HasHull, i: int) -> bool:
    """Return whether arm i has a reward."""
    return bool(s.hull.size[i] > 0)


def lowest_bound(p: Params, s: HasHull, level: float, i: int) -> Reason:
    """Return the smallest bound of arm i as the definition says, over all vertices."""
    best = Reason(math.inf, math.nan, 0, math.inf)
    if s.hull.size[i] == 0:
        return best
    newest = top(s.hull, i)
    for place in range(newest - 1, s.hull.first[i] - 1, -1):
        mean, h = window_mean(s.hull, newest, place), s.hull.start[newest] - s.hull.start[place]
        value = bound(p, level, mean, h, best.value)
        if value < best.value:
            best = Reason(value, mean, int(h), value - mean)
    return best


def tightest_on_hull(p: Params, s: HasHull, level: float, i: int) -> Reason:
    """Return the smallest of arm i's bounds `mean + level / sqrt(h)`, with its window."""
    scaled = level * arm_scale(p, s, i)
    found = lowest_bound(p, s, scaled, i)
    if found.window == 0:
        return found
    return Reason(found.value, found.mean, found.window, window_width(p, scaled, found.window, math.sqrt(found.window)))


def _line(p: Params, s: HasHull, level: float, i: int) -> float:
    return line_bound(p, s, level * arm_scale(p, s, i), i)


def _search(p: Params, s: HasHull, level: float, i: int, threshold: float) -> float:
    return search_hull(p, s, level * arm_scale(p, s, i), i, threshold)


def _intercept(s: HasHull, i: int) -> float:
    return float(s.lines.mean[i]) if s.hull.size[i] > 0 else math.inf


def _root(s: HasHull, i: int) -> float:
    return float(s.lines.root[i])


HULL_WINDOWS: Bindings = {pulled: was_pulled, line: _line, search: _search, intercept: _intercept, root: _root}
"""Binds `largest_index_by_tournament` to the windows of the fields `hull` and `lines` of the state."""
