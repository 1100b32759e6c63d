"""The reference of regret: the reward of the optimal policy where it is known, else that of the greedy oracle.

- Means that follow the rounds only: the best arm of each round is optimal, whether means fall or rise.
- Means that follow the pulls only and never rise: the greedy oracle is optimal at every horizon (Heidari,
  Kearns, Roth 2016), so the optimum takes the largest means of all arms, in order.
- Means that follow the pulls only and never fall: the best single arm is optimal (Heidari, Kearns, Roth 2016). The sum of an
  arm's first n means is convex in n, so a division of the rounds among several arms is never better than one of them.
- Means that follow the pulls only, in other ways: the optimum is the best division of the rounds among the arms, the maximum
  over n_1 + ... + n_K = T of the sum of the arms' first n_i means; exact while T is not too large. Falling arms are together
  like one arm, which takes the largest of their means in order, and so are rising ones, of which the best is pulled.
- Means that follow both clocks: dynamic programming over the pull counts while there are few of them.
- Arms that come, leave, recover or have a memory, and means by a function: the greedy oracle, played by
  `rotting.simulation.engines.greedy`; `greedy_reference` returns whether it is optimal. The optimum of a tiny game is the best
  of all sequences of pulls.

If the exact optimum is too expensive to compute, the greedy oracle is used instead, and the label of the reference says so.
"""

import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import InvalidValueError
from rotting.problems.arms import Arm, Recovering
from rotting.problems.mean_table import SUM, Means, column_of, lookup, mean_at, mean_bounds, pulls_of, rounds_of, row_of, seek
from rotting.problems.problem import Problem
from rotting.problems.stateful import Stateful

OPTIMAL = "optimal"
GREEDY = "greedy"
BEST_ARM = "best arm"
GREEDY_RISING = "greedy (not optimal: some arms rise with their pulls)"
GREEDY_TWO_CLOCKS = "greedy (not optimal: the problem rots with its pulls and with time)"

GREEDY_FORMULA = "greedy (means by a function: whether it is optimal is not known)"
GREEDY_VISITS = "greedy (not optimal: arms come or leave that rot with their pulls)"
GREEDY_RECOVERING = "greedy (not optimal: some arms recover)"
GREEDY_STATEFUL = "greedy (some arms have a memory: whether it is optimal is not known)"

MAX_SHARES = 2_000_000_000  # of divisions * T^2, which takes a second or two
MAX_SITUATIONS = 200_000  # into which sequences of pulls lead, in all rounds together; so many take a few seconds
MAX_STATES = 50_000_000  # of (T + 1)^(1 + arms that follow their pulls), which takes less than a second


def reference_kind(reference: str) -> str:
    """Return a reference without the reason: "optimal", "greedy", "best arm", or a policy.

    Example:
        >>> reference_kind(GREEDY_RECOVERING)
        'greedy'
    """
    return reference.partition(" (")[0]


class Reference(NamedTuple):
    """The cumulative reward of the reference at each checkpoint, and its label, one of those above."""

    cumulative: Floats
    label: str


def regret_against(*references: str) -> tuple[str, ...]:
    """Return lines of text that say what regrets are measured against.

    Args:
        references: the labels of the references; they may be equal.

    Example:
        >>> regret_against(OPTIMAL, OPTIMAL)
        ('Regret against the optimal policy.',)
        >>> regret_against(BEST_ARM)[0]
        'Regret against the best single arm of each run.'
        >>> for line in regret_against(OPTIMAL, GREEDY_RECOVERING):
        ...     print(line)
        Regret against the optimal policy or, where the reference is greedy, against the greedy oracle.
        About the greedy oracle: not optimal: some arms recover.
        Regrets against different references cannot be compared.
        Note: unless the reference is optimal, regret is underestimated and can even be negative.
    """
    kinds = dict.fromkeys(sorted(map(reference_kind, references), key=lambda kind: kind != OPTIMAL))
    names = {OPTIMAL: "the optimal policy", GREEDY: "the greedy oracle", BEST_ARM: "the best single arm of each run"}
    named = [names.get(kind, f"{kind} in the same runs") for kind in kinds]
    reasons = "; ".join(dict.fromkeys(each.partition(" (")[2].rstrip(")") for each in references if " (" in each))
    if [*kinds] == [OPTIMAL]:
        return ("Regret against the optimal policy.",)
    if len(kinds) == 1:
        lines = [f"Regret against {named[0]}{f' ({reasons})' if reasons else ''}."]
    else:
        others = (f"where the reference is {kind}, against {name}" for kind, name in zip([*kinds][1:], named[1:], strict=True))
        lines = [
            f"Regret against {named[0]} or, {'; '.join(others)}.",
            *([f"About the greedy oracle: {reasons}."] if reasons else []),
            "Regrets against different references cannot be compared.",
        ]
    return (*lines, "Note: unless the reference is optimal, regret is underestimated and can even be negative.")


