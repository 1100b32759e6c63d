"""`rotting theory` and `reproduce`: what the paper proves, and its experiments."""

import argparse
import time
from importlib.util import find_spec
from pathlib import Path

from rotting.cli.arguments import (
    SYNTAX,
    Commands,
    UserError,
    add_engine_options,
    add_policy_option,
    json_text,
    new_path,
    parse_value,
    read_engine,
    read_policy,
    read_problem,
    read_workers,
    say,
    user_errors,
)


def _theory(options: argparse.Namespace) -> None:
    from rotting.paper import theory
    from rotting.policy import labels_of

    policies = tuple(read_policy(text) for text in options.policy or [])
    problem = read_problem(options.problem, options.horizon)
    horizon = None if options.horizon is None else parse_value(options.horizon)
    with user_errors():
        known = theory.constants(problem, horizon)
        setting = "restless" if known.rested is None else "rested"
        chosen = policies or theory.theoretical_policies(setting, known.sigma or 1.0)
        found = dict(zip(labels_of(chosen), (theory.bounds(problem, each, horizon) for each in chosen), strict=True))
    if options.json:
        theorems = {
            label: {"bounds": {each.theorem: float(each.values[-1]) for each in bounds}, "why_not": bounds.why_not}
            for label, bounds in found.items()
        }
        print(json_text({"problem": problem.describe(), "constants": known.to_json(), "policies": theorems}))
        return
    print(f"{problem.name or 'problem'}: {known}")
    if (most := known.largest_regret()) is not None:
        print(f"largest regret of any play: {most:,.6g}; a bound that is not below it says nothing")
    for label, bounds in found.items():
        print(f"\n{label}\n{bounds}")


def add_theory(commands: Commands) -> None:
    """Add `rotting theory`."""
    more = "Prints the constants of the problem and, for each theorem, its bound at the horizon or why it does not apply."
    theory = commands.add("theory", _theory, "Show what the paper proves about a problem", more)
    theory.add_argument("problem", metavar="PROBLEM", help=f"written {SYNTAX}")
    add_policy_option(theory, "default: RAW-UCB, FEWA and their efficient versions, with the smallest alpha allowed")
    theory.add_argument("--horizon", metavar="N", help="number of rounds; default: the problem's own")
    theory.add_argument("--json", action="store_true", help="print strict JSON instead of a table")


def _reproduce(options: argparse.Namespace) -> None:
    from rotting.common.files import cache_folder
    from rotting.paper import experiments
    from rotting.paper.report.claims import IN_SHORT, claims_table
    from rotting.simulation.engines.chunk_store import ChunkStore

    began = time.monotonic()
    with user_errors():
        names = [experiments.check_id(name) for name in options.experiment]
        names = names or experiments.list_experiments(other=options.all)
    default = Path("reproduced", names[0] if len(names) == 1 else options.size)
    out = new_path("out", str(experiments.free_name(default)) if options.out is None else options.out)
    _check_report_extra()
    workers = read_workers(options)
    store = ChunkStore(cache_folder() / "games", fresh=options.fresh)
    with read_engine(options) as engine:
        use = "all are played again, and replace the older ones" if options.fresh else "a stopped run resumes from there"
        say(f"{', '.join(names)}: {options.size} size. Finished games are kept in {store.folder}: {use}.")
        finished = experiments.run(names, options.size, workers, options.progress, store, engine)
        about = experiments.about(finished, time.monotonic() - began, store.reused)
        where = experiments.write(finished, out, about, numbered=options.out is None)
    claims = [claim for outcome in finished for claim in outcome.section.findings.claims]
    if claims:
        print(claims_table(claims, IN_SHORT))
    for note in dict.fromkeys([about.games_text, *(note for outcome in finished for note in outcome.section.findings.notes)]):
        print(f"\nnote: {note}")
    print(f"\nreport: {where / 'report.html'}")


def _check_report_extra() -> None:
    """Check that the report can be written, before the games are played."""
    if find_spec("matplotlib") is None:
        raise UserError("a report needs Matplotlib: pip install 'rotting[plot]'")


def add_reproduce(commands: Commands) -> None:
    """Add `rotting reproduce`."""
    more = "Writes a report (report.html), figures, tables and every result into a new folder."
    reproduce = commands.add("reproduce", _reproduce, "Repeat the experiments of the paper, and check its claims", more)
    reproduce.add_argument(
        "experiment", nargs="*", help="rested-two-arms, ..., or another paper: fewa2019, levine2017; default: all of the paper"
    )
    more = "also the experiments of other papers: fewa2019, levine2017"
    reproduce.add_argument("--all", action="store_true", help=more)
    sizes = reproduce.add_mutually_exclusive_group()
    quick, full = "few runs: takes a few minutes (the default)", "as many runs as in the paper: takes hours"
    sizes.add_argument("--quick", dest="size", action="store_const", const="quick", default="quick", help=quick)
    sizes.add_argument("--full", dest="size", action="store_const", const="full", help=full)
    reproduce.add_argument(
        "--out", metavar="FOLDER", help="new folder for the report; default: the next free name in reproduced/"
    )
    reproduce.add_argument("--fresh", action="store_true", help="ignore cached games and play all games again")
    add_engine_options(reproduce)
    reproduce.add_argument("--no-progress", dest="progress", action="store_false", default=True, help="show no progress bar")
