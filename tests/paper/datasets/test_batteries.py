"""Batteries: capacities from both kinds of files, their scatter and their rounds."""

from pathlib import Path

import numpy as np
import pytest

from rotting.paper.datasets import batteries, data_folder
from rotting.paper.datasets.batteries import SOURCE as CAPACITIES
from rotting.paper.datasets.batteries import capacity_tables, greedy_rounds, scatter
from rotting.problems.noise import Gaussian
from tests.helpers.data_files import capacity_text, requires_data_file


def test_a_table_of_capacities_is_checked() -> None:
    columns = "must have the columns battery, discharge_no, capacity_ah, got 'battery, discharge_no, ah'"
    with pytest.raises(ValueError, match=columns):
        capacity_tables(capacity_text().replace("capacity_ah", "ah"))
    with pytest.raises(ValueError, match="got 'B0007,3,1.8' on line 13"):
        capacity_tables(capacity_text().replace("B0007,2,", "B0007,3,"))
    names = "must have a battery of B0005, B0006, B0007, B0018, .* got 'B0019,1,1.8' on line 17"
    with pytest.raises(ValueError, match=names):
        capacity_tables(capacity_text().replace("B0018,1,", "B0019,1,"))
    for wrong in ("nan", "-2.0", "2.0,0"):
        with pytest.raises(ValueError, match=f"got 'B0006,1,{wrong}' on line 7"):
            capacity_tables(capacity_text().replace("2.0", wrong))


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


@requires_data_file(CAPACITIES)
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
