"""Comparisons of policies: ratios, spreads and growth, with intervals that hold what they say."""

import math
import re
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.common.statistics import Interval, NoInterval, resamples
from rotting.paper.report.claims import Claim, Verdict
from rotting.simulation.comparisons import (
    geometric_mean,
    growth,
    mean_ratio,
    quantile_ratio,
    quotient_of,
    relative_spread,
    requiring_runs,
    share_ahead,
    smallest_ratio,
    spread_ratio,
)
from tests.helpers.claims import claim_about, missing_reason


def test_comparisons_of_exact_multiples_have_no_width() -> None:
    lower = np.random.default_rng(1).uniform(1, 2, (3, 200))
    upper = lower * np.array([[2.0], [4.0], [8.0]])
    assert mean_ratio(upper, lower) == pytest.approx((4.0, 4.0, 4.0))
    assert smallest_ratio(upper, lower) == pytest.approx((2.0, 2.0, 2.0))
    assert spread_ratio(upper, lower) == pytest.approx((4.0, 4.0, 4.0))
    _, low, high = spread_ratio(3 * upper, lower)  # 3 is no power of 2: rounding must not make a width, nor take the interval
    assert low == high
    assert low == pytest.approx(12.0)
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


POSITIVE = [2.0, 2.1, 2.2]


@pytest.mark.parametrize("ratio", [mean_ratio, smallest_ratio])
@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ([-1.0, -1.2, -1.1], [0.1, 0.05, 0.05]),
        ([0.1, 0.05, 0.05], [-1.0, -1.2, -1.1]),
        ([-2.0, -2.1, -2.2], [-1.0, -1.1, -1.05]),  # the upper one is better, not twice as bad
        ([0.0, 0.0, 0.0], [1.0, 1.1, 1.2]),
        ([1.0, 1.1, 1.2], [0.0, 0.0, 0.0]),
    ],
)
def test_a_ratio_of_means_that_are_not_both_positive_is_undefined_in_any_order(
    upper: list[float], lower: list[float], ratio: Callable[[np.ndarray, np.ndarray], Interval]
) -> None:
    for order in ([0, 1], [1, 0]):
        found = ratio(np.array([upper, POSITIVE])[order], np.array([lower, [1, 1, 1.1]])[order])
        assert math.isnan(found.mean)
        each = claim_about(found, least=1.0)
        assert each.decision == "undecided: a ratio is undefined, as a mean regret is not positive"


@pytest.mark.parametrize("ratio", [mean_ratio, smallest_ratio])
def test_a_ratio_that_some_runs_make_positive_is_told_without_an_interval(
    ratio: Callable[[np.ndarray, np.ndarray], Interval],
) -> None:
    found = ratio(np.array([POSITIVE, [5.0, -1.0, -1.0]]), np.ones((2, 3)))
    assert found.mean > 0
    assert missing_reason(found) == "a mean regret is not positive without some of the runs"
    assert missing_reason(ratio(np.ones((2, 1)), np.ones((2, 1)))) == "there is only one run"


def test_a_comparison_may_ask_for_runs() -> None:
    """Its own reason comes first: more runs would not mend a ratio that is undefined."""
    compare = requiring_runs(20, mean_ratio)
    upper, lower = np.random.default_rng(6).gamma(4.0, 1.0, (2, 3, 20))
    assert compare(upper, lower) == mean_ratio(upper, lower)
    found = compare(upper[:, :19], lower[:, :19])
    assert found.mean == mean_ratio(upper[:, :19], lower[:, :19]).mean
    few = "needs 20 runs (here 19): about 1 run in 100 fails badly, and decides the ratio"
    assert claim_about(found, least=1e-9).decision == f"undecided: {few}"
    assert missing_reason(compare(upper[:, :1], lower[:, :1])) == "there is only one run"
    assert missing_reason(compare(-upper[:, :9], lower[:, :9])) == "a ratio is undefined, as a mean regret is not positive"


