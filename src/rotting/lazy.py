"""Lazy choice of the largest index, for indices that are minima: pull the arm with the largest `min over windows of a bound`.

Any one window's bound is at least the index. So each arm keeps one window, its line; only the arm whose line is highest is
searched, and only for a window below the highest line of the others. About one arm a round is searched instead of all, and the
choice is that of computing every index, ties included.
"""

import math
from collections.abc import Callable
from typing import Any

from rotting.arrays import Ints
from rotting.linking import rebind
from rotting.tournament import MANY, _meet, enter, height, hold, runners_up


def level(p: Any, t: int, n_arms: int) -> float:
    """Stand for what the widths need to know of the round; `choose_lazily` binds it."""
    raise NotImplementedError


def line(p: Any, s: Any, lev: float, i: int) -> float:
    """Stand for the bound of arm i's kept window; `choose_lazily` binds it."""
    raise NotImplementedError


def learn(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    """Stand for the policy's own update; `with_tournament` binds it."""
    raise NotImplementedError


def search(p: Any, s: Any, lev: float, i: int, threshold: float) -> float:
    """Stand for the search of arm i; `choose_lazily` binds it."""
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


def choose_lazily(level: Callable[..., float], line: Callable[..., float], search: Callable[..., float]) -> Callable[..., int]:
    """Return the `choose` of a policy whose index is a minimum over windows.

    Args:
        level: `level(p, t, n_arms)`, what the widths need to know of round t, computed once a round.
        line: `line(p, s, lev, i)`, the bound of the window that arm i keeps.
        search: `search(p, s, lev, i, threshold)`: returns the index of arm i if that is at most `threshold`, else one of its
            bounds above the threshold, and makes that window the arm's line.
    """
    return rebind(_choose, level=level, line=line, search=search)


def with_tournament(
    level: Callable[..., float],
    search: Callable[..., float],
    intercept: Callable[..., float],
    root: Callable[..., float],
    learn: Callable[..., None],
) -> dict[str, Callable[..., Any]]:
    """Return `choose`, `update` and `forget` of a policy whose lines are `intercept_i + level / root_i`, fast for many arms.

    Args:
        level: `level(p, t, n_arms)`, which must not fall from round to round.
        search: as for `choose_lazily`; it must also keep the level in `s.level[0]`.
        intercept: `intercept(s, i)`, infinite for an arm never pulled.
        root: `root(s, i)`.
        learn: the policy's own `update`.
    """
    line = rebind(height, intercept=intercept, root=root)
    meet = rebind(_meet, intercept=intercept, root=root, height=line)
    bound = {"level": level, "search": search, "_choose": choose_lazily(level, rebind(_height_line, height=line), search)}
    held: dict[str, Callable[..., Any]] = {
        "hold": rebind(hold, _meet=meet),
        "enter": rebind(enter, _meet=meet),
        "runners_up": rebind(runners_up, height=line),
    }
    return {
        "choose": rebind(_choose_of_many, height=line, **bound, **held),
        "update": rebind(_update, learn=learn, enter=held["enter"]),
        "forget": _forget,
    }
