"""`rotting analyse`: what a log of past decisions says about wear, and about other policies."""

import argparse
import time
from pathlib import Path

from rotting.cli.arguments import (
    Commands,
    add_policy_option,
    new_path,
    parse_value,
    read_policies,
    user_errors,
    user_errors_of_store,
)

_COLUMNS = {
    "arm": "column with the arms; default: arm",
    "reward": "column with the rewards, empty where unknown; default: reward",
    "time": "column with the times of the decisions; default: the rows are in chronological order",
    "unit": "column that says who gets tired of an arm, such as a country or a placement",
    "propensity": "column with the probability of each choice",
    "available": 'column with the arms that could be chosen, such as ["a", "b"]',
    "decision": "column with the ids of the decisions, which must be unique",
}
_OTHERS = ("name", "delay")  # options that `Log` takes, too


def _analyse(options: argparse.Namespace) -> None:
    began = time.monotonic()
    out = None if options.out is None else new_path("out", options.out)
    policies = read_policies(options.policy or [])
    seed = parse_value(options.seed)
    runs = None if options.runs is None else parse_value(options.runs)
    given = {name: getattr(options, name) for name in (*_COLUMNS, *_OTHERS) if getattr(options, name) is not None}

    from rotting.logs.log import Log
    from rotting.logs.report import analyse, policy_tables, write_report

    with user_errors_of_store():
        log = Log(options.file, **given)
    with user_errors():
        found = analyse(log, policies or None, seed, progress=True, runs=runs)
    if out is None:
        policies_tables = policy_tables(found) or {"gains": found.advice.table()}
        print(log.describe(), found.diagnosis.table(), *policies_tables.values(), sep="\n\n")
        return
    facts = {
        "File": options.file,
        **{
            {"name": "Bandit", "delay": "Delay"}.get(name, f"{name.capitalize()} column"): value
            for name, value in given.items()
        },
    }
    where = write_report(found, out, Path(options.file).name, facts, seed, time.monotonic() - began)
    print(f"report: {where}")


def add_analyse(commands: Commands) -> None:
    """Add `rotting analyse`."""
    more = "Prints tables, or writes one HTML page into a new folder."
    about = "Find out from a log of past decisions which arms wear out, and which policy would have earned more"
    analyse = commands.add("analyse", _analyse, about, more)
    analyse.add_argument(
        "file", metavar="FILE", help="a .csv, .tsv, .parquet or .jsonl file, a store, or an export of `rotting log`"
    )
    for name, text in _COLUMNS.items():
        analyse.add_argument(f"--{name}", metavar="COLUMN", help=text)
    analyse.add_argument("--name", metavar="NAME", help="name of the bandit, if the file is a store or an export with several")
    add_policy_option(analyse, "default: RAW-UCB, UCB1 and uniform choices")
    analyse.add_argument("--delay", metavar="TIME", help="how long a reward may take, such as 2d: younger rows are left out")
    analyse.add_argument("--runs", metavar="N", help="problems that each policy plays; default: until the advice is clear")
    analyse.add_argument("--seed", default="0", metavar="N", help="the same seed gives the same result; default: 0")
    analyse.add_argument("--out", metavar="FOLDER", help="write the HTML page report.html into a new folder")
