"""The windows that can matter: the upper hull of an arm's prefix sums.

Let P_k be the sum of an arm's first k rewards and N its pulls. The window that starts after pull k has h = N - k rewards of sum
S = P_N - P_k. If its upper bound U(S, h) grows with S and is quasi-concave, then the smallest U over all windows is that of a
vertex of the least concave majorant of the points (k, P_k), k <= N (docs/hull.md has the proof). Points come only at the right
end, so a point that was dropped never returns: the vertices are a stack, and a reward costs O(1) on average. Under the newest
point (N, P_N) lie the starts of the windows, the oldest, k = 0, at the bottom.

The chain is concave: from start to start its slopes fall towards the present. So **the mean of a window grows with its age**
along the stack, and a search need not look at every vertex.

Whether a point is on or under the chord of its neighbours is decided from sums without rounding errors: points on a line
(constant rewards, zeros and ones) go, or the stack would be long.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.binding import Bindings
from rotting.policies.kernels.exact_sums import add, difference, subtract, times
from rotting.policies.parts.indices import arm_scale, line, pulled, search, window_width
from rotting.policy import Params, Reason

FIRST = 16  # points that fit into an arm's first place
_SIZES = 48  # kinds of places: of 16, 32, 64, ... points
_NONE = -1

SLACK = 2.0**-50  # of the sums: more than the roundings of a quick test together
_MANY_VERTICES = 96  # with at least this many, leaps are faster than testing all
_MARGIN = 1.0 - 2.0**-40  # more than the roundings of the products in a test
_TINY = 2.0**-900  # squares below it, which may have lost their digits, rule nothing out


# --- Room for a stack of points for each arm ----------------------------------------------------------------------------------
#
# Most stacks stay short, a few grow long. A stack that needs more room moves to a place twice as large, and leaves its old
# place to others: nothing is allocated. When no place is left, the state sets its field `full`, and gets larger arrays from
# `Kernel.enlarge`.


class Stacks(NamedTuple):
    """A stack of points (start, high + low) for every arm."""

    size: Ints  # [K] points on the stack
    first: Ints  # [K] where its place begins
    room: Ints  # [K] how many points fit into its place; 0 = it has none yet
    used: Ints  # [1] how much of the arrays belongs to places
    free: Ints  # [kinds] for each size, a place that no stack uses; its `start` holds the next such place
    start: Floats  # [capacity]
    high: Floats  # [capacity]
    low: Floats  # [capacity]


def new_stacks(n_arms: int, capacity: int) -> Stacks:
    """Return empty stacks, with room for `capacity` points in all."""
    return Stacks(
        size=np.zeros(n_arms, np.int64),
        first=np.zeros(n_arms, np.int64),
        room=np.zeros(n_arms, np.int64),
        used=np.zeros(1, np.int64),
        free=np.full(_SIZES, _NONE, np.int64),
        start=np.zeros(capacity),
        high=np.zeros(capacity),
        low=np.zeros(capacity),
    )


def enlarged(s: Stacks, capacity: int) -> Stacks:
    """Return the same stacks with room for `capacity` points, more than before."""
    used = s.used[0]
    start, high, low = longer(s.start, used, capacity), longer(s.high, used, capacity), longer(s.low, used, capacity)
    return Stacks(s.size, s.first, s.room, s.used, s.free, start, high, low)


def longer(array: Floats, used: int, capacity: int) -> Floats:
    """Return the first `used` numbers of the array, and zeros up to this capacity."""
    new = np.zeros(capacity)
    for k in range(used):  # assigning the slice takes Numba two seconds longer to compile, for the message of its error
        new[k] = array[k]
    return new


def longer_at_once(array: Floats, used: int, capacity: int) -> Floats:
    """Return what `longer` returns. To be bound to it in interpreted code, where this is the faster way."""
    new = np.zeros(capacity)
    new[:used] = array[:used]
    return new


def _kind(room: int) -> int:
    """Return the number of the kind of places with this room: 0, 1, 2, ... for 16, 32, 64, ..."""
    kind = 0
    while room > FIRST:
        room >>= 1
        kind += 1
    return kind


def _take(s: Stacks, room: int) -> int:
    """Return where a free place with this room begins, or -1 if there is none."""
    kind = _kind(room)
    place = s.free[kind]
    if place != _NONE:
        s.free[kind] = int(s.start[place])
    elif s.used[0] + room <= s.start.size:
        place = s.used[0]
        s.used[0] += room
    return int(place)


def release(s: Stacks, i: int) -> None:
    """Empty arm i's stack, and leave its place to others."""
    if s.room[i] > 0:
        kind = _kind(s.room[i])
        s.start[s.first[i]] = s.free[kind]
        s.free[kind] = s.first[i]
    s.size[i], s.first[i], s.room[i] = 0, 0, 0


