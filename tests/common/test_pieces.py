"""Tests of work in small pieces."""

import json
import threading
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rotting.common import pieces
from rotting.common.pieces import Pauses, text_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda each: st.lists(each, max_size=40) | st.dictionaries(st.text(), each),
)


def encode(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(VALUES, st.text(min_size=1).map(lambda text: text * 20_000), st.lists(st.integers(), min_size=100, max_size=200))
def test_the_pieces_of_a_text_are_the_text(value: Any, long: str, many: list[int]) -> None:
    for each in (value, [value, long], {"value": value, "long": long, "many": many}):
        found = list(text_of(each, lambda: None, encode))
        assert "".join(found) == encode(each)
    assert max(map(len, text_of(long, lambda: None, encode))) <= 12 * pieces._LONG


def test_only_who_is_not_alone_pauses(monkeypatch: Any) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(time, "perf_counter", iter(range(100)).__next__)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    Pauses()()
    assert not slept
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    Pauses()()
    assert slept == [Pauses._REST]