def price_of_optimum(problem: Problem, horizon: int, label: str) -> str:
    """Return a sentence that says what the optimum would cost, if that is known, for a reference with another label.

    Example:
        >>> from rotting.problems import Sum
        >>> problem = Problem([Sum(np.linspace(1, 0, 1_000), np.linspace(0, -1, 1_000))] * 3)
        >>> price_of_optimum(problem, 1_000, GREEDY_TWO_CLOCKS)
        'it takes a table of 1e+12 pull counts, and at most 50,000,000 are computed'
    """
    if label == GREEDY_TWO_CLOCKS:
        by_pulls, _ = _split_arms(problem.means(horizon))
        states = float(horizon + 1) ** (len(by_pulls) + 1)
        return f"it takes a table of {states:.2g} pull counts, and at most {MAX_STATES:,} are computed"
    if label == GREEDY_RISING:
        sums = float(horizon) ** 2 * (problem.n_arms - 1)
        return f"it takes up to {sums:.2g} divisions of the rounds among the arms, and at most {MAX_SHARES:,} are computed"
    return f"each run is measured against {label}"


def optimal_rewards(problem: Problem, horizon: int | None = None, checkpoints: Sequence[int] | Ints | None = None) -> Reference:
    """Return the cumulative mean reward of the optimal policy at each of the horizons `checkpoints`.

    Each entry is the optimum for that horizon. If arms rise, there may be no policy that attains all entries.

    Arms that come, leave, recover or have a memory, and means by a function, have no formula for the optimum. It is the best of
    all sequences of pulls, for which time and memory grow like K^T, or more slowly where sequences lead to the same states: a
    problem that is too large is refused. So are arms that move at random, whose optimum differs between runs.

    Args:
        problem: the problem.
        horizon: T; by default that of the problem.
        checkpoints: increasing numbers of rounds, up to the horizon; 1, ..., T by default.

    Memory, apart from the table of the means: 40 bytes a checkpoint, and

    - where all means follow the rounds only, or all follow pulls only and none rises, or none falls: some times the size of
      the table of the means, which has a piece for each change;
    - where they follow pulls only, some rising and some falling: 40 bytes a round, of at most 44,721 rounds;
    - where they follow both clocks: up to 24 bytes for each of the pull counts of the dynamic programming, at most 140 MB;
    - for the greedy oracle, where these are too expensive: 18 bytes for each change of the mean it earns, of which there are
      no more than pieces in the table.

    Example:
        >>> problem = Problem.rested([[1.0, 0.25, 0.0], [0.5, 0.5, 0.5]])
        >>> optimal_rewards(problem)
        Reference(cumulative=array([1. , 1.5, 2. ]), label='optimal')
        >>> optimal_rewards(problem, checkpoints=[3]).cumulative
        array([2.])
    """
    rounds = problem.resolve_horizon(horizon)
    marks = _checked_checkpoints(checkpoints, rounds)
    if not problem.is_plain:
        return Reference(_by_brute_force(problem, rounds)[marks - 1], OPTIMAL)
    m = problem.means(rounds)
    by_pulls, others = _split_arms(m)
    if not by_pulls:
        return Reference(_sums_of_best(m, others, rounds, marks), OPTIMAL)
    if _follows_rounds(m):
        if (rounds + 1) ** (len(by_pulls) + 1) <= MAX_STATES:
            return Reference(_by_dynamic_programming(m, by_pulls, others, rounds)[marks - 1], OPTIMAL)
        return Reference(_sums_of_greedy(m, rounds, marks), GREEDY_TWO_CLOCKS)
    arms = range(len(m.kinds))
    falling = [i for i in arms if _is_sorted(m, i, np.less_equal)]
    if len(falling) == len(arms):
        return Reference(_sums_of_largest(m, falling, rounds, marks), OPTIMAL)
    rising = [i for i in arms if _is_sorted(m, i, np.greater_equal)]
    if len(rising) == len(arms):
        return Reference(_sums_of_best_arm(m, rising, rounds, marks), OPTIMAL)
    rising = [i for i in rising if i not in falling]
    others = [i for i in arms if i not in falling and i not in rising]
    divisions = bool(falling) + bool(rising) + len(others) - 1
    if divisions * rounds**2 <= MAX_SHARES:
        return Reference(_best_division(m, falling, rising, others, rounds)[marks - 1], OPTIMAL)
    return Reference(_sums_of_greedy(m, rounds, marks), GREEDY_RISING)


