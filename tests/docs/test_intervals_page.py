"""The script behind docs/intervals.md counts what it says, and the page speaks of all claims that it should."""

import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docs import make_coverage as maker
from rotting.common.arrays import Floats, Ints
from rotting.common.statistics import Interval, NoInterval, mean_interval, resamples
from rotting.datasets import Nights, synthetic_nights
from rotting.experiments import (
    best_alpha,
    both_benchmarks,
    exact_windows,
    rested_ten_arms,
    rested_two_arms,
    restless_nights,
    unknown_noise,
)
from rotting.simulation.comparisons import mean_ratio
from tests.helpers.tiny_experiments import tiny_night
from tests.simulation.test_comparisons import resampled_distances

PAGE = maker.PAGE.read_text("utf-8")
STALE = "docs/intervals.md is stale: run `make intervals` and commit it"
RUNS = 60


@pytest.fixture(scope="module")
def pools() -> maker.Pools:
    rng = np.random.default_rng(0)
    marks = np.arange(50.0, 10_001.0, 50.0)
    pools = {
        "two-arms": rng.gamma(4.0, 1.0, (30, len(rested_two_arms.LABELS), RUNS)),
        "nights": rng.gamma(4.0, 1.0, (8, len(restless_nights.LABELS), RUNS)),
        "ten-arms": rng.gamma(4.0, 1.0, (len(rested_ten_arms.LABELS), RUNS)),
        "easy": np.cumsum(rng.gamma(4.0, 1.0, (len(rested_two_arms.LABELS), 3, RUNS)), axis=1),
        "night-7": np.cumsum(rng.gamma(4.0, 1.0, (len(restless_nights.LABELS), 3, RUNS)), axis=1),
        "curves": np.cumsum(rng.gamma(4.0, 1.0, (2, 4, len(marks), RUNS)), axis=2),
        "marks": marks,
        "rare": rng.gamma(1.0, 1.0, RUNS),
    }
    pools["two-arms"][rested_two_arms.GRID.index(rested_two_arms.EASY)] = pools["easy"][:, -1]
    pools["nights"][list(synthetic_nights()).index(restless_nights.EASY)] = pools["night-7"][:, -1]
    return pools


def row(name: str) -> list[str]:
    """The cells of a claim in the first table that has it."""
    found = next((line for line in PAGE.splitlines() if line.startswith(f"| {name} | ")), None)
    assert found is not None, f"{name}: {STALE}"
    return [cell.strip() for cell in found.strip("|").split("|")[1:]]


def test_samples_are_counted_and_those_without_an_interval_left_out() -> None:
    values = np.array([-1.0, 1.0, 2.0, 3.0])

    def estimates(runs: Ints) -> dict[str, Interval]:
        first = float(values[runs[0]])
        if first == 2.0:
            return {"claim": NoInterval(0.0, "why")}
        return {"claim": Interval(0.0, first, math.inf if first == 3.0 else 5.0)}

    found = maker.count(maker.Source(4, estimates), {"claim": 1.5}, 3, 4_000)["claim"]
    # A quarter of the samples each: from -1 to 5, from 1 to 5, none, and an infinite one, which is none. Six standard errors.
    assert abs(found.stated - 2_000) < 200
    assert found.covered == found.stated
    assert maker.count(maker.Source(4, estimates), {"claim": 0.5}, 3, 4_000)["claim"].share == pytest.approx(0.5, abs=0.08)


def test_cells_say_how_many_of_those_stated_cover() -> None:
    assert str(maker.Count(376, 400, 400)) == "94%"
    assert str(maker.Count(176, 200, 400)) == "88% (of 50%)"
    assert str(maker.Count(0, 5, 400)) == "0 of 5"
    assert str(maker.Count(0, 0, 400)) == "none"
    assert str(maker.Count(3, 4, 4)) == "75%"


