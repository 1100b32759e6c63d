"""Batteries that wear out with use: a rested problem of four lithium-ion cells.

Data: B. Saha, K. Goebel. Battery data set. NASA Ames Prognostics Center of Excellence, 2007.
"""

import csv
from pathlib import Path

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.rules import positive
from rotting.errors import InvalidValueError, MissingExtraError
from rotting.paper.datasets.files import Source, data_folder, read_text
from rotting.problems import Piecewise, Problem
from rotting.problems.noise import Gaussian

FOLDER = "nasa-battery"
SOURCE = Source(
    f"{FOLDER}/capacity_by_discharge.csv",
    "NASA's Prognostics data repository: B0005.mat, B0006.mat, B0007.mat and B0018.mat of the Li-ion battery aging data set "
    "(https://www.nasa.gov/intelligent-systems-division/discovery-and-systems-health/pcoe/pcoe-data-set-repository/)",
    "c49fc13780e6b679519158595ed17e654964279f593ab7e1e1e43af0ed994979",
)
COLUMNS = ["battery", "discharge_no", "capacity_ah"]
NAMES = ("B0005", "B0006", "B0007", "B0018")
NORMAL_MAD = 1.4826  # the standard deviation of a normal variable over its median absolute deviation


def batteries(sigma: float | None = None) -> Problem:
    """Return the rested problem of choosing which of four batteries to discharge.

    A pull discharges a battery once, and pays the capacity that it delivered, in ampere-hours. The capacities fall from about
    1.9 to 1.3, at different speeds, and cross. After some days of rest a battery recovers by up to 0.15 for a while: these
    rises are in the means.

    - Horizon: the largest number of rounds for which always taking the best battery stays within the record. A battery that
      is pulled more often keeps its last value.
    - Noise: Gaussian. By default sigma is the scatter of the record from one discharge to the next, about 0.005 Ah, so that the
      rewards are nearly exact; a larger sigma makes the same batteries a harder game.

    NASA distributes a MATLAB file per battery, `B0005.mat` and so on. If they are in the folder `nasa-battery`, the capacity of
    each cycle of type `discharge` is read from them, which needs the extra `rotting[datasets]`. Without them the same numbers
    are read from a table, `capacity_by_discharge.csv` with the columns `battery`, `discharge_no` (1, 2, ...) and `capacity_ah`.

    Args:
        sigma: the standard deviation of a reward, in Ah; None for that of the record.

    Example:
        >>> problem = batteries()  # doctest: +SKIP
        >>> problem.kind, problem.n_arms  # doctest: +SKIP
        ('rested', 4)
    """
    scale = None if sigma is None else positive("sigma", sigma)
    originals = {name: data_folder() / FOLDER / f"{name}.mat" for name in NAMES}
    if all(path.is_file() for path in originals.values()):
        capacities = {name: capacities_of(path) for name, path in originals.items()}
    else:
        capacities = capacity_tables(read_text(SOURCE))
    tables = [capacities[name] for name in NAMES]
    decays = [Piecewise(table, np.arange(len(table))) for table in tables]
    return Problem.rested(decays, Gaussian(scatter(tables) if scale is None else scale), greedy_rounds(tables), "batteries")


def capacities_of(path: Path) -> Floats:
    """Return the capacity at every discharge, from the MATLAB file of a battery."""
    try:
        from scipy.io import loadmat  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("NASA's MATLAB files need SciPy: pip install 'rotting[datasets]'") from error
    try:
        cycles = loadmat(path, simplify_cells=True)[path.stem]["cycle"]
        capacities = [float(cycle["data"]["Capacity"]) for cycle in cycles if cycle["type"] == "discharge"]
    except (KeyError, TypeError, ValueError) as error:
        rule = f"hold {path.stem}.cycle with type and data.Capacity, as NASA's does"
        raise InvalidValueError(path.name, rule, path, hint=f": {error}") from error
    if len(capacities) < 2 or not all(0 < each < np.inf for each in capacities):
        raise InvalidValueError(path.name, "hold two discharges or more, each with a capacity above 0", capacities[:5])
    return np.array(capacities)


def capacity_tables(text: str) -> dict[str, Floats]:
    """Return the capacity at every discharge of each battery, from the text of the file."""
    header, *rows = csv.reader(text.splitlines()) if text else [[]]
    if header != COLUMNS:
        raise InvalidValueError(SOURCE.path, f"have the columns {', '.join(COLUMNS)}", ", ".join(header)[:60])
    tables: dict[str, list[float]] = {name: [] for name in NAMES}
    for line, row in enumerate(rows, start=2):
        try:
            name, number, capacity = row
            is_valid = int(number) == len(tables[name]) + 1 and 0 < float(capacity) < np.inf
        except (KeyError, ValueError):
            is_valid = False
        if not is_valid:
            rule = f"a battery of {', '.join(NAMES)}, its next discharge and a capacity"
            raise InvalidValueError(SOURCE.path, f"have {rule} on each line", ",".join(row), hint=f" on line {line}")
        tables[name].append(float(capacity))
    for name, table in tables.items():
        if len(table) < 2:
            raise InvalidValueError(SOURCE.path, f"hold two discharges or more of {name}", len(table))
    return {name: np.array(table) for name, table in tables.items()}


def scatter(tables: list[Floats]) -> float:
    """Return the scatter of a value about the trend, from the median absolute change, on which rests have no influence.

    Example:
        >>> scatter([np.array([1.0, 0.5, 0.0, -0.25, -0.75, -1.25])]) == 0.0
        True
    """
    changes = [np.diff(table) - np.median(np.diff(table)) for table in tables]
    # A change is the difference of two values: its variance is twice theirs.
    return float(NORMAL_MAD * np.median(np.abs(np.concatenate(changes))) / np.sqrt(2.0))


def greedy_rounds(tables: list[Floats]) -> int:
    """Return the number of rounds after which taking the best would need a value beyond the end of a table.

    Example:
        >>> greedy_rounds([np.array([3.0, 1.0]), np.array([2.0, 0.5, 0.0])])
        3
    """
    pulls = [0] * len(tables)
    while True:
        best = int(np.argmax([table[min(n, len(table) - 1)] for table, n in zip(tables, pulls, strict=True)]))
        if pulls[best] == len(tables[best]):
            return sum(pulls)
        pulls[best] += 1