def is_greedy_optimal(m: Means) -> bool:
    """Return whether the greedy oracle is optimal: all means follow rounds only, or all follow pulls only and fall."""
    if np.all(np.diff(m.pull_first) == 1):
        return True
    if _follows_rounds(m):
        return False
    if np.any(m.kinds != SUM):
        return all(_is_sorted(m, i, np.less_equal) for i in range(len(m.kinds)))
    rises = np.flatnonzero(np.diff(m.pull_values) > 0) + 1  # also from the last mean of an arm to the first of the next
    return bool(np.isin(rises, m.pull_first).all())


def greedy_reference(problem: Problem, horizon: int) -> str:
    """Return the label of the greedy oracle on a problem whose arms come, leave or recover, or whose means a function gives.

    If all means follow the rounds only, the best arm of each round is optimal. If all follow the pulls only and fall, and no
    arm leaves, the largest mean of the present arms is optimal: a pull that is postponed can be made later.

    Example:
        >>> from rotting.problems import Rested, Visiting
        >>> greedy_reference(Problem([Rested(0.5), Visiting(Rested([0.9] * 9), first=3)]), 9)
        'optimal'
    """
    if problem.formula is not None:
        return GREEDY_FORMULA
    if problem.kernels:
        return GREEDY_STATEFUL
    if problem.recovers().any():
        return GREEDY_RECOVERING
    table = problem.tables(horizon)
    by_rounds = not _split_arms(table)[0]
    stay = bool(np.all(problem.presence_rounds()[1] >= horizon))
    return OPTIMAL if by_rounds or (stay and is_greedy_optimal(table)) else GREEDY_VISITS


def greedy_rewards(problem: Problem, horizon: int | None = None, checkpoints: Sequence[int] | Ints | None = None) -> Floats:
    """Return the cumulative mean reward of the greedy oracle: largest current mean, ties to the lowest arm.

    Args:
        problem: the problem.
        horizon: T; by default that of the problem.
        checkpoints: increasing numbers of rounds, up to the horizon; 1, ..., T by default.

    Example:
        >>> greedy_rewards(Problem.rested([[0.0, 1.0, 1.0], [0.5, 0.5, 0.5]]))
        array([0.5, 1. , 1.5])
    """
    rounds = problem.resolve_horizon(horizon)
    marks = _checked_checkpoints(checkpoints, rounds)
    m = problem.means(rounds)
    by_pulls, others = _split_arms(m)
    if not by_pulls:
        return _sums_of_best(m, others, rounds, marks)
    if not _follows_rounds(m) and all(_is_sorted(m, i, np.less_equal) for i in by_pulls):
        return _sums_of_largest(m, [*by_pulls, *others], rounds, marks)
    return _sums_of_greedy(m, rounds, marks)


def optimal_pair(m: Means, horizon: int) -> Ints:
    """Return the arms that an optimal policy pulls on a problem of two arms; ties go to the second.

    After t rounds only the number of pulls of the first arm matters, whatever clocks the arms follow. Memory and time are of
    the order of the horizon squared.

    Args:
        m: the means of two arms, up to the horizon.
        horizon: T.

    Example:
        >>> problem = Problem.rested([[1.0, 0.25, 0.0], [0.5, 0.5, 0.5]])
        >>> optimal_pair(problem.means(), 3)
        array([1, 1, 0])
    """
    value = np.zeros(horizon + 1)  # of the rounds left, by the pulls of the first arm
    take = np.zeros((horizon + 1, horizon + 1), dtype=bool)  # [t, pulls of the first arm before t]: whether to pull it
    for t in range(horizon, 0, -1):
        first = _over_counts(m, 0, t) + value[1 : t + 1]
        second = _over_counts(m, 1, t)[::-1] + value[:t]
        take[t, :t] = first > second
        value = np.maximum(first, second)
    arms = np.empty(horizon, np.int64)
    pulls = 0
    for t in range(1, horizon + 1):
        arms[t - 1] = 0 if take[t, pulls] else 1
        pulls += int(take[t, pulls])
    return arms


