"""The oracle with every mean of every round written out: what `rotting.problems.oracle` is compared with, bit for bit."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.problems import Problem, oracle
from rotting.problems.mean_table import Means, column_of, mean_at, mean_bounds, rounds_of, row_of, seek
from rotting.problems.oracle import (
    GREEDY_RISING,
    GREEDY_TWO_CLOCKS,
    OPTIMAL,
    Reference,
    _follows_rounds,
    _over_counts,
    _over_pulls,
    _split_arms,
)


def optimal_rewards(problem: Problem, horizon: int | None = None) -> Reference:
    """Return the cumulative mean reward of the optimal policy at every horizon 1, ..., `horizon` at once.

    Each entry is the optimum of its own horizon; where arms rise, no single policy need attain them all.
    """
    rounds = problem.resolve_horizon(horizon)
    m = problem.means(rounds)
    by_pulls, others = _split_arms(m)
    if not by_pulls:
        return Reference(cumulative_sum(_best_by_round(m, others, rounds)[0]), OPTIMAL)
    if _follows_rounds(m):
        if (rounds + 1) ** (len(by_pulls) + 1) <= oracle.MAX_STATES:
            return Reference(_by_dynamic_programming(m, by_pulls, others, rounds), OPTIMAL)
        return Reference(cumulative_sum(_play_greedily(m, rounds)), GREEDY_TWO_CLOCKS)
    falling = [i for i in range(len(m.kinds)) if _falls(m, i)]
    rising = [i for i in by_pulls if i not in falling]
    if not rising:
        return Reference(cumulative_sum(_largest(m, falling, rounds)), OPTIMAL)
    if len(rising) * rounds**2 <= oracle.MAX_SHARES:
        return Reference(_best_division(m, falling, rising, rounds), OPTIMAL)
    return Reference(cumulative_sum(_play_greedily(m, rounds)), GREEDY_RISING)


def greedy_rewards(problem: Problem, horizon: int | None = None) -> Floats:
    """Return the cumulative mean reward of the greedy oracle: largest current mean, ties to the lowest arm."""
    rounds = problem.resolve_horizon(horizon)
    m = problem.means(rounds)
    by_pulls, others = _split_arms(m)
    if not by_pulls:
        return cumulative_sum(_best_by_round(m, others, rounds)[0])
    if not _follows_rounds(m) and all(_falls(m, i) for i in by_pulls):
        return cumulative_sum(_largest(m, [*by_pulls, *others], rounds))
    return cumulative_sum(_play_greedily(m, rounds))


def cumulative_sum(values: Floats) -> Floats:
    """Return the running sums of `values` to about one unit in the last place, however large their offset.

    The leading bits are added exactly, as 64-bit integers; what they leave out is too small for its rounding
    to show.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    shift = 62 - len(values).bit_length() - exponent
    leading = np.rint(np.ldexp(values, shift))
    rest = values - np.ldexp(leading, -shift)
    sums = leading.astype(np.int64).cumsum().astype(np.float64)
    return np.asarray(np.ldexp(sums, -shift) + rest.cumsum())


def _over_rounds(m: Means, i: int, horizon: int) -> Floats:
    """Return the means of an arm that ignores its pulls, round by round."""
    return np.repeat(column_of(m, i, 0), np.diff(rounds_of(m, i)[0], append=horizon + 1))


def _falls(m: Means, i: int) -> bool:
    values = row_of(m, i, 0)
    return bool(np.all(values[1:] <= values[:-1]))


def _best_by_round(m: Means, others: Sequence[int], horizon: int) -> tuple[Floats, Ints]:
    """Return the largest mean of each round among the arms `others`, and the lowest arm that has it."""
    best = _over_rounds(m, others[0], horizon)
    arms = np.full(horizon, others[0])
    for i in others[1:]:
        means = _over_rounds(m, i, horizon)
        better = means > best
        best[better] = means[better]
        arms[better] = i
    return best, arms


def _largest(m: Means, arms: Sequence[int], horizon: int) -> Floats:
    """Return the `horizon` largest means of falling arms, in order."""
    pieces = [_over_pulls(m, i, horizon) for i in arms]
    values, lengths = (np.concatenate(column) for column in zip(*pieces, strict=True))
    if len(values) > horizon:
        top = np.argpartition(values, len(values) - horizon)[-horizon:]
        values, lengths = values[top], lengths[top]
    order = np.argsort(-values)
    ends = np.cumsum(lengths[order])
    needed = int(np.searchsorted(ends, horizon)) + 1
    return np.repeat(values[order[:needed]], lengths[order[:needed]])[:horizon]


