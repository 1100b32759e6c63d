"""`rotting theory`: what the paper proves about a problem."""

import argparse

from rotting.cli.arguments import SYNTAX, parse_value, read_policy, read_problem, user_errors
from rotting.cli.output import json_text
from rotting.cli.parsers import Commands


def _theory(options: argparse.Namespace) -> None:
    from rotting import theory

    policies = [read_policy(text) for text in options.policy or []]
    problem = read_problem(options.problem, options.horizon)
    horizon = None if options.horizon is None else parse_value(options.horizon)
    with user_errors():
        known, table = theory.constants(problem, horizon), theory.table(problem, policies or None, horizon)
    if options.json:
        print(json_text({"problem": problem.describe(), "constants": known.to_json(), "theorems": table.rows}))
    else:
        print(table)


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    more = "Prints the constants of the problem and, for each theorem, its bound at the horizon or why it does not apply."
    theory = commands.add("theory", _theory, "Show what the paper proves about a problem", more)
    theory.add_argument("problem", metavar="PROBLEM", help=f"written {SYNTAX}")
    theory.add_argument(
        "--policy",
        action="extend",
        nargs="+",
        metavar="POLICY",
        help="default: RAW-UCB, FEWA and their efficient versions, with the smallest alpha allowed",
    )
    theory.add_argument("--horizon", metavar="N", help="number of rounds; default: the problem's own")
    theory.add_argument("--json", action="store_true", help="print strict JSON instead of a table")