def _checked_checkpoints(checkpoints: Sequence[int] | Ints | None, horizon: int) -> Ints:
    if checkpoints is None:
        return np.arange(1, horizon + 1)
    given = np.asarray(checkpoints)
    marks = given.astype(np.int64) if given.dtype.kind in "iu" and given.ndim == 1 else np.zeros(1, np.int64)
    if np.any(np.diff(marks, prepend=0, append=horizon + 1) <= 0):
        raise InvalidValueError("checkpoints", f"be whole numbers that increase from 1 to {horizon} at most", checkpoints)
    return marks


def _split_arms(m: Means) -> tuple[list[int], list[int]]:
    """Return the arms that follow their pulls (and perhaps the rounds too), and the others."""
    pieces = np.diff(m.pull_first)
    return np.flatnonzero(pieces > 1).tolist(), np.flatnonzero(pieces == 1).tolist()


def _follows_rounds(m: Means) -> bool:
    return bool(np.any(np.diff(m.round_first) > 1))


def _runs_of(m: Means, i: int, horizon: int) -> tuple[Floats, Ints]:
    """Return the means of an arm that ignores the rounds, and for how many pulls each lasts."""
    return row_of(m, i, 0), np.diff(pulls_of(m, i)[0], append=horizon)


def _over_counts(m: Means, i: int, t: int) -> Floats:
    """Return the means of arm `i` at round `t` after 0, ..., t - 1 pulls."""
    kt = int(np.searchsorted(rounds_of(m, i)[0], t, side="right")) - 1
    kn = np.searchsorted(pulls_of(m, i)[0], np.arange(t), side="right") - 1
    return np.asarray(row_of(m, i, kt)[kn])


def _is_sorted(m: Means, i: int, order: np.ufunc) -> bool:
    """Return whether the means of an arm that ignores the rounds never rise (`np.less_equal`) or never fall."""
    values = row_of(m, i, 0)
    return bool(np.all(order(values[1:], values[:-1])))


class _Best(NamedTuple):
    """The largest mean among arms that ignore their pulls, over intervals of rounds, and the lowest arm that has it."""

    starts: Ints
    lengths: Ints
    means: Floats
    arms: Ints


def _best_by_round(m: Means, others: Sequence[int], horizon: int, cut_by: Sequence[int] = ()) -> _Best:
    """Return intervals of rounds, within which no mean of `others` and no round piece of `cut_by` changes.

    If `others` is empty, the largest mean is -inf, and its arm is K.
    """
    starts = [rounds_of(m, i)[0] for i in (*others, *cut_by)]
    dense = sum(each.size for each in starts) >= horizon
    edges = np.arange(1, horizon + 1) if dense else np.unique(np.concatenate([[1], *starts]))
    means, best = np.full(edges.size, -np.inf), np.full(edges.size, len(m.kinds))
    for i, own_starts in zip(others, starts, strict=False):
        own = np.repeat(column_of(m, i, 0), np.diff(np.searchsorted(edges, own_starts), append=edges.size))
        better = own > means
        means[better] = own[better]
        best[better] = i
    return _Best(edges, np.diff(edges, append=horizon + 1), means, best)


def _sums_of_best(m: Means, others: Sequence[int], horizon: int, marks: Ints) -> Floats:
    """Return the sums of the best mean of every round."""
    best = _best_by_round(m, others, horizon)
    return sums_at(marks, best.means, best.lengths)


def _sums_of_largest(m: Means, arms: Sequence[int], horizon: int, marks: Ints) -> Floats:
    """Return the sums of the largest means of falling arms."""
    values, lengths = (np.concatenate(each) for each in zip(*(_runs_of(m, i, horizon) for i in arms), strict=True))
    order = np.argsort(-values)
    ends = lengths[order].cumsum()
    used = int(np.searchsorted(ends, horizon)) + 1
    return sums_at(marks, values[order[:used]], np.diff(np.minimum(ends[:used], horizon), prepend=0))


