"""What the commands share: parsers, what is written for policies, problems and noises, and output."""

import argparse
import json
import math

import pytest

from rotting import cli
from rotting.cli.arguments import Commands, Parser, UserError, help_formatter, json_text, say
from tests.helpers.command import SMALL, parse_strict_json


def test_policies_may_be_given_together_or_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for policies in (["--policy", "ucb1:sigma=0.5", "uniform"], ["--policy", "ucb1:sigma=0.5", "--policy", "uniform"]):
        assert cli.main(["simulate", *policies, *SMALL, "--json"]) == 0
        shown.append([each["label"] for each in parse_strict_json(capsys.readouterr().out)["policies"]])
    assert shown == [["UCB1, sigma=0.5", "uniform"]] * 2


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian/0.5", "binomial/10", "noiseless"])
def test_lists_and_noises_can_be_written(noise: str, capsys: pytest.CaptureFixture[str]) -> None:
    problem = f"stationary:means=0.9/0.5/1e-1,noise={noise}"
    assert cli.main(["simulate", "--problem", problem, "--policy", "uniform", *SMALL, "--json"]) == 0
    shown = parse_strict_json(capsys.readouterr().out)["problem"]
    assert shown["n_arms"] == 3
    assert shown["noise"]["noise"].lower() == noise.partition("/")[0]


def test_a_sigma_may_be_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    policies = ["raw-ucb:sigma=estimate", "sw-ucb:tau=10,sigma=estimate", "sw-ucb:tau=10,sigma=range"]
    assert cli.main(["simulate", "--policy", *policies, *SMALL, "--json"]) == 0
    shown = [each["label"] for each in parse_strict_json(capsys.readouterr().out)["policies"]]
    assert shown == ["RAW-UCB 1.4, sigma=estimate", "SW-UCB, tau=10, sigma=estimate", "SW-UCB, tau=10"]  # "range" by default
    assert cli.main(["simulate", "--policy", "raw-ucb:sigma=estimat", *SMALL]) == 2
    message = "sigma must be a positive finite number or 'estimate', got 'estimat'; did you mean 'estimate'?"
    assert message in capsys.readouterr().err


def test_a_range_of_a_parameter_is_a_policy_for_each_value(capsys: pytest.CaptureFixture[str]) -> None:
    policies = ["ucb1:sigma=0.6..2.4/4", "ucb1:sigma=5"]
    assert cli.main(["simulate", "--policy", *policies, *SMALL, "--json"]) == 0
    shown = [each["label"] for each in parse_strict_json(capsys.readouterr().out)["policies"]]
    assert shown == [f"UCB1, sigma={sigma}" for sigma in (0.6, 1.2, 1.8, 2.4, 5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1..2", "policy 'ucb1:sigma=1..2': sigma must be a value or low..high/count, got '1..2'"),
        ("1..x/3", "policy 'ucb1:sigma=1..x/3': sigma must be a value or low..high/count, got '1..x/3'"),
        ("1..2/0", "policy 'ucb1:sigma=1..2/0': sigma must have a count of 2 or more in low..high/count, got 0"),
        ("0..2/3", "policy 'ucb1:sigma=0..2/3': sigma must be a positive finite number"),
    ],
)
def test_a_range_that_is_none_is_told(text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["simulate", "--policy", f"ucb1:sigma={text}", *SMALL]) == 2
    assert message in capsys.readouterr().err


def test_a_refusal_is_one_line_and_no_exit() -> None:
    parser = Parser(prog="rotting", formatter_class=help_formatter)
    parser.add_argument("--runs", type=int)
    with pytest.raises(UserError) as caught:
        parser.parse_args(["--runs", "many"])
    assert str(caught.value) == "argument --runs: invalid int value: 'many' (see rotting --help)"


def test_commands_are_added_with_what_they_run() -> None:
    def run(arguments: argparse.Namespace) -> None:
        del arguments

    parser = Parser(prog="rotting")
    commands = Commands(parser)
    commands.add("play", run, "Play a game").add_argument("--rounds")
    commands.add("stop", run, "Stop", "At once.")
    assert commands.names == ["play", "stop"]
    assert parser.parse_args(["play", "--rounds", "3"]).run is run
    with pytest.raises(UserError, match="unrecognized arguments: --round 3"):
        parser.parse_args(["play", "--round", "3"])  # no abbreviations


def test_json_is_strict() -> None:
    assert json.loads(json_text({"x": [1, 2.5, None]})) == {"x": [1, 2.5, None]}
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="JSON"):
            json_text({"x": bad})


def test_messages_leave_the_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    say("something")
    assert capsys.readouterr() == ("", "something\n")
