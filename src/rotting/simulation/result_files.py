"""The files of a saved result: `result.json` with settings and checksums, and `arrays.npz`.

A saved study has its settings in the same format, in `study.json`.
"""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from rotting import registry
from rotting.common.arrays import AnyArray
from rotting.common.atomic_files import new_folder
from rotting.common.json_types import JsonDict
from rotting.common.version import __version__
from rotting.errors import InvalidValueError, PathMissingError
from rotting.problems import Problem, delays
from rotting.problems.mean_table import Means
from rotting.problems.noise import from_json, known_kinds
from rotting.simulation.result_arrays import ARRAYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotting.simulation.result import Result

FORMAT_VERSION = 1
SETTINGS_FILE = "result.json"
ARRAYS_FILE = "arrays.npz"
_MEANS = "means_"  # before the names of the arrays of the problem's table


def format_of(what: str) -> JsonDict:
    """Return the entries that name the format of a saved "result" or "study"."""
    return {"format": f"rotting-{what}", "format_version": FORMAT_VERSION}


def not_saved(what: str, path: Path, why: str) -> InvalidValueError:
    """Return the error for a path that is not a saved "result" or "study"."""
    return InvalidValueError("path", f"be a saved {what}", path, hint=f", which {why}")


def read_settings(what: str, path: Path) -> JsonDict:
    """Return the content of `result.json` or `study.json` in a folder, after a check of its format."""
    if not path.exists():
        raise PathMissingError(f"path must be a saved {what}, but '{path}' does not exist")
    file = path / f"{what}.json"
    try:
        settings = json.loads(file.read_text("utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise not_saved(what, file, f"cannot be read: {error}") from error
    except ValueError as error:
        raise not_saved(what, file, f"is truncated or edited: {error}") from error
    expected = format_of(what)
    if not isinstance(settings, dict) or settings.get("format") != expected["format"]:
        raise not_saved(what, file, f"is of another format than {expected['format']!r}")
    version = settings.get("format_version")
    if version != FORMAT_VERSION:
        raise not_saved(what, path, f"has format version {version!r}, but this rotting reads {FORMAT_VERSION}")
    return settings


def settings_of(result: "Result") -> JsonDict:
    """Return everything but the policies and the arrays, as JSON-able data."""
    names = ("problem", "horizon", "runs", "seed", "reference", *(["first_run"] if result.first_run else []))
    return {"rotting": __version__, **{name: getattr(result, name) for name in names}}


def write_result(result: "Result", path: str | Path) -> None:
    """Write a new folder, which appears complete or not at all."""
    arrays: dict[str, Any] = {name: getattr(result, name) for name in (*ARRAYS, *result.recorded)}
    if result.played is not None and result.played.is_plain:
        arrays |= {f"{_MEANS}{name}": array for name, array in result.played.means(result.horizon)._asdict().items()}
    with new_folder(path) as partial:
        with (partial / ARRAYS_FILE).open("wb") as file:
            np.savez(file, **arrays)
            _to_disk(file)
        written = {
            **format_of("result"),
            **settings_of(result),
            "policies": [policy.to_json() for policy in result.policies],
            "arrays_sha256": _file_digest(partial / ARRAYS_FILE),
        }
        written["settings_sha256"] = _settings_digest(written)
        with (partial / SETTINGS_FILE).open("w", encoding="utf-8") as text:
            json.dump(written, text, indent=2, allow_nan=False)
            text.write("\n")
            _to_disk(text)


def read_result(path: Path, make: "Callable[..., Result]") -> "Result":
    """Return a saved result.

    Args:
        path: the folder.
        make: makes the result from its fields by name; its errors mean that a file was edited.
    """
    for name in (SETTINGS_FILE, ARRAYS_FILE):
        if path.exists() and not (path / name).is_file():
            raise not_saved("result", path, f"has no {name}")
    settings = read_settings("result", path)
    if settings.pop("settings_sha256", None) != _settings_digest(settings):
        raise not_saved("result", path / SETTINGS_FILE, "is truncated or edited: its checksum differs")
    if settings["arrays_sha256"] != _file_digest(path / ARRAYS_FILE):
        raise not_saved("result", path / ARRAYS_FILE, "is truncated or edited: its checksum differs")
    try:
        with np.load(path / ARRAYS_FILE, allow_pickle=False) as file:
            arrays = {name: file[name] for name in [*ARRAYS, *({"arms", "rewards"} & {*file.files})]}
            tables = {name: file[f"{_MEANS}{name}"] for name in Means._fields if f"{_MEANS}{name}" in file.files}
        return make(
            policies=tuple(map(registry.from_json, settings["policies"])),
            **{name: settings[name] for name in ("problem", "horizon", "runs", "seed", "reference")},
            first_run=settings.get("first_run", 0),
            **arrays,
            played=_restored(settings["problem"], settings["horizon"], tables),
        )
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise not_saved("result", path, f"cannot be read: {error}") from error


def _restored(description: JsonDict, horizon: int, tables: dict[str, AnyArray]) -> Problem | None:
    """Return the problem with the saved means; None if they were not saved, or if the class of the noise is not known."""
    if not tables or description["noise"]["noise"] not in known_kinds():
        return None
    for array in tables.values():
        array.setflags(write=False)
    problem = Problem.from_means(Means(**tables), horizon, from_json(description["noise"]), description["name"])
    return problem.delayed(delays.from_json(description["delay"])) if "delay" in description else problem


def _settings_digest(settings: JsonDict) -> str:
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_disk(file: IO[bytes] | IO[str]) -> None:
    """Wait until the content of a file is on disk, before the folder is renamed."""
    file.flush()
    os.fsync(file.fileno())


def _refuse(constant: str) -> NoReturn:
    raise InvalidValueError("numbers", "be finite", float(constant), got=constant)