def _best_division(m: Means, falling: Sequence[int], rising: Sequence[int], horizon: int) -> Floats:
    """Return the best reward of h pulls shared between the arms, for every h.

    It is the (max, +) convolution of their prefix sums.
    """

    def prefix(gains: Floats) -> Floats:
        return np.concatenate([[0.0], cumulative_sum(gains)])

    parts = [prefix(np.repeat(*_over_pulls(m, i, horizon))) for i in rising]
    if falling:
        # Arms that only fall are shared greedily among themselves: together they are one more arm.
        parts.append(prefix(_largest(m, falling, horizon)))
    best = parts.pop()
    for part in parts:
        shared = best + part[0]
        for pulls in range(1, horizon + 1):
            np.maximum(shared[pulls:], best[:-pulls] + part[pulls], out=shared[pulls:])
        best = shared
    return best[1:]


def _by_dynamic_programming(m: Means, by_pulls: Sequence[int], others: Sequence[int], horizon: int) -> Floats:
    """Return the optimum at every horizon, over the pull counts of the arms `by_pulls`.

    The state after t rounds is how often each of them was pulled; the other arms count as one, the best of
    its round.
    """
    # Sums of centred means are small, so that a large offset costs no digits; it is added back once.
    lows, highs = zip(*(mean_bounds(m, i, horizon) for i in range(len(m.kinds))), strict=True)
    centre = min(lows) / 2 + max(highs) / 2
    rest = _best_by_round(m, others, horizon)[0] - centre if others else None
    axes = len(by_pulls)
    value = np.zeros((1,) * axes)
    best = np.empty(horizon)
    for t in range(1, horizon + 1):
        after = np.full((t + 1,) * axes, -np.inf)
        if rest is not None:
            after[(slice(t),) * axes] = value + rest[t - 1]
        for axis, i in enumerate(by_pulls):
            means = _over_counts(m, i, t) - centre
            target = after[tuple(slice(1, None) if k == axis else slice(t) for k in range(axes))]
            np.maximum(target, value + means.reshape([t if k == axis else 1 for k in range(axes)]), out=target)
        value = after
        best[t - 1] = value.max()
    return np.asarray(best + centre * np.arange(1, horizon + 1))


def _play_greedily(m: Means, horizon: int) -> Floats:
    """Return the means that the greedy oracle earns, one block of unchanged means after the other."""
    by_pulls, others = _split_arms(m)
    timed = [k for k, i in enumerate(by_pulls) if len(rounds_of(m, i)[0]) > 1]
    rest, rest_arm = (
        _best_by_round(m, others, horizon) if others else (np.full(horizon, -np.inf), np.full(horizon, len(m.kinds)))
    )
    changes = np.zeros(horizon, dtype=bool)
    changes[0] = True
    changes[1:] = (rest[1:] != rest[:-1]) | (rest_arm[1:] != rest_arm[:-1])
    for k in timed:
        changes[rounds_of(m, by_pulls[k])[0] - 1] = True
    edges = [*(np.flatnonzero(changes) + 1).tolist(), horizon + 1]

    views: Any = Means(*(memoryview(column) for column in m))  # type: ignore[arg-type]  # Python floats, read quickly
    kt = [views.round_first[i] for i in by_pulls]
    kn = [views.pull_first[i] for i in by_pulls]
    pulls = [0] * len(by_pulls)
    now = [mean_at(views, i, kt[k], kn[k]) for k, i in enumerate(by_pulls)]
    gains = np.empty(horizon)
    for t, end in pairwise(edges):
        for k in timed:
            i = by_pulls[k]
            kt[k] = seek(views.round_starts, kt[k], views.round_first[i + 1], t)
            now[k] = mean_at(views, i, kt[k], kn[k])
        idle, idle_arm = rest[t - 1], rest_arm[t - 1]
        while t < end:
            best = max(now)
            k = now.index(best)
            i = by_pulls[k]
            if idle > best or (idle == best and idle_arm < i):
                gains[t - 1 : end - 1] = idle
                break
            last = kn[k] + 1 == views.pull_first[i + 1]
            stop = end if last else min(end, t + views.pull_starts[kn[k] + 1] - pulls[k])
            gains[t - 1 : stop - 1] = best
            pulls[k] += stop - t
            t = stop  # noqa: PLW2901
            kn[k] = seek(views.pull_starts, kn[k], views.pull_first[i + 1], pulls[k])
            now[k] = mean_at(views, i, kt[k], kn[k])
    return gains
