"""Random problems: functions of seed and run, of the kind that each family promises."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rotting
from rotting.common.arrays import Floats
from rotting.problems import (
    DirichletDecay,
    FallingGaussianProcess,
    Problem,
    ProblemFamily,
    RandomBreakpoints,
    ReflectedWalk,
)
from rotting.problems.families import TableFamily, family_key, generator
from rotting.problems.mean_table import lookup
from rotting.problems.noise import Bernoulli, ByArm, Gaussian
from tests.reference.variates import falling_gaussian_process

FALLING: list[TableFamily] = [
    RandomBreakpoints(4, 60, pieces=3),
    RandomBreakpoints(3, 50, pieces=200, clock="pulls"),
    FallingGaussianProcess(4, 60),
    FallingGaussianProcess(3, 70, length=2.0, spread=0.1, clock="pulls"),
    DirichletDecay(4, 60, jumps=2.0),
    DirichletDecay(3, 50, jumps=1e6, low=-2.0, high=3.0, clock="pulls"),
]
FAMILIES = [*FALLING, ReflectedWalk(4, 60, step=0.3)]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_run_is_a_function_of_the_seed_and_of_its_number(family: TableFamily) -> None:
    assert family.problem(7, seed=2) == family.problem(7, seed=2)
    drawn = [family.problem(run, seed) for run in range(4) for seed in range(3)]
    assert all(one != other for k, one in enumerate(drawn) for other in drawn[:k])


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_the_table_is_that_of_the_problem(family: TableFamily) -> None:
    for run in range(5):
        problem, table = family.problem(run, seed=1), family.means(run, family_key(1), family.horizon)
        assert problem.kind == ("restless" if family.clock == "rounds" else "rested")
        for ours, theirs in zip(table, problem.means(), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("family", FALLING, ids=repr)
def test_falling_families_fall(family: TableFamily) -> None:
    assert all(family.problem(run).is_rotting() for run in range(20))


def ends(family: TableFamily, run: int) -> list[tuple[float, float]]:
    problem, last = family.problem(run), family.horizon
    return [(problem.mean(i, 1, 0), problem.mean(i, last, last - 1)) for i in range(family.n_arms)]


@pytest.mark.parametrize("family", [each for each in FAMILIES if hasattr(each, "low")], ids=repr)
def test_means_lie_between_low_and_high_and_move(family: TableFamily) -> None:
    low, high = family.low, family.high  # type: ignore[attr-defined]
    seen = np.array([ends(family, run) for run in range(200)])
    assert low <= seen.min() < low + 0.1 * (high - low)
    assert high >= seen.max() > high - 0.1 * (high - low)
    assert np.all(seen[:, :, 0] != seen[:, :, 1])


def test_a_walk_leaps_by_its_step_and_stays_inside_its_walls() -> None:
    walk = ReflectedWalk(2, 2_000, step=0.01)
    table = walk.means(0, family_key(0), 2_000)
    rows = np.array([[lookup(table, i, t, 0) for t in range(1, 2_001)] for i in range(2)])
    assert np.std(np.diff(rows)) == pytest.approx(0.01, rel=0.1)  # 4,000 steps: 9 standard errors
    assert 0 <= rows.min() <= rows.max() <= 1


@pytest.mark.parametrize("low", [0.0, -0.7])
@pytest.mark.parametrize(("length", "spread"), [(0.1, 2.0), (2.0, 0.1), (1e-200, 1.0), (1e200, 5.0)])
def test_a_gaussian_process_is_that_of_the_reference(low: float, length: float, spread: float) -> None:
    for n_arms, horizon in ((1, 1), (2, 2), (3, 65), (2, 200)):
        family = FallingGaussianProcess(n_arms, horizon, low=low, length=length, spread=spread)
        expected = falling_gaussian_process(generator(5, 9), n_arms, horizon, low, 1.0, length, spread)
        assert family.rows(generator(5, 9)).tolist() == expected


@pytest.mark.parametrize("length", [0.05, 0.1, 0.5])
def test_the_logarithm_of_a_rate_has_the_covariance_that_is_promised(length: float) -> None:
    """With 65 ticks, each fall is the rate at a point of the grid. The variance of the ratio of two is 2 (k(0) - k(x))."""
    family, spread = FallingGaussianProcess(1_000, 65, length=length, spread=1.5), 1.5
    falls = np.concatenate([-np.diff(family.rows(generator(1, run)), axis=1) for run in range(10)])
    logs = np.log(falls)
    for lag in (1, 2, 4, 8, 16, 32):
        drawn = logs[:, lag] - logs[:, 0]
        expected = 2 * spread**2 * -np.expm1(-((lag / 64 / length) ** 2) / 2)
        assert drawn.mean() == pytest.approx(0.0, abs=4 * (expected / drawn.size) ** 0.5)
        assert drawn.var() == pytest.approx(expected, rel=4 * (2 / drawn.size) ** 0.5)


DIGEST = """
import hashlib
from rotting.problems import Logistic, Polynomial, ten_arms
from rotting.problems.families import family_key
from tests.problems.test_families import FAMILIES

hasher = hashlib.sha256()
for family in FAMILIES:
    for run in range(20):
        for column in family.means(run, family_key(3), family.horizon):
            hasher.update(column.tobytes())
for decay in (Polynomial(1.0, power=0.7, scale=3.0), Logistic(1.0, 0.0, at=90, width=11)):
    hasher.update(decay.steps(1_000)[1].tobytes())
