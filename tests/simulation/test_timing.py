"""Times are measured in fresh processes, one by one."""

import numpy as np
import pytest

from rotting import UCB1, Uniform
from rotting.problems import two_arms
from rotting.simulation.plan import Simulation
from rotting.simulation.timing import time_rounds


def test_every_process_measures_every_policy(capfd: pytest.CaptureFixture[str]) -> None:
    games = [Simulation((UCB1(), Uniform()), two_arms(horizon=30), runs=2), Simulation(UCB1(), two_arms(horizon=20), runs=1)]
    times = time_rounds(games, processes=2, progress=True)
    assert [each.shape for each in times] == [(2, 2), (2, 1)]
    assert all(np.isfinite(each).all() and (each > 0).all() for each in times)
    assert "2/2" in capfd.readouterr().err


def test_nothing_to_time_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", None)
    assert time_rounds([], processes=3) == []
