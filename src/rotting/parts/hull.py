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

from rotting.kernels.exact_sums import add, difference, subtract, times
from rotting.parts.stack_pool import Stacks

SLACK = 2.0**-50  # of the sums: more than the roundings of a quick test together


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
