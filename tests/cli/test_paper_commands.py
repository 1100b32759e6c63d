"""`rotting theory` and `reproduce`."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rotting import cli
from rotting.cli import command_line
from rotting.common.files import cache_folder
from rotting.errors import InvalidValueError
from rotting.paper import experiments
from rotting.paper.experiments import restless_nights
from rotting.problems import two_arms
from rotting.registry import make
from rotting.simulation.engines.chunk_store import ChunkStore
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate
from tests.helpers.command import parse_strict_json
from tests.helpers.tiny_experiments import REPORT


def test_the_command_says_why_a_policy_has_no_bound(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["theory", "two-arms:L=0.5", "--horizon", "100", "--policy", "raw-ucb", "raw-ucb:alpha=5"]
    why = "alpha must be in [5, inf) for RAW-UCB in Propositions 6 and 7 (rested), got 1.4"
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith("two-arms(L=0.5): T = 100, K = 2, sigma = 1, rested, rotting: no mean rises up to round 100\n")
    assert "largest regret of any play: 18.75; a bound that is not below it says nothing\n" in out
    assert f"does not apply: {why}\n" in out
    assert cli.main([*arguments, "--json"]) == 0
    shown = parse_strict_json(capsys.readouterr().out)
    rested = "rested gap-dependent, Proposition 7"
    assert shown["policies"]["RAW-UCB 1.4"]["why_not"][rested] == why
    assert shown["policies"]["RAW-UCB 5"]["bounds"][rested] > 0
    assert shown["constants"]["largest_regret"] == 18.75
    assert shown["constants"]["rested"] == {"largest_fall": 0.5, "smallest_reward": 0.0, "optimal_pulls": [75, 25]}


@pytest.mark.parametrize(
    ("problem", "labels"),
    [
        ("two-arms:L=0.5", ["RAW-UCB 5", "EFF-RAW-UCB 4", "FEWA 5", "EFF-FEWA 4"]),
        ("stationary:means=0.5/0.25,noise=noiseless", ["RAW-UCB 5", "EFF-RAW-UCB 4", "FEWA 5", "EFF-FEWA 4"]),
    ],
)
def test_theory_asks_for_the_smallest_alphas_by_default(
    problem: str, labels: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["theory", problem, "--horizon", "100"]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert [line for line in out.splitlines() if line in labels] == labels
    assert "alpha must be" not in out


def test_theory_refuses_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["theory", "stationary:means=0.5/0.25"]) == command_line.REFUSED
    assert "horizon must be given" in capsys.readouterr().err


@pytest.mark.usefixtures("tiny")
def test_reproduce_writes_a_new_folder_each_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("rotting.common.progress.LINE_SECONDS", 0.0)
    assert cli.main(["reproduce", "rested-two-arms"]) == 0
    out, err = capsys.readouterr()
    assert "rested-glr-large" in out
    assert "rounds: 100 %" in err
    assert out.endswith("report: reproduced/rested-two-arms/report.html\n")
    first = Path("reproduced/rested-two-arms")
    assert "RAW-UCB 4" in (first / "report.html").read_text()
    results = {each.name: Result.load(each) for each in (first / "rested-two-arms/results").iterdir()}
    assert "L=4.235" in results
    settings = json.loads((first / "rested-two-arms/settings.json").read_text())
    assert settings["horizon"] == 40
    assert settings["size"] == "quick"

    assert cli.main(["reproduce", "rested-two-arms", "--quick", "--no-progress"]) == 0
    assert "100 %" not in capsys.readouterr().err
    assert sorted(each.name for each in Path("reproduced").iterdir()) == ["rested-two-arms", "rested-two-arms-2"]
    again = Result.load("reproduced/rested-two-arms-2/rested-two-arms/results/L=4.235")
    assert again == results["L=4.235"]


@pytest.mark.usefixtures("tiny")
def test_an_engine_that_is_not_there_is_refused_before_anything_is_played(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidValueError) as caught:
        simulate(make("ucb1"), two_arms(horizon=9), engine="gpu")  # type: ignore[arg-type]
    assert cli.main(["reproduce", "rested-two-arms", "--engine", "gpu"]) == 2
    assert capsys.readouterr() == ("", f"rotting: error: {caught.value}\n")
    assert cli.main(["reproduce", "rested-two-arms", "--timeout", "0"]) == 2
    assert capsys.readouterr() == ("", "rotting: error: timeout must be a positive finite number, got 0\n")
    assert not Path("reproduced").exists()


@pytest.mark.usefixtures("tiny")
def test_reproduce_all_is_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--all", "--out", "mine", "--workers", "1", "--no-progress"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("report: mine/report.html\n")
    assert "note: These nights are SYNTHETIC" in out
    assert out.count("SYNTHETIC") == 1
    assert not [each for each in Path().iterdir() if each.name not in {"mine", "cache"}]
    assert sorted(each.name for each in Path("mine").iterdir() if each.is_dir()) == sorted(experiments.list_experiments())
    page = Path("mine/report.html").read_text()
    for name in experiments.list_experiments():
        assert experiments.find(name).title in page


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_control_c_says_what_is_kept_and_the_same_command_goes_on() -> None:
    """Once after a game was finished; then the same again, which begins with that game, after another one was."""
    for package in REPORT:
        pytest.importorskip(package)
    command = [sys.executable, "-m", "rotting", "reproduce", "rested-two-arms", "--workers", "1", "--no-progress"]
    folder = Path.cwd() / "cache/rotting/games"
    environment = {**os.environ, "XDG_CACHE_HOME": str(Path.cwd() / "cache"), "NUMBA_DISABLE_JIT": "1"}
    kept = 0
    for _ in range(2):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            while len(list(folder.rglob("*.chunk"))) == kept and running.poll() is None:
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=60)
        assert (running.returncode, out) == (130, ""), err
        start, end = err.splitlines()
        assert start.startswith("rested-two-arms: quick size.")
        match = re.fullmatch(r"rotting: interrupted: ([\d,]+) of [\d,]+ games are kept in '(.+)': run it again .*", end)
        assert match is not None, end
        assert match[2] == str(folder)
        found = [ChunkStore(folder).read(path.stem) for path in folder.rglob("*.chunk")]
        assert int(match[1].replace(",", "")) == sum(len(chunk.regret) for chunk in found if chunk is not None)
        assert len(found) > kept
        kept = len(found)
    assert not Path("reproduced").exists()


@pytest.mark.usefixtures("tiny")
def test_reproduce_without_a_name_is_what_the_paper_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run", interrupt)
    for options, others in (([], []), (["--all"], ["fewa2019", "levine2017"])):
        assert cli.main(["reproduce", "--no-progress", *options]) == command_line.INTERRUPTED
        names = capsys.readouterr().err.partition(":")[0].split(", ")
        assert set(names) == {
            *("rested-two-arms", "best-alpha", "restless-nights", "both-benchmarks", "runtime", "theory"),
            *others,
        }


@pytest.mark.usefixtures("tiny")
def test_reproduce_says_which_games_it_did_not_play(capsys: pytest.CaptureFixture[str]) -> None:
    games = 2 * len(restless_nights.LABELS) * 3  # two nights, three runs
    for out, words in (
        ("first", f"All {games} games were played"),
        ("second", f"{games} of {games} games were kept from earlier runs"),
    ):
        assert cli.main(["reproduce", "runtime", "--out", out, "--no-progress"]) == 0
        assert words in capsys.readouterr().out
        assert words in Path(out, "report.html").read_text()
    assert "computed anew" not in Path("second/report.html").read_text()

    assert cli.main(["reproduce", "runtime", "--out", "third", "--no-progress", "--fresh"]) == 0
    assert f"All {games} games were played" in capsys.readouterr().out
    for first, second in pairwise(Result.load(f"{out}/runtime/results/night-7") for out in ("first", "second", "third")):
        assert first == second


@pytest.mark.usefixtures("tiny")
def test_times_are_measured_for_the_report_and_never_kept_ones() -> None:
    """Kept games say that a round takes an hour: nothing of that is in any file of the report."""
    assert cli.main(["reproduce", "runtime", "--out", "first", "--no-progress"]) == 0
    store = ChunkStore(cache_folder() / "games")
    for path in store.folder.rglob("*.chunk"):
        chunk = store.read(path.stem)
        assert chunk is not None
        store.write(path.stem, chunk._replace(seconds=3600.0 * chunk.pulls.sum()))
    assert cli.main(["reproduce", "runtime", "--out", "second", "--no-progress"]) == 0
    for name in ("runtime/seconds-per-night.csv", "runtime/us-per-round.csv"):
        with Path("second", name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert all(0 < float(row[label]) < 3.6e9 / 100 for row in rows for label in restless_nights.LABELS)
    for saved in Path("second").rglob("result.json"):
        assert np.isnan(Result.load(saved.parent).us_per_round).all()
