"""`rotting list`, `simulate` and `compile`."""

import argparse
import inspect
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from rotting.cli.arguments import (
    SYNTAX,
    Commands,
    UserError,
    add_compile_option,
    add_engine_options,
    add_policy_option,
    json_text,
    known_noises,
    new_path,
    new_picture_path,
    parse_value,
    read_engine,
    read_policies,
    read_policy,
    read_problem,
    say,
    user_errors,
)
from rotting.common.rules import suggest

NAMED_REFERENCES = ("optimal", "greedy", "best arm")


class _Parameter(TypedDict):
    name: str
    required: bool
    default: object
    rule: str
    meaning: str


class _Entry(NamedTuple):
    name: str
    summary: str
    parameters: list[_Parameter]


def _parameter(name: str, required: bool, default: object, rule: str, meaning: str) -> _Parameter:
    return {"name": name, "required": required, "default": default, "rule": rule, "meaning": meaning.strip().rstrip(".")}


def _policies() -> list[_Entry]:
    from rotting.registry import list_policies

    found = []
    for policy in list_policies():
        parameters = []
        for p in policy.parameters():
            default = None if p.required else p.rule.show(p.rule.check(p.name, p.default))
            parameters.append(_parameter(p.name, p.required, default, p.rule.text, p.doc))
        found.append(_Entry(policy.name, _summary(policy), parameters))
    return found


def _problems() -> list[_Entry]:
    from rotting import problems
    from rotting.problems.noise import Noise

    def rule(kind: object) -> str:
        if kind is Noise:
            return "a noise, such as gaussian/0.5"
        if getattr(kind, "__origin__", None) is Sequence:
            return "numbers, such as 0.5/0.25"
        known: dict[object, str] = {float: "a number", int: "a whole number", int | None: "a whole number"}
        return known.get(kind, str(kind))

    def shown(default: object) -> object:
        if isinstance(default, Noise):
            kind, *numbers = default.to_json().values()
            return "/".join([kind.lower(), *map(str, numbers)])
        if isinstance(default, tuple):
            return "/".join(map(str, default))
        return default

    found = []
    for name, function in problems.list().items():
        meanings = _meanings(function)
        parameters = []
        for p in inspect.signature(function).parameters.values():
            required = p.default is p.empty
            default = None if required else shown(p.default)
            parameters.append(_parameter(p.name, required, default, rule(p.annotation), meanings.get(p.name, "")))
        found.append(_Entry(name, _summary(function), parameters))
    return found


def _summary(documented: object) -> str:
    first = (inspect.getdoc(documented) or "").partition("\n")[0].removeprefix("Return ")
    return first[:1].upper() + first[1:]


def _meanings(function: Callable[..., object]) -> dict[str, str]:
    """Return what the `Args` section of a docstring says about each argument."""
    section = re.search(r"^Args:\n((?: +.*\n?)+)", inspect.getdoc(function) or "", re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section[1], re.MULTILINE) if section else []
    return {name: " ".join(text.split()) for name, text in entries}


KINDS: Mapping[str, Callable[[], list[_Entry]]] = {"policies": _policies, "problems": _problems}


def _list(options: argparse.Namespace) -> None:
    if options.kind not in {None, *KINDS}:
        known = ", ".join(KINDS)
        raise UserError(f"list takes one of {known}, got {options.kind!r}{suggest(options.kind, KINDS)}")
    listed = {kind: entries() for kind, entries in KINDS.items() if options.kind in {None, kind}}
    if options.json:
        print(json_text({kind: [entry._asdict() for entry in entries] for kind, entries in listed.items()}))
        return
    print("\n\n".join(_written(kind, entries) for kind, entries in listed.items()))


def _written(kind: str, entries: list[_Entry]) -> str:
    def value(p: _Parameter) -> str:
        return "(required)" if p["required"] else "(none)" if p["default"] is None else f"= {p['default']}"

    parameters = [p for entry in entries for p in entry.parameters]
    names, values, rules = (
        max((len(text) for text in column), default=0)
        for column in zip(*((p["name"], value(p), p["rule"]) for p in parameters), strict=True)
    )
    lines = [kind.upper()]
    for entry in entries:
        lines += ["", entry.name, f"    {entry.summary}"]
        for p in entry.parameters:
            text = f"{p['rule']:{rules}}  {p['meaning']}".rstrip()
            lines.append(f"      {p['name']:{names}} {value(p):{values}}  {text}")
    if kind == "problems":
        forms = ("/".join([name, *inspect.signature(noise).parameters]) for name, noise in known_noises().items())
        lines += ["", f"Noises: {', '.join(forms)}"]
    return "\n".join(lines)


