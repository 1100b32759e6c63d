"""The index of the EFF policies, `min over h_j <= N_i of mean_i^{h_j} + width(h_j)`, on the delayed windows of EFF_UPDATE."""

import math
from collections.abc import Callable
from typing import Any

from rotting.arrays import Ints
from rotting.lazy import choose_lazily, learn, level, line, search, with_tournament
from rotting.linking import slot
from rotting.policy import Reason
from rotting.tournament import intercept, root
from rotting.windows import Grid, eff_update, refreshed


@slot
def width(p: Any, level: float, h: int, root: float) -> float:
    """Stand for the width of window h, with root = sqrt(h)."""
    raise NotImplementedError


def _line(p: Any, s: Grid, lev: float, i: int) -> float:
    j = s.line[i]
    return float(s.mean[i, j] + width(p, lev, s.windows[j], s.root[j]))


def _search_all(p: Any, s: Grid, lev: float, i: int, threshold: float) -> float:
    best = math.inf
    for j in range(s.known[i]):
        mean = s.mean[i, j]
        if mean < best:  # else the width, which costs more, cannot help
            value = mean + width(p, lev, s.windows[j], s.root[j])
            if value < best:
                best, s.line[i] = value, j
    return best


def _search(p: Any, s: Grid, lev: float, i: int, threshold: float) -> float:
    s.level[0] = lev
    if s.floor[i] > threshold:
        return _line(p, s, lev, i)
    s.floor[i] = _search_all(p, s, lev, i, threshold)
    return float(s.floor[i])


def _intercept(s: Grid, i: int) -> float:
    return math.inf if s.pulls[i] == 0 else float(s.mean[i, s.line[i]])


def _root(s: Grid, i: int) -> float:
    return float(s.root[s.line[i]])


def _lower_floor(s: Grid, i: int, j: int) -> None:
    # The width of a round not after the next: bounds grow with t, so it stays a bound from below.
    s.floor[i] = min(s.floor[i], s.mean[i, j] + s.level[0] / s.root[j])


def _update(p: Any, s: Grid, t: int, arm: int, reward: float) -> None:
    eff_update(s, arm, reward)


def _explain(p: Any, s: Grid, t: int, arms: Ints, i: int) -> Reason:
    if s.pulls[i] == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    lev = level(p, t, arms.size)
    value = _search_all(p, s, lev, i, math.inf)
    j = s.line[i]
    return Reason(value, s.mean[i, j], s.windows[j], width(p, lev, s.windows[j], s.root[j]))


def by_delayed_bound(
    round_level: Callable[..., float], window_width: Callable[..., float], straight: bool
) -> dict[str, Callable[..., Any]]:
    """Return `choose`, `update` and `explain` of the policy whose index is the tightest bound of its delayed windows.

    Args:
        round_level: `round_level(p, t, n_arms)`, what the width needs to know of round t, computed once a round.
        window_width: `window_width(p, level, h, root)`, the width of window h, with root = sqrt(h).
        straight: whether the width is `level / root`, with a level that never falls. Then an arm keeps a bound of its index
            from below, lowered as windows are refreshed, and is searched again only when that does not decide; and many
            arms meet in a tournament.
    """
    parts: dict[Any, Any] = {level: round_level, width: window_width}
    if straight:
        parts |= {search: _search, learn: _update, refreshed: _lower_floor, intercept: _intercept, root: _root}
        return with_tournament(parts, explain=_explain)
    return {**choose_lazily({**parts, search: _search_all, line: _line}, explain=_explain), "update": _update}
