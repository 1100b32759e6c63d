"""The progress of a simulation, its defaults, and what is left when it ends."""

import inspect
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rotting.engines.chunk_store import Store
from rotting.engines.game import _POLL, CANCEL, DONE, link
from rotting.policies.ucb1 import UCB1
from rotting.policies.uniform import Uniform
from rotting.problems import Problem
from rotting.problems.noise import Noiseless
from rotting.simulation.simulate import Games, simulate

PROBLEM = Problem.rested([1.0, 0.0], horizon=12)


def test_games_and_simulate_have_the_same_defaults() -> None:
    arguments = inspect.signature(simulate).parameters
    for field in fields(Games)[2:]:
        assert field.default == arguments[field.name].default, field.name
    assert (Games(UCB1(), PROBLEM).runs, Games(UCB1(), PROBLEM).seed) == (100, 0)
    assert simulate(UCB1(), PROBLEM, runs=1).seed == 0


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.splitlines()[-1]


def test_the_last_line_says_nothing_of_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    simulate([UCB1(), Uniform()], PROBLEM, runs=2, progress=True)
    line = last_line(capsys)
    assert "] 100 %  48/48  " in line
    assert "compiling" not in line


def test_games_that_were_kept_count_as_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        simulate(UCB1(), PROBLEM, runs=3, progress=True, keep=tmp_path)
        assert "] 100 %  36/36  " in last_line(capsys)


def workers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("rotting")]


def test_no_thread_outlives_a_simulation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor one that fails, here on its last step: the error holds on to all that was under way."""
    simulate(UCB1(), PROBLEM, runs=20, workers=4)
    assert workers() == []

    def fail(*_: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(Store, "write", fail)
    with pytest.raises(MemoryError, match="none left") as caught:
        simulate(UCB1(), PROBLEM, runs=20, workers=4, keep=tmp_path)
    assert caught.tb is not None
    assert workers() == []


@pytest.mark.parametrize("horizon", [5, _POLL - 1, _POLL, _POLL + 3])
def test_every_round_is_counted_and_a_game_that_is_cancelled_stops(horizon: int) -> None:
    problem = Problem.restless([1.0], Noiseless(), horizon=horizon)
    game = link(Uniform(), problem.noise)
    marks, optimal = np.array([horizon]), np.array([float(horizon)])

    def played(signal: Any) -> int:
        pulls = np.zeros((1, 1), np.int64)
        game(Uniform().params, problem.means(horizon), 0.0, 1, 2, 0, marks, optimal, np.zeros((1, 1)), pulls, signal)
        return int(pulls.sum())

    signal = np.zeros(2, np.int64)
    assert played(signal) == signal[DONE] == horizon
    signal = np.zeros(2, np.int64)
    signal[CANCEL] = 1
    assert played(signal) == signal[DONE] == 0
