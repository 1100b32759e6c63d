"""The command line: thin, with lazy imports, so that `rotting --help` imports neither NumPy nor Numba."""

import argparse
import inspect
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from rotting.rules import suggest
from rotting.version import __version__

if TYPE_CHECKING:
    from rotting.claims import Claim
    from rotting.noise import Noise
    from rotting.policy import Policy
    from rotting.problems import Problem
    from rotting.tables import Table

FAILED, REFUSED, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
SYNTAX = "NAME:key=value,key=value"


class UserError(Exception):
    """What the user asked for cannot be done; the message says why in one line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, without the usage."""
        raise UserError(f"{message} (see {self.prog} --help)")


@contextmanager
def _refusing(where: str = "") -> Iterator[None]:
    """Turn the library's refusals of an argument into one line for the user."""
    try:
        yield
    except (TypeError, ValueError, FileExistsError) as error:
        raise UserError(f"{where}{error}") from error


# --- What is written on the command line ---------------------------------------------------------------------


def _value(text: str) -> int | float | str:
    """Return the number that `text` is, or `text`: the library's rules say what they think of it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _split(what: str, text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the parameters of `name:key=value,key=value`."""
    name, colon, rest = text.partition(":")
    given: dict[str, str] = {}
    for part in rest.split(",") if colon else []:
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise UserError(f"{what} must be written {SYNTAX}, got {text!r}")
        if key in given:
            raise UserError(f"{what} {text!r}: {key} must be given once, got it twice")
        given[key] = value
    return name, given


