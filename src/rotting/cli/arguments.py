"""What the commands share: parsers whose errors are one line, the policies and places that users write, and output."""

import argparse
import inspect
import itertools
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rotting.common.rules import suggest
from rotting.errors import (
    EngineError,
    InvalidValueError,
    MissingExtraError,
    NotAStoreError,
    PathMissingError,
    StoreBusyError,
    StoreFormatError,
    StoreReadOnlyError,
)

if TYPE_CHECKING:
    from rotting.policy import Policy
    from rotting.problems import Problem
    from rotting.problems.noise import Noise
    from rotting.simulation.simulate import AnyEngine


SYNTAX = "NAME:key=value,key=value"


class UserError(Exception):
    """Bad input; the message says in one line what is wrong."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise a `UserError`, without the usage that argparse prints."""
        raise UserError(f"{message} (see {self.prog} --help)")


def help_formatter(prog: str) -> argparse.HelpFormatter:
    """Return a help formatter that keeps the line breaks of descriptions."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28)


class Commands:
    """The subcommands of a parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def add(self, name: str, run: Callable[[argparse.Namespace], None], about: str, more: str = "") -> argparse.ArgumentParser:
        """Add a command that calls `run`, and return its parser; its help shows `about` and `more`."""
        description = textwrap.fill(f"{about}. {more}".strip(), 79)
        added = self._commands.add_parser(
            name, help=about, description=description, formatter_class=help_formatter, allow_abbrev=False
        )
        added.set_defaults(run=run)
        return added

    @property
    def names(self) -> list[str]:
        """The commands added so far."""
        return list(self._commands.choices)


@contextmanager
def user_errors(where: str = "") -> Iterator[None]:
    """Turn the library's errors about an argument into a `UserError`; its message begins with `where`."""
    try:
        yield
    except (TypeError, ValueError, FileExistsError, EngineError, MissingExtraError) as error:
        raise UserError(f"{where}{error}") from error


@contextmanager
def user_errors_of_store() -> Iterator[None]:
    """Turn errors about a file that cannot be used as a store into a `UserError`, but not damage or failed writes."""
    try:
        with user_errors():
            yield
    except (NotAStoreError, PathMissingError, StoreBusyError, StoreFormatError, StoreReadOnlyError) as error:
        raise UserError(str(error)) from error


def parse_value(text: str) -> Any:
    """Return `text` as a number if it is one, otherwise unchanged; the library checks that its type is right."""
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


def read_policies(texts: Iterable[str]) -> "list[Policy]":
    """Return the policies written as `name:key=value`; `key=low..high/count` stands for `count` policies."""
    policies: list[Policy] = []
    for text in texts:
        name, given = _split("policy", text)
        ranges = {key: _range(f"policy {text!r}: ", key, value) for key, value in given.items() if ".." in value}
        grid = itertools.product(*ranges.values())
        policies += [_make_policy(text, name, given | dict(zip(ranges, values, strict=True))) for values in grid]
    return policies


def _range(where: str, key: str, text: str) -> list[str]:
    """Return the numbers of `low..high/count`, evenly spaced and including both ends."""
    ends, slash, count = text.partition("/")
    low, high, steps = (parse_value(each) for each in (*ends.split("..", 1), count))
    if not slash or isinstance(low, str) or isinstance(high, str) or not isinstance(steps, int):
        raise UserError(f"{where}{key} must be a value or low..high/count, got {text!r}")
    if steps < 2:
        raise UserError(f"{where}{key} must have a count of 2 or more in low..high/count, got {steps}")
    return [repr(round(low + (high - low) * k / (steps - 1), 12)) for k in range(steps)]


def read_policy(text: str) -> "Policy":
    """Return the policy written as `name:key=value`."""
    return _make_policy(text, *_split("policy", text))


def _make_policy(text: str, name: str, given: dict[str, str]) -> "Policy":
    from rotting import registry

    with user_errors():
        policy_class = registry.find(name)
    where = f"policy {text!r}: "
    _check_keys(where, name, given, [each.name for each in policy_class.parameters()])
    with user_errors(where):
        return policy_class(**{key: parse_value(value) for key, value in given.items()})


def read_problem(text: str, horizon: str | None) -> "Problem":
    """Return the problem written as `name:key=value`; `horizon` is used if the text sets none."""
    from rotting import problems

    name, given = _split("problem", text)
    presets = problems.list()
    if name not in presets:
        raise UserError(f"problem must be one of {', '.join(presets)}, got {name!r}{suggest(name, presets)}")
    arguments = inspect.signature(presets[name]).parameters
    where = f"problem {text!r}: "
    _check_keys(where, name, given, list(arguments))
    if horizon is not None and "horizon" in arguments:
        given.setdefault("horizon", horizon)
    with user_errors(where):
        return problems.make(name, **{key: _argument(arguments[key].annotation, value) for key, value in given.items()})


