"""One file, one experiment of a paper: settings as data, `run`, `table`, `plot`.

A module `my_figure.py` here defines `EXPERIMENT = Experiment("my-figure", ...)` and is found by that id.
"""

import importlib
import itertools
import json
import os
import pkgutil
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotting.results import Result
from rotting.rules import PathExistsError, suggest
from rotting.tables import Table
from rotting.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = dict[str, Result]
"""The results of an experiment, by a name that a folder can have."""


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Args:
        id: its stable name, that of its module with hyphens.
        title: what it is, in a few words.
        reference: where it is published.
        sizes: settings (a dataclass that JSON can carry) under "quick" and "full".
        run: `run(settings, workers, progress) -> results`.
        table: `table(settings, results)`, for people.
        plot: `plot(settings, results)`, a Matplotlib figure.
    """

    id: str
    title: str
    reference: str
    sizes: Mapping[str, Any]
    run: Callable[[Any, int | None, bool | None], Results]
    table: Callable[[Any, Results], Table]
    plot: Callable[[Any, Results], "Figure"]


def list_experiments() -> list[str]:
    """Return the ids of all experiments.

    Example:
        >>> "rested-two-arms" in list_experiments()
        True
    """
    return sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__))


def check_id(name: str) -> str:
    """Return `name` when an experiment has it, or say which one was meant."""
    known = list_experiments()
    if name not in known:
        raise ValueError(f"experiment must be one of {', '.join(known)}, got {name!r}{suggest(name, known)}")
    return name


def find(name: str) -> Experiment:
    """Return the experiment called `name`.

    Example:
        >>> find("rested-two-arms").sizes["full"].horizon
        10000
    """
    module = importlib.import_module(f"{__name__}.{check_id(name).replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment


def free_name(path: Path) -> Path:
    """Return `path` if nothing has that name, else the first free one of `path-2`, `path-3`, ..."""
    names = itertools.chain([path], (path.with_name(f"{path.name}-{n}") for n in itertools.count(2)))
    return next(name for name in names if not os.path.lexists(name))


def write(experiment: Experiment, settings: Any, results: Results, path: Path, numbered: bool = False) -> Path:
    """Write a new folder with `settings.json`, `table.md`, `figure.png` and every result; return where it is.

    The folder appears whole or not at all, and never in the place of another.

    Args:
        experiment: what was run.
        settings: with what.
        results: what came out.
        path: the folder.
        numbered: take the next free name when something has that name, instead of refusing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    partial.mkdir()
    try:
        about = {"experiment": experiment.id, "reference": experiment.reference, "rotting": __version__, **asdict(settings)}
        (partial / "settings.json").write_text(json.dumps(about, indent=2, allow_nan=False) + "\n", "utf-8")
        (partial / "table.md").write_text(experiment.table(settings, results).to_markdown() + "\n", "utf-8")
        for name, result in results.items():
            result.save(partial / "results" / name)
        experiment.plot(settings, results).savefig(partial / "figure.png", dpi=160)
        target = free_name(path) if numbered else path
        if os.path.lexists(target):  # a rename would replace an empty folder without a word
            raise PathExistsError(f"path must be a new folder, but '{target}' exists")
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target
