"""The script behind docs/guides/clicks.md plays what it says, and the page shows what it measured."""

import re
from pathlib import Path

import numpy as np
import pytest

from docs import make_clicks as maker
from rotting.experiments.unknown_noise import N_ARMS
from rotting.live.bandit import Bandit
from rotting.registry import make
from rotting.simulation.simulate import simulate

PAGE = maker.PAGE.read_text("utf-8")
STALE = "docs/guides/clicks.md is stale: run `make clicks` and commit it"
ROWS = {name: cells.strip().split(" | ") for name, cells in re.findall(r"^\| `([^`]+)` +\| (.*) \|$", PAGE, re.MULTILINE)}


@pytest.mark.parametrize("k", [0, 1])
def test_any_player_meets_the_clicks_of_a_simulation(k: int) -> None:
    T, policy = 300, make("ucb1", sigma=maker.SIGMA)
    bandit = Bandit(policy, arms=range(N_ARMS))
    problem = maker.problems(T)[k].problem
    result = simulate(policy, problem, runs=3, seed=maker.SEED, workers=1, checkpoints=[], progress=False)
    played = maker.played((lambda: int(str(bandit.pull())), bandit.update), maker.rates(k, T), run=2)
    assert played == pytest.approx(result.regret[0, 2, -1], abs=1e-9)


def test_the_problems_are_what_the_page_says() -> None:
    old, boring = (each.problem for each in maker.problems(maker.HORIZON))
    assert (old.kind, boring.kind) == ("restless", "rested")
    for problem in (old, boring):
        assert [problem.mean(i, 1, 0) for i in (0, 9)] == pytest.approx([0.002, 0.038])
    assert [old.mean(9, 5_001, 0), old.mean(0, 50_000, 0)] == pytest.approx([0.019, 0.001], rel=1e-4)
    assert [boring.mean(i, 2_501, 2_500) for i in (0, 9)] == pytest.approx([0.001, 0.019])
    for words in ("best one halves every 5,000 rounds, the worst every 50,000", "each halves every 2,500 times it is shown"):
        assert words in " ".join(PAGE.split())


def test_the_page_has_every_policy_in_order() -> None:
    assert set(ROWS) == {*maker.policies(), *maker.RIVERS}, STALE
    first = [float(cells[0].split()[0]) for cells in ROWS.values()]
    assert first == sorted(first)
    assert re.search(rf"T = {maker.HORIZON:,}; {maker.RUNS} paired runs; River \d", PAGE), STALE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["UCB1(sigma=0.14)", "EffRAWUCB(sigma='estimate')"])
def test_rows_are_fresh(name: str) -> None:
    found = [maker.cell(maker.regrets(name, k, maker.RUNS, maker.HORIZON, 1)) for k in (0, 1)]
    assert [each.strip() for each in ROWS[name]] == found, STALE


def test_the_script_fills_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "clicks.md"
    page.write_text(PAGE, "utf-8")
    names = [*maker.policies(), *maker.RIVERS]
    found = {name: [np.array([k, k + 2.0]), np.array([1.0, 1.0])] for k, name in enumerate(names)}
    monkeypatch.setattr(maker, "PAGE", page)
    monkeypatch.setattr(maker, "measured", lambda *sizes: found)
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 7")
    monkeypatch.setattr("sys.argv", ["make_clicks"])
    maker.main()
    written = page.read_text("utf-8")
    assert re.findall(r"^\| `([^`]+)`", written, re.MULTILINE) == names
    assert "T = 50,000; 2 paired runs; River river 7." in written
    assert "| `RAWUCB(sigma=1.0)`              |     1.0 [-11.7, 13.7] |           1.0 [1.0, 1.0] |" in written