def test_every_claim_of_the_experiments_is_measured_or_said_not_to_be(pools: maker.Pools) -> None:
    """Those of the theorems are compared with the list in their own tests."""
    measured = [name for source in maker.sources(pools) for name in source.estimates(np.arange(RUNS))]
    stated = {
        *(each.id for each in rested_two_arms.STATEMENTS),
        *(each.id for each in unknown_noise.STATEMENTS),
        *(each.id for each in best_alpha.STATEMENTS + both_benchmarks.STATEMENTS),
        *(each.id for each in restless_nights.STATEMENTS + restless_nights.EASY_NIGHT_STATEMENTS),
        *(each.id for each in restless_nights.TIME_STATEMENTS + rested_ten_arms.STATEMENTS),
        *(each.id for each in exact_windows.STATEMENTS),
    }
    assert len(measured) == len(set(measured))
    assert set(measured).isdisjoint(maker.NOT_MEASURED)
    assert {*measured, *maker.NOT_MEASURED} == stated | {name for name in maker.NOT_MEASURED if name.startswith("theory-")}
    for name in measured:
        assert len(row(name)) == len(maker.SAMPLES)
    for name, why in maker.NOT_MEASURED.items():
        assert row(name) == [why], STALE


def test_claims_read_the_runs_that_are_drawn(pools: maker.Pools) -> None:
    """A pool with the runs of a draw gives what the draw gives."""
    runs = np.random.default_rng(1).integers(RUNS, size=RUNS)
    drawn = {name: each if name == "marks" else each[..., runs] for name, each in pools.items()}
    for source, other in zip(maker.sources(pools), maker.sources(drawn), strict=True):
        assert source.runs == RUNS
        assert source.estimates(runs) == other.estimates(np.arange(RUNS))
        assert source.estimates(runs) != source.estimates(np.arange(RUNS))


def test_other_intervals_are_tried_on_what_the_claims_are_measured_from(pools: maker.Pools) -> None:
    known = {name: each for source in maker.sources(pools) for name, each in source.estimates(np.arange(RUNS)).items()}
    for name, found in maker.cases(pools).items():
        assert f"## `{name}`" in PAGE
        for case in found:
            *_, ours = maker.methods(name).values()
            if "no claim" not in case.claim:
                assert ours(*case.arrays) == known[case.claim]
            rows = maker.compare(name, case, {20: 3, 2_000: 3})
            assert list(rows) == list(maker.methods(name))
            assert {cells[1] for cells in rows.values()} == {"-"}  # more runs than the pool has
            for label in rows:
                assert f"| {case.claim} | {label} | " in PAGE, STALE


def test_means_are_measured(pools: maker.Pools) -> None:
    rows = maker.means(pools, {20: 4, 40: 4})
    assert {len(cells) for cells in rows} == {4}
    for name, label, *_ in rows:
        assert f"| {name} | {label} | " in PAGE, STALE


def test_other_intervals_of_means_are_those_of_their_definitions() -> None:
    values = np.random.default_rng(3).gamma(1.0, 1.0, 30)
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(30)
    assert maker.student(values) == pytest.approx((mean, mean - 2.045230 * error, mean + 2.045230 * error), rel=1e-6)
    both = np.array([maker.student(values), maker.hall(values)])
    assert mean_interval(values) == pytest.approx((mean, both[:, 1].min(), both[:, 2].max()), rel=1e-9)
    assert maker.hall(np.full(4, 2.0)) == Interval(2.0, 2.0, 2.0)
    drawn = [np.repeat(values, times) for times in np.concatenate(list(resamples(30))).astype(int)]
    far = sorted((each.mean() - mean) / (each.std(ddof=1) / math.sqrt(30)) for each in drawn)
    places = [round(0.025 * 998), round(0.975 * 998)]
    assert maker.studentised_mean(values) == pytest.approx((mean, *(mean - far[k] * error for k in reversed(places))), rel=1e-9)
    assert maker.unless_skewed(np.arange(9.0)) == mean_interval(np.arange(9.0))
    assert isinstance(maker.unless_skewed(np.repeat([0.0, 1.0], [99, 1])), NoInterval)


def test_no_claim_states_intervals_that_cover_too_seldom() -> None:
    table = PAGE.split("## The claims")[1].split("Not measured:")[0]
    names = re.findall(r"^\| ((?:rested|ten-arms|nights)-\S+) \|", table, re.MULTILINE)
    assert len(names) > 20
    assert maker.short({name: row(name) for name in names}) == []
    below = "more than two standard errors of 200 samples below 95 %"
    rule = f"cover less than {maker.SHORT:.0%} at some size, which is {below}: none."
    assert rule in " ".join(table.split()), STALE
    assert maker.short({"a": ["none", "1 of 8", "-", "91%"], "b": ["95%", "90% (of 60%)"]}) == ["b"]