def _sums_of_best_arm(m: Means, arms: Sequence[int], horizon: int, marks: Ints) -> Floats:
    """Return the sums of the means of the arm that is best up to each mark, if it alone is pulled."""
    return np.asarray(np.max([sums_at(marks, *_runs_of(m, i, horizon)) for i in arms], axis=0))


def _best_division(m: Means, falling: Sequence[int], rising: Sequence[int], others: Sequence[int], horizon: int) -> Floats:
    """Return the largest reward of h pulls divided among the arms, for every h: the (max, +) convolution of prefix sums."""
    every = np.arange(1, horizon + 1)
    parts = [_sums_of_best_arm(m, [i], horizon, every) for i in others]
    if rising:
        parts.append(_sums_of_best_arm(m, rising, horizon, every))
    if falling:
        parts.append(_sums_of_largest(m, falling, horizon, every))
    best = np.append(0.0, parts.pop())
    for part in parts:
        shared = best.copy()
        for pulls in range(1, horizon + 1):
            np.maximum(shared[pulls:], best[:-pulls] + part[pulls - 1], out=shared[pulls:])
        best = shared
    return best[1:]


def _by_dynamic_programming(m: Means, by_pulls: Sequence[int], others: Sequence[int], horizon: int) -> Floats:
    """Return the optimum at every horizon, by dynamic programming over the pulls of the arms `by_pulls`.

    The state after t rounds is the number of pulls of each. The other arms count as one: the best of each round.
    """
    # Sums of centred means are small, so that a large offset costs no accuracy; it is added back at the end.
    lows, highs = zip(*(mean_bounds(m, i, horizon) for i in range(len(m.kinds))), strict=True)
    centre = min(lows) / 2 + max(highs) / 2
    rest = None
    if others:
        best = _best_by_round(m, others, horizon)
        rest = np.repeat(best.means, best.lengths) - centre
    axes = len(by_pulls)
    value = np.zeros((1,) * axes)
    optimum = np.empty(horizon)
    for t in range(1, horizon + 1):
        after = np.full((t + 1,) * axes, -np.inf)
        if rest is not None:
            after[(slice(t),) * axes] = value + rest[t - 1]
        for axis, i in enumerate(by_pulls):
            means = _over_counts(m, i, t) - centre
            target = after[tuple(slice(1, None) if k == axis else slice(t) for k in range(axes))]
            np.maximum(target, value + means.reshape([t if k == axis else 1 for k in range(axes)]), out=target)
        value = after
        optimum[t - 1] = value.max()
    return np.asarray(optimum + centre * np.arange(1, horizon + 1))


def _by_brute_force(problem: Problem, horizon: int) -> Floats:
    """Return the largest reward of any sequence of h pulls, for every h.

    Sequences after which all arms have had the same pulls, rests and states go on alike, so that only the best is kept.
    """
    if any(kernel.draws for kernel in problem.kernels):
        rule = "have arms that do not move at random, since every run has its own optimum"
        raise InvalidValueError("problem", rule, problem)
    table, arms = problem.tables(horizon), problem.bare_arms
    first, last = (each.tolist() for each in problem.presence_rounds())
    optimum = np.empty(horizon)
    # Of each arm: its pulls, the round after the last one, and the state in that round.
    begin = tuple((0, 1, arm.first_state() if isinstance(arm, Stateful) else None) for arm in arms)
    best, total = {begin: 0.0}, 0
    for t in range(1, horizon + 1):
        after: dict[tuple[Any, ...], float] = {}
        for situation, reward in best.items():
            now = tuple(_at_round(arm, each, t) for arm, each in zip(arms, situation, strict=True))
            for i, (arm, (n, since, state)) in enumerate(zip(arms, now, strict=True)):
                if not first[i] <= t <= last[i]:
                    continue
                if isinstance(arm, Stateful):
                    present = arm.state_at(state, since, t, n)
                    mean = float(arm.mean(arm.params, present, t, n))
                    moved = (n + 1, t + 1, arm.next_state(present, t, n, 1))
                else:
                    recovers = isinstance(arm, Recovering)
                    ticks = t + 1 - since if recovers and n > 0 else n
                    mean = lookup(table, i, t, ticks) if problem.formula is None else float(problem.formula(i, t, n))
                    moved = (1, t + 1, None) if recovers else (n + 1, 1, None)
                found = (*now[:i], moved, *now[i + 1 :])
                after[found] = max(after.get(found, -math.inf), reward + mean)
        total += len(after)
        if total > MAX_SITUATIONS:
            rule = f"be at most {t - 1} for the optimum of these arms, of which every sequence of pulls is tried"
            price = f": {t} rounds lead into {total:,} situations, and at most {MAX_SITUATIONS:,} are computed"
            raise InvalidValueError("horizon", rule, horizon, hint=price)
        best = after
        optimum[t - 1] = max(best.values())
    return optimum