def add_list(commands: Commands) -> None:
    """Add `rotting list`."""
    lister = commands.add("list", _list, "List the policies and problems, with their parameters")
    lister.add_argument("kind", nargs="?", metavar="policies|problems", help="what to list; default: both")
    lister.add_argument("--json", action="store_true", help="print strict JSON")


def _simulate(options: argparse.Namespace) -> None:
    policies = read_policies(options.policy)
    problem = read_problem(options.problem, options.horizon)
    reference = options.reference if options.reference in {None, *NAMED_REFERENCES} else read_policy(options.reference)
    out = None if options.out is None else new_path("out", options.out)
    plot = None if options.plot is None else new_picture_path("plot", options.plot)

    from rotting.simulation.simulate import simulate

    numbers = {name: parse_value(getattr(options, name)) for name in ("runs", "seed")}
    for name in ("horizon", "workers", "first_run"):
        if getattr(options, name) is not None:
            numbers[name] = parse_value(getattr(options, name))
    with read_engine(options) as engine, user_errors():
        result = simulate(
            policies, problem, engine=engine, compile=options.compile, progress=True, reference=reference, **numbers
        )
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


def add_simulate(commands: Commands) -> None:
    """Add `rotting simulate`."""
    simulate = commands.add("simulate", _simulate, "Let policies play a problem, and compare their regret")
    written = f"written {SYNTAX}"
    simulate.add_argument("--problem", default="two-arms", metavar="PROBLEM", help=f"{written}; default: two-arms")
    add_policy_option(simulate, "alpha=0.6..2.4/10 stands for ten values", required=True)
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
    simulate.add_argument(
        "--reference", metavar="WHAT", help="what regret is measured against: optimal, greedy, 'best arm' or a policy"
    )
    add_engine_options(simulate)
    add_compile_option(simulate)
    simulate.add_argument("--json", action="store_true", help="print strict JSON instead of a table")
    simulate.add_argument("--out", metavar="FOLDER", help="save the result in a new folder")
    simulate.add_argument("--plot", metavar="FILE.png", help="plot regret over the rounds to a new file")


def _rerun(options: argparse.Namespace) -> None:
    from rotting.simulation.rerun import changes, rerun
    from rotting.simulation.result import Result
    from rotting.simulation.study import STUDY_FILE, Study

    path = Path(options.path)
    folder = path.parent if path.is_file() else path
    with user_errors():
        results = Study.load(folder).results if (folder / STUDY_FILE).is_file() else [Result.load(folder)]
        for result in results:
            made = result.provenance or {}
            say(f"{result!r}, made on {made.get('date', 'an unknown day')} by rotting {made.get('rotting', '(unknown)')}")
            lines = changes(result, rerun(result, options.source, progress=True))
            print("\n".join(lines or [f"{result.problem_name}: all {result.runs:,} runs are the same, bit for bit"]))
            if lines:
                raise UserError(f"{result.problem_name} differs from the saved result")


def add_rerun(commands: Commands) -> None:
    """Add `rotting rerun`."""
    more = "A result and its rerun are compared bit for bit. If they differ, versions and code that differ are named."
    rerun = commands.add("rerun", _rerun, "Play a saved result or study again, and compare", more)
    rerun.add_argument("path", metavar="PATH", help="result.json or study.json, or their folder")
    rerun.add_argument(
        "--source", metavar="FILE.py", help="defines what cannot be saved, such as plain classes; it is run as a module"
    )


def _compile(options: argparse.Namespace) -> None:
    policies = read_policies(options.policy)
    problem = read_problem(options.problem, None)

    from rotting.live.bandit import Bandit
    from rotting.simulation.engines.threads import compiled_loop, loop_entry
    from rotting.simulation.plan import Simulation

    for policy in policies:
        began = time.perf_counter()
        (game,), _ = Simulation(policy, problem, runs=1).games()
        compiled_loop(game)
        if not loop_entry(game).is_cached:
            raise UserError("compiled code must be kept on disk, but the cache of Numba cannot be written, or is turned off")
        if not policy.sees_means:  # else it cannot decide live
            Bandit(policy, arms=[0, 1], compile="now").warm_up()
        say(f"compiled {policy.name} in {time.perf_counter() - began:.2f} s")


def add_compile(commands: Commands) -> None:
    """Add `rotting compile`."""
    more = (
        "Later processes load the machine code from a cache on disk; the environment variable NUMBA_CACHE_DIR sets its folder. "
        "The code is for this kind of machine and this version, for live decisions, and for simulations with the noise of "
        "the problem."
    )
    added = commands.add("compile", _compile, "Compile policies ahead of time", more)
    added.add_argument("policy", nargs="+", metavar="POLICY", help=f"written {SYNTAX}")
    added.add_argument("--problem", default="two-arms", metavar="PROBLEM", help="as for simulate; default: two-arms")
