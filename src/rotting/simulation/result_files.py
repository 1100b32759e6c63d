"""The files of a saved result: `result.json` with settings and checksums, and `arrays.npz`."""

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from rotting import registry
from rotting.common.atomic_files import new_folder
from rotting.errors import InvalidValueError, PathMissingError
from rotting.problems import Problem, delays
from rotting.problems.mean_table import Means
from rotting.problems.noise import from_json, known_kinds
from rotting.simulation.result_arrays import ARRAYS

FORMAT = "rotting-result"
FORMAT_VERSION = 1
SETTINGS_FILE = "result.json"
ARRAYS_FILE = "arrays.npz"
_MEANS = "means_"  # before the name of each array of the problem's table

Made = TypeVar("Made")


def write_result(path: str | Path, settings: Mapping[str, Any], arrays: Mapping[str, Any], means: Means | None) -> None:
    """Write a new folder; it appears complete or not at all.

    Args:
        path: the folder; it must not exist.
        settings: everything but the arrays, as JSON-able data.
        arrays: by their names.
        means: the table of the problem; None if it has none.
    """
    with new_folder(path) as partial:
        with (partial / ARRAYS_FILE).open("wb") as file:
            tables: dict[str, Any] = {f"{_MEANS}{name}": array for name, array in means._asdict().items()} if means else {}
            np.savez(file, **arrays, **tables)
            _to_disk(file.fileno(), file.flush)
        written = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            **settings,
            "arrays_sha256": _file_digest(partial / ARRAYS_FILE),
        }
        written["settings_sha256"] = _settings_digest(written)
        with (partial / SETTINGS_FILE).open("w", encoding="utf-8") as text:
            json.dump(written, text, indent=2, allow_nan=False)
            text.write("\n")
            _to_disk(text.fileno(), text.flush)


def read_result(path: Path, make: Callable[..., Made]) -> Made:
    """Return what `make` makes of the fields of a saved result.

    Args:
        path: the folder.
        make: called with the fields by name; its errors are those of a file that was edited.
    """
    if not path.exists():
        raise PathMissingError(f"path must be a saved result, but '{path}' does not exist")
    for name in (SETTINGS_FILE, ARRAYS_FILE):
        if not (path / name).is_file():
            raise InvalidValueError("path", "be a saved result", path, hint=f", which has no {name}")
    try:
        settings = json.loads((path / SETTINGS_FILE).read_text("utf-8"), parse_constant=_refuse)
    except ValueError as error:
        raise _not_a_result(path / SETTINGS_FILE, f"is truncated or edited: {error}") from error
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        raise _not_a_result(path / SETTINGS_FILE, f"is of another format than {FORMAT!r}")
    version = settings.get("format_version")
    if version != FORMAT_VERSION:
        raise _not_a_result(path, f"has format version {version!r}, but this rotting reads {FORMAT_VERSION}")
    if settings.pop("settings_sha256", None) != _settings_digest(settings):
        raise _not_a_result(path / SETTINGS_FILE, "is truncated or edited: its checksum differs")
    if settings["arrays_sha256"] != _file_digest(path / ARRAYS_FILE):
        raise _not_a_result(path / ARRAYS_FILE, "is truncated or edited: its checksum differs")
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
        raise _not_a_result(path, f"cannot be read: {error}") from error


def _not_a_result(path: Path, why: str) -> InvalidValueError:
    return InvalidValueError("path", "be a saved result", path, hint=f", which {why}")


def _restored(description: dict[str, Any], horizon: int, tables: dict[str, NDArray[Any]]) -> Problem | None:
    """Return the problem of saved means; None where they were not saved, or the noise is not known here."""
    if not tables or description["noise"]["noise"] not in known_kinds():
        return None
    for array in tables.values():
        array.setflags(write=False)
    problem = Problem.from_means(Means(**tables), horizon, from_json(description["noise"]), description["name"])
    return problem.delayed(delays.from_json(description["delay"])) if "delay" in description else problem


def _settings_digest(settings: dict[str, Any]) -> str:
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_disk(descriptor: int, flush: Callable[[], None]) -> None:
    """Wait until a file's content is on disk: the rename must not come first."""
    flush()
    os.fsync(descriptor)


def _refuse(constant: str) -> NoReturn:
    raise InvalidValueError("numbers", "be finite", float(constant), got=constant)