def ensure_room(s: Stacks, i: int) -> bool:
    """Make room for another point on arm i's stack, which moves if it must. Return False if there is no room for it."""
    size = s.size[i]
    if size < s.room[i]:
        return True
    room = max(FIRST, 2 * s.room[i])
    place = _take(s, room)
    if place == _NONE:
        return False
    for k in range(size):
        old, new = s.first[i] + k, place + k
        s.start[new], s.high[new], s.low[new] = s.start[old], s.high[old], s.low[old]
    release(s, i)
    s.size[i], s.first[i], s.room[i] = size, place, room
    return True


# --- The hull -----------------------------------------------------------------------------------------------------------------


def top(s: Stacks, i: int) -> int:
    """Return the place of arm i's newest point; the starts of its windows lie before it, from `s.first[i]` on."""
    return int(s.first[i] + s.size[i] - 1)


def pulls(s: Stacks, i: int) -> int:
    """Return how many rewards arm i has."""
    return int(s.start[top(s, i)]) if s.size[i] > 0 else 0


def window_mean(s: Stacks, newest: int, place: int) -> float:
    """Return the mean of the rewards after the point at `place`, rounded once in the sum and once in the division."""
    h = s.start[newest] - s.start[place]
    return float(difference(s.high[newest], s.low[newest], s.high[place], s.low[place]) / h)


def push(s: Stacks, i: int, reward: float) -> None:
    """Append a reward to arm i, whose stack has room, and drop the points that are dominated now."""
    first = s.first[i]
    newest = first + s.size[i] - 1
    if newest < first:
        newest, s.start[first], s.high[first], s.low[first] = first, 0, 0.0, 0.0
    n = s.start[newest] + 1
    high, low = add(s.high[newest], s.low[newest], reward)
    while newest > first and _is_dominated(s, newest, n, high, low):
        newest -= 1
    newest += 1
    s.start[newest], s.high[newest], s.low[newest] = n, high, low
    s.size[i] = newest - first + 1


def _is_dominated(s: Stacks, place: int, n: float, high: float, low: float) -> bool:
    """Return whether the point at `place` is on or under the chord from the point before it to (n, high + low)."""
    before, here, after = s.high[place - 1], s.high[place], high
    left, right = s.start[place] - s.start[place - 1], n - s.start[place]
    gap = (after - here) * left - (here - before) * right  # at least 0 if the slope does not fall
    doubt = SLACK * ((abs(after) + abs(here)) * left + (abs(here) + abs(before)) * right)
    if abs(gap) > doubt:
        return bool(gap > 0.0)
    rise, rise_low = subtract(high, low, s.high[place], s.low[place])
    past, past_low = subtract(s.high[place], s.low[place], s.high[place - 1], s.low[place - 1])
    rise, rise_low = times(rise, rise_low, left)
    past, past_low = times(past, past_low, right)
    return difference(rise, rise_low, past, past_low) >= 0.0


# --- The tightest bound -------------------------------------------------------------------------------------------------------
#
# The exact index `min over h <= N_i of U(S, h)` of RAW-UCB and RAW-klUCB, from the vertices of the hull alone.
#
# Only vertices can have the smallest bound. A search looks for bounds of at most `limit`. A cheap test rules out most vertices.
# Take a window of h rewards with the sum S, and let x = limit h - S. Its bound is above the limit if
#
#     x <= 0    or    x^2 < square h,
#
# where `square` depends on the limit but not on the window. For RAW-UCB, U = S / h + level / sqrt(h), it is `level^2`; for a
# divergence with `kl(x, y) <= (x - y)^2 / v(y)` it is the level times v(limit). The test takes neither a root nor a division.
# Up to some dozens of vertices are tested at once, in a loop without a branch. Mostly all are ruled out, and the search is
# over.
#
# Otherwise the search goes from the newest vertex to the oldest: h grows, and so does the mean. So if a window has h and x, all
# longer ones have `limit - mean <= x / h`. The bounds of those with up to h' rewards are above the limit if
#
#     x <= 0    or    x^2 h' < square h^2.
#
# If this holds for h' = N, the search is over. On long hulls, the search leaps over as many vertices as this allows: it tries
# twice as many after each leap, and half as many after each failure. What is not ruled out is computed as the definition says.
# All tests are widened by more than their rounding errors, so what is found is the smallest of the vertices' computed bounds.
#
# Lower bounds that one search leaves to the next could skip further vertices, but testing all vertices costs only 10 to 15 ns
# per round, about what it costs to maintain such a bound.


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
    """Search arm i, as `indices.search` says."""
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


HULL_WINDOWS: Bindings = {pulled: was_pulled, line: _line, search: _search}
"""Binds `largest_index` to the windows of the fields `hull` and `lines` of the state."""
