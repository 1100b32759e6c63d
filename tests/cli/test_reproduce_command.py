"""`rotting reproduce`: a new folder each time, and everything without a name."""

import json
from pathlib import Path

import pytest

from rotting import cli, experiments
from rotting.errors import InvalidValueError
from rotting.problems import two_arms
from rotting.registry import make
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate


@pytest.mark.usefixtures("tiny")
def test_reproduce_writes_a_new_folder_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "rested-two-arms"]) == 0
    out, err = capsys.readouterr()
    assert "rested-glr-large" in out
    assert "100 %" in err
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
    with pytest.raises(InvalidValueError) as told:
        simulate(make("ucb1"), two_arms(horizon=9), engine="gpu")
    assert cli.main(["reproduce", "rested-two-arms", "--engine", "gpu"]) == 2
    assert capsys.readouterr() == ("", f"rotting: error: {told.value}\n")
    assert cli.main(["reproduce", "rested-two-arms", "--timeout", "0"]) == 2
    assert capsys.readouterr() == ("", "rotting: error: timeout must be a positive finite number, got 0\n")
    assert not Path("reproduced").exists()


@pytest.mark.usefixtures("tiny")
def test_reproduce_without_a_name_is_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--out", "mine", "--workers", "1", "--no-progress"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("report: mine/report.html\n")
    assert "note: These nights are SYNTHETIC" in out
    assert out.count("SYNTHETIC") == 1
    assert "note: A data set is left out: news-popularity/Facebook_Palestine.csv is not in" in out
    assert not [each for each in Path().iterdir() if each.name not in {"mine", "cache"}]
    assert sorted(each.name for each in Path("mine").iterdir() if each.is_dir()) == sorted(experiments.list_experiments())
    page = Path("mine/report.html").read_text()
    for name in experiments.list_experiments():
        assert experiments.find(name).title in page
