"""Tests of work in small pieces."""

import json
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common import thread_breaks
from rotting.common.thread_breaks import ThreadBreaks, json_pieces

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda each: st.lists(each, max_size=40) | st.dictionaries(st.text(), each),
)


def encode(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(VALUES, st.text(min_size=1).map(lambda text: text * 20_000), st.lists(st.integers(), min_size=100, max_size=200))
def test_the_pieces_of_a_text_are_the_text(value: Any, long: str, many: list[int]) -> None:
    for each in (value, [value, long], {"value": value, "long": long, "many": many}):
        found = list(json_pieces(each, lambda: None, encode))
        assert "".join(found) == encode(each)
    assert max(map(len, json_pieces(long, lambda: None, encode))) <= 12 * thread_breaks._CHARACTERS_AT_ONCE


class Clock:
    """The time, and how much of it other threads work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, threads: int = 2) -> None:
        self.now, self.others, self.share = 0.0, 0.0, 0.0
        self.slept: list[float] = []
        monkeypatch.setattr(threading, "active_count", lambda: threads)
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(time, "process_time", lambda: self.now + self.others)
        monkeypatch.setattr(time, "thread_time", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.others += self.share * seconds


def test_a_thread_that_is_alone_takes_no_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, threads=1)
    take_break = ThreadBreaks()
    clock.pass_by(1.0)
    take_break()
    assert not clock.slept


def test_breaks_come_after_work(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    take_break = ThreadBreaks(work=0.5, rest=0.25)
    clock.pass_by(0.4)
    take_break()
    assert not clock.slept
    clock.pass_by(0.2)
    take_break()
    assert clock.slept == [0.25]
    clock.pass_by(0.4)  # since the break
    take_break()
    assert clock.slept == [0.25]


def test_a_thread_beside_busy_threads_wakes_up_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another thread decides all the time, fewer than one of a thousand decisions is made to wait."""
    clock = Clock(monkeypatch)
    take_break, began, decision = ThreadBreaks(), clock.now, 6e-6
    clock.share = 1.0
    for _ in range(200_000):  # a second of work
        clock.pass_by(5e-6)
        take_break()
    assert clock.now - began < 15.0  # longer pieces, where it takes long
    assert len(clock.slept) < (clock.now - began) / decision / 1_000
    clock.share = 0.0
    for _ in range(10_000):
        clock.pass_by(5e-6)
        take_break()
    assert clock.slept[-1] == thread_breaks._REST  # nobody is busy any more
