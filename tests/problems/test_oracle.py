"""The oracle equals brute force over all policies, at every horizon, and tells when it is not optimal."""

import math
import re
from collections.abc import Callable
from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.problems import (
    Abrupt,
    Constant,
    Decay,
    Exponential,
    Function,
    General,
    Linear,
    Logistic,
    Piecewise,
    Polynomial,
    Problem,
    Product,
    Recovering,
    Rested,
    Restless,
    Stateful,
    Sum,
    Table,
    Visiting,
    oracle,
    ten_arms,
    two_arms,
)
from rotting.problems.arms import Arm
from rotting.problems.oracle import GREEDY_RISING, GREEDY_TWO_CLOCKS, OPTIMAL, greedy_rewards, optimal_rewards

SIZES = [(1, 6), (2, 6), (3, 5), (4, 4)]  # arms, horizon: at most 3^5 policies
levels = st.integers(-8, 8).map(lambda k: k / 8)  # dyadic: every sum is exact, whatever its order


def brute_force(problem: Problem, horizon: int) -> list[float]:
    """Return the best cumulative mean at each horizon over all K^T sequences of arms."""
    best = [-math.inf] * horizon
    for policy in product(range(problem.n_arms), repeat=horizon):
        pulls = [0] * problem.n_arms
        total = 0.0
        for t, i in enumerate(policy, start=1):
            total += problem.mean(i, t, pulls[i])
            pulls[i] += 1
            best[t - 1] = max(best[t - 1], total)
    return best


def naive_greedy(problem: Problem, horizon: int) -> list[float]:
    pulls = [0] * problem.n_arms
    gains = []
    for t in range(1, horizon + 1):
        means = [problem.mean(i, t, pulls[i]) for i in range(problem.n_arms)]
        i = means.index(max(means))
        pulls[i] += 1
        gains.append(means[i])
    return list(accumulate(gains))


def table(draw: st.DrawFn, horizon: int, order: str) -> list[float]:
    values = draw(st.lists(levels, min_size=horizon, max_size=horizon))
    return values if order == "any" else sorted(values, reverse=order == "falling")


@st.composite
def one_clock(draw: st.DrawFn) -> tuple[Callable[..., Problem], list[list[float]]]:
    """Return a builder, `Problem.rested` or `Problem.restless`, and the table to give it."""
    n_arms, horizon = draw(st.sampled_from(SIZES))
    orders = draw(st.sampled_from([["falling"], ["rising"], ["falling", "rising"], ["falling", "rising", "any"]]))
    rows = [table(draw, horizon, draw(st.sampled_from(orders))) for _ in range(n_arms)]
    return draw(st.sampled_from([Problem.rested, Problem.restless])), rows


@st.composite
def any_arm(draw: st.DrawFn, horizon: int) -> Arm:
    order = draw(st.sampled_from(["falling", "any"]))
    a, b = table(draw, horizon, order), table(draw, horizon, order)
    arms = [Rested(a), Restless(a), Sum(a, b), Product(a, b), General(lambda t, n: a[n] - b[t - 1 - n])]
    return draw(st.sampled_from(arms))


@st.composite
def any_clocks(draw: st.DrawFn) -> Problem:
    n_arms, horizon = draw(st.sampled_from(SIZES))
    return Problem([draw(any_arm(horizon)) for _ in range(n_arms)], horizon=horizon)


@settings(deadline=None, max_examples=60)
@given(one_clock(), st.sampled_from([0.0, 1e6]))
def test_optimum_of_one_clock_equals_brute_force_at_every_horizon(
    case: tuple[Callable[..., Problem], list[list[float]]], offset: float
) -> None:
    build, rows = case
    problem = build(np.array(rows) + offset)
    cumulative, how = optimal_rewards(problem)
    assert how == OPTIMAL
    assert cumulative.tolist() == brute_force(problem, len(rows[0]))


@settings(deadline=None, max_examples=100)
@given(any_clocks())
def test_optimum_of_both_clocks_equals_brute_force_at_every_horizon(problem: Problem) -> None:
    horizon = problem.resolve_horizon()
    cumulative, how = optimal_rewards(problem)
    assert how == OPTIMAL
    assert cumulative.tolist() == brute_force(problem, horizon)


