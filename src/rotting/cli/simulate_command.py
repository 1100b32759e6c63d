"""`rotting simulate`: let policies play a problem."""

import argparse

from rotting.cli.arguments import (
    SYNTAX,
    add_compile_option,
    add_engine_options,
    new_path,
    new_picture_path,
    parse_value,
    read_engine,
    read_policies,
    read_problem,
    user_errors,
)
from rotting.cli.output import json_text, say
from rotting.cli.parsers import Commands


def _simulate(options: argparse.Namespace) -> None:
    policies = read_policies(options.policy)
    problem = read_problem(options.problem, options.horizon)
    out = None if options.out is None else new_path("out", options.out)
    plot = None if options.plot is None else new_picture_path("plot", options.plot)

    from rotting.simulation.simulate import simulate

    numbers = {name: parse_value(getattr(options, name)) for name in ("runs", "seed")}
    for name in ("horizon", "workers", "first_run"):
        if getattr(options, name) is not None:
            numbers[name] = parse_value(getattr(options, name))
    with read_engine(options) as engine, user_errors():
        result = simulate(policies, problem, engine=engine, compile=options.compile, **numbers)
    # Files come first, since the reader of the pipe may close it early. The table is printed even if the disk is full.
    try:
        if out is not None:
            result.save(out)
            say(f"saved to {out}")
        if plot is not None:
            result.plot(path=plot)
            say(f"plotted to {plot}")
    finally:
        print(json_text(result.to_json()) if options.json else result.table())


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    simulate = commands.add("simulate", _simulate, "Let policies play a problem, and compare their regret")
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
        "--horizon",
        metavar="N",
        help="rounds of a run, and horizon of the problem unless PROBLEM sets one; default: the problem's own",
    )
    simulate.add_argument("--runs", default="100", metavar="N", help="number of runs of each policy; default: 100")
    simulate.add_argument("--seed", default="0", metavar="N", help="the same seed gives the same result; default: 0")
    simulate.add_argument(
        "--first-run", metavar="N", help="number of the first run; default: 0. Result.merge joins results of different runs"
    )
    add_engine_options(simulate)
    add_compile_option(simulate)
    simulate.add_argument("--json", action="store_true", help="print strict JSON instead of a table")
    simulate.add_argument("--out", metavar="FOLDER", help="save the result in a new folder")
    simulate.add_argument("--plot", metavar="FILE.png", help="plot regret over the rounds to a new file")
