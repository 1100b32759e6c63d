"""The highest of many lines `intercept_i + level / root_i`, as the level rises: a kinetic tournament.

The arms play matches in a binary tree. Each match keeps its winner, and the level up to which that outcome is certain, given
that the lines are linear in the level. A match is played again only when the level passes that point, or when one of its arms
gets a new line. So a round costs a few matches on each of the log2(K) layers of the tree, instead of K lines. Each outcome is
that of comparing the computed values, ties included: a match of two lines that are too close to call is played every time.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import slot
from rotting.policy import Params

MANY = 32  # with at least this many arms, a tournament is faster than computing every line
_CLOSE = 1e-9  # relative distance below which rounding could decide


class Tournament(NamedTuple):
    """The matches of a tournament between K arms. Match 1 is the final; match n has the sides 2n and 2n + 1.

    States of policies that use it have it in a field `tournament`.
    """

    winner: Ints  # [K] winner of each match; there is no match 0
    certain: Floats  # [K] the level up to which the winner is certain, also in the matches below
    entrants: Ints  # [1] number of arms when all matches were last played; 0 if they must be played again
    level: Floats  # [1] level of the last search: the one at which an arm with a new reward plays its matches
    out: Ints  # [K] 1 for an arm that does not play: it loses to all others
    missing: Ints  # [1] how many do not play


class HasTournament(Protocol):
    """A state of a policy that compares its arms in a tournament."""

    @property
    def tournament(self) -> Tournament:
        """The matches between the arms."""


def new_tournament(n_arms: int) -> Tournament:
    """Return a tournament that has not been played."""
    return Tournament(
        winner=np.zeros(n_arms, np.int64),
        certain=np.zeros(n_arms),
        entrants=np.zeros(1, np.int64),
        level=np.zeros(1),
        out=np.zeros(n_arms, np.int64),
        missing=np.zeros(1, np.int64),
    )


@slot
def intercept(s: object, i: int) -> float:
    """Slot: the intercept of arm i's line, infinite if the arm was never pulled."""
    raise NotImplementedError


@slot
def root(s: object, i: int) -> float:
    """Slot: the root of arm i's line."""
    raise NotImplementedError


def height(s: object, level: float, i: int) -> float:
    """Return arm i's line at this level."""
    return intercept(s, i) + level / root(s, i)


def _score(s: HasTournament, level: float, i: int) -> float:
    return height(s, level, i) if s.tournament.out[i] == 0 else -math.inf


def _winner_of(s: HasTournament, node: int) -> int:
    """Return the arm that comes out of a node: leaves K, ..., 2K - 1 are the arms, the others are matches."""
    n = s.tournament.winner.size
    return int(node - n if node >= n else s.tournament.winner[node])


def _play_match(s: HasTournament, level: float, node: int) -> None:
    """Play the match at `node`, after those of its two sides."""
    n = s.tournament.winner.size
    first, second = _winner_of(s, 2 * node), _winner_of(s, 2 * node + 1)
    high, low = _score(s, level, first), _score(s, level, second)
    if low > high or (low == high and second < first):
        first, second, high, low = second, first, low, high
    until = math.inf
    if high < math.inf and low > -math.inf:
        gain = 1.0 / root(s, second) - 1.0 / root(s, first)  # how fast the loser catches up
        apart = high - low
        if gain == 0.0 and intercept(s, first) == intercept(s, second):
            until = math.inf  # the same line
        elif apart <= _CLOSE * (abs(high) + abs(low)):
            until = level
        elif gain > 0.0:
            until = level + 0.999 * apart / gain
    for side in range(2 * node, 2 * node + 2):
        if side < n:
            until = min(until, s.tournament.certain[side])
    s.tournament.winner[node], s.tournament.certain[node] = first, until


def reopen(s: HasTournament) -> None:
    """Have all matches played again by the next `champion`."""
    s.tournament.entrants[0] = 0


def update_line(s: HasTournament, i: int) -> None:
    """Play the matches of arm i again after its line has changed, unless all matches will be played anyway."""
    if is_played(s):
        replay_path(s, s.tournament.level[0], i)


def replay_path(s: HasTournament, level: float, i: int) -> None:
    """Play the matches of arm i, which has a new line, again: from its first one up to the final."""
    node = (s.tournament.winner.size + i) // 2
    while node >= 1:
        _play_match(s, level, node)
        node //= 2


def admit(p: Params, s: HasTournament, arms: Ints) -> None:
    """Make these arms the ones that play; the matches of every arm that enters or leaves are played again."""
    t = s.tournament
    k = 0
    for i in range(t.out.size):
        plays = k < arms.size and arms[k] == i
        k += plays
        if plays == (t.out[i] == 1):
            t.out[i] = 0 if plays else 1
            update_line(s, i)
    t.missing[0] = t.out.size - arms.size


def _set_out(s: HasTournament, arms: Ints, out: int) -> None:
    for i in arms:
        s.tournament.out[i] = out
        update_line(s, i)


def readmit(p: Params, s: HasTournament, come: Ints, go: Ints) -> None:
    """Make the arms `come` enter the tournament, and the arms `go` leave it."""
    _set_out(s, come, 0)
    _set_out(s, go, 1)
    s.tournament.missing[0] += go.size - come.size


def is_played(s: HasTournament) -> bool:
    """Return whether the tournament made the last choice. Then the next choice considers only the arms that play in it."""
    return bool(s.tournament.entrants[0] == s.tournament.winner.size)


def champion(s: HasTournament, level: float) -> int:
    """Return the arm with the highest line at this level, the lowest arm on a tie; only uncertain matches are played."""
    n = s.tournament.winner.size
    if s.tournament.entrants[0] != n:
        for node in range(n - 1, 0, -1):
            _play_match(s, level, node)
        s.tournament.entrants[0] = n
    node = 1
    while node >= 1:
        left, right = 2 * node, 2 * node + 1
        if left < n and s.tournament.certain[left] < level:
            node = left
        elif right < n and s.tournament.certain[right] < level:
            node = right
        else:
            if s.tournament.certain[node] < level:
                _play_match(s, level, node)
            node //= 2
    return int(s.tournament.winner[1])


def runners_up(s: HasTournament, level: float, first: int) -> tuple[float, float]:
    """Return the highest line of the arms below arm `first`, which has just won, and that of the arms above it."""
    before, after = -math.inf, -math.inf
    node = s.tournament.winner.size + first
    while node > 1:
        rival = _winner_of(s, node ^ 1)
        value = _score(s, level, rival)
        if rival < first:
            before = max(before, value)
        else:
            after = max(after, value)
        node //= 2
    return before, after
