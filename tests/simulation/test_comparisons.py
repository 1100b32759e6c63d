"""Comparisons of policies: ratios, spreads and growth, with intervals that hold what they say."""

import math

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.common.statistics import LEVEL, RESAMPLES, resamples
from rotting.report.claims import Claim, Verdict
from rotting.simulation.comparisons import geometric_mean, growth, mean_ratio, smallest_ratio, spread_ratio
from tests.helpers.claims import claim


def test_comparisons_of_exact_multiples_have_no_width() -> None:
    lower = np.random.default_rng(1).uniform(1, 2, (3, 30))
    upper = lower * np.array([[2.0], [4.0], [8.0]])
    assert mean_ratio(upper, lower) == pytest.approx((4.0, 4.0, 4.0))
    assert smallest_ratio(upper, lower) == pytest.approx((2.0, 2.0, 2.0))
    assert spread_ratio(upper, lower) == pytest.approx((4.0, 4.0, 4.0))
    assert geometric_mean(np.array([2.0, 8.0])) == pytest.approx(4.0)


def test_the_smallest_of_many_equal_ratios_is_not_called_smaller() -> None:
    """100 times 30 problems whose true ratio is 1.01, so that a claim of at least 1 is true: it must hardly ever fail.

    At 5 % for all problems together, more than 15 failures of 100 have a chance below 1e-4; with the fixed seed there are few.
    """
    rng = np.random.default_rng(7)
    verdicts = []
    for _ in range(100):
        lower = rng.normal(1.0, 0.3, (30, 40))
        upper = 1.01 * rng.normal(1.0, 0.3, (30, 40))
        estimate = smallest_ratio(upper, lower)
        verdicts.append(Claim("id", "source", "words", "quantity", estimate, low=1.0).verdict)
    assert verdicts.count(Verdict.FAILS) <= 15
    assert verdicts.count(Verdict.HOLDS) <= 15


def test_one_smaller_ratio_among_many_is_found() -> None:
    rng = np.random.default_rng(8)
    lower, upper = rng.normal(1.0, 0.1, (2, 30, 40))
    upper *= np.where(np.arange(30) == 11, 0.5, 1.5)[:, None]
    assert Claim("id", "source", "words", "quantity", smallest_ratio(upper, lower), low=1.0).verdict == Verdict.FAILS
    assert Claim("id", "source", "words", "quantity", smallest_ratio(upper, lower), low=0.4).verdict == Verdict.HOLDS


def test_the_ends_of_the_smallest_ratio() -> None:
    """The low end is at 95 % for each problem, the high one at 97.5 % for each of two; both are the smallest over them."""
    upper = np.array([[4.0, 5.0, 9.0], [3.0, 4.0, 4.0]])
    lower = np.array([[2.0, 2.0, 3.0], [2.0, 1.0, 1.0]])
    ratio, low, high = smallest_ratio(upper, lower)
    lows, highs = [], []
    for u, v in zip(upper, lower, strict=True):
        without = [math.log((u.sum() - u[k]) / (v.sum() - v[k])) for k in range(3)]
        error = 2 * np.std(without, ddof=1) / math.sqrt(3)
        middle = math.log(u.mean() / v.mean())
        lows.append(math.exp(middle - 4.30265273 * error))  # Student's t with two degrees of freedom, at 95 %
        highs.append(math.exp(middle + 6.20534682 * error))  # and at 97.5 %
    assert lows[0] > lows[1]  # the smallest of each is another problem's
    assert highs[0] < highs[1]
    assert (ratio, low, high) == pytest.approx((18 / 7, lows[1], highs[0]), rel=1e-8)


def test_an_undefined_ratio_leaves_the_smallest_unknown_in_any_order() -> None:
    upper, lower = np.array([[2, 2.1, 2.2], [-1, -1.2, -1.1]]), np.array([[1, 1, 1.1], [0.1, 0.05, 0.05]])
    for order in ([0, 1], [1, 0]):
        found = smallest_ratio(upper[order], lower[order])
        assert all(map(math.isnan, found))  # type: ignore[arg-type]
        each = Claim("id", "source", "words", "quantity", found, low=1.0)
        assert each.verdict == Verdict.OPEN
        assert each.decision == "undecided: a ratio is undefined"


def test_spreads_have_no_interval_where_few_runs_make_them() -> None:
    """Sixty runs are ten times a kurtosis of at most 6; the same runs with one far away have one near 60."""
    values = np.random.default_rng(2).normal(size=(2, 2, 60))
    ratio, low, high = spread_ratio(*values)
    assert low is not None
    assert high is not None
    assert low < ratio < high
    assert low * high == pytest.approx(ratio**2)
    assert spread_ratio(*values[:, :, :19])[1:] == (None, None)
    values[1, 1, 7] = 100.0
    ratio, low, high = spread_ratio(*values)
    assert ratio == pytest.approx(geometric_mean(values[0].std(axis=1) / values[1].std(axis=1)))
    assert (low, high) == (None, None)
    assert claim(low, high, least=0.0).decision == "undecided: too few runs for an interval"
    assert all(map(math.isnan, spread_ratio(values[0], np.ones((2, 60)))))  # type: ignore[arg-type]


