"""The largest index without computing every arm's, for indices that are minima over windows.

The bound of any one window is at least the index. So each arm keeps one window, whose bound is its line. Only the arm with the
highest line is searched, and only for a window whose bound is below the highest line of the others. About one arm per round is
searched instead of all, and the choice is that of computing every index, ties included.

Widths depend on the round through one number, its level: `c(1, delta_t)` for RAW-UCB.
"""

import math

from rotting.common.arrays import Ints
from rotting.kernels.binding import slot
from rotting.parts.first_pulls import first_new, pulled
from rotting.parts.tournament import MANY, HasTournament, champion, height, reopen, replay_path, runners_up
from rotting.policy import Params


@slot
def line(p: Params, s: object, level: float, i: int) -> float:
    """Slot: the bound of the window that arm i keeps."""
    raise NotImplementedError


@slot
def search(p: Params, s: object, level: float, i: int, threshold: float) -> float:
    """Slot: the search of arm i.

    It returns the index of arm i if that is at most `threshold`, else one of its bounds above the threshold. The arm keeps the
    window of that bound as its line.
    """
    raise NotImplementedError


def arm_scale(p: Params, s: object, i: int) -> float:
    """Return the factor of arm i's widths: 1. A policy that can estimate its sigma binds `noise_scale.arm_noise` here."""
    return 1.0


def level_rises(p: Params) -> bool:
    """Return whether the level never falls and is the same for all arms, as a tournament needs: bind another if not."""
    return True


def largest_index(p: Params, s: object, level: float, arms: Ints) -> int:
    """Return the arm with the largest index, the lowest on a tie; before that, the lowest arm that was never pulled."""
    leader = first_new(s, arms)
    if leader >= 0:
        return leader
    # A search either settles the choice or lowers the leader's line to its index, so that a second search of the same arm would
    # settle it. So K + 1 searches suffice. The limit stops the loop if a value is NaN, which no comparison settles.
    for _ in range(arms.size + 1):
        leader, before, after = _in_front(p, s, level, arms)
        value = search(p, s, level, leader, max(before, after))
        if value > before and value >= after:
            break
    return leader


def largest_index_by_tournament(p: Params, s: HasTournament, level: float, arms: Ints) -> int:
    """Return the same arm as `largest_index`, faster for many arms: their lines are compared in `s.tournament`.

    The lines must be `intercept_i + level / root_i`.
    """
    # The arms in the tournament are those of the last `admit`, which is called before a choice among others. So as many arms as
    # there are in the tournament are those in it.
    many = arms.size >= MANY and arms.size == s.tournament.winner.size - s.tournament.missing[0] and level_rises(p)
    leader = -1
    if not many:
        reopen(s)  # the lines move, and the matches are not played again now
        leader = first_new(s, arms)
    if leader >= 0:
        return leader
    for _ in range(arms.size + 1):  # as above
        if many:
            leader = champion(s, level)
            if not pulled(s, leader):
                break
            before, after = runners_up(s, level, leader)
            top = height(s, level, leader)
        else:
            leader, before, after = _in_front(p, s, level, arms)
            top = -math.inf
        s.tournament.level[0] = level
        value = search(p, s, level, leader, max(before, after))
        if many and height(s, level, leader) < top:  # also for the arm that is chosen: its reward may come late
            replay_path(s, level, leader)
        if value > before and value >= after:
            break
    return leader


def _in_front(p: Params, s: object, level: float, arms: Ints) -> tuple[int, float, float]:
    """Return the arm with the highest line, and the highest lines of the arms before and after it."""
    leader, first, before, after = arms[0], -math.inf, -math.inf, -math.inf
    for i in arms:
        value = line(p, s, level, i)
        if value > first:
            # The highest line so far belongs to a lower arm, which wins a tie with the new leader.
            leader, first, before, after = i, value, first, -math.inf
        else:
            after = max(after, value)
    return int(leader), before, after