def _at_round(arm: Arm, situation: tuple[int, int, Any], t: int) -> tuple[int, int, Any]:
    """Return an arm's situation, with the state of round t if its steps are made one by one."""
    n, since, state = situation
    if not isinstance(arm, Stateful) or arm.rest is not None:
        return situation
    return n, t, arm.state_at(state, since, t, n)


def _play_greedily(m: Means, horizon: int) -> tuple[Floats, Ints]:
    """Return the means that the greedy oracle collects, and for how many rounds each."""
    by_pulls, others = _split_arms(m)
    timed = [k for k, i in enumerate(by_pulls) if len(rounds_of(m, i)[0]) > 1]
    views: Any = Means(*(memoryview(column) for column in m))  # type: ignore[arg-type]  # faster to read one by one, and gives Python floats
    kt = [views.round_first[i] for i in by_pulls]
    kn = [views.pull_first[i] for i in by_pulls]
    pulls = [0] * len(by_pulls)
    now = [mean_at(views, i, kt[k], kn[k]) for k, i in enumerate(by_pulls)]
    gains, lengths = array("d"), array("q")
    best_others = _best_by_round(m, others, horizon, cut_by=[by_pulls[k] for k in timed])
    for t, length, idle, idle_arm in zip(*map(memoryview, best_others), strict=True):  # type: ignore[arg-type]
        end = t + length
        for k in timed:
            i = by_pulls[k]
            kt[k] = seek(views.round_starts, kt[k], views.round_first[i + 1], t)
            now[k] = mean_at(views, i, kt[k], kn[k])
        while t < end:
            best = max(now)
            k = now.index(best)
            i = by_pulls[k]
            if idle > best or (idle == best and idle_arm < i):
                gains.append(idle)
                lengths.append(end - t)
                break
            last = kn[k] + 1 == views.pull_first[i + 1]
            stop = end if last else min(end, t + views.pull_starts[kn[k] + 1] - pulls[k])
            gains.append(best)
            lengths.append(stop - t)
            pulls[k] += stop - t
            t = stop  # noqa: PLW2901
            kn[k] = seek(views.pull_starts, kn[k], views.pull_first[i + 1], pulls[k])
            now[k] = mean_at(views, i, kt[k], kn[k])
    return np.frombuffer(gains), np.frombuffer(lengths, np.int64)


def _sums_of_greedy(m: Means, horizon: int, marks: Ints) -> Floats:
    """Return the sums of the means that the greedy oracle collects."""
    return sums_at(marks, *_play_greedily(m, horizon))


# --- Running sums -------------------------------------------------------------------------------------------------------------
#
# They are accurate to about one unit in the last place, of single numbers or of runs of equal numbers. A number is split in
# two: its leading bits, which are added exactly as 64-bit integers, and a rest, whose running sum is so small that its rounding
# errors do not matter. A run of equal numbers is added in a few steps. So sums at a few marks take time and memory in
# proportion to the number of runs and marks, and equal those of the numbers added one by one bit for bit.

_LONG_RUN = 1 << 12  # runs of at least this length are added by `add_repeatedly`, which takes as long as this many additions
_BLOCK = 16 * _LONG_RUN  # additions that are done at a time; a shorter run always fits
_SMALLEST = math.ulp(0.0)


def cumulative_sum(values: Floats) -> Floats:
    """Return the running sums of `values`, accurate to about one unit in the last place however large their offset.

    Example:
        >>> float(cumulative_sum(np.full(1_000_000, 0.1))[-1]), float(np.full(1_000_000, 0.1).cumsum()[-1])
        (100000.0, 100000.00000133288)
    """
    shift = _shift(float(np.abs(values).max()), len(values))
    leading, rest = _split(values, shift)
    return _together(leading.cumsum(), rest.cumsum(), shift)


