"""Versions, as the report names them."""

import numpy as np

from rotting import report


def test_versions() -> None:
    assert report.versions()["NumPy"] == np.__version__