def test_rare_runs_are_not_told_from_runs_that_hold_none() -> None:
    """One run in a hundred regrets 30 more: of 40 runs, those that hold none look as harmless as any, and are wrong.

    So intervals that the runs' own skewness allows cover even less often than all: `requiring_runs` asks for a number of runs.
    """
    rng = np.random.default_rng(11)
    truth = 4.0 / (4.0 + 30 * 0.01)
    every, harmless = [], []
    for _ in range(300):
        upper, lower = rng.gamma(400.0, 0.01, (2, 1, 40))
        lower += 30 * (rng.random((1, 40)) < 0.01)
        every.append(mean_ratio(upper, lower))
        scores = (lower - lower.mean()) / lower.std()
        if 25 * (scores**3).mean() ** 2 <= 40:
            harmless.append(every[-1])
    (stated, covered), (passed, right) = (stated_and_covered(each, truth) for each in (every, harmless))
    assert covered < 0.75 * stated
    assert right / passed < 0.5 * covered / stated
    assert stated_and_covered([requiring_runs(2_000, mean_ratio)(upper, lower)], truth) == (0, 0)


def test_spreads_have_no_interval_where_few_runs_make_them() -> None:
    """Normal regrets have a kurtosis near 3; 300 runs with one far away have one near 300."""
    values = np.random.default_rng(2).normal(size=(2, 2, 300))
    ratio, low, high = spread_ratio(*values)
    assert low is not None
    assert high is not None
    assert low < ratio < high
    assert low * high == pytest.approx(ratio**2)
    assert missing_reason(spread_ratio(*values[:, :, :1])) == "there is only one run"
    values[1, 1, 7] = 1_000.0
    found = spread_ratio(*values)
    assert found.mean == pytest.approx(geometric_mean(values[0].std(axis=1) / values[1].std(axis=1)))
    assert re.fullmatch(r"needs 7,\d{3} runs, 25 x the kurtosis of 29\d\.\d \(here 300\)", missing_reason(found))


LogAndError = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def resampled_distances(upper: np.ndarray, lower: np.ndarray, log_and_error: LogAndError) -> list[float]:
    """How many errors the logarithm of each resample is from that of all runs: from the smallest to the largest."""
    estimate, _ = log_and_error(upper, lower)
    far = []
    for times in np.concatenate(list(resamples(upper.shape[1]))).astype(int):
        drawn = np.repeat(np.arange(upper.shape[1]), times)
        log, own = log_and_error(upper[:, drawn], lower[:, drawn])
        far.append(abs(log - estimate) / own)
    return sorted(far)