def test_the_rule_of_spreads_is_ten_runs_a_kurtosis() -> None:
    """Half of the runs at 1 and half at -1 have the kurtosis 1, the least there is: 10 runs are enough. Others are near it."""
    values = np.tile([1.0, -1.0], (1, 5))
    assert spread_ratio(2 * values, values).low is not None
    rng = np.random.default_rng(12)
    near = []
    for _ in range(100):
        values = rng.normal(size=(1, 26))
        deviations = values - values.mean()
        kurtosis = 26 * (deviations**4).sum() / (deviations**2).sum() ** 2
        assert (spread_ratio(2 * values, values).low is not None) == (kurtosis <= 2.6)
        near.append(26 / kurtosis)
    assert any(9 <= each < 10 for each in near)
    assert any(10 <= each < 11 for each in near)


def test_regrets_that_differ_by_rounding_have_no_spread() -> None:
    noisy = np.full((1, 60), 8.1)
    noisy[0, ::7] *= 1 + 1e-15
    values = np.random.default_rng(1).normal(size=(1, 60))
    assert np.isnan(spread_ratio(values, noisy)).all()  # type: ignore[arg-type]
    ratio, low, high = spread_ratio(noisy, values)
    assert ratio == 0.0
    assert np.isnan([low, high]).all()  # type: ignore[arg-type]


def test_intervals_of_spreads_cover() -> None:
    """150 samples of 200 runs at 95 %: fewer than 125 would be covered with a chance below 1e-6."""
    rng = np.random.default_rng(9)
    found = [spread_ratio(rng.gamma(4.0, 2.0, (4, 200)), rng.gamma(4.0, 1.0, (4, 200))) for _ in range(150)]
    assert sum(low is not None and high is not None and low <= 2.0 <= high for _, low, high in found) >= 125


def test_spreads_made_by_rare_runs_are_not_told_wrongly() -> None:
    """500 samples of 40 runs, of which one in a hundred regrets 30 more, on four problems.

    If 5 % missed the truth, more than 55 would with a chance below 1e-6; of the jackknife's intervals, 144 do.
    """
    rng = np.random.default_rng(10)
    truth = math.sqrt(4 + 30**2 * 0.01 * 0.99) / 2
    missed = 0
    for _ in range(500):
        upper, lower = rng.gamma(4.0, 1.0, (2, 4, 40))
        _, low, high = spread_ratio(upper + 30 * (rng.random((4, 40)) < 0.01), lower)
        missed += low is not None and high is not None and not low <= truth <= high
    assert missed <= 55


def test_runs_that_gain_nothing_late_do_not_tell_the_growth() -> None:
    early = np.array([0.0, 1.0, 2.0, 1.0, 3.0])
    middle = early + np.array([2.0, 3.0, 4.0, 3.0, 2.0])
    assert growth(early, middle, middle) == (0.0, None, None)
    assert growth(early, early + 2.0, early + 3.0) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(("curve", "value"), [(np.log, 1.0), (np.sqrt, math.sqrt(2)), (float, 2.0)])
def test_growth_tells_rates_apart(curve: object, value: float) -> None:
    early, middle, late = (np.full(5, curve(t)) for t in (100.0, 200.0, 400.0))  # type: ignore[operator]
    assert growth(early, middle, late).mean == pytest.approx(value)


def log_and_error(rows: Floats, signs: Floats) -> tuple[float, float]:
    """The logarithm of the ratio, and its standard error by the influence of each run."""
    log = float(signs @ np.log(rows.std(axis=1)))
    centred = rows - rows.mean(axis=1, keepdims=True)
    influence = signs @ (centred**2 / rows.var(axis=1)[:, None] - 1) / 2
    return log, float(influence.std(ddof=1) / math.sqrt(influence.size))


@pytest.mark.parametrize("problems", [1, 3])
def test_the_interval_is_that_of_the_studentised_bootstrap(problems: int) -> None:
    rng = np.random.default_rng(problems)
    runs = 50
    upper, lower = 10 + 2 * rng.random((problems, runs)), 5 + rng.random((problems, runs))
    rows, signs = np.concatenate([upper, lower]), np.repeat([1 / problems, -1 / problems], problems)
    ratio, error = log_and_error(rows, signs)
    drawn = [np.repeat(rows, each.astype(int), axis=1) for times in resamples(runs) for each in times]
    far = sorted(abs(log - ratio) / its for log, its in (log_and_error(each, signs) for each in drawn))
    half = far[round(LEVEL * (RESAMPLES + 1)) - 1] * error
    wanted = (math.exp(ratio), math.exp(ratio - half), math.exp(ratio + half))
    assert spread_ratio(upper, lower) == pytest.approx(wanted, rel=1e-9)
