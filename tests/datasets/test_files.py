"""Data files: where they are looked for, what is said when they are missing or different, and the news and the batteries."""

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rotting.common.folders import cache_folder
from rotting.datasets import DataWarning, MissingDataError, batteries, data_folder, files, news
from rotting.datasets.batteries import SOURCE as CAPACITIES
from rotting.datasets.batteries import capacity_tables, greedy_rounds, scatter
from rotting.datasets.news import SOURCE as SHARES
from rotting.datasets.news import share_rates
from rotting.problems import Problem
from rotting.problems.noise import Bernoulli, Gaussian

HOME = Path.home()


def real(source: files.Source) -> pytest.MarkDecorator:
    path = data_folder() / source.path
    return pytest.mark.skipif(not path.is_file(), reason=f"{source.path} is not in ROTTING_DATA")


# --- folders and files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "variables", "data", "cache"),
    [
        ("linux", {}, HOME / ".local/share/rotting", HOME / ".cache/rotting"),
        ("linux", {"XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/c"}, Path("/d/rotting"), Path("/c/rotting")),
        ("linux", {"XDG_DATA_HOME": "relative"}, HOME / ".local/share/rotting", HOME / ".cache/rotting"),
        ("linux", {"ROTTING_DATA": "/mine"}, Path("/mine"), HOME / ".cache/rotting"),
        ("linux", {"ROTTING_DATA": "~/mine"}, HOME / "mine", HOME / ".cache/rotting"),
        ("linux", {"ROTTING_DATA": ""}, HOME / ".local/share/rotting", HOME / ".cache/rotting"),
        ("darwin", {}, HOME / "Library/Application Support/rotting", HOME / "Library/Caches/rotting"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/rotting"), Path("/local/rotting")),
        ("win32", {}, HOME / "AppData/Local/rotting", HOME / "AppData/Local/rotting"),
    ],
)
def test_the_folders_of_a_platform(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], data: Path, cache: Path
) -> None:
    for name in ("ROTTING_DATA", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert (data_folder(), cache_folder()) == (data, cache)


@pytest.mark.parametrize(("load", "source"), [(news, SHARES), (batteries, CAPACITIES)])
def test_a_missing_file_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, load: Callable[[], Problem], source: files.Source
) -> None:
    monkeypatch.setenv("ROTTING_DATA", str(tmp_path))
    with pytest.raises(MissingDataError) as caught:
        load()
    text = str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert "\n" not in text
    assert text.startswith(f"{source.path} is not in '{tmp_path}' (set ROTTING_DATA")
    assert "get it from" in text
    assert "https://" in text


def capacity_text() -> str:
    """Four batteries, each falling by 0.1 at every discharge from its own level."""
    rows = [(name, n, f"{level - 0.1 * (n - 1):.1f}") for name, level in LEVELS.items() for n in range(1, 6)]
    return "battery,discharge_no,capacity_ah\n" + "".join("{},{},{}\n".format(*row) for row in rows)


LEVELS = {"B0005": 1.8, "B0006": 2.0, "B0007": 1.9, "B0018": 1.8}


def test_another_version_is_said_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROTTING_DATA", str(tmp_path))
    path = tmp_path / CAPACITIES.path
    path.parent.mkdir()
    path.write_bytes(("\ufeff" + capacity_text().replace("\n", "\r\n")).encode())
    with pytest.warns(DataWarning, match="capacity_by_discharge.csv is not the version that rotting knows: its SHA-256 is"):
        problem = batteries(sigma=0.5)
    assert problem.mean(1, t=5, n=4) == 1.6
    assert problem.noise == Gaussian(0.5)


