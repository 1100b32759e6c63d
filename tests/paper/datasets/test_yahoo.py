"""R6A from end to end, on files in its format that are made here."""

import gzip
import math
import os
import re
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rotting.paper.datasets import DataWarning, MissingDataError, Nights, yahoo, yahoo_nights
from rotting.paper.datasets.nights import NIGHTS
from rotting.paper.datasets.yahoo import click_rates
from tests.helpers.yahoo_files import STEP, Events, file_name, join, lines, night_timestamps, utc, write_day, write_gz

Rows = list[tuple[int, int, int]]
GAMMA = 1e-7  # the chance that a right program fails a statistical test here


def read(folder: Path, cache: Path, **settings: Any) -> Nights:
    """Without the warnings: most of these folders lack files on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return yahoo_nights(folder, cache=cache, **settings)


def same(one: Nights, other: Nights) -> bool:
    return (
        [night.to_json() for night in one.values()] == [night.to_json() for night in other.values()]
        and one.readings == other.readings
        and one.skipped == other.skipped
    )


# --- the slow and obvious preparation -----------------------------------------------------------------------------------------


def naive_rates(rows: Rows, window: int, least: int) -> dict[int, dict[int, float]]:
    """Article -> timestamp -> the mean of its rolling means."""
    displays: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for second, article, click in sorted(rows, key=lambda row: row[0] // STEP):
        displays[article].append((second // STEP * STEP, click))
    rates: dict[int, dict[int, float]] = {}
    for article, its in displays.items():
        means: dict[int, list[float]] = defaultdict(list)
        for k, (timestamp, _) in enumerate(its):
            around = its[max(0, k - window // 2) : k + (window + 1) // 2]
            if len(around) >= least:
                means[timestamp].append(sum(click for _, click in around) / len(around))
        rates[article] = {}
        for timestamp, values in means.items():
            total = 0.0
            for value in values:  # not sum(), which newer Pythons round better than NumPy
                total += value
            rates[article][timestamp] = total / len(values)
    return rates


def naive_night(number: int, rows: Rows, window: int, least: int) -> dict[str, Any]:
    rates = naive_rates(rows, window, least)
    inside = [second for second, _, _ in rows if utc(number - 1, 22) <= second < utc(number, 10)]
    timestamps = sorted({second // STEP * STEP for second in inside})
    kept = [article for article in sorted(rates) if all(timestamp in rates[article] for timestamp in timestamps)]
    return {
        "number": number,
        "articles": kept,
        "timestamps": timestamps,
        "probabilities": [[rates[article][timestamp] for timestamp in timestamps] for article in kept],
        "traffic": [sum(second // STEP * STEP == timestamp for second in inside) for timestamp in timestamps],
        "synthetic": False,
    }


def small_log(rng: np.random.Generator) -> Events:
    """Two nights and the hours around them: articles that stay, come and go, and lines in no order."""
    timestamps = np.arange(utc(1, 20), utc(3, 12), 2 * STEP)  # half of the day's moments are enough by day,
    nights = np.concatenate([night_timestamps(2), night_timestamps(3)])  # but a night needs all of its own
    timestamps = np.union1d(timestamps, nights)
    parts = []
    for article, first, last in (
        (109_513, 0, 1),
        (109_453, 0, 1),
        (98_765, 0.3, 1),
        (1_234_567, 0, 0.6),
        (109_417, 0.45, 0.55),
    ):
        seen = timestamps[int(first * len(timestamps)) : int(last * len(timestamps))]
        seconds = np.repeat(seen, rng.integers(1, 5, len(seen))) + rng.integers(0, STEP)
        parts.append(Events(seconds, np.full(len(seconds), article), rng.integers(0, 2, len(seconds))))
    events = join(parts)
    return events.take(rng.permutation(len(events.seconds)))


@pytest.mark.parametrize(("window", "least"), [(30, 14), (31, 31), (1, 1), (100_000, 1)])
def test_equals_the_slow_and_obvious_preparation(tmp_path: Path, window: int, least: int) -> None:
    rng = np.random.default_rng(1)
    events = small_log(rng)
    for day, part in enumerate(np.array_split(np.arange(len(events.seconds)), 3), start=1):  # a time may be in any file
        write_day(tmp_path, day, events.take(part), rng, end=(b"\n", b"\r\n")[day % 2])
    nights = read(tmp_path, tmp_path / "cache", window=window, least=least)
    in_order = [row for part in np.array_split(np.arange(len(events.seconds)), 3) for row in events.take(part).rows()]
    assert list(nights) == [2, 3]
    for number in nights:
        assert nights[number].to_json() == naive_night(number, in_order, window, least)


@given(
    clicks=st.lists(st.booleans(), min_size=1, max_size=60),
    per_timestamp=st.integers(1, 7),
    window=st.integers(1, 40),
    share=st.floats(0, 1),
)
def test_the_rolling_mean_is_that_of_pandas(clicks: list[bool], per_timestamp: int, window: int, share: float) -> None:
    least = max(1, round(share * window))
    slots = (np.arange(len(clicks)) // per_timestamp).astype(np.uint16)
    rolling = pd.Series(clicks, dtype=float).rolling(window, min_periods=least, center=True).mean()
    expected = rolling.groupby(slots).mean().to_numpy()
    # pandas adds and subtracts as its window moves: the last digits differ.
    np.testing.assert_allclose(
        click_rates(slots, np.array(clicks), window, least)[: len(expected)], expected, rtol=1e-12, atol=1e-12
    )


# --- known curves, at the size of the paper's window --------------------------------------------------------------------------

PER_TIMESTAMP = 1_700
CURVES = {  # article: the click probability at the start and at the end of the night
    109_513: (0.70, 0.30),
    109_453: (0.50, 0.45),
    109_417: (0.35, 0.10),
    109_509: (0.60, 0.05),
}
COMES, GOES = 109_601, 109_602


def known_night(rng: np.random.Generator) -> tuple[Events, NDArray[np.float64]]:
    """Night 2, and the probability behind each click."""
    timestamps = night_timestamps(2)
    x = np.repeat(np.linspace(0, 1, len(timestamps)), PER_TIMESTAMP)
    seconds = np.repeat(timestamps, PER_TIMESTAMP)
    articles = rng.choice([*CURVES, COMES, GOES], len(seconds))
    articles[(articles == COMES) & (x < 0.5)] = next(iter(CURVES))
    articles[(articles == GOES) & (x >= 0.9)] = next(iter(CURVES))
    chances = np.full(len(seconds), 0.9)
    for article, (start, end) in CURVES.items():
        its = articles == article
        chances[its] = start + (end - start) * x[its]
    return Events(seconds, articles, (rng.random(len(seconds)) < chances).astype(np.int64)), chances


def bernstein(least: int, comparisons: int) -> float:
    """A distance that none of the comparisons exceeds, but with probability GAMMA.

    A value is a sum of independent clicks with weights that add up to 1, each at most 1 / least. So its variance is at most
    1 / (4 least), and Bernstein's inequality gives 2 exp(-d^2 / (2 (v + d / (3 least)))) for a distance d.
    """
    log = math.log(2 * comparisons / GAMMA)
    third = log / (3 * least)
    return third + math.sqrt(third**2 + 2 * log * 0.25 / least)


@pytest.mark.slow
def test_recovers_known_curves_from_awkward_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    events, chances = known_night(rng)
    texts = lines(events, rng)
    assert len(texts) > 240_000
    morning = int(np.searchsorted(events.seconds, utc(2, 7)))  # R6A's files end at 7:00 UTC
    first = rng.permutation(morning)  # no order at all
    write_gz(tmp_path / file_name(1), b"".join(texts[k] + b"\n" for k in first))
    half = (morning + len(texts)) // 2
    with_ends = gzip.compress(b"".join(line + b"\r\n" for line in texts[morning:half]), 1)
    # A second member, and a last line that stops within its second field.
    rest = gzip.compress(b"".join(line + b"\n" for line in texts[half:]) + b"1241250000 1095", 1)
    (tmp_path / file_name(2)).write_bytes(with_ends + rest)
    (tmp_path / file_name(3)).write_bytes(b"")
    write_gz(tmp_path / file_name(4), b"")
    # Seven is missing, and five is cut off.
    late = np.full(5_000, utc(5, 15))
    write_day(tmp_path, 5, Events(late, np.full(5_000, 109_999), rng.integers(0, 2, 5_000)), rng)
    complete = (tmp_path / file_name(5)).read_bytes()
    (tmp_path / file_name(5)).write_bytes(complete[: len(complete) // 2])
    for day in (6, 8, 9, 10):
        write_day(tmp_path, day, Events(late[:3], late[:3], late[:3] % 2), rng)

    with pytest.warns(DataWarning) as caught:
        nights = yahoo_nights(tmp_path, cache=tmp_path / "cache")
    notes = str(caught[0].message)
    assert f"{file_name(2)}: {len(texts) - morning + 1:,} lines, 1 malformed" in notes
    assert f"(line {len(texts) - morning + 1}: '1241250000 1095')" in notes
    assert f"{file_name(3)}: 0 lines; the file is empty" in notes
    assert f"{file_name(4)}: 0 lines; the file is empty" in notes
    assert re.search(rf"{file_name(5)}: \d,\d\d\d lines.*; the file is cut off", notes)
    assert f"{file_name(7)}: 0 lines; the file is missing" in notes
    assert "night 3 is left out: only 0 of its 144 timestamps have displays" in notes
    assert list(nights) == [2]

    night = nights[2]
    assert night.articles == tuple(sorted(CURVES))
    assert night.timestamps.tolist() == night_timestamps(2).tolist()
    assert night.traffic.tolist() == [PER_TIMESTAMP] * 144
    assert night.horizon == 144 * PER_TIMESTAMP // 10
    tolerance = bernstein(yahoo.LEAST, len(CURVES) * 144)
    assert tolerance < 0.04
    for article, curve in zip(night.articles, night.probabilities, strict=True):
        its = events.articles == article
        assert np.count_nonzero(its) > yahoo.WINDOW
        # What the same means give for the chances themselves, instead of the clicks drawn from them.
        smooth = pd.Series(chances[its]).rolling(yahoo.WINDOW, min_periods=yahoo.LEAST, center=True).mean()
        expected = smooth.groupby(events.seconds[its]).mean().to_numpy()
        assert np.max(np.abs(curve - expected)) < tolerance
        # And exactly, what pandas gives for the clicks. The order within a timestamp was shuffled before 7:00.
        order = np.concatenate([first[np.argsort(events.seconds[first], kind="stable")], np.arange(morning, len(texts))])
        ordered = events.take(order[events.articles[order] == article])
        rolled = pd.Series(ordered.clicks, dtype=float).rolling(yahoo.WINDOW, min_periods=yahoo.LEAST, center=True).mean()
        np.testing.assert_allclose(curve, rolled.groupby(ordered.seconds).mean().to_numpy(), rtol=1e-10)


# --- the night's window -------------------------------------------------------------------------------------------------------


def test_a_night_is_22_to_10_utc(tmp_path: Path) -> None:
    inside = night_timestamps(4)
    assert (inside[0], inside[-1]) == (utc(3, 22), utc(4, 9, 55))
    edges = [utc(3, 21, 59, 59), utc(3, 22), utc(3, 22), utc(4, 9, 59, 59), utc(4, 10), utc(4, 10), utc(4, 10)]
    seconds = np.concatenate([inside, edges])
    write_day(tmp_path, 3, Events(seconds, np.full(len(seconds), 109_513), seconds % 2), np.random.default_rng(0))
    nights = read(tmp_path, tmp_path / "cache", window=1, least=1)
    assert list(nights) == [4]
    assert nights[4].timestamps.tolist() == inside.tolist()
    assert nights[4].traffic.tolist() == [3, *[1] * 142, 2]


def test_holes_are_passed_over_and_half_nights_are_not_played(tmp_path: Path) -> None:
    seconds = np.concatenate([night_timestamps(2)[14:], night_timestamps(3)[15:]])
    write_day(tmp_path, 2, Events(seconds, np.full(len(seconds), 109_513), seconds % 2), np.random.default_rng(0))
    nights = read(tmp_path, tmp_path / "cache", window=1, least=1)
    assert list(nights) == [2]
    assert nights[2].timestamps.tolist() == night_timestamps(2)[14:].tolist()
    assert nights.skipped[3] == "only 129 of its 144 timestamps have displays"


def test_an_article_missing_at_one_timestamp_is_not_kept(tmp_path: Path) -> None:
    seconds = night_timestamps(9)
    both = [Events(seconds, np.full(144, 5), seconds % 2), Events(seconds[1:], np.full(143, 4), seconds[1:] % 2)]
    write_day(tmp_path, 9, join(both), np.random.default_rng(0))
    assert read(tmp_path, tmp_path / "a", window=1, least=1)[9].articles == (5,)
    write_day(tmp_path, 9, both[1], np.random.default_rng(0))
    write_day(tmp_path, 8, Events(seconds[:1], np.array([6]), seconds[:1] % 2), np.random.default_rng(0))
    assert read(tmp_path, tmp_path / "b", window=1, least=1).skipped[9] == "no article is available at every timestamp"


# --- files --------------------------------------------------------------------------------------------------------------------


def test_no_file_says_where_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTTING_DATA", str(tmp_path))
    with pytest.raises(
        MissingDataError, match=r"^yahoo-r6a/ydata-.*01\.gz is not in '.*' \(set ROTTING_DATA .*; get it from .*R6A"
    ):
        yahoo_nights()
    with pytest.raises(MissingDataError, match=r"^ydata-.*01\.gz is not in"):
        yahoo_nights(tmp_path / "elsewhere")


def test_settings_are_checked(tmp_path: Path) -> None:
    for settings, words in (
        ({"window": 0}, "window must be a whole number, 1 or more, got 0"),
        ({"least": 30_001}, "least must be at most window = 30000, got 30001"),
        ({"workers": 0}, "workers must be a whole number, 1 or more, got 0"),
    ):
        with pytest.raises(ValueError, match=words):
            yahoo_nights(tmp_path, **settings)  # type: ignore[arg-type]


# --- the cache ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "r6a"
    folder.mkdir()
    rng = np.random.default_rng(4)
    for day in (1, 2):
        write_day(folder, day, small_log(rng), rng)
    (folder / file_name(4)).write_bytes(gzip.compress(b"bad\n"))
    return folder


def test_files_are_read_once(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = read(log, cache, window=30, least=14)
    with monkeypatch.context() as patch:
        patch.setattr(yahoo, "read_displays", None)
        with pytest.warns(DataWarning, match=r"04.gz: 1 lines, 1 malformed \(line 1: 'bad'\)"):
            again = yahoo_nights(log, cache=cache, window=30, least=14)
        for others in ({"window": 31, "least": 14}, {"window": 30, "least": 13}):
            with pytest.raises(TypeError):  # other settings are other nights
                read(log, cache, **others)
        os.utime(log / file_name(1), ns=(0, 0))
        with pytest.raises(TypeError):  # and so are other files
            read(log, cache, window=30, least=14)
    assert same(first, again)
    assert again.notes == first.notes
    assert not any(path.name.endswith(".partial") for path in cache.iterdir())


def test_a_torn_cache_is_made_anew(log: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = read(log, cache, window=30, least=14)
    (kept,) = cache.iterdir()
    complete = kept.read_text("utf-8")
    for torn in (
        "",
        complete[: len(complete) // 2],
        "{}",
        "[]",
        complete.replace('"key": "', '"key": "0', 1),
        complete.replace("traffic", "trafic"),
    ):
        kept.write_text(torn, "utf-8")
        assert same(read(log, cache, window=30, least=14), first)
        assert kept.read_text("utf-8") == complete


def test_a_cache_that_cannot_be_written_changes_nothing(log: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    blocked = read(log, tmp_path / "file", window=30, least=14)
    assert same(blocked, read(log, tmp_path / "cache", window=30, least=14))


def test_workers_do_not_matter(log: Path, tmp_path: Path) -> None:
    one = read(log, tmp_path / "one", window=30, least=14, workers=1)
    assert same(one, read(log, tmp_path / "many", window=30, least=14, workers=3))
    assert set(one) | set(one.skipped) == set(NIGHTS)
    assert not one.synthetic
    with pytest.raises(KeyError):
        one[1]
