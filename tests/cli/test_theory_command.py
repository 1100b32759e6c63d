"""`rotting theory`: constants, bounds, and why there are none."""

import json

import pytest

from rotting import cli, theory
from rotting.cli import command_line
from rotting.problems import two_arms
from tests.helpers.command import parse_strict_json


def test_the_command_says_why_a_policy_has_no_bound(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["theory", "two-arms:L=0.5", "--horizon", "100", "--policy", "raw-ucb", "raw-ucb:alpha=5"]
    why = "alpha must be in [5, inf) for RAW-UCB in Propositions 6 and 7 (rested), got 1.4"
    assert cli.main(arguments) == 0
    assert f"RAW-UCB 1.4: {why}\n" in capsys.readouterr().out
    assert cli.main([*arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    row = shown["theorems"][4]
    assert row["why_not"] == {"RAW-UCB 1.4": why, "RAW-UCB 5": None}
    assert row["arms"]["RAW-UCB 5"] == {"overpulls": [25, 75], "pseudo_gaps": [0.0, 0.25]}
    assert shown["constants"]["largest_regret"] == 18.75


def test_theory_prints_the_constants_and_the_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["theory", "two-arms:L=0.5", "--horizon", "100"]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert out == f"{theory.table(two_arms(L=0.5, horizon=100))}\n"
    assert cli.main(["theory", "two-arms:L=0.5", "--horizon", "100", "--policy", "raw-ucb:alpha=5", "ucb1", "--json"]) == 0
    shown = parse_strict_json(capsys.readouterr().out)
    assert shown["constants"]["rested"] == {"largest_fall": 0.5, "smallest_reward": 0.0, "optimal_pulls": [75, 25]}
    assert list(shown["theorems"][3]["bounds"]) == ["RAW-UCB 5", "UCB1"]


def test_theory_refuses_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["theory", "stationary:means=0.5/0.25"]) == command_line.REFUSED
    assert "horizon must be given" in capsys.readouterr().err
