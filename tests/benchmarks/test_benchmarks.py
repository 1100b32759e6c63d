"""The benchmark measures what it says: its NumPy peers make our choices, and every table is made."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rotting
from benchmarks import ROOT, numpy_style, simulations
from benchmarks import __main__ as command
from benchmarks.measure import race, row
from rotting.policy import Policy
from rotting.problems import Problem, ten_arms, two_arms
from tests.conftest import INTERPRETED
from tests.helpers import games
from tests.helpers.services import running

T = 150 if INTERPRETED else 1_500
POLICIES: list[Policy] = [rotting.RAWUCB(), rotting.EffRAWUCB(), rotting.FEWA(), rotting.EffFEWA()]
PROBLEMS = {"two": two_arms(horizon=T), "ten": ten_arms(horizon=T)}


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_numpy_peers_choose_as_our_policies_do(policy: Policy, problem: Problem) -> None:
    table = simulations.reward_table(problem, T).tolist()
    chosen = games.play(policy, table, T)
    peer = numpy_style.make(policy.name, problem.n_arms, policy.params.alpha)
    pulls = [0] * problem.n_arms
    for t, arm in enumerate(chosen, start=1):
        assert peer.choice() == arm, t
        peer.get_reward(arm, table[arm][pulls[arm]])
        pulls[arm] += 1
    assert numpy_style.play(numpy_style.make(policy.name, problem.n_arms, policy.params.alpha), table, T) == pulls


def test_contestants_take_turns_and_the_best_turn_counts() -> None:
    played: list[str] = []
    times = {"ours": iter([2.0, 1.0]), "theirs": iter([30.0, 40.0])}

    def player(name: str) -> float:
        played.append(name)
        return next(times[name])

    took = race(2, {name: lambda name=name: player(name) for name in times})  # type: ignore[misc]
    assert played == ["ours", "theirs"] * 2
    assert row("a race", took) == ["a race", "1", "30", "30x"]


@pytest.mark.slow
def test_every_table_is_made_and_the_page_has_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["--tiny"])
    shown, page = capsys.readouterr().out, command.PAGE.read_text("utf-8")
    for name in command.PARTS:
        assert f"\n{name}" in shown
        assert name == "gpu" or f"<!-- measured: {name} -->" in page


def test_a_load_is_answered_and_every_decision_gets_its_reward(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot") as service, rotting.Client(f"http://127.0.0.1:{service.port}") as client:
        client.create("songs", rotting.UCB1(), arms=["jazz", "rock"])
        run = [sys.executable, "-m", "benchmarks.load", str(service.port), "songs", "4", "0.2", "keys"]
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        assert found["failed"] == 0
        assert sum(each.pulls for each in client.bandit("songs").explain().values()) == found["decisions"] > 0
