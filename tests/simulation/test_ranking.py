"""Comparing policies: p-values that are exact, errors that are rare, ties, and ranks."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rotting
from rotting.common.arrays import Floats
from rotting.common.statistics import holm, sign_flip_test, t_critical, t_tail
from rotting.simulation.ranking import rank
from rotting.simulation.result import Result


def result_of(final: Floats) -> Result:
    """A result of some policies with these regrets `[policy, run]`."""
    count, runs = final.shape
    policies = [rotting.UCB1(), rotting.Uniform(), *rotting.grid(rotting.RAWUCB, alpha=[1, 2, 3])][:count]
    arrays = np.array([9]), final[:, :, None].copy(), np.full((count, runs, 1), 9), np.zeros(count)
    return Result(tuple(policies), {"name": "made"}, 9, runs, 0, *arrays, "optimal")


def statistic(values: Floats, axis: int = -1) -> Floats:
    """Student's statistic over sqrt(n - 1), with Hall's correction, as its publication writes it."""
    n, mean, spread = values.shape[axis], values.mean(axis=axis), values.std(axis=axis)
    w, g = mean / spread, stats.skew(values, axis=axis)
    return np.asarray(np.abs(w + g * w**2 / 3 + g**2 * w**3 / 27 + g / (6 * n)))


def failing(rng: np.random.Generator, *shape: int) -> Floats:
    """Regrets of which one in fifty is thirty times as large as the others."""
    return np.where(rng.random(shape) < 0.02, 30.0, 1.0) * rng.gamma(4.0, size=shape)


def test_a_p_value_is_that_of_scipy() -> None:
    """SciPy has the same test: permutations of paired samples with a statistic that one gives it."""
    rng = np.random.default_rng(1)
    for runs in (6, 9, 12):
        for differences in (rng.normal(0.4, 1, runs), failing(rng, runs) - 3.0, rng.exponential(size=runs) - 1):
            found = stats.permutation_test(
                (differences,), statistic, permutation_type="samples", n_resamples=math.inf, alternative="greater"
            )
            assert sign_flip_test(differences[None]) == pytest.approx([found.pvalue], abs=1e-12)


def test_p_values_of_equal_policies_are_uniform_however_skewed_their_regret() -> None:
    """If all signs are equally likely, each p-value is: of all signs of some differences, 5 % have a p-value up to 5 %."""
    differences = failing(np.random.default_rng(2), 9) - 1.5
    signs = np.array([*itertools.product([-1.0, 1.0], repeat=9)])
    p_values = np.sort(sign_flip_test(signs * differences))
    assert p_values.tolist() == np.repeat(np.arange(1, 257) / 256, 2).tolist()


def test_drawn_signs_give_the_p_value_of_all_signs() -> None:
    """Each of 20 shares of 9,999 signs is within six standard deviations, which a right one misses once in 1e8."""
    differences = np.random.default_rng(3).gamma(1.0, size=(20, 14)) - 0.7
    exact, drawn = sign_flip_test(differences), sign_flip_test(differences, 8_000)
    assert np.abs(drawn - exact).max() < 6 * np.sqrt(0.25 / 8_000)
    assert set(np.round(exact * 2**13, 9) % 1) == {0.0}
    assert sign_flip_test(differences).tolist() == exact.tolist()


def test_many_runs_are_flipped_in_groups() -> None:
    differences = np.random.default_rng(9).gamma(1.0, size=(3, 1_001)) - 0.95
    grouped = np.add.reduceat(differences, np.arange(0, 1_001, 6), axis=1)
    assert grouped.shape == (3, 167)
    assert sign_flip_test(differences).tolist() == sign_flip_test(grouped).tolist()
    assert sign_flip_test(np.repeat([[1.0], [0.0]], 50_001, axis=1)).tolist() == [1e-4, 1.0]


def test_studies_of_equal_policies_hardly_ever_find_a_difference() -> None:
    """Of 500 studies at 5 %, 25 are expected to; more than 50 have a chance of 2e-6."""
    rng = np.random.default_rng(4)
    found = without = 0
    for _ in range(500):
        finals = failing(rng, 2, 4, 12)
        found += any(each.beats.any() for each in rank(list(finals)))
        without += any(each.beats.any() for each in rank(list(finals), correction=None))
    assert found <= 50
    assert without > 100  # the test can fail: this is what the correction is for


def test_a_difference_is_found_in_any_unit_and_whatever_is_added_to_both() -> None:
    rng = np.random.default_rng(5)
    final = np.stack([rng.normal(10, 1, 30), rng.normal(12, 1, 30)])
    for changed in (final, 1e-9 * final, 2.0**40 * final, final + 1e6):
        (row, other) = result_of(changed).compare().rows
        assert (row["verdict"], other["verdict"]) == ("best", "worse")
        assert (row["rank_low"], row["rank_high"], other["rank_low"], other["rank_high"]) == (1, 1, 2, 2)
        assert other["p"] == result_of(final).compare().rows[1]["p"]


def test_equal_games_and_those_that_differ_by_rounding_are_ties() -> None:
    runs = np.random.default_rng(6).gamma(2.0, size=25)
    rows = result_of(np.stack([runs, runs, runs * (1 + 1e-12)])).compare().rows
    assert [row["verdict"] for row in rows] == ["best", "tied", "tied"]
    assert [row["p"] for row in rows] == [None, 1.0, 1.0]
    assert {(row["rank_low"], row["rank_high"]) for row in rows} == {(1, 3)}


def test_a_few_runs_cannot_show_a_difference_and_the_table_says_so() -> None:
    for runs, says in ((1, True), (5, True), (7, False)):
        table = result_of(np.stack([np.arange(runs, dtype=float), 9 + np.arange(runs, dtype=float)])).compare()
        assert any("cannot show a difference" in note for note in table.notes) == says
        assert table.rows[1]["verdict"] == ("tied" if says else "worse")


def test_against_one_policy_only_it_is_compared_and_corrected_for() -> None:
    rng = np.random.default_rng(7)
    final = rng.normal([[5.0], [4.0], [6.0], [5.0]], 1.0, (4, 14))
    result = result_of(final)
    rows = result.compare(against="UCB1").rows
    raw = sign_flip_test(final[1:] - final[0])
    assert [row["p"] for row in rows] == [None, *holm(raw).tolist()]
    assert [row["verdict"] for row in rows] == ["-", "better", "worse", "tied"]
    assert [row["p"] for row in result.compare(0, correction=None).rows[1:]] == raw.tolist()
    assert "minus UCB1" in str(result.compare(against=result.policies[0]))
    assert "rank" not in [column.head for column in result.compare(against=0).columns]


def test_a_study_corrects_for_all_its_problems_together() -> None:
    rng = np.random.default_rng(8)
    finals = [rng.normal([[5.0], [6.0]], 1.5, (2, 12)) for _ in range(5)]
    study = rotting.Study({"L": [1, 2, 3, 4, 5]}, [result_of(each) for each in finals])
    raw = np.concatenate([sign_flip_test(each[1:] - each[:1]) for each in finals])
    found = [row["p"] for row in study.compare().rows if row["p"] is not None]
    assert found == holm(raw).tolist()
    assert study.compare().to_latex().count(r"\\") == 11
    assert "5 comparisons" in str(study.compare())


def test_what_cannot_be_compared_is_refused() -> None:
    result = result_of(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"^correction must be 'holm', or None, got 'bonferroni'$"):
        result.compare(correction="bonferroni")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^policies must be two or more to be compared, got 1$"):
        result_of(np.ones((1, 3))).compare()
    with pytest.raises(ValueError, match=r"^against must be a policy of this result, got 'UCB'; did you mean 'UCB1'\?$"):
        result.compare(against="UCB")


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holms_correction_is_the_textbooks(p_values: list[float]) -> None:
    expected, largest = [0.0] * len(p_values), 0.0
    for place, k in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[k] * (len(p_values) - place)))
        expected[k] = largest
    assert holm(np.array(p_values)).tolist() == expected


@given(st.integers(1, 200), st.floats(0.01, 0.999))
def test_tails_and_quantiles_of_students_distribution_agree(degrees: int, level: float) -> None:
    assert t_tail(t_critical(degrees, level), degrees) == pytest.approx(1 - level, abs=1e-12)
    assert t_tail(2.0, degrees) == pytest.approx(2 * stats.t.sf(2.0, degrees), abs=1e-12)