hasher.update(ten_arms().means().pull_values.tobytes())
print(hasher.hexdigest())
"""


def test_means_are_the_same_on_every_processor() -> None:
    """As one that lacks what NumPy and LAPACK have faster code for: they choose it by the processor, and other last bits."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    plain = {"NPY_DISABLE_CPU_FEATURES": " ".join(found), "OPENBLAS_CORETYPE": "Prescott"}
    digests = [
        subprocess.run([sys.executable, "-c", DIGEST], env={**os.environ, **more}, check=True, capture_output=True).stdout
        for more in ({}, plain)
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.25, 1.0), (-0.7, 0.4), (3.0, 5.5)])
def test_a_walk_starts_anywhere_between_its_walls(low: float, high: float) -> None:
    walk = ReflectedWalk(10, 1, low=low, high=high)
    starts = np.sort([lookup(walk.means(run, family_key(0), 1), i, 1, 0) for run in range(100) for i in range(10)])
    uniform = low + (high - low) * (np.arange(1_000) + 0.5) / 1_000
    assert np.abs(starts - uniform).max() < 0.07 * (high - low)  # Kolmogorov and Smirnov: one in ten thousand is further off


def test_jumps_of_a_dirichlet_decay_decide_how_even_it_is() -> None:
    """The largest single fall, as a share of the whole one."""

    def largest(jumps: float) -> float:
        family, shares = DirichletDecay(1, 200, jumps=jumps), []
        for run in range(30):
            row = family.means(run, family_key(0), 200).round_values
            shares.append(np.diff(-row).max() / (row[0] - row[-1]))
        return float(np.mean(shares))

    assert largest(1.0) > 0.4
    assert largest(1e4) < 0.1


def test_every_tick_of_a_dirichlet_decay_has_the_same_share_on_average() -> None:
    """Also the first, which takes the whole fall where the shares are all too small for a number."""

    def falls(family: DirichletDecay, run: int) -> Floats:
        table = family.means(run, family_key(0), 11)
        return -np.diff([[lookup(table, i, t, 0) for t in range(1, 12)] for i in range(4)])

    even, tiny = DirichletDecay(4, 11, jumps=2.0), DirichletDecay(4, 11, jumps=1e-4)
    shares = np.concatenate([each / each.sum(axis=1, keepdims=True) for each in (falls(even, run) for run in range(100))])
    assert shares.mean(axis=0) == pytest.approx(np.full(10, 0.1), abs=0.05)  # six standard errors
    assert all(np.all(falls(tiny, run).sum(axis=1) > 0.0) for run in range(20))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ProblemFamily(3), "draw must be a callable of a random generator, got 3"),  # type: ignore[arg-type]
        (lambda: ProblemFamily(lambda _: 3).problem(4), "draw must return a Problem, got int in run 4"),  # type: ignore[arg-type,return-value]
        (lambda: RandomBreakpoints(low=1.0), "low must be below high = 1.0, got 1.0"),
        (lambda: RandomBreakpoints(pieces=0), "pieces must be a whole number, 1 or more, got 0"),
        (lambda: ReflectedWalk(step=-1.0), "step must be a positive finite number, got -1.0"),
        (lambda: DirichletDecay(clock="time"), "clock must be 'pulls' or 'rounds', got 'time'"),
        (
            lambda: ReflectedWalk(3, noise=ByArm([Gaussian(0.1), Gaussian(1.0)])),
            "noise must be one for each of the 3 arms, got 2 in ByArm",
        ),
        (lambda: FallingGaussianProcess(noise=1), "noise must be a noise such as Gaussian(1.0), got 1"),  # type: ignore[arg-type]
        (lambda: ReflectedWalk(high=2.0, noise=Bernoulli()).problem(0), "means must be a probability in [0, 1] under"),
        (lambda: ReflectedWalk().problem(-1), "run must be the number of a run, from 0 to 2^32 - 1, got -1"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(make: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(message)


def test_any_function_of_random_numbers_is_a_family() -> None:
    family = ProblemFamily(lambda rng: Problem.rested([[rng.random(), 0.0], [0.5, 0.5]]), name="mine")
    assert rotting.simulate(rotting.UCB1(), family, runs=3).problem["name"] == "mine"
    assert 0 < family.problem(0).mean(0, 1, 0) != family.problem(1).mean(0, 1, 0) < 1


def good_with_chance(chance: float) -> ProblemFamily:
    """A family of this text, whatever the chance."""
    return ProblemFamily(lambda rng: Problem.rested([0.9 if rng.random() < chance else 0.1, 0.5], horizon=10))


def test_functions_of_one_text_are_told_apart_by_what_they_draw_in_the_first_runs() -> None:
    families = good_with_chance(0.5), good_with_chance(0.6)
    alike = [families[0].problem(run) == families[1].problem(run) for run in range(8)]
    assert alike == [True] * 7 + [False]
    texts, digests = zip(*((repr(each), each.describe(each.problem(0), 0, 10)["drawn"]) for each in families), strict=True)
    assert texts[0] == texts[1]
    assert digests[0] != digests[1]


def test_a_game_is_no_longer_than_the_tables_of_a_family() -> None:
    family = RandomBreakpoints(2, 30)
    with pytest.raises(ValueError, match=r"horizon must be at most 30, that of RandomBreakpoints\(.*\), got 31"):
        rotting.simulate(rotting.UCB1(), family, horizon=31, runs=1)
    assert rotting.simulate(rotting.UCB1(), family, horizon=29, runs=1).horizon == 29


def test_a_run_has_a_number() -> None:
    with pytest.raises(ValueError, match=r"run must be the number of a run, from 0 to 2\^32 - 1, got 1"):
        RandomBreakpoints(2, 30).problem(run=2**64)
