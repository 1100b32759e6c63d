"""Lazy choice of the largest index, for indices that are minima: pull the arm with the largest `min over windows of a bound`.

The bound of any one window is at least the index. So each arm keeps one window, whose bound is its line. Only the arm with the
highest line is searched, and only for a window whose bound is below the highest line of the others. About one arm a round is
searched instead of all, and the choice is that of computing every index, ties included.
"""

import math
from collections.abc import Callable
from typing import Any

from rotting.common.arrays import Ints
from rotting.kernels.binding import Parts, bind_all, slot
from rotting.parts.tournament import MANY, admit, champion, height, readmit, reopen, replay_path, runners_up


@slot
def pulled(s: Any, i: int) -> bool:
    """Stand for whether arm i was ever pulled."""
    raise NotImplementedError


@slot
def level_at(p: Any, t: int, n_arms: int) -> float:
    """Stand for what the widths need to know of round t, computed once a round."""
    raise NotImplementedError


@slot
def line(p: Any, s: Any, level: float, i: int) -> float:
    """Stand for the bound of the window that arm i keeps."""
    raise NotImplementedError


@slot
def learn(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    """Stand for the policy's own update."""
    raise NotImplementedError


@slot
def unlearn(p: Any, s: Any, arm: int) -> None:
    """Stand for the policy's own `forget`."""
    raise NotImplementedError


@slot
def search(p: Any, s: Any, level: float, i: int, threshold: float) -> float:
    """Stand for the search of arm i.

    It returns the index of arm i if that is at most `threshold`, else one of its bounds above the threshold. The arm keeps the
    window of that bound as its line.
    """
    raise NotImplementedError


def _first_new(s: Any, arms: Ints) -> int:
    """Return the lowest of `arms` that was never pulled, or -1."""
    for i in arms:
        if not pulled(s, i):
            return int(i)
    return -1


def _in_front(p: Any, s: Any, level: float, arms: Ints) -> tuple[int, float, float]:
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


def _choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    leader = _first_new(s, arms)
    if leader >= 0:
        return leader
    level = level_at(p, t, arms.size)
    # A search that does not settle the choice leaves the leader's line at its index, and a second search of that arm would
    # settle it. So there are at most K + 1 searches; the limit is for NaN, which is neither above nor below anything.
    for _ in range(arms.size + 1):
        leader, before, after = _in_front(p, s, level, arms)
        value = search(p, s, level, leader, max(before, after))
        if value > before and value >= after:
            break
    return leader


def _height_line(p: Any, s: Any, level: float, i: int) -> float:
    return height(s, level, i)


def level_rises(p: Any) -> bool:
    """Tell whether the level never falls, and is the same for all arms: only such lines can play a tournament."""
    return True


def _choose_of_many(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    # Those that `admit` has let in, as their number tells: it is called before when it is another set.
    many = arms.size >= MANY and arms.size == s.tournament.winner.size - s.tournament.missing[0] and level_rises(p)
    leader = -1
    if not many:
        reopen(s)  # the lines move, and the matches are not played again now
        leader = _first_new(s, arms)
    if leader >= 0:
        return leader
    level = level_at(p, t, arms.size)
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
        value = search(p, s, level, leader, max(before, after))
        if many and height(s, level, leader) < top:  # also for the arm that is chosen: its reward may come late
            replay_path(s, level, leader)
        if value > before and value >= after:
            break
    return leader


def _update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    learn(p, s, t, arm, reward)
    if s.tournament.entrants[0] == s.tournament.winner.size:
        replay_path(s, s.tournament.level[0], arm)


def _forget(p: Any, s: Any, arm: int) -> None:
    unlearn(p, s, arm)
    reopen(s)


def choose_lazily(parts: Parts, **more: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the `choose` of a policy whose index is a minimum over windows, and `more` functions made of the same parts.

    Args:
        parts: fill the slots `pulled`, `level_at`, `line` and `search`, and those of `more`.
        **more: other functions of the kernel, such as `explain`.
    """
    return bind_all({"choose": _choose, **more}, parts)


def with_tournament(parts: Parts) -> dict[str, Callable[..., Any]]:
    """Return `choose`, `update`, `forget`, `admit` and `readmit` for lines `intercept_i + level / root_i`, fast for many arms.

    The state has a field `tournament`.

    Args:
        parts: fill the slots `pulled`; `level_at`, which must not fall from round to round; `search`, which must also write the
            level to `s.tournament.level[0]`; `learn` and `unlearn`; and the tournament's `intercept` and `root`. Where the
            level is not the same for all arms, or may fall, `level_rises` says so, and `line` has the lines.
    """
    roots = {"choose": _choose_of_many, "update": _update, "forget": _forget, "admit": admit, "readmit": readmit}
    return bind_all(roots, {line: _height_line, **parts})