def sums_at(marks: Ints, values: Floats, lengths: Ints) -> Floats:
    """Return the entries `marks - 1` of `cumulative_sum` of numbers, each of which is repeated, bit for bit.

    Args:
        marks: how many numbers to add up, in increasing order, at most the sum of the lengths.
        values: the numbers.
        lengths: how often each is repeated.

    Example:
        >>> sums_at(np.array([2, 1_000_000]), np.array([0.1, 0.2]), np.array([3, 999_997]))
        array([2.000000e-01, 1.999997e+05])
    """
    ends = lengths.cumsum()
    shift = _shift(float(np.abs(values).max()), int(ends[-1]))
    leading, rest = _split(values, shift)
    place = np.searchsorted(ends, marks)
    inside = ends[place] > marks
    cuts = np.insert(ends, place[inside], marks[inside])  # runs are cut at the marks, so that no mark lies inside a part
    run, parts, at = np.searchsorted(ends, cuts), np.diff(cuts, prepend=0), np.searchsorted(cuts, marks)
    return _together((leading[run] * parts).cumsum()[at], _add_runs(rest[run], parts)[at], shift)


def add_repeatedly(total: float, term: float, times: int) -> float:
    """Return `total` after `times` additions of `term`, each of them rounded.

    Between two powers of two all numbers are multiples of one unit, so every addition moves the total by the same distance.
    Only the first one may differ, if `term` is half-way between two multiples and is rounded to the even one. So all additions
    up to the next power of two are one multiplication.

    Example:
        >>> add_repeatedly(0.0, 0.1, 10)
        0.9999999999999999
        >>> add_repeatedly(2.0**53, 1.0, 10**18)
        9007199254740992.0
    """
    while times > 0:
        before, total, times = total, total + term, times - 1
        if total == before:
            return total
        unit = math.ulp(total)
        if math.ulp(before) == unit and (before > 0.0) == (total > 0.0):
            place, pace = int(total / unit), int((total + term - total) / unit)
            if pace == 0:
                if total + term == total:
                    return total
                continue  # the total gets smaller, and so does its unit
            # Strictly inside: below a power of two the unit is smaller.
            if (pace > 0) == (place > 0):
                room = 2**53 - 1 - abs(place)
            else:
                room = abs(place) - (0 if unit == _SMALLEST else 2**52) - 1
            leaps = min(times, max(0, room) // abs(pace))
            total, times = (place + leaps * pace) * unit, times - leaps
    return total


def _shift(largest: float, count: int) -> int:
    """Return the power of two that makes the sum of `count` numbers up to `largest` fit in 62 bits."""
    return 62 - count.bit_length() - math.frexp(largest)[1]


def _split(values: Floats, shift: int) -> tuple[Ints, Floats]:
    """Return the leading bits of `values`, in units of 2**-shift, and what is left of each."""
    leading = np.rint(np.ldexp(values, shift))
    return leading.astype(np.int64), values - np.ldexp(leading, -shift)


def _together(high: Ints, low: Floats, shift: int) -> Floats:
    return np.asarray(np.ldexp(high.astype(np.float64), -shift) + low)


def _add_runs(terms: Floats, lengths: Ints) -> Floats:
    """Return the total after each run of additions, every addition rounded."""
    totals = np.empty(terms.size)
    ends = lengths.cumsum()
    long = np.flatnonzero(lengths >= _LONG_RUN)
    k, total = 0, 0.0
    while k < terms.size:
        if lengths[k] >= _LONG_RUN:
            totals[k] = add_repeatedly(total, float(terms[k]), int(lengths[k]))
            stop = k + 1
        else:
            begin = int(ends[k] - lengths[k])
            fit = int(np.searchsorted(ends, begin + _BLOCK, side="right"))
            following = int(np.searchsorted(long, k))
            stop = min(fit, int(long[following])) if following < long.size else fit
            steps = np.concatenate([[total], np.repeat(terms[k:stop], lengths[k:stop])])
            totals[k:stop] = steps.cumsum()[ends[k:stop] - begin]
        total, k = float(totals[stop - 1]), stop
    return totals
