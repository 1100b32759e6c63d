"""The highest of many lines `intercept_i + level / root_i`, as the level rises: a kinetic tournament.

The arms meet in a binary tree. Each match remembers its winner and up to which level the outcome is certain, given that lines
are straight in the level; a match is played again only when the level passes that point, or when one of its arms gets a new
line. So a round costs a few matches for each of the log2(K) levels of the tree, instead of K lines. Outcomes are those of
comparing the computed values, ties included: where two lines are too close to tell, the match is played every time.
"""

import math
from typing import Any

from rotting.kernels.binding import slot

MANY = 32  # arms from which on a tournament beats looking at every line
_CLOSE = 1e-9  # relative distance below which rounding could decide


@slot
def intercept(s: Any, i: int) -> float:
    """Stand for the intercept of arm i's line, infinite if the arm was never pulled; policies bind their own."""
    raise NotImplementedError


@slot
def root(s: Any, i: int) -> float:
    """Stand for the root of arm i's line; policies bind their own."""
    raise NotImplementedError


def height(s: Any, lev: float, i: int) -> float:
    """Return arm i's line at this level."""
    return intercept(s, i) + lev / root(s, i)


def _entrant(s: Any, node: int) -> int:
    """Return the arm that comes out of a node: leaves K, ..., 2K - 1 are the arms, the others have played."""
    n = s.winner.size
    return int(node - n if node >= n else s.winner[node])


def _meet(s: Any, lev: float, node: int) -> None:
    """Play the match at `node`, whose two sides have played theirs."""
    n = s.winner.size
    first, second = _entrant(s, 2 * node), _entrant(s, 2 * node + 1)
    high, low = height(s, lev, first), height(s, lev, second)
    if low > high or (low == high and second < first):
        first, second, high, low = second, first, low, high
    until = math.inf
    if high < math.inf:
        gain = 1.0 / root(s, second) - 1.0 / root(s, first)  # how fast the loser catches up
        apart = high - low
        if gain == 0.0 and intercept(s, first) == intercept(s, second):
            until = math.inf  # the same line
        elif apart <= _CLOSE * (abs(high) + abs(low)):
            until = lev
        elif gain > 0.0:
            until = lev + 0.999 * apart / gain
    for side in range(2 * node, 2 * node + 2):
        if side < n:
            until = min(until, s.certain[side])
    s.winner[node], s.certain[node] = first, until


def enter(s: Any, lev: float, i: int) -> None:
    """Let arm i, which has a new line, play its matches again."""
    node = (s.winner.size + i) // 2
    while node >= 1:
        _meet(s, lev, node)
        node //= 2


def hold(s: Any, lev: float) -> int:
    """Return the arm with the highest line at this level, the lowest arm on a tie; only doubtful matches are played."""
    n = s.winner.size
    if s.entrants[0] != n:
        for node in range(n - 1, 0, -1):
            _meet(s, lev, node)
        s.entrants[0] = n
    node = 1
    while node >= 1:
        left, right = 2 * node, 2 * node + 1
        if left < n and s.certain[left] < lev:
            node = left
        elif right < n and s.certain[right] < lev:
            node = right
        else:
            if s.certain[node] < lev:
                _meet(s, lev, node)
            node //= 2
    return int(s.winner[1])


def runners_up(s: Any, lev: float, champion: int) -> tuple[float, float]:
    """Return the highest lines of the arms below and above `champion`, who has just won."""
    before, after = -math.inf, -math.inf
    node = s.winner.size + champion
    while node > 1:
        rival = _entrant(s, node ^ 1)
        value = height(s, lev, rival)
        if rival < champion:
            before = max(before, value)
        else:
            after = max(after, value)
        node //= 2
    return before, after