@settings(deadline=None)
@given(any_clocks())
def test_greedy_equals_the_naive_greedy(problem: Problem) -> None:
    horizon = problem.resolve_horizon()
    expected = naive_greedy(problem, horizon)
    assert greedy_rewards(problem).tolist() == expected
    if oracle._split_arms(problem.means())[0]:  # the loop itself, also where greedy_rewards has a shorter way
        every = np.arange(1, horizon + 1)
        assert oracle._sums_of_greedy(problem.means(), horizon, every).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_greedy_over_long_pieces_equals_the_naive_greedy(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def decay() -> Piecewise:
        pieces = int(rng.integers(1, 6))
        starts = [0, *sorted(rng.choice(np.arange(1, 200), pieces - 1, replace=False).tolist())]
        return Piecewise(rng.integers(-8, 9, pieces) / 8, starts)

    makers: list[Callable[[], Arm]] = [
        lambda: Rested(decay()),
        lambda: Restless(decay()),
        lambda: Sum(decay(), decay()),
        lambda: Product(decay(), decay()),
    ]
    problem = Problem([makers[k]() for k in rng.integers(0, 4, 6)], horizon=200)
    assert greedy_rewards(problem).tolist() == naive_greedy(problem, 200)


def test_ties_go_to_the_lowest_arm() -> None:
    # Arm 0 pays 1 at once and 0 later; the restless arm 1 pays 1 now and 0.5 next: the order decides.
    first = Problem([Rested([1.0, 0.0]), Restless([1.0, 0.5])])
    second = Problem([Restless([1.0, 0.5]), Rested([1.0, 0.0])])
    assert greedy_rewards(first).tolist() == [1.0, 1.5]
    assert greedy_rewards(second).tolist() == [1.0, 2.0]
    assert optimal_rewards(first).cumulative.tolist() == [1.0, 2.0]


TIES: list[tuple[list[Arm], list[float]]] = [
    # Two still arms and a moving one between them tie; the lowest of the three is still, so that nothing moves.
    ([Restless([1.0, 1.0, 0.0]), Rested([1.0, 0.0, 0.0]), Restless([1.0, 1.0, 0.0])], [1.0, 2.0, 3.0]),
    # The best still arm changes from the last to the first, at the same mean: the tie with the moving arm turns.
    ([Restless([0.0, 1.0, 0.0]), Rested([1.0, 1.0, 0.5, 0.0]), Restless([1.0, 0.0, 0.0])], [1.0, 2.0, 3.0]),
    ([Restless([1.0, 0.0, 0.0]), Rested([1.0, 0.5, 0.0]), Restless([0.0, 1.0, 0.0])], [1.0, 2.0, 2.5]),
    # Two moving arms tie with a still one: the still one is lower than one of them only.
    ([Rested([1.0, 0.5, 0.25]), Restless([1.0, 1.0, 0.0]), Rested([1.0, 0.0, 0.0])], [1.0, 2.0, 3.0]),
    ([Rested([0.5, 0.5, 0.5]), Restless([1.0, 1.0, 0.0]), Rested([1.0, 0.0, 0.0])], [1.0, 2.0, 3.0]),
    # An arm that never changes ties with one that moves, before it and after it.
    ([Restless(Constant(1.0)), Sum([1.0, 0.0, 0.0], [0.0, 1.0, 1.0])], [1.0, 3.0, 4.0]),
    ([Sum([1.0, 0.0, 0.0], [0.0, 1.0, 1.0]), Restless(Constant(1.0))], [1.0, 2.0, 3.0]),
]


@pytest.mark.parametrize(("arms", "expected"), TIES)
def test_ties_between_still_and_moving_arms_go_to_the_lowest(arms: list[Arm], expected: list[float]) -> None:
    problem = Problem(arms, horizon=3)
    assert naive_greedy(problem, 3) == expected
    assert greedy_rewards(problem).tolist() == expected


def test_two_arms_collect_the_good_pulls_first() -> None:
    cumulative, how = optimal_rewards(two_arms(L=0.5, horizon=400))
    assert how == OPTIMAL
    assert cumulative.tolist() == [0.25 * min(t, 100) for t in range(1, 401)]


def test_ten_arms_collect_the_good_pulls_from_the_largest() -> None:
    cumulative, how = optimal_rewards(ten_arms())
    sizes = [0.001 * 10 ** (i / 2) for i in range(8, -1, -1)]
    assert how == OPTIMAL
    for k in range(9):
        total = math.fsum(size * 1_000 for size in sizes[: k + 1])
        assert cumulative[1_000 * (k + 1) - 1] == pytest.approx(total, rel=4e-16)
    assert cumulative[-1] == cumulative[9_000 - 1]


def test_a_late_riser_is_worth_waiting_for_and_greedy_misses_it() -> None:
    problem = Problem.rested([Abrupt(0.0, 1.0, at=50), Constant(0.25)])
    cumulative, how = optimal_rewards(problem, 1_000)
    assert how == OPTIMAL
    assert cumulative.tolist() == [max(0.25 * t, t - 50) for t in range(1, 1_001)]
    assert greedy_rewards(problem, 1_000)[-1] == 250.0


def test_the_optimum_of_rising_arms_is_the_best_single_arm_of_each_horizon() -> None:
    """Also over horizons that no division of the rounds is tried for; the greedy oracle stays with the arm that is best now."""
    T = 200_000
    arms = [Abrupt(0.0, 1.0, at=5_000), Linear(0.1, slope=1e-6), Exponential(0.0, rate=1e-4, limit=0.9), Constant(0.2)]
    problem = Problem.rested(arms, horizon=T)
    marks = np.array([1, 10_000, T])
    cumulative, how = optimal_rewards(problem, checkpoints=marks)
    pulled = np.arange(T)
    means = [pulled >= 5_000, 0.1 + 1e-6 * pulled, 0.9 * (1.0 - np.exp(-1e-4 * pulled)), np.full(T, 0.2)]
    assert how == OPTIMAL
    np.testing.assert_allclose(cumulative, np.max([np.cumsum(each)[marks - 1] for each in means], axis=0), rtol=1e-12)
    assert greedy_rewards(problem, checkpoints=[T])[0] == pytest.approx(40_000)


def test_rising_rounds_need_no_excuse() -> None:
    problem = Problem.restless([Linear(0.0, slope=1.0), Constant(2.5)])
    assert optimal_rewards(problem, 5).cumulative.tolist() == [2.5, 5.0, 7.5, 10.5, 14.5]
    assert optimal_rewards(problem, 5).label == OPTIMAL


def test_a_reference_that_is_not_optimal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rising = Problem.rested([Abrupt(0.0, 1.0, at=5), Abrupt(0.25, 0.0, at=3)], horizon=20)
    both = Problem([Rested(Abrupt(1.0, 0.0, at=5)), Restless(Abrupt(0.5, 0.0, at=5))], horizon=20)
    monkeypatch.setattr(oracle, "MAX_SHARES", 100)
    monkeypatch.setattr(oracle, "MAX_STATES", 100)
    for problem, label in ((rising, GREEDY_RISING), (both, GREEDY_TWO_CLOCKS)):
        cumulative, how = optimal_rewards(problem)
        assert how == label
        assert cumulative.tolist() == greedy_rewards(problem).tolist()
    assert GREEDY_TWO_CLOCKS == "greedy (not optimal: the problem rots with its pulls and with time)"


def test_the_optimum_is_exact_up_to_the_limits_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    rising = Problem.rested([Piecewise([0.0, 1.0, 0.5], [0, 5, 7]), Abrupt(0.0, 0.5, at=3), Abrupt(0.5, 0.0, at=3)])
    both = Problem([Rested(Abrupt(1.0, 0.0, at=5)), Restless(Abrupt(0.5, 0.0, at=5))])
    monkeypatch.setattr(oracle, "MAX_SHARES", 2 * 10**2)  # two divisions among three arms
    monkeypatch.setattr(oracle, "MAX_STATES", 11**2)  # one that follows its pulls
    assert [optimal_rewards(rising, T).label for T in (10, 11)] == [OPTIMAL, GREEDY_RISING]
    assert [optimal_rewards(both, T).label for T in (10, 11)] == [OPTIMAL, GREEDY_TWO_CLOCKS]


def test_dynamic_programming_keeps_the_digits_of_a_large_offset() -> None:
    def problem(offset: float) -> Problem:
        arms = [
            Sum(Abrupt(0.5, -0.5, at=20), Constant(offset)),
            Restless(Abrupt(offset + 0.25, offset, at=30)),
        ]
        return Problem(arms, horizon=100)

    plain, shifted = optimal_rewards(problem(0.0)), optimal_rewards(problem(1e6))
    assert plain.label == shifted.label == OPTIMAL
    assert (shifted.cumulative - 1e6 * np.arange(1, 101)).tolist() == plain.cumulative.tolist()


def test_an_arm_that_is_never_worth_a_pull_costs_no_digits() -> None:
    problem = Problem.rested([Abrupt(0.1, 0.05, at=500), Constant(-1e90)], horizon=1_000)
    assert optimal_rewards(problem, checkpoints=[1_000]).cumulative.tolist() == [75.0]


@pytest.mark.parametrize("seed", range(10))
def test_falling_arms_are_merged_in_order(seed: int) -> None:
    """Short arms that are used up early next to long ones: the t best means of all are the optimum of t rounds."""
    rng = np.random.default_rng(seed)
    tables = [-np.sort(-rng.integers(-8, 9, 12) / 8) for _ in range(3)]
    tables[0][rng.integers(1, 4) :] = -1.0
    best = np.sort(np.concatenate(tables))[::-1][:12].cumsum()
    assert optimal_rewards(Problem.rested([each.tolist() for each in tables])).cumulative.tolist() == best.tolist()


def test_a_million_rounds_of_ten_falling_arms() -> None:
    horizon = 1_000_000
    starts = np.arange(100) * (horizon // 100)
    problem = Problem.rested([Piecewise(1.0 - np.arange(100) / 128 - k / 1024, starts) for k in range(10)], horizon=horizon)
    cumulative, how = optimal_rewards(problem)
    assert how == OPTIMAL
    # 10,000 pulls at each of the 100 largest levels of all arms.
    means = np.sort([1.0 - k / 128 - j / 1024 for k in range(100) for j in range(10)])[::-1][:100]
    assert cumulative[-1] == math.fsum(means) * 10_000


def test_horizons_share_their_beginning() -> None:
    problem = Problem.rested([Exponential(1.0, rate=0.01), Exponential(0.8, rate=0.005), Constant(0.3)])
    long, short = optimal_rewards(problem, 500).cumulative, optimal_rewards(problem, 200).cumulative
    np.testing.assert_allclose(long[:200], short, rtol=1e-15)


DECAYS = 9


def random_decay(rng: np.random.Generator, horizon: int, offset: float, decays: int) -> Decay:
    """Return one of the first `decays` kinds: three of few pieces, a table, five formulas; falling, rising or neither."""
    kind = int(rng.integers(0, decays))
    high, low = sorted((offset + rng.uniform(-1.0, 1.0, 2)).tolist(), reverse=True)
    if rng.random() < 0.2:
        high, low = low, high  # it rises
    at = int(rng.integers(0, horizon + 1))
    if kind == 0:
        return Constant(high)
    if kind == 1:
        return Abrupt(high, low, at)
    if kind == 2:
        pieces = int(rng.integers(1, min(horizon, 8) + 1))
        starts = [0, *sorted(rng.choice(np.arange(1, horizon), pieces - 1, replace=False).tolist())] if pieces > 1 else [0]
        values = offset + rng.normal(size=pieces) * rng.choice([1.0, 1e-9])
        return Piecewise(np.sort(values)[::-1] if rng.random() < 0.7 else values, starts)
    if kind == 3:
        values = offset + rng.integers(-8, 9, horizon) / 8
        return Table(np.sort(values)[::-1] if rng.random() < 0.7 else values)
    if kind == 4:
        return Linear(high, slope=(low - high) / horizon, floor=None if rng.random() < 0.5 else min(low, high))
    if kind == 5:
        return Polynomial(high, power=float(rng.uniform(0.1, 2.0)), limit=low)
    if kind == 6:
        return Exponential(high, rate=float(rng.uniform(0.1, 10.0)) / horizon, limit=low)
    if kind == 7:
        return Logistic(high, low, at=at, width=horizon / 10)
    return Function(lambda x: offset + math.sin(x / 7))


def random_problem(rng: np.random.Generator, horizon: int, decays: int = DECAYS) -> Problem:
    offset = float(rng.choice([0.0, 0.0, 1e6, -1e6, 3e-5]))

    def decay() -> Decay:
        return random_decay(rng, horizon, offset, decays)

    rested: list[Callable[[], Arm]] = [lambda: Rested(decay())]
    restless: list[Callable[[], Arm]] = [lambda: Restless(decay())]
    both: list[Callable[[], Arm]] = [*rested, *restless, lambda: Sum(decay(), decay()), lambda: Product(decay(), decay())]
    if horizon <= 50:
        both.append(lambda: General(lambda t, n: offset + 1 / (1 + t + 2 * n)))
    makers = [rested, rested, restless, both][int(rng.integers(0, 4))]
    arms = [makers[int(rng.integers(0, len(makers)))]() for _ in range(int(rng.integers(1, 8)))]
    return Problem(arms, horizon=horizon)


@pytest.mark.parametrize("seed", [1, 3, 17])
def test_no_bit_depends_on_which_checkpoints_are_asked_for(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """All kinds of problems: exact optima, and greedy ones where these are too expensive, at every round and at some."""
    rng = np.random.default_rng(seed)
    seen = set()
    for case in range(120):
        horizon = int(rng.choice([1, 2, 3, 7, 50, 500]))
        problem = random_problem(rng, horizon)
        limit = 10 if case % 2 else 100_000
        monkeypatch.setattr(oracle, "MAX_STATES", limit)
        monkeypatch.setattr(oracle, "MAX_SHARES", limit)
        whole, greedy = optimal_rewards(problem), greedy_rewards(problem)
        marks = np.array(sorted({int(x) for x in rng.integers(1, horizon + 1, 8)}))
        for checkpoints in (np.arange(1, horizon + 1), marks):
            found = optimal_rewards(problem, checkpoints=checkpoints)
            assert found.label == whole.label
            assert found.cumulative.tobytes() == whole.cumulative[checkpoints - 1].tobytes()
            assert greedy_rewards(problem, checkpoints=checkpoints).tobytes() == greedy[checkpoints - 1].tobytes()
        np.testing.assert_allclose(greedy, naive_greedy(problem, horizon), rtol=1e-12, atol=1e-12)
        seen.add(whole.label)
    assert seen == {OPTIMAL, GREEDY_RISING, GREEDY_TWO_CLOCKS}


def test_a_long_game_costs_its_pieces_and_not_its_rounds() -> None:
    """Two pieces an arm: the optimum of 10**15 rounds is that of 10**5, a whole number of times over."""
    scale = 10**10
    builds: list[Callable[..., Problem]] = [Problem.rested, Problem.restless]
    for build in builds:
        short = build([Abrupt(0.75, 0.25, at=40_000), Abrupt(0.5, 0.125, at=70_000)], horizon=100_000)
        long = build([Abrupt(0.75, 0.25, at=40_000 * scale), Abrupt(0.5, 0.125, at=70_000 * scale)], horizon=100_000 * scale)
        marks = np.array([1, 30_000, 70_000, 100_000])
        at_marks = optimal_rewards(short, checkpoints=marks).cumulative * scale
        assert optimal_rewards(long, checkpoints=marks * scale).cumulative.tolist() == at_marks.tolist()


@pytest.mark.parametrize("checkpoints", [[0], [3, 3], [5, 4], [11], [1.5], [], [[1, 2]], [True]])
def test_checkpoints_increase_within_the_horizon(checkpoints: list[int]) -> None:
    problem = Problem.rested([0.5, 0.25], horizon=10)
    words = "checkpoints must be whole numbers that increase from 1 to 10 at most, got "
    with pytest.raises(ValueError, match=re.escape(words + repr(checkpoints))):
        optimal_rewards(problem, checkpoints=checkpoints)


# The best of all sequences of pulls.


def fresh(p: Any) -> float:
    return 0.0


def satiated(p: tuple[float, float], s: float, t: int, n: int) -> float:
    return p[0] - p[1] * s - 0.01 * n + 0.001 * t


def satiate(p: Any, s: float, t: int, n: int, pulled: int) -> float:
    return 0.5 * (s + pulled)


def recover(p: Any, s: float, t: int, n: int, rounds: int) -> float:
    return float(s * 0.5**rounds)


def blocked(p: tuple[float, float], s: float, t: int, n: int) -> float:
    return p[0] if s == 0.0 else 0.0


def block(p: Any, s: float, t: int, n: int, pulled: int) -> float:
    return p[1] if pulled and s == 0.0 else max(0.0, s - 1.0)


def by_clocks(i: int, t: int, n: int) -> float:
    return (i + 1) * t / (1.0 + n * n)


def rise(z: int) -> float:
    return 1.0 - 0.5**z


NO_TABLES = {
    "steps": Problem([Stateful(fresh, satiated, satiate, (0.9, 0.3)), Stateful(fresh, satiated, satiate, (0.6, 0.1))]),
    "rests": Problem([Stateful(fresh, satiated, satiate, (top, 0.3), rest=recover) for top in (0.9, 0.8, 0.1)]),
    "blocks": Problem([Stateful(fresh, blocked, block, (1.0, 3.0)), Stateful(fresh, blocked, block, (0.4, 1.0)), Rested(0.1)]),
    "recovers": Problem([Recovering(rise, fresh=0.9), Recovering(rise, fresh=0.2), Rested(0.3)]),
    "visits": Problem([Rested([1.0, 0.0, 0.2, *[0.0] * 9]), Visiting(Recovering(rise, fresh=0.7), first=2, last=5)]),
    "both": Problem([Rested(0.2), Visiting(Stateful(fresh, satiated, satiate, (0.9, 0.3), rest=recover), first=3, last=6)]),
    "function": Problem.by_function(by_clocks, 2),
}


def every_sequence(problem: Problem, horizon: int) -> list[float]:
    """The largest sum of means of any sequence of arms, of 1, ..., horizon pulls, each played from its beginning."""
    best = [-math.inf] * horizon
    first, last = problem.presence_rounds()
    for sequence in product(range(problem.n_arms), repeat=horizon):
        total, pulls, pulled_in = 0.0, [0] * problem.n_arms, [0] * problem.n_arms
        states = [arm.first_state() if isinstance(arm, Stateful) else None for arm in problem.bare_arms]
        for t, i in enumerate(sequence, start=1):
            if not first[i] <= t <= last[i]:
                break
            arm, n = problem.bare_arms[i], pulls[i]
            for k, other in enumerate(problem.bare_arms):
                if isinstance(other, Stateful) and other.rest is None and t > 1:
                    states[k] = other.step(
                        other.params, states[k], t - 1, pulls[k] - (pulled_in[k] == t - 1), pulled_in[k] == t - 1
                    )
            if isinstance(arm, Stateful):
                z = t - 1 - pulled_in[i]
                if arm.rest is not None:
                    states[i] = states[i] if z == 0 else arm.rest(arm.params, states[i], pulled_in[i] + 1, n, z)
                total += arm.mean(arm.params, states[i], t, n)
                if arm.rest is not None:
                    states[i] = arm.step(arm.params, states[i], t, n, 1)
            elif isinstance(arm, Recovering):
                total += rise(t - 1 - pulled_in[i]) if n else arm.fresh
            else:
                total += problem.mean(i, t, n)
            best[t - 1] = max(best[t - 1], total)
            pulls[i], pulled_in[i] = n + 1, t
    return best


@pytest.mark.parametrize("name", NO_TABLES)
def test_the_optimum_without_tables_is_the_best_of_all_sequences(name: str) -> None:
    found = optimal_rewards(NO_TABLES[name], 7)
    assert found.label == OPTIMAL
    assert found.cumulative.tolist() == every_sequence(NO_TABLES[name], 7)
    assert optimal_rewards(NO_TABLES[name], 7, [3, 7]).cumulative.tolist() == found.cumulative[[2, 6]].tolist()


def test_the_optimum_of_few_states_is_found_for_longer_games() -> None:
    """The best arm is free in every fourth round; of the two others, one is free in every round between."""
    arms = [Stateful(fresh, blocked, block, (1.0, 3.0)), *[Stateful(fresh, blocked, block, (0.5, 1.0))] * 2]
    assert optimal_rewards(Problem(arms), 20, [20]).cumulative.tolist() == [5 * 1.0 + 15 * 0.5]


def test_an_optimum_that_is_too_dear_tells_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "MAX_SITUATIONS", 100)
    with pytest.raises(
        ValueError, match=r"^horizon must be at most 3 for the optimum of these arms, .* 4 rounds lead into 120 situati"
    ):
        optimal_rewards(NO_TABLES["rests"], 1_000)


def ar_init(p: Any, key: int) -> float:
    return 0.0


def test_the_optimum_of_random_arms_is_refused() -> None:
    arms = [Stateful(ar_init, satiated, satiate, (0.9, 0.3))]
    with pytest.raises(ValueError, match="problem must have arms that do not move at random"):
        optimal_rewards(Problem(arms), 3)
