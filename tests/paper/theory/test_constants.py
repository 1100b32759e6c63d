"""Constants of problems against their definitions, spelled out."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rotting import theory
from rotting.problems import Piecewise, Problem, stationary
from rotting.problems.noise import Gaussian
from rotting.problems.oracle import OPTIMAL, optimal_rewards
from rotting.registry import make
from tests.helpers.known_constants import rested, restless

FOUR = ("raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa")
levels = st.integers(-8, 8).map(lambda k: k / 8)


@st.composite
def tables(draw: st.DrawFn, fall: bool) -> np.ndarray:
    K, T = draw(st.integers(1, 4)), draw(st.integers(1, 30))
    rows = [draw(st.lists(levels, min_size=T, max_size=T)) for _ in range(K)]
    return np.array([sorted(row, reverse=True) if fall else row for row in rows])


# --- Restless constants -------------------------------------------------------------------------------------------------------


@given(means=tables(fall=False), data=st.data())
def test_restless_constants_are_what_they_are_defined_as(means: np.ndarray, data: st.DataObject) -> None:
    K, T = means.shape
    t = data.draw(st.integers(1, T))
    known, seen = restless(Problem.restless(means)), means[:, :t]
    columns = [tuple(column) for column in seen.T]
    changes = [k for k in range(1, t) if columns[k] != columns[k - 1]]
    assert known.pieces(t) == len(changes) + 1
    assert known.variation(t) == sum(max(abs(a - b) for a, b in zip(x, y, strict=True)) for x, y in pairwise(columns))
    assert known.spread(t) == seen.max() - seen.min()
    assert known.budget(t) == max(known.variation(t), known.spread(t))
    gaps = [[max(columns[k]) - mean for mean in columns[k]] for k in [0, *changes]]
    assert known.gaps(t).tolist() == gaps
    positive = [gap for row in gaps for gap in row if gap > 0]
    assert known.gap_range(t) == ((min(positive), max(positive)) if positive else None)
    assert known.lengths(t).tolist() == [b - a for a, b in pairwise([0, *changes, t])]
    assert known.largest_regret(t) == pytest.approx(sum(max(column) - min(column) for column in columns))
    assert known.n_arms == K


@given(means=tables(fall=True))
def test_the_budget_of_falling_means_is_that_of_the_paper(means: np.ndarray) -> None:
    """Means in [-V, 0] once the largest is subtracted, and Remark 1: V <= budget <= K V, V <= first gaps + variation."""
    known = restless(Problem.restless(means))
    V = means[:, 0].max() - means[:, -1].min()
    assert known.spread() == V
    assert known.spread() <= known.budget() <= len(means) * V or V == 0
    assert known.spread() <= means[:, 0].max() - means[:, 0].min() + known.variation()


# --- Rested constants ---------------------------------------------------------------------------------------------------------


@given(means=tables(fall=True), data=st.data())
def test_rested_constants_are_what_they_are_defined_as(means: np.ndarray, data: st.DataObject) -> None:
    K, T = means.shape
    t = data.draw(st.integers(1, T))
    known = rested(Problem.rested(means))
    # Slip 2: mu(n - 1) - mu(n), with the best first mean before the first.
    falls = [x - y for row in means for x, y in pairwise([means[:, 0].max(), *row[:t]])]
    assert known.largest_fall(t) == max(falls)
    collected = sorted((-means[i, n], i, n) for i in range(K) for n in range(t))[:t]
    pulls = [sum(i == arm for _, i, _ in collected) for arm in range(K)]
    assert known.optimal_pulls(t) == pulls
    assert known.limits(t) == [t - each for each in pulls]
    assert known.smallest_reward(t) == -collected[-1][0]
    assert known.smallest_reward(t) == min(means[i, pulls[i] - 1] for i in range(K) if pulls[i])
    best = optimal_rewards(Problem.rested(means), t)
    assert best.label == OPTIMAL
    assert best.cumulative[-1] == sum(means[i, : pulls[i]].sum() for i in range(K))
    assert known.largest_regret(t) == best.cumulative[-1] - means[:, :t].sum(axis=1).min()

    policy = make(data.draw(st.sampled_from(FOUR)), alpha=data.draw(st.sampled_from([0.01, 0.1, 1.0])), sigma=0.25)
    level = theory.constant(policy) ** 2 * policy.params.sigma**2 * math.log(t)
    for i in range(K):
        # Slip 3: the h first overpulls have the means mu(N*), ..., mu(N* + h - 1).
        overpulls = means[i, pulls[i] : t]
        gap = [math.nan, *(known.smallest_reward(t) - overpulls[:h].mean() for h in range(1, len(overpulls) + 1))]
        allowed = [h for h in range(1, len(overpulls) + 1) if h == 1 or (h - 1) * gap[h - 1] ** 2 <= level]
        assume(not any(math.isclose((h - 1) * gap[h - 1] ** 2, level) for h in range(2, len(overpulls) + 1)))
        most = max(allowed, default=0)
        assert known.overpulls(policy, t)[i] == most
        assert known.pseudo_gaps(policy, t)[i] == pytest.approx(gap[most - 1] if most > 1 else math.inf, abs=1e-15)


def test_pseudo_gaps_by_hand() -> None:
    """Arm 1 is worth 1, 1, 1/2, 0, 0, ... and arm 0 always 1/4, T = 10: N* = 7, 3 and the smallest optimal reward is 1/4.

    Overpulls of arm 1 are worth 0, so Delta_{1,h} = 1/4; of arm 0, 1/4, so Delta_{0,h} = 0. RAW-UCB with alpha = 1/8 has C = 1;
    with sigma = 1/4, C^2 sigma^2 ln 10 = 0.143912: (h - 1) / 16 <= 0.143912 up to h = 3. All 3 overpulls of arm 0 are allowed.
    """
    problem = Problem.rested([0.25, Piecewise([1.0, 0.5, 0.0], starts=[0, 2, 3])], horizon=10)
    known, policy = rested(problem), make("raw-ucb", alpha=0.125, sigma=0.25)
    assert (known.optimal_pulls(), known.smallest_reward(), known.largest_fall()) == ([7, 3], 0.25, 0.75)
    assert known.limits() == [3, 7]
    assert known.overpulls(policy) == [3, 3]
    assert known.pseudo_gaps(policy) == [0.0, 0.25]
    with pytest.raises(ValueError, match="t must be at most the horizon 10, got 11"):
        known.largest_fall(11)


def test_stationary_arms_have_their_gaps_in_both_settings() -> None:
    """Remark 1 of the FEWA paper: Delta_{i,h} = Delta_i, and the rested bound is nearly Theorem 3 with one piece."""
    problem = stationary([0.9, 0.4, 0.65], horizon=100_000)
    policy = make("raw-ucb", alpha=5)
    known = rested(problem)
    assert known.optimal_pulls() == [100_000, 0, 0]
    assert known.pseudo_gaps(policy) == pytest.approx([math.inf, 0.5, 0.25], rel=1e-12)
    values = {each.name: float(each.values[-1]) for each in theory.bounds(problem, policy)}
    L = V = 0.5
    assert values["rested gap-dependent"] == pytest.approx(values["piecewise gap-dependent"] + 18 * L - 18 * V, rel=1e-12)


# --- Which theorem applies ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", [Problem.rested, Problem.restless])
@given(data=st.data())
def test_no_play_has_more_than_the_largest_regret(clock: Callable[..., Problem], data: st.DataObject) -> None:
    means = data.draw(tables(fall=True))[:3, :6]
    K, T = means.shape
    problem = clock(means)

    def total(arms: Sequence[int]) -> float:
        pulls, collected = [0] * K, 0.0
        for t, i in enumerate(arms, start=1):
            collected += problem.mean(i, t, pulls[i])
            pulls[i] += 1
        return collected

    totals = [total(arms) for arms in product(range(K), repeat=T)]
    assert theory.constants(problem).largest_regret() == max(totals) - min(totals)


# --- Round by round -----------------------------------------------------------------------------------------------------------


def test_an_offset_of_all_means_changes_nothing() -> None:
    policy = make("raw-ucb", alpha=5, sigma=0.5)
    for kind, arms in (("rested", Problem.rested), ("restless", Problem.restless)):
        values = []
        for offset in (0.0, 1024.0):
            shifted = [Piecewise([offset + 1.0, offset + 0.25], starts=[0, 20]), offset + 0.5]
            values.append([each.values.tolist() for each in theory.bounds(arms(shifted, Gaussian(0.5), 100), policy)])
        assert values[0] == values[1], kind


@pytest.mark.parametrize(("pieces", "listed"), [(12, True), (13, False)])
def test_gaps_are_listed_for_up_to_twelve_pieces(pieces: int, listed: bool) -> None:
    rising = [k / 16 for k in range(pieces)]
    written = theory.constants(Problem.restless([rising, [1.0] * pieces])).to_json()["restless"]
    assert written["pieces"] == pieces
    assert written["gaps"] == ([[1 - mean, 0.0] for mean in rising] if listed else None)