def test_the_interval_of_spreads_is_that_of_its_definition() -> None:
    """Written anew, a resample at a time: the error is that of the mean influence, and 99 % of the resamples are inside."""
    upper, lower = np.random.default_rng(3).gamma(9.0, 1.0, (2, 3, 200))

    def log_and_error(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        log = np.log(u.std(axis=1) / v.std(axis=1)).mean()
        each = [((x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)) ** 2 / 2 for x in (u, v)]
        return log, (each[0] - each[1]).mean(axis=0).std(ddof=1) / math.sqrt(200)

    estimate, error = log_and_error(upper, lower)
    half = resampled_distances(upper, lower, log_and_error)[989] * error  # 990 of 1,000, with the whole itself
    expected = [math.exp(each) for each in (estimate, estimate - half, estimate + half)]
    assert spread_ratio(upper, lower) == pytest.approx(expected, rel=1e-9)


def test_the_rule_of_spreads_is_200_runs_and_25_a_kurtosis() -> None:
    """Gamma regrets of 250 runs have a kurtosis now below 10, now above."""
    assert spread_ratio(np.arange(200.0)[None], np.arange(200.0)[None]).low is not None
    assert missing_reason(spread_ratio(np.arange(199.0)[None], np.arange(199.0)[None])) == "needs at least 200 runs (here 199)"
    rng = np.random.default_rng(12)
    near = []
    for _ in range(200):
        values = rng.gamma(1.0, 1.0, (1, 250))
        deviations = values - values.mean()
        kurtosis = 250 * (deviations**4).sum() / (deviations**2).sum() ** 2
        assert (spread_ratio(2 * values, values).low is not None) == (kurtosis <= 10)
        near.append(250 / kurtosis)
    assert any(24 <= each < 25 for each in near)
    assert any(25 <= each < 26 for each in near)


def test_regrets_that_differ_by_rounding_have_no_spread() -> None:
    noisy = np.full((1, 60), 8.1)
    noisy[0, ::7] *= 1 + 1e-15
    values = np.random.default_rng(1).normal(size=(1, 60))
    for found in (spread_ratio(values, noisy), spread_ratio(noisy, values), spread_ratio(values, 0 * values)):
        assert math.isnan(found.mean)
        assert missing_reason(found) == "a ratio is undefined, as a spread is 0"


def test_large_regrets_have_the_spreads_of_small_ones() -> None:
    upper, lower = np.random.default_rng(4).gamma(4.0, 1.0, (2, 3, 240))
    expected = spread_ratio(upper, lower)
    assert expected.low is not None
    assert spread_ratio(upper * 2.0**700, lower * 2.0**700) == expected


def test_runs_that_are_all_as_far_from_their_mean_do_not_tell_their_spread() -> None:
    """Half of the runs at each of two values: no run moves the spread, and yet a sample's is anywhere near."""
    upper, lower = np.tile([0.0, 1.0], (1, 120)), np.tile([0.0, 0.0, 2.0, 2.0], (1, 60))
    assert missing_reason(spread_ratio(upper, lower)).startswith("all runs are equally far from the mean")
    # Rounding must not make an error of it.
    shifted = spread_ratio(upper * 0.3 + 0.1, lower * 0.7 + 0.1)
    assert missing_reason(shifted).startswith("all runs are equally far from the mean")
    # Two policies whose runs move together: what is 0 in every resample is 0.
    assert spread_ratio(2 * upper, upper) == (2.0, 2.0, 2.0)
    # An error that rounding alone could make is none.
    values = np.random.default_rng(5).normal(size=(2, 1, 240))
    ratio, low, high = spread_ratio(2 * (values[0] + 1e-12 * values[1]), values[0])
    assert ratio == low == high == pytest.approx(2.0)
    # A small error is an error: regrets that are nearly multiples of others.
    _, low, high = spread_ratio(values[0] + 1e-4 * values[1], values[0])
    assert low is not None
    assert high is not None
    assert 1e-7 < high - low < 1e-3


def stated_and_covered(found: Iterable[Interval], truth: float) -> tuple[int, int]:
    """Count the intervals that have ends, and those of them that hold the truth."""
    ends = [(low, high) for _, low, high in found if low is not None and high is not None]
    return len(ends), sum(low <= truth <= high for low, high in ends)


def test_stated_intervals_of_spreads_cover() -> None:
    """Of 120 intervals at 95 %, fewer than 103 would cover with a chance below 1e-4."""
    rng = np.random.default_rng(9)
    found = [spread_ratio(rng.gamma(4.0, 2.0, (4, 200)), rng.gamma(4.0, 1.0, (4, 200))) for _ in range(150)]
    stated, covered = stated_and_covered(found, 2.0)
    assert stated >= 120
    assert covered >= 0.86 * stated


@pytest.mark.parametrize("runs", [40, 200])
def test_spreads_made_by_rare_runs_are_not_told_wrongly(runs: int) -> None:
    """One run in a hundred regrets 30 more, on four problems: the few samples without one look harmless, and say nothing."""
    rng = np.random.default_rng(10)
    found = []
    for _ in range(300):
        upper, lower = rng.gamma(4.0, 1.0, (2, 4, runs))
        found.append(spread_ratio(upper + 30 * (rng.random((4, runs)) < 0.01), lower))
    assert stated_and_covered(found, math.sqrt(4 + 30**2 * 0.01 * 0.99) / 2) == (0, 0)


def test_runs_that_gain_nothing_late_do_not_tell_the_growth() -> None:
    early = np.array([0.0, 1.0, 2.0, 1.0, 3.0])
    middle = early + np.array([2.0, 3.0, 4.0, 3.0, 2.0])
    same = "the regret of all runs grows by the same amount late in the game, so that the error is unknown"
    for late in (middle, middle + 0.1, middle * (1 + 1e-15)):  # 0.1 more, or nothing, up to rounding
        assert missing_reason(growth(early, middle, late)) == same
    assert np.ptp(middle + 0.1 - middle) > 0
    assert growth(early, middle, middle + 1e-3 * middle).low is not None
    assert growth(early, early + 2.0, early + 3.0) == (0.5, 0.5, 0.5)
    nothing = np.zeros(5)  # neither late nor early: the runs agree on both
    assert missing_reason(growth(nothing, nothing, nothing)) not in ("", same)


@pytest.mark.parametrize(("curve", "value"), [(np.log, 1.0), (np.sqrt, math.sqrt(2)), (float, 2.0)])
def test_growth_tells_rates_apart(curve: object, value: float) -> None:
    early, middle, late = (np.full(5, curve(t)) for t in (100.0, 200.0, 400.0))  # type: ignore[operator]
    assert growth(early, middle, late).mean == pytest.approx(value)


def test_a_relative_spread_does_not_change_with_the_unit() -> None:
    values = np.random.default_rng(0).gamma(4.0, 1.0, (3, 400))  # a gamma of shape 4 deviates by half of its mean
    found = relative_spread(values)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    assert relative_spread(1024.0 * values) == pytest.approx(found)
    for few in (relative_spread(values[:, :199]), spread_ratio(values[:, :199], values[:, :199])):
        assert missing_reason(few) == "needs at least 200 runs (here 199)"
    assert "a ratio is undefined" in missing_reason(relative_spread(-values))


def test_a_ratio_of_quantiles_is_that_of_their_definition() -> None:
    """Written anew, a resample at a time: the smallest value that 90 % of the runs do not exceed."""
    upper, lower = np.random.default_rng(1).gamma(4.0, 1.0, (2, 3, 211)) * np.array([2.0, 1.0])[:, None, None]

    def log_ratio(u: Floats, v: Floats) -> float:
        u90, v90 = (np.quantile(each, 0.9, axis=1, method="inverted_cdf") for each in (u, v))
        return float(np.log(u90 / v90).mean())

    logs = []
    for times in np.concatenate(list(resamples(211))).astype(int):
        drawn = np.repeat(np.arange(211), times)
        logs.append(log_ratio(upper[:, drawn], lower[:, drawn]))
    logs.sort()
    expected = [log_ratio(upper, lower), logs[24], logs[-25]]  # 2.5 % of 1,000 outside on either side
    assert quantile_ratio(upper, lower) == pytest.approx(np.exp(expected), rel=1e-12)
    assert quantile_ratio(lower, lower) == (1.0, 1.0, 1.0)


def test_a_ratio_of_quantiles_without_enough_runs_or_above_nothing_has_no_interval() -> None:
    ones = np.ones((2, 199))
    assert missing_reason(quantile_ratio(ones, ones)) == "needs at least 200 runs (here 199)"
    assert "is not positive" in missing_reason(quantile_ratio(np.ones((2, 200)), np.zeros((2, 200))))


def test_the_share_ahead_counts_what_is_sure() -> None:
    """Of four rounds: surely ahead, ahead but not surely, behind but not surely, and equal, which is not ahead."""
    noise = np.array([-1.0, 1.0, -1.0, 1.0])
    lower = np.zeros((4, 4))
    upper = np.array([5.0 + noise, 0.1 + noise, -0.1 + noise, 0.0 * noise])
    assert share_ahead(upper, lower) == (0.5, 0.25, 1.0)
    assert share_ahead(lower, upper) == (0.25, 0.0, 0.75)
    assert missing_reason(share_ahead(upper[:, :1], lower[:, :1])) == "there is only one run"


def test_a_quotient_of_ratios_is_less_sure_than_either() -> None:
    one, two = Interval(4.0, 2.0, 8.0), Interval(2.0, 1.0, 4.0)
    mean, low, high = quotient_of(one, two)
    assert mean == 2.0
    assert low == pytest.approx(2.0 / 2.0 ** math.sqrt(2))
    assert high == pytest.approx(2.0 * 2.0 ** math.sqrt(2))
    for pair in ((NoInterval(4.0, "why"), two), (one, NoInterval(2.0, "why"))):
        assert missing_reason(quotient_of(*pair)) == "why"
