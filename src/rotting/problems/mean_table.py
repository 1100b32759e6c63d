"""Tables of means mu_i(t, n) as the game reads them: run-length encoded over rounds and over pulls.

The mean of an arm is `a(t) + b(n)`, `a(t) * b(n)` or a grid over both. `a` and `b` are stored as pieces of equal value, so
memory is proportional to the number of changes, not of rounds. `t` counts rounds from 1, `n` earlier pulls from 0.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints

SUM, PRODUCT, GRID = 0, 1, 2
_NO_GRID = np.empty(0)

Steps = tuple[Ints, Floats]
"""Where each piece starts, counted from 0, and its value."""


class Means(NamedTuple):
    """The means of all arms; the pieces of the arms follow one another."""

    kinds: Ints  # [K] SUM, PRODUCT or GRID
    on_rounds: Ints  # [K] 1 if the arm's noise follows the rounds, 0 if it follows the arm's own pulls
    round_starts: Ints  # first round (from 1) of each piece
    round_values: Floats
    round_first: Ints  # [K + 1] where each arm's round pieces begin
    pull_starts: Ints  # first pull (from 0) of each piece
    pull_values: Floats
    pull_first: Ints  # [K + 1] where each arm's pull pieces begin
    grid: Floats  # GRID arms: values[round piece, pull piece], row after row
    grid_first: Ints  # [K + 1] where each arm's grid begins


def seek(starts: Ints, k: int, end: int, x: int) -> int:
    """Return the piece that holds `x`, searching forward from piece `k` and staying below `end`.

    The search doubles its steps: the clock of an arm may have moved by hundreds of pieces since its last pull.
    """
    step = 1
    while k + step < end and starts[k + step] <= x:
        k += step
        step *= 2
    while step > 1:
        step //= 2
        if k + step < end and starts[k + step] <= x:
            k += step
    return k


def mean_at(m: Means, i: int, kt: int, kn: int) -> float:
    """Return the mean of arm `i` in round piece `kt` and pull piece `kn` (positions in the whole table)."""
    if m.kinds[i] == SUM:
        return float(m.round_values[kt] + m.pull_values[kn])
    if m.kinds[i] == PRODUCT:
        return float(m.round_values[kt] * m.pull_values[kn])
    width = m.pull_first[i + 1] - m.pull_first[i]
    return float(m.grid[m.grid_first[i] + (kt - m.round_first[i]) * width + (kn - m.pull_first[i])])


# Building tables.


def merge(starts: Ints, values: Floats) -> Steps:
    """Join neighbouring pieces of equal value.

    Example:
        >>> merge(np.array([0, 1, 2]), np.array([0.5, 0.5, 0.25]))
        (array([0, 2]), array([0.5 , 0.25]))
    """
    keep = np.ones(len(values), dtype=bool)
    keep[1:] = values[1:] != values[:-1]
    return starts[keep], values[keep]


def no_steps() -> Steps:
    """Return one piece of value zero, for a clock that an arm does not follow."""
    return np.zeros(1, dtype=np.int64), np.zeros(1)


def one_arm(kind: int, rounds: Steps, pulls: Steps, grid: Floats = _NO_GRID, *, on_rounds: bool = False) -> Means:
    """Return the table of a single arm that combines `rounds` and `pulls` by `kind`, with its flat grid if it is a GRID.

    Example:
        >>> m = one_arm(SUM, no_steps(), (np.array([0, 3]), np.array([1.0, 0.5])))
        >>> mean_at(m, 0, 0, seek(m.pull_starts, 0, 2, 3))
        0.5
    """
    return Means(
        kinds=np.array([kind]),
        on_rounds=np.array([int(on_rounds)]),
        round_starts=rounds[0] + 1,
        round_values=rounds[1],
        round_first=np.array([0, len(rounds[0])]),
        pull_starts=pulls[0],
        pull_values=pulls[1],
        pull_first=np.array([0, len(pulls[0])]),
        grid=grid,
        grid_first=np.array([0, len(grid)]),
    )


def join(parts: Sequence[Means]) -> Means:
    """Return the read-only table of all arms of `parts`, in order."""
    offsets = {
        name: np.concatenate([[0], np.cumsum([getattr(part, name)[-1] for part in parts])])
        for name in ("round_first", "pull_first", "grid_first")
    }
    columns = []
    for name in Means._fields:
        column = [getattr(part, name) for part in parts]
        if name in offsets:
            shifted = [first[:-1] + offset for first, offset in zip(column, offsets[name], strict=False)]
            column = [*shifted, offsets[name][-1:]]
        joined = np.concatenate(column)
        joined.setflags(write=False)
        columns.append(joined)
    return Means(*columns)


def arm_of(m: Means, i: int, horizon: int) -> Means:
    """Return the part of the table that a game of `horizon` rounds reads, for arm `i` alone.

    Example:
        >>> pulls_of(arm_of(from_rows(np.array([[1.0, 0.5], [0.9, 0.4]]), on_rounds=False), 1, horizon=1), 0)
        (array([0]), array([0.9]))
    """
    starts, values = rounds_of(m, i)
    edges, heights = pulls_of(m, i)
    rounds, pulls = slice(int(np.searchsorted(starts, horizon, side="right"))), slice(int(np.searchsorted(edges, horizon)))
    grid = grid_of(m, i)[rounds, pulls].ravel() if m.kinds[i] == GRID else _NO_GRID
    clocks = (starts[rounds] - 1, values[rounds]), (edges[pulls], heights[pulls])
    return one_arm(int(m.kinds[i]), *clocks, grid, on_rounds=bool(m.on_rounds[i]))


def from_rows(rows: Floats, *, on_rounds: bool) -> Means:
    """Return the table of arms whose means are `rows[arm, tick]`, over rounds or over pulls.

    Example:
        >>> pulls_of(from_rows(np.array([[0.5, 0.5, 0.25], [1.0, 0.5, 0.5]]), on_rounds=False), 1)
        (array([0, 1]), array([1. , 0.5]))
    """
    K = len(rows)
    begins = np.ones(rows.shape, dtype=bool)
    begins[:, 1:] = rows[:, 1:] != rows[:, :-1]
    first = np.concatenate([[0], np.cumsum(np.count_nonzero(begins, axis=1))])
    clock = begins.nonzero()[1], rows[begins] + 0.0, first  # adding zero turns -0.0 into 0.0
    other = np.zeros(K, np.int64), np.zeros(K), np.arange(K + 1)
    rounds, pulls = (clock, other) if on_rounds else (other, clock)
    kinds, empty = np.full(K, SUM), np.zeros(K + 1, np.int64)
    clocks = (rounds[0] + 1, rounds[1], rounds[2], pulls[0], pulls[1], pulls[2])
    return Means(kinds, np.full(K, int(on_rounds)), *clocks, _NO_GRID, empty)


# Reading tables, outside the game.


def rounds_of(m: Means, i: int) -> Steps:
    """Return the round pieces of arm `i`, starting at round 1."""
    piece = slice(m.round_first[i], m.round_first[i + 1])
    return m.round_starts[piece], m.round_values[piece]


def pulls_of(m: Means, i: int) -> Steps:
    """Return the pull pieces of arm `i`, starting at 0."""
    piece = slice(m.pull_first[i], m.pull_first[i + 1])
    return m.pull_starts[piece], m.pull_values[piece]


def grid_of(m: Means, i: int) -> Floats:
    """Return the grid [round piece, pull piece] of a GRID arm."""
    return m.grid[m.grid_first[i] : m.grid_first[i + 1]].reshape(len(rounds_of(m, i)[0]), -1)


def row_of(m: Means, i: int, kt: int) -> Floats:
    """Return the means of arm `i` in its `kt`-th round piece, for each of its pull pieces."""
    if m.kinds[i] == GRID:
        return np.asarray(grid_of(m, i)[kt])
    return _combine(m, i)(rounds_of(m, i)[1][kt : kt + 1], pulls_of(m, i)[1])


def column_of(m: Means, i: int, kn: int) -> Floats:
    """Return the means of arm `i` in its `kn`-th pull piece, for each of its round pieces."""
    if m.kinds[i] == GRID:
        return grid_of(m, i)[:, kn]
    return _combine(m, i)(rounds_of(m, i)[1], pulls_of(m, i)[1][kn : kn + 1])


def lookup(m: Means, i: int, t: int, n: int) -> float:
    """Return the mean of arm `i` at round `t` after `n` of its pulls, by bisection."""
    kt = m.round_first[i] + np.searchsorted(rounds_of(m, i)[0], t, side="right") - 1
    kn = m.pull_first[i] + np.searchsorted(pulls_of(m, i)[0], n, side="right") - 1
    return mean_at(m, i, int(kt), int(kn))


def mean_bounds(m: Means, i: int, horizon: int) -> tuple[float, float]:
    """Return the smallest and largest mean that arm `i` can have at some `n < t <= horizon`."""
    _, a = rounds_of(m, i)
    _, b = pulls_of(m, i)
    reach = _reach(m, i, horizon)
    if m.kinds[i] == GRID:
        values = grid_of(m, i)[np.arange(len(b)) < reach[:, None]]
    else:
        combine = _combine(m, i)
        with np.errstate(over="ignore"):  # the caller refuses values that are not finite
            lows = combine(a, np.minimum.accumulate(b)[reach - 1])
            highs = combine(a, np.maximum.accumulate(b)[reach - 1])
        values = np.concatenate([lows, highs])
    return float(values.min()), float(values.max())


class Rise(NamedTuple):
    """A rise of a mean: the arm, the clock ("pulls" or "rounds"), the first point after it, and both values."""

    arm: int
    clock: str
    t: int
    n: int
    before: float
    after: float

    def __str__(self) -> str:
        by_pulls = self.clock == "pulls"
        name, x = ("n", self.n) if by_pulls else ("t", self.t)
        other = f"at round t = {self.t}" if by_pulls else f"after n = {self.n} pulls"
        return (
            f"arm {self.arm} rises with its {self.clock}, from {self.before} at {name} = {x - 1} "
            f"to {self.after} at {name} = {x} ({other})"
        )


def first_rise(m: Means, i: int, horizon: int) -> Rise | None:
    """Return where arm `i` first rises with its pulls, else with the rounds, else None.

    Only means that a game can reach are compared: `n < t <= horizon` on both sides of the rise.
    """
    return _rise_with_pulls(m, i) or _rise_with_rounds(m, i, horizon)


def _rise_with_pulls(m: Means, i: int) -> Rise | None:
    starts, a = rounds_of(m, i)
    edges, b = pulls_of(m, i)
    # Pull n is possible from round n + 1 on: the first round piece in which each pull piece can be reached.
    first = np.searchsorted(starts, edges + 1, side="right") - 1
    if m.kinds[i] == GRID:
        reachable = np.arange(len(a))[:, None] >= first[1:]
        rises = np.any((np.diff(grid_of(m, i), axis=1) > 0) & reachable, axis=0)
    else:
        lows = np.minimum.accumulate(a[::-1])[::-1][first[1:]]
        highs = np.maximum.accumulate(a[::-1])[::-1][first[1:]]
        rises = _rises(_combine(m, i), b, lows, highs)
    if not rises.any():
        return None
    k = int(np.argmax(rises)) + 1
    before, after = (column_of(m, i, kn)[first[k] :] for kn in (k - 1, k))
    j = int(np.argmax(after > before))
    t = max(int(starts[first[k] + j]), int(edges[k]) + 1)
    return Rise(i, "pulls", t, int(edges[k]), float(before[j]), float(after[j]))


def _rise_with_rounds(m: Means, i: int, horizon: int) -> Rise | None:
    edges, a = rounds_of(m, i)
    starts, b = pulls_of(m, i)
    # Both sides of the edge are compared at the pulls that are possible on the earlier side.
    reach = _reach(m, i, horizon)[:-1]
    if m.kinds[i] == GRID:
        reachable = np.arange(len(b)) < reach[:, None]
        rises = np.any((np.diff(grid_of(m, i), axis=0) > 0) & reachable, axis=1)
    else:
        lows = np.minimum.accumulate(b)[reach - 1]
        highs = np.maximum.accumulate(b)[reach - 1]
        rises = _rises(_combine(m, i), a, lows, highs)
    if not rises.any():
        return None
    k = int(np.argmax(rises)) + 1
    before, after = (row_of(m, i, kt)[: reach[k - 1]] for kt in (k - 1, k))
    j = int(np.argmax(after > before))
    return Rise(i, "rounds", int(edges[k]), int(starts[j]), float(before[j]), float(after[j]))


def _rises(
    combine: Callable[[Floats, Floats], Floats], moving: Floats, lows: Floats, highs: Floats
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return the edges of `moving` at which the mean rises for some value of the other clock in [low, high].

    Both ends are tried, since a product with a negative factor rises where the other factor falls.
    """
    return (combine(moving[1:], lows) > combine(moving[:-1], lows)) | (combine(moving[1:], highs) > combine(moving[:-1], highs))


def _combine(m: Means, i: int) -> Callable[[Floats, Floats], Floats]:
    return np.add if m.kinds[i] == SUM else np.multiply


def _reach(m: Means, i: int, horizon: int) -> Ints:
    """Return for each round piece of arm `i` the number of pull pieces that a game can reach by the end of it."""
    starts, _ = rounds_of(m, i)
    last = np.append(starts[1:] - 1, horizon)
    return np.searchsorted(pulls_of(m, i)[0], last - 1, side="right")