def _check_keys(where: str, name: str, given: Iterable[str], known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            has = ", ".join(known) or "none"
            raise UserError(f"{where}parameters of {name} must be among: {has}, got {key!r}{suggest(key, known)}")


def _policy(text: str) -> "Policy":
    from rotting import registry

    name, given = _split("policy", text)
    with _refusing():
        kind: Any = registry.find(name)
    where = f"policy {text!r}: "
    _check_keys(where, name, given, [each.name for each in kind.parameters()])
    with _refusing(where):
        policy: Policy = kind(**{key: _value(value) for key, value in given.items()})
    return policy


def _problem(text: str, horizon: str | None) -> "Problem":
    from rotting import problems

    name, given = _split("problem", text)
    presets = problems.list_problems()
    if name not in presets:
        raise UserError(f"problem must be one of {', '.join(presets)}, got {name!r}{suggest(name, presets)}")
    arguments = inspect.signature(presets[name]).parameters
    where = f"problem {text!r}: "
    _check_keys(where, name, given, list(arguments))
    if horizon is not None and "horizon" in arguments:
        given.setdefault("horizon", horizon)
    with _refusing(where):
        return problems.make(name, **{key: _argument(arguments[key].annotation, value) for key, value in given.items()})


def _argument(kind: Any, text: str) -> Any:
    """Return one argument of a problem: a number, a word, a list `0.5/0.25` or a noise `gaussian/0.5`."""
    from rotting.noise import Noise

    if kind is Noise:
        return _noise(text)
    if getattr(kind, "__origin__", None) is Sequence:
        return [_value(part) for part in text.split("/")]
    return _value(text)


def _noises() -> dict[str, "type[Noise]"]:
    from rotting.noise import Noise

    return {each.__name__.lower(): each for each in Noise.__subclasses__()}


def _noise(text: str) -> "Noise":
    name, *rest = text.split("/")
    known = _noises()
    if name not in known:
        raise ValueError(f"noise must be one of {', '.join(known)}, got {name!r}{suggest(name, known)}")
    signature = inspect.signature(known[name])
    try:
        values = signature.bind(*map(_value, rest)).args
    except TypeError:
        raise ValueError(f"noise must be written {'/'.join([name, *signature.parameters])}, got {text!r}") from None
    return known[name](*values)


def _new_place(option: str, text: str) -> Path:
    """Return a path where nothing is yet and something can be made; know it before the work is done."""
    path = Path(text)
    if os.path.lexists(path):
        raise UserError(f"{option} must be new, but '{path}' exists")
    parent = next(each for each in path.absolute().parents if each.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UserError(f"{option} must be in a folder that can be written to, but '{parent}' is none")
    return path


def _new_picture(option: str, text: str) -> Path:
    path = _new_place(option, text)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError(f"{option} needs Matplotlib: pip install 'rotting[plot]'") from error
    formats = Figure().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise UserError(f"{option} must end in one of .{', .'.join(sorted(formats))}, got '{path}'")
    return path


# --- list ----------------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    name: str
    summary: str
    parameters: list[dict[str, Any]]


def _parameter(name: str, required: bool, default: Any, rule: str, meaning: str) -> dict[str, Any]:
    return {"name": name, "required": required, "default": default, "rule": rule, "meaning": meaning.strip().rstrip(".")}


def _policies() -> list[_Entry]:
    from rotting.registry import list_policies

    found = []
    for each in list_policies():
        parameters = []
        for p in each.parameters():
            required = p.default is inspect.Parameter.empty
            default = None if required else p.rule.show(p.rule.check(p.name, p.default))
            parameters.append(_parameter(p.name, required, default, p.rule.text, p.doc))
        found.append(_Entry(each.name, _summary(each), parameters))
    return found


def _problems() -> list[_Entry]:
    from rotting.noise import Noise
    from rotting.problems import list_problems

    def rule(kind: Any) -> str:
        if kind is Noise:
            return "a noise, such as gaussian/0.5"
        if getattr(kind, "__origin__", None) is Sequence:
            return "numbers, such as 0.5/0.25"
        return {float: "a number", int: "a whole number", int | None: "a whole number"}.get(kind, str(kind))

    def shown(default: Any) -> Any:
        if isinstance(default, Noise):
            kind, *numbers = default.to_json().values()
            return "/".join([kind.lower(), *map(str, numbers)])
        return default

    found = []
    for name, function in list_problems().items():
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


def _meanings(function: Callable[..., Any]) -> dict[str, str]:
    """Return what the section `Args` of a docstring says of each argument."""
    section = re.search(r"^Args:\n((?: +.*\n?)+)", inspect.getdoc(function) or "", re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section[1], re.MULTILINE) if section else []
    return {name: " ".join(text.split()) for name, text in entries}


KINDS: Mapping[str, Callable[[], list[_Entry]]] = {"policies": _policies, "problems": _problems}


def _list(options: argparse.Namespace) -> None:
    if options.kind not in {None, *KINDS}:
        known = ", ".join(KINDS)
        raise UserError(f"list must be asked for one of {known}, got {options.kind!r}{suggest(options.kind, KINDS)}")
    listed = {kind: entries() for kind, entries in KINDS.items() if options.kind in {None, kind}}
    if options.json:
        print(_json({kind: [entry._asdict() for entry in entries] for kind, entries in listed.items()}))
        return
    print("\n\n".join(_written(kind, entries) for kind, entries in listed.items()))


def _written(kind: str, entries: list[_Entry]) -> str:
    def value(p: dict[str, Any]) -> str:
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
            told = f"{p['rule']:{rules}}  {p['meaning']}".rstrip()
            lines.append(f"      {p['name']:{names}} {value(p):{values}}  {told}")
    if kind == "problems":
        forms = ("/".join([name, *inspect.signature(noise).parameters]) for name, noise in _noises().items())
        lines += ["", f"Noises: {', '.join(forms)}"]
    return "\n".join(lines)


# --- simulate and reproduce ----------------------------------------------------------------------------------


def _simulate(options: argparse.Namespace) -> None:
    policies = [_policy(text) for text in options.policy]
    problem = _problem(options.problem, options.horizon)
    out = None if options.out is None else _new_place("out", options.out)
    plot = None if options.plot is None else _new_picture("plot", options.plot)

    from rotting.simulation import simulate

    numbers = {name: _value(getattr(options, name)) for name in ("runs", "seed")}
    for name in ("horizon", "workers"):
        if getattr(options, name) is not None:
            numbers[name] = _value(getattr(options, name))
    arguments: Any = numbers
    with _refusing():
        result = simulate(policies, problem, **arguments)
    # Files first, for a reader may close the pipe early; and a full disk must not cost the table.
    try:
        if out is not None:
            result.save(out)
            _say(f"saved to {out}")
        if plot is not None:
            result.plot(path=plot)
            _say(f"plotted to {plot}")
    finally:
        print(_json(result.to_json()) if options.json else result.table())


def _theory(options: argparse.Namespace) -> None:
    from rotting import guarantees

    policies = [_policy(text) for text in options.policy or []]
    problem = _problem(options.problem, options.horizon)
    horizon: Any = None if options.horizon is None else _value(options.horizon)
    with _refusing():
        known, table = guarantees.constants(problem, horizon), guarantees.table(problem, policies or None, horizon)
    if options.json:
        print(_json({"problem": problem.describe(), "constants": known.to_json(), "theorems": table.rows}))
    else:
        print(table)


def _reproduce(options: argparse.Namespace) -> None:
    from rotting import experiments
    from rotting.datasets.files import cache_folder

    began = time.monotonic()
    with _refusing():
        names = [experiments.check_id(name) for name in options.experiment] or experiments.list_experiments()
    default = Path("reproduced", names[0] if len(names) == 1 else options.size)
    out = _new_place("out", str(experiments.free_name(default)) if options.out is None else options.out)
    _needs_report()
    workers: Any = None if options.workers is None else _value(options.workers)
    if workers is not None:
        from rotting.rules import at_least_one_int

        with _refusing():
            workers = at_least_one_int("workers", workers)
    keep = cache_folder() / "games"
    _say(f"{', '.join(names)}: {options.size} size. Finished games are kept in {keep}: a run that is stopped goes on there.")
    outcomes = experiments.run(names, options.size, workers, options.progress, keep)
    where = experiments.write(outcomes, out, began, numbered=options.out is None)
    claims = [claim for outcome in outcomes for claim in outcome.section.claims]
    if claims:
        print(_claims_table(claims))
    for note in dict.fromkeys(note for outcome in outcomes for note in outcome.section.notes):
        print(f"\nnote: {note}")
    print(f"\nreport: {where / 'report.html'}")


def _claims_table(claims: "Sequence[Claim]") -> "Table":
    from rotting.tables import Column, Table

    rows = [{"claim": claim} for claim in claims]
    return Table(
        ("Claims of the paper: what was measured, with its 95 % interval",),
        (
            Column("claim", lambda row: str(row["claim"].id)),
            Column("measured", lambda row: str(row["claim"].measured)),
            Column("claim says", lambda row: str(row["claim"].region)),
            Column("verdict", lambda row: str(row["claim"].decision)),
        ),
        rows,
    )


def _needs_report() -> None:
    """Say before the work, not after it, that the report cannot be written."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("matplotlib", "plotly", "polars")):
        raise UserError("a report needs Matplotlib, Plotly and Polars: pip install 'rotting[report]'")


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, allow_nan=False)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


# --- The command ---------------------------------------------------------------------------------------------

EXAMPLES = f"""\
examples:
  rotting list policies
  rotting simulate --problem two-arms:L=0.3 --policy raw-ucb:alpha=1.4 ucb1 --horizon 2000 --runs 200
  rotting simulate --problem stationary:means=0.9/0.5,noise=bernoulli --policy ucb1:sigma=0.5 --horizon 1000 --json
  rotting theory two-arms:L=0.3 --horizon 2000
  rotting reproduce

Policies and problems are written {SYNTAX}; `rotting list` names them all.
"""


def _parser() -> argparse.ArgumentParser:
    def raw(prog: str) -> argparse.HelpFormatter:
        return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28)

    about = "Multi-armed bandits whose arms wear out: simulate, compare, reproduce."
    parser = _Parser(prog="rotting", description=about, epilog=EXAMPLES, formatter_class=raw, allow_abbrev=False)
    parser.add_argument("-V", "--version", action="version", version=f"rotting {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, run: Callable[[argparse.Namespace], None], about: str, more: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=about, description=f"{about}. {more}".strip(), formatter_class=raw, allow_abbrev=False
        )
        added.set_defaults(run=run)
        return added

    lister = command("list", _list, "Name the policies and problems, with their parameters")
    lister.add_argument("kind", nargs="?", metavar="policies|problems", help="only these; both by default")
    lister.add_argument("--json", action="store_true", help="strict JSON on standard output")

    simulate = command("simulate", _simulate, "Let policies play a problem, and compare their regret")
    written = f"written {SYNTAX}"
    simulate.add_argument("--problem", default="two-arms", metavar="PROBLEM", help=f"{written}; default: two-arms")
    simulate.add_argument(
        "--policy", required=True, action="extend", nargs="+", metavar="POLICY", help=f"one or several, {written}"
    )
    simulate.add_argument(
        "--horizon", metavar="N", help="rounds of a run, also for the problem if it sets none; default: the problem's own"
    )
    simulate.add_argument("--runs", default="100", metavar="N", help="runs of each policy; default: 100")
    simulate.add_argument("--seed", default="0", metavar="N", help="the same seed gives the same result; default: 0")
    simulate.add_argument("--workers", metavar="N", help="threads; default: all CPUs. The result does not depend on it")
    simulate.add_argument("--json", action="store_true", help="strict JSON on standard output, instead of a table")
    simulate.add_argument("--out", metavar="FOLDER", help="save the result in a new folder")
    simulate.add_argument("--plot", metavar="FILE.png", help="draw regret over the rounds into a new file")

    more = "Constants of the problem, what each theorem promises at the horizon, and why one does not apply."
    theory = command("theory", _theory, "Show what the paper proves on a problem", more)
    theory.add_argument("problem", metavar="PROBLEM", help=written)
    theory.add_argument(
        "--policy", action="extend", nargs="+", metavar="POLICY", help="default: the four, with the smallest alpha allowed"
    )
    theory.add_argument("--horizon", metavar="N", help="default: the problem's own")
    theory.add_argument("--json", action="store_true", help="strict JSON on standard output, instead of a table")

    more = "A report to look at (report.html), figures, tables and every result, in a new folder."
    reproduce = command("reproduce", _reproduce, "Run the experiments of the paper again, and see which claims hold", more)
    reproduce.add_argument("experiment", nargs="*", help="rested-two-arms, restless-nights, ...; default: all of them")
    sizes = reproduce.add_mutually_exclusive_group()
    quick, full = "a size for a few minutes (the default)", "the paper's size: hours"
    sizes.add_argument("--quick", dest="size", action="store_const", const="quick", default="quick", help=quick)
    sizes.add_argument("--full", dest="size", action="store_const", const="full", help=full)
    reproduce.add_argument("--out", metavar="FOLDER", help="a new folder; default: the next free one in reproduced/")
    reproduce.add_argument("--workers", metavar="N", help="threads; default: all CPUs")
    reproduce.add_argument("--no-progress", dest="progress", action="store_false", default=True, help="show no progress bar")
    return parser


def _run(arguments: Sequence[str]) -> int:
    parser = _parser()
    names = ["list", "simulate", "theory", "reproduce"]
    if arguments and not arguments[0].startswith("-") and arguments[0] not in names:
        hint = suggest(arguments[0], names)
        raise UserError(f"command must be one of {', '.join(names)}, got {arguments[0]!r}{hint}")
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
    else:
        options.run(options)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 (failed), 2 (bad input), 130 (interrupted), 141 (broken pipe)."""
    try:
        try:
            code = _run(sys.argv[1:] if arguments is None else arguments)
        except SystemExit as end:  # argparse, after --help or --version
            code = end.code if isinstance(end.code, int) else FAILED
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a broken pipe can be told from other trouble
    except KeyboardInterrupt:
        return _end(INTERRUPTED, "rotting: interrupted")
    except BrokenPipeError:
        # Standard output is closed: nothing more can go there, also not when the interpreter shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except UserError as error:
        return _end(REFUSED, f"rotting: error: {error}")
    except MemoryError as error:
        return _end(REFUSED, f"rotting: error: this takes more memory than there is: {error}")
    except OSError as error:
        return _end(FAILED, f"rotting: error: {error}")
    return code


def _end(code: int, message: str) -> int:
    print(" ".join(message.split()), file=sys.stderr)
    return code
