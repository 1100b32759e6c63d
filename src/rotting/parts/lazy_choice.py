"""Lazy choice of the largest index, for indices that are minima: pull the arm with the largest `min over windows of a bound`.

Any one window's bound is at least the index. So each arm keeps one window, its line; only the arm whose line is highest is
searched, and only for a window below the highest line of the others. About one arm a round is searched instead of all, and the
choice is that of computing every index, ties included.
"""

import math
from collections.abc import Callable
from typing import Any

from rotting.common.arrays import Ints
from rotting.kernels.binding import Parts, bind_all, slot
from rotting.parts.tournament import MANY, enter, height, hold, runners_up


@slot
def level(p: Any, t: int, n_arms: int) -> float:
    """Stand for what the widths need to know of round t, computed once a round."""
    raise NotImplementedError


@slot
def line(p: Any, s: Any, lev: float, i: int) -> float:
    """Stand for the bound of the window that arm i keeps."""
    raise NotImplementedError


@slot
def learn(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    """Stand for the policy's own update."""
    raise NotImplementedError


@slot
def search(p: Any, s: Any, lev: float, i: int, threshold: float) -> float:
    """Stand for the search of arm i.

    It returns the index of arm i if that is at most `threshold`, else one of its bounds above the threshold, and makes that
    window the arm's line.
    """
    raise NotImplementedError


def _choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    for i in arms:
        if s.pulls[i] == 0:
            return int(i)
    lev = level(p, t, arms.size)
    leader = arms[0]
    # A search that does not settle the choice leaves the leader's line at its index, and a second one of that arm would settle
    # it: there are at most K + 1, unless a NaN, which is neither above nor below anything, stands in the way.
    for _ in range(arms.size + 1):
        leader, first, before, after = arms[0], -math.inf, -math.inf, -math.inf
        for i in arms:
            value = line(p, s, lev, i)
            if value > first:
                # The highest line so far belongs to a lower arm, which wins a tie with the new leader.
                leader, first, before, after = i, value, first, -math.inf
            else:
                after = max(after, value)
        value = search(p, s, lev, leader, max(before, after))
        if value > before and value >= after:
            break
    return int(leader)


def _height_line(p: Any, s: Any, lev: float, i: int) -> float:
    return height(s, lev, i)


def _choose_of_many(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    if arms.size < MANY or arms.size < s.winner.size:
        s.entrants[0] = 0  # the lines move without it
        return _choose(p, s, t, key, arms)
    lev = level(p, t, arms.size)
    leader = arms[0]
    for _ in range(arms.size + 1):  # as above
        leader = hold(s, lev)
        if s.pulls[leader] == 0:
            break
        before, after = runners_up(s, lev, leader)
        top = height(s, lev, leader)
        value = search(p, s, lev, leader, max(before, after))
        if height(s, lev, leader) < top:  # also when the arm is chosen: its reward, which enters it again, may be late
            enter(s, lev, leader)
        if value > before and value >= after:
            break
    return int(leader)


def _update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    learn(p, s, t, arm, reward)
    if s.entrants[0] == s.winner.size:
        enter(s, s.level[0], arm)


def _forget(p: Any, s: Any, arm: int) -> None:
    s.entrants[0] = 0  # play the whole tournament again


def choose_lazily(parts: Parts, **more: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the `choose` of a policy whose index is a minimum over windows, and `more` functions made of the same parts.

    Args:
        parts: fill the slots `level`, `line` and `search`, and those of `more`.
        **more: other functions of the kernel, such as `explain`.
    """
    return bind_all({"choose": _choose, **more}, parts)


def with_tournament(parts: Parts, **more: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return `choose`, `update`, `forget` and `more` for lines that are `intercept_i + level / root_i`, fast for many arms.

    Args:
        parts: fill the slots `level`, which must not fall from round to round, `search`, which must also keep the level in
            `s.level[0]`, `learn`, the tournament's `intercept` and `root`, and those of `more`.
        **more: other functions of the kernel, such as `explain`.
    """
    roots = {"choose": _choose_of_many, "update": _update, **more}
    return {**bind_all(roots, {line: _height_line, **parts}), "forget": _forget}