# --- batteries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("capacity_ah", "ah"), "must have the columns battery, discharge_no, capacity_ah, got 'battery, discharge_no, ah'"),
        (("B0007,2,", "B0007,3,"), "got 'B0007,3,1.8' on line 13"),
        (("B0018,1,", "B0019,1,"), "must have a battery of B0005, B0006, B0007, B0018, .* got 'B0019,1,1.8' on line 17"),
        (("2.0", "nan"), "got 'B0006,1,nan' on line 7"),
        (("2.0", "-2.0"), "got 'B0006,1,-2.0' on line 7"),
        (("2.0", "2.0,0"), "got 'B0006,1,2.0,0' on line 7"),
    ],
)
def test_a_table_of_capacities_is_checked(change: tuple[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        capacity_tables(capacity_text().replace(*change))


def write_matlab(folder: Path, capacities: dict[str, list[float]]) -> None:
    """Files of the shape of NASA's: B0005.cycle(k) with type, ambient temperature, time and data, charges in between."""
    savemat = pytest.importorskip("scipy.io").savemat
    for name, values in capacities.items():
        cycles: list[dict[str, object]] = []
        for value in values:
            charge = {"Voltage_measured": np.array([3.9, 4.2]), "Time": np.array([0.0, 2.5])}
            cycles.append({"type": "charge", "ambient_temperature": 24.0, "time": np.arange(6.0), "data": charge})
            cycles.append(
                {
                    "type": "discharge",
                    "ambient_temperature": 24.0,
                    "time": np.arange(6.0),
                    "data": {**charge, "Capacity": value},
                }
            )
            cycles.append({"type": "impedance", "ambient_temperature": 24.0, "time": np.arange(6.0), "data": {"Re": 0.05}})
        (folder / "nasa-battery").mkdir(exist_ok=True)
        savemat(folder / "nasa-battery" / f"{name}.mat", {name: {"cycle": np.array(cycles)}})


def test_the_distributors_own_battery_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTTING_DATA", str(tmp_path))
    capacities = {"B0005": [1.9, 1.8, 1.85], "B0006": [2.0, 1.5], "B0007": [1.8, 1.7], "B0018": [1.85, 1.2, 1.1, 1.0]}
    write_matlab(tmp_path, capacities)
    problem = batteries(sigma=0.1)
    for i, values in enumerate(capacities.values()):
        assert [problem.mean(i, t=n + 1, n=n) for n in range(len(values))] == values
    write_matlab(tmp_path, {"B0018": [1.85, 0.0]})
    with pytest.raises(
        ValueError, match=r"B0018.mat must hold two discharges or more, each with a capacity above 0, got \[1.85, 0.0\]"
    ):
        batteries()
    pytest.importorskip("scipy.io").savemat(tmp_path / "nasa-battery" / "B0018.mat", {"other": 1.0})
    with pytest.raises(ValueError, match=r"B0018.mat must hold B0018.cycle"):
        batteries()


def test_a_battery_without_discharges_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold two discharges or more of B0018, got 0"):
        capacity_tables("".join(line for line in capacity_text().splitlines(keepends=True) if "B0018" not in line))
    with pytest.raises(ValueError, match="must have the columns"):
        capacity_tables("")


def test_scatter_is_that_of_the_noise() -> None:
    # Of 3 x 20,000 changes, whose median absolute deviation has a standard error of about 1 %: eight of them.
    rng = np.random.default_rng(5)
    tables = [2.0 - 1e-4 * np.arange(20_000) + rng.normal(0, 0.005, 20_000) for _ in range(3)]
    for table in tables:
        table[5_000:] += 0.2  # a rest
    assert scatter(tables) == pytest.approx(0.005, rel=0.08)


@real(CAPACITIES)
def test_real_batteries() -> None:
    problem = batteries()
    assert (problem.kind, problem.n_arms, problem.name) == ("rested", 4, "batteries")
    tables = list(capacity_tables((data_folder() / CAPACITIES.path).read_text("utf-8")).values())
    assert [len(table) for table in tables] == [168, 168, 168, 132]
    for i, table in enumerate(tables):
        assert [problem.mean(i, t=n + 1, n=n) for n in range(len(table))] == table.tolist()
        assert problem.mean(i, t=400, n=300) == table[-1]  # beyond the record
        assert table[-1] < 0.8 * table[0]
        assert 0 < np.diff(table).max() < 0.16  # the rests
    assert isinstance(problem.noise, Gaussian)
    assert 0.003 < problem.noise.sigma < 0.01
    assert problem.horizon == greedy_rounds(tables)
    assert 400 < problem.horizon <= sum(map(len, tables))
    assert not problem.is_rotting()


# --- news -------------------------------------------------------------------------------------------------------------


def shares_text(items: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["IDLink", *(f"TS{k}" for k in range(1, 145))])
    writer.writerows([k, *row] for k, row in enumerate(items.tolist()))
    return text.getvalue()


def some_items() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """24 usable items, three per group: in group g each gains a share at every (g + 2)-th slice."""
    slices = np.arange(144)
    items = np.array([100 + slices // (g + 2) for g in range(8) for _ in range(3)])
    unseen = np.where(slices < 4, -1, 50)  # after the first hour
    few = np.full(144, 9)
    return np.vstack([unseen, items[:10], few, items[10:], unseen])


def test_rates_are_counted_by_hand() -> None:
    items = some_items()
    rates = share_rates(shares_text(items))
    assert rates.shape == (8, 140)
    played = [row for row in items.tolist() if row[3] >= 0 and row[-1] >= 10]
    for g in range(8):
        for s in range(140):
            around = range(max(0, s - 4), min(139, s + 4) + 1)
            gains = [row[4 + k] > row[3 + k] for row in played[3 * g : 3 * g + 3] for k in around]
            assert rates[g, s] == pytest.approx(sum(gains) / len(gains), abs=1e-15)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("TS144", "TS145"), "must have the columns IDLink, TS1, ..., TS144"),
        (("109,109", "109,109,109"), "must have 145 fields on each line, got 146 on line"),
        ((",100,", ",1e2,"), "must hold whole numbers"),
        ((",100,", ",x,"), "must hold whole numbers"),
        ((",102,", ",1,"), "must hold cumulative shares, but they fall on line 3"),
    ],
)
def test_a_table_of_shares_is_checked(change: tuple[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        share_rates(shares_text(some_items()).replace(*change, 1))


def test_too_few_items_are_refused() -> None:
    with pytest.raises(ValueError, match="must hold at least 8 usable items, got 7"):
        share_rates(shares_text(some_items()[1:8]))
    with pytest.raises(ValueError, match="must have the columns"):
        share_rates("")


@real(SHARES)
def test_real_news() -> None:
    problem = news(rounds_per_slice=50)
    assert (problem.kind, problem.n_arms, problem.horizon, problem.name) == ("restless", 8, 140 * 50, "news")
    assert problem.noise == Bernoulli()
    means = np.array([[problem.mean(i, t, 0) for t in range(1, 7_001, 50)] for i in range(8)])
    assert [problem.mean(0, t, 0) for t in (50, 51)] == means[0, :2].tolist()
    # Every group falls to less than half over the two days; the best one changes.
    assert np.all(means[:, -9:].mean(axis=1) < 0.5 * means[:, :9].mean(axis=1))
    assert len(set(means.argmax(axis=0).tolist())) > 2
    assert not problem.is_rotting()
