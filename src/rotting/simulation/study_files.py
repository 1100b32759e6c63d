"""The files of a saved study: `study.json` with the parameters of the problems, and a folder for each result."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rotting.common.atomic_files import new_folder
from rotting.simulation.result import Result
from rotting.simulation.result_files import check_exists, check_format, format_of, not_saved
from rotting.simulation.study_parameters import Value

STUDY_FILE = "study.json"

Parameters = Mapping[str, Sequence[Value]]
"""The values of each parameter of the problems, one for each result."""


def write_study(parameters: Parameters, results: Sequence[Result], path: str | Path) -> None:
    """Write a new folder, which appears complete or not at all."""
    with new_folder(path) as partial:
        for k, result in enumerate(results):
            result.save(partial / str(k))
        about = {**format_of("study"), "parameters": parameters}
        (partial / STUDY_FILE).write_text(json.dumps(about, indent=2, allow_nan=False) + "\n", "utf-8")


def read_study(path: Path) -> tuple[Parameters, list[Result]]:
    """Return the parameters and the results of a saved study."""
    check_exists("study", path)
    file = path / STUDY_FILE
    try:
        about = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise not_saved("study", file, f"cannot be read: {error}") from error
    check_format("study", file, about)
    parameters = about.get("parameters")
    listed = isinstance(parameters, dict) and all(isinstance(each, list) for each in parameters.values())
    if not parameters or not listed:
        raise not_saved("study", file, "is edited: its parameters are not lists of values")
    count = len(next(iter(parameters.values())))
    return parameters, [Result.load(path / str(k)) for k in range(count)]