def _argument(kind: object, text: str) -> object:
    """Return one argument of a problem: a number, a word, a list `0.5/0.25` or a noise `gaussian/0.5`."""
    from rotting.problems.noise import Noise

    if kind is Noise:
        return _noise(text)
    if getattr(kind, "__origin__", None) is Sequence:
        return [parse_value(part) for part in text.split("/")]
    return parse_value(text)


def known_noises() -> dict[str, "type[Noise]"]:
    """Return the noises by their names on the command line."""
    from rotting.problems.noise import known_kinds

    return {name.lower(): kind for name, kind in known_kinds().items()}


def _noise(text: str) -> "Noise":
    name, *rest = text.split("/")
    known = known_noises()
    if name not in known:
        raise InvalidValueError("noise", f"be one of {', '.join(known)}", name, hint=suggest(name, known))
    signature = inspect.signature(known[name])
    try:
        values = signature.bind(*map(parse_value, rest)).args
    except TypeError:
        raise InvalidValueError("noise", f"be written {'/'.join([name, *signature.parameters])}", text) from None
    return known[name](*values)


def add_policy_option(parser: argparse.ArgumentParser, more: str, required: bool = False) -> None:
    """Add the option that takes policies."""
    about = f"one or several, written {SYNTAX}; {more}"
    parser.add_argument("--policy", required=required, action="extend", nargs="+", metavar="POLICY", help=about)


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the engine."""
    parser.add_argument("--workers", metavar="N", help="number of threads; default: all CPUs. Does not change the result")
    parser.add_argument(
        "--engine",
        default="threads",
        metavar="NAME",
        help="threads (the default), cuda, dask, or auto: the GPU for large simulations. Does not change the result",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="Dask scheduler to use with --engine dask; default: a cluster on this machine"
    )
    parser.add_argument("--timeout", default="30", metavar="SECONDS", help="how long to wait for the scheduler; default: 30")


def add_compile_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says when to compile."""
    parser.add_argument(
        "--compile",
        default="auto",
        metavar="WHEN",
        help="auto (the default): interpret what ends within seconds, compile the rest; now: compile; never: only interpret",
    )


def read_workers(options: argparse.Namespace) -> int | None:
    """Return the number of workers, or None if the option is not given."""
    from rotting.common.rules import positive_int

    if options.workers is None:
        return None
    with user_errors():
        return positive_int("workers", parse_value(options.workers))


@contextmanager
def read_engine(options: argparse.Namespace) -> "Iterator[AnyEngine]":
    """Yield the engine for `simulate`, or raise a `UserError` before any work starts if it cannot be used."""
    if options.scheduler is not None and options.engine != "dask":
        raise UserError(f"scheduler must be given with --engine dask, got --engine {options.engine}")
    from rotting.common.rules import positive
    from rotting.simulation.simulate import default_workers, simulate_all

    with user_errors():
        timeout = positive("timeout", parse_value(options.timeout))
    if options.engine != "dask":
        with user_errors():
            simulate_all([], progress=False, engine=options.engine)  # no games: only checks that the engine can be used
        yield options.engine
        return
    workers = read_workers(options)
    with user_errors():
        from rotting.simulation.engines.dask import connect

        engine = connect(options.scheduler, timeout, default_workers() if workers is None else workers)
    with closing(engine):
        yield engine


def new_path(option: str, text: str) -> Path:
    """Return a path that does not exist yet and can be written to. This is checked before the work starts."""
    path = Path(text)
    if os.path.lexists(path):
        raise UserError(f"{option} must be new, but '{path}' exists")
    parent = next(each for each in path.absolute().parents if each.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UserError(f"{option} must be in a folder that can be written to, but '{parent}' cannot be")
    return path


def new_picture_path(option: str, text: str) -> Path:
    """Return a new path whose suffix is a picture format that Matplotlib can draw."""
    path = new_path(option, text)
    from rotting.common.display.plots import check_suffix

    with user_errors():
        check_suffix(option, path)
    return path


def json_text(data: object) -> str:
    """Return strict JSON: a NaN is refused."""
    import json  # few commands need it, and `--help` none

    return json.dumps(data, indent=2, allow_nan=False)


def say(message: str) -> None:
    """Print a message on standard error, so that standard output holds only the result."""
    print(message, file=sys.stderr, flush=True)
