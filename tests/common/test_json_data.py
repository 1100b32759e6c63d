"""The first number that JSON cannot represent is found, with its place."""

import math
from typing import Any

import pytest

from rotting.common.json_data import find_nonfinite


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (math.nan, ""),
        ({"missing": math.inf}, "missing"),
        ({"prior": (-math.inf, 3)}, "prior[0]"),
        ([1.0, [2.0, math.nan]], "[1][1]"),
        ({"a": [{"b": 1.0}, {"b": {"c": math.nan}}], "z": math.inf}, "a[1].b.c"),
    ],
)
def test_the_first_one_is_found(data: Any, place: str) -> None:
    found = find_nonfinite(data)
    assert found is not None
    assert found.place == place
    assert not math.isfinite(found.number)


@pytest.mark.parametrize("data", [None, 1, 1.5, "nan", [], {}, [{"a": (1.0, "b")}]])
def test_there_is_none(data: Any) -> None:
    assert find_nonfinite(data) is None
