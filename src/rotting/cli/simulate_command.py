"""`rotting simulate`: let policies play a problem."""

import argparse
from typing import TYPE_CHECKING, Any

from rotting.cli.arguments import (
    SYNTAX,
    add_engine_options,
    new_picture,
    new_place,
    read_engine,
    read_policies,
    read_problem,
    refusing,
    value_of,
)
from rotting.cli.output import json_text, say

if TYPE_CHECKING:
    from rotting.cli.parsers import Command


def _simulate(options: argparse.Namespace) -> None:
    policies = [policy for text in options.policy for policy in read_policies(text)]
    problem = read_problem(options.problem, options.horizon)
    out = None if options.out is None else new_place("out", options.out)
    plot = None if options.plot is None else new_picture("plot", options.plot)

    from rotting.simulation.simulate import simulate

    numbers = {name: value_of(getattr(options, name)) for name in ("runs", "seed")}
    for name in ("horizon", "workers", "first_run"):
        if getattr(options, name) is not None:
            numbers[name] = value_of(getattr(options, name))
    arguments: Any = numbers
    with read_engine(options) as engine, refusing():
        result = simulate(policies, problem, engine=engine, **arguments)
    # Files first, as the reader may close the pipe early; and print the table even if the disk is full.
    try:
        if out is not None:
            result.save(out)
            say(f"saved to {out}")
        if plot is not None:
            result.plot(path=plot)
            say(f"plotted to {plot}")
    finally:
        print(json_text(result.to_json()) if options.json else result.table())


def add(command: "Command") -> None:
    """Add the command to the parser."""
    simulate = command("simulate", _simulate, "Let policies play a problem, and compare their regret")
    written = f"written {SYNTAX}"
    simulate.add_argument("--problem", default="two-arms", metavar="PROBLEM", help=f"{written}; default: two-arms")
    simulate.add_argument(
        "--policy",
        required=True,
        action="extend",
        nargs="+",
        metavar="POLICY",
        help=f"one or several, {written}; alpha=0.6..2.4/10 stands for ten values",
    )
    simulate.add_argument(
        "--horizon", metavar="N", help="rounds of a run, and horizon of the problem if it sets none; default: the problem's own"
    )
    simulate.add_argument("--runs", default="100", metavar="N", help="number of runs of each policy; default: 100")
    simulate.add_argument("--seed", default="0", metavar="N", help="the same seed gives the same result; default: 0")
    simulate.add_argument(
        "--first-run", metavar="N", help="number of the first run; default: 0. Result.merge joins results of different runs"
    )
    add_engine_options(simulate)
    simulate.add_argument("--json", action="store_true", help="print strict JSON instead of a table")
    simulate.add_argument("--out", metavar="FOLDER", help="save the result in a new folder")
    simulate.add_argument("--plot", metavar="FILE.png", help="plot regret over the rounds to a new file")
