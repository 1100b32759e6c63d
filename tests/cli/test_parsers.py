"""Parsers that refuse in one line."""

import argparse

import pytest

from rotting.cli.arguments import UserError
from rotting.cli.parsers import Commands, Parser, help_formatter


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
