"""`rotting list`: every policy and problem, with every parameter."""

import subprocess
import sys

import pytest

from rotting import cli
from rotting.problems import list_problems
from rotting.registry import list_policies
from tests.helpers.command import parse_strict_json


def test_list_names_every_policy_and_problem_with_every_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    out, err = capsys.readouterr()
    assert not err
    for each in list_policies():
        assert each.name in out.splitlines()
        for parameter in each.parameters():
            assert parameter.rule.text in out
            assert parameter.doc.rstrip(".") in out
    for name in list_problems():
        assert name in out.splitlines()
    assert "L       = 0.3" in out
    assert "binomial/n" in out


def test_list_can_be_asked_for_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "problems"]) == 0
    out = capsys.readouterr().out
    assert "two-arms" in out
    assert "raw-ucb" not in out


def test_list_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--json"]) == 0
    listed = parse_strict_json(capsys.readouterr().out)
    assert list(listed) == ["policies", "problems"]
    raw_ucb = next(each for each in listed["policies"] if each["name"] == "raw-ucb")
    assert raw_ucb["parameters"][0] == {
        "name": "alpha",
        "required": False,
        "default": 1.4,
        "rule": "a positive finite number",
        "meaning": "confidence level: delta_t = 2 / t**alpha",
    }
    stationary = next(each for each in listed["problems"] if each["name"] == "stationary")
    means, noise, horizon = stationary["parameters"]
    assert means["required"]
    assert means["default"] is None
    assert noise["default"] == "gaussian/1.0"
    assert not horizon["required"]
    assert all(
        each["summary"] and p["rule"] and p["meaning"] for kind in listed.values() for each in kind for p in each["parameters"]
    )


def test_list_shows_the_words_for_sigma(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--json"]) == 0
    found = {
        (policy["name"], each["default"], each["rule"])
        for policy in parse_strict_json(capsys.readouterr().out)["policies"]
        for each in policy["parameters"]
        if each["name"] == "sigma" and policy["name"] in {"raw-ucb", "d-ucb"}
    }
    assert found == {
        ("raw-ucb", 1.0, "a positive finite number or 'estimate'"),
        ("d-ucb", "range", "a positive finite number, 'estimate' or 'range'"),
    }


def test_list_compiles_nothing() -> None:
    code = "import sys; from rotting.cli import main; main(['list', '--json']); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0
