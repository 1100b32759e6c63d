"""Small data files for tests, and a mark for tests that need the real ones."""

import pytest

from rotting.paper.datasets import data_folder, files


def requires_data_file(source: files.Source) -> pytest.MarkDecorator:
    path = data_folder() / source.path
    return pytest.mark.skipif(not path.is_file(), reason=f"{source.path} is not in ROTTING_DATA")


def capacity_text() -> str:
    """Return the CSV file of four batteries whose capacities start at `LEVELS` and fall by 0.1 per discharge."""
    rows = [(name, n, f"{level - 0.1 * (n - 1):.1f}") for name, level in LEVELS.items() for n in range(1, 6)]
    return "battery,discharge_no,capacity_ah\n" + "".join("{},{},{}\n".format(*row) for row in rows)


LEVELS = {"B0005": 1.8, "B0006": 2.0, "B0007": 1.9, "B0018": 1.8}
