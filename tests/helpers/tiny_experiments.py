"""Experiments that are small enough for tests."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from rotting.paper import experiments
from rotting.paper.datasets import Night, Nights
from rotting.paper.experiments import Prepared, rested_two_arms, restless_nights
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate_all

REPORT = ("matplotlib",)


def tiny_night(number: int) -> Night:
    rates = np.array([[0.5, 0.4, 0.3, 0.2], [0.45, 0.42, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2]])
    return Night(number, (1, 2, 3), np.arange(4) * 300, rates, np.array([50, 120, 80, 90]), synthetic=True)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make every experiment tiny, keep its games in a folder of the test, and hide the data files."""
    for package in REPORT:
        pytest.importorskip(package)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ROTTING_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("ROTTING_COMPILE", "never")  # compiling takes far longer than games as small as these
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(experiments.REPEATS, "quick", 2)
    monkeypatch.setattr(restless_nights, "synthetic_nights", lambda: Nights((tiny_night(2), tiny_night(7))))
    for name in experiments.list_experiments():
        sizes = experiments.find(name).sizes
        quick = sizes["quick"]
        small = {
            "runs": 3,
            "horizon": 40,
            "drops": tiny_drops() if name == "rested-two-arms" else getattr(quick, "drops", ()),
            "hard_horizon": 40,
            "hard_draws": 2,
            "impossible_horizon": 20,
            "rested": dataclasses.replace(rested_two_arms.SIZES["quick"], runs=3, horizon=40, drops=tiny_drops()),
            "restless": dataclasses.replace(restless_nights.SIZES["quick"], runs=3),
        }
        fields = {field.name for field in dataclasses.fields(quick)}
        monkeypatch.setitem(sizes, "quick", dataclasses.replace(quick, **{k: v for k, v in small.items() if k in fields}))


def tiny_drops() -> tuple[float, ...]:
    return rested_two_arms.GRID[::4] + rested_two_arms.SIZES["full"].curves


def play_prepared(prepared: Prepared) -> dict[str, Result]:
    """Play the games of an experiment on one thread; return the results by name."""
    return dict(zip(prepared.games, simulate_all(list(prepared.games.values()), 1, progress=False), strict=True))