def test_claims_ask_for_the_runs_from_which_on_their_intervals_were_found_to_cover(pools: maker.Pools) -> None:
    """The number is the largest that the two claims need, of the sizes on the page."""
    needed = []
    for case in maker.cases(pools)["mean_ratio"]:
        (line,) = re.findall(rf"^\| {case.claim} \| jackknife \| (.*) \|$", PAGE, re.MULTILINE)
        needed.append(maker.covers_from(dict(zip(maker.COMPARED, line.split(" | "), strict=True))))
        cells = dict(zip(maker.SAMPLES, row(case.claim), strict=True))
        assert {cell for size, cell in cells.items() if size < rested_two_arms.RARE_SHOW_FROM} == {"none"}, STALE
    assert max(needed) == rested_two_arms.RARE_SHOW_FROM
    assert maker.covers_from({20: "95%", 40: "68%", 200: "91%", 2_000: "94%"}) == 200


def test_the_means_of_other_methods_are_those_of_their_definition() -> None:
    """The studentised bootstrap, written anew, a resample at a time."""
    upper, lower = np.random.default_rng(3).gamma(4.0, 1.0, (2, 3, 30))

    def log_and_error(u: Floats, v: Floats) -> tuple[float, float]:
        influence = (u / u.mean(axis=1, keepdims=True) - v / v.mean(axis=1, keepdims=True)).mean(axis=0)
        return float(np.log(u.mean(axis=1) / v.mean(axis=1)).mean()), float(influence.std(ddof=1) / math.sqrt(30))

    estimate, error = log_and_error(upper, lower)
    half = resampled_distances(upper, lower, log_and_error)[949] * error
    expected = [math.exp(each) for each in (estimate, estimate - half, estimate + half)]
    assert maker.studentised_means(upper, lower) == pytest.approx(expected, rel=1e-9)
    others = maker.methods("mean_ratio")
    assert others["jackknife"](upper, lower) == pytest.approx(mean_ratio(upper, lower), rel=1e-9)


def test_the_page_is_written_from_games_that_are_played_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The whole way of `make intervals`, from the games to the page, in a size of a blink."""
    nights = Nights((tiny_night(2), tiny_night(7)))
    monkeypatch.setattr(maker, "synthetic_nights", lambda: nights)
    monkeypatch.setattr(restless_nights, "load", lambda *_: pytest.fail("the page is about synthetic nights"))
    for module in (rested_two_arms, rested_ten_arms):
        monkeypatch.setitem(module.SIZES, "full", replace(module.SIZES["full"], horizon=40))
    monkeypatch.setattr(maker, "RUNS", dict.fromkeys(maker.RUNS, 5))
    monkeypatch.setattr(maker, "SAMPLES", {4: 4, 2_000: 4})
    monkeypatch.setattr(maker, "COMPARED", {4: 2, 2_000: 2})
    monkeypatch.setattr(maker, "SKEWED", {4: 2, 2_000: 2})
    monkeypatch.setattr(maker, "PAGE", tmp_path / "intervals.md")
    pool = tmp_path / "new" / "pool.npz"
    monkeypatch.setattr(sys, "argv", ["make_coverage.py", str(pool)])
    maker.main()
    written = maker.PAGE.read_text("utf-8")

    def labels(page: str) -> list[str]:
        """The headings, and the first cell of every row."""
        return [line.split(" | ")[0] for line in page.splitlines() if line.startswith(("#", "| "))]

    assert labels(written) == labels(PAGE), STALE
    with np.load(pool) as file:
        assert {each.shape[-1] for name, each in file.items() if name != "marks"} == {5}
    monkeypatch.setattr(maker, "play", lambda: pytest.fail("the games were played twice"))
    maker.PAGE.unlink()
    maker.main()
    assert maker.PAGE.read_text("utf-8") == written
