"""Long work in small pieces, so that other threads do not wait for the interpreter meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

_WORK, _REST = 20e-6, 20e-6  # seconds
_BUSY_WORK, _BUSY_REST = 200e-6, 12e-3  # while other threads are busy
_BUSY = 0.2  # of the time
_LONG_WORK = 5_000  # what takes long is done in longer pieces: each at most this fraction of the time since it began


class Pauses:
    """Call it between small pieces of work: now and then it lets the other threads run.

    A thread that is asked for the interpreter gives it up after 5 ms, a thousand times what a decision takes. So one that works
    for long beside others stops by itself. To sleep for no time is not enough: it would be the first to wake up.

    Whenever this one comes back, a busy thread waits for the piece and for two switches, as long as ten decisions. So
    as long as others are busy, it comes back rarely: of a thousand decisions in a row, less than one waits.
    """

    def __init__(self, work: float = _WORK, rest: float = _REST) -> None:
        self._idle = self._work, self._rest = work, rest
        self._alone = threading.active_count() == 1
        self._start = self._began = time.perf_counter()
        self._others = _others()

    def __call__(self) -> None:
        """Let other threads run for a moment, if there are any and it is time."""
        if self._alone:
            return
        began = self._began
        if time.perf_counter() - began > self._work:
            time.sleep(self._rest)
            self._began, before, self._others = time.perf_counter(), self._others, _others()
            if self._others - before > _BUSY * (self._began - began):
                self._work, self._rest = max(_BUSY_WORK, (self._began - self._start) / _LONG_WORK), _BUSY_REST
            else:
                self._work, self._rest = self._idle


def _others() -> float:
    """Return for how many seconds the other threads have worked."""
    return time.process_time() - time.thread_time()


_FEW = 16  # items of a list that are written at once
_LONG = 16_384  # characters that are


def text_of(value: Any, pause: Callable[[], None], encode: Callable[[Any], str]) -> Iterator[str]:
    """Yield the JSON of a value, its dicts in the order of their names, in small pieces.

    Args:
        value: what JSON can carry.
        pause: called between the pieces.
        encode: writes a small piece.
    """
    if isinstance(value, dict):
        yield "{"
        if not all(isinstance(name, str) for name in value):
            raise TypeError("names must be strings")
        for number, name in enumerate(sorted(value)):
            yield f"{', ' if number else ''}{encode(name)}: "
            yield from text_of(value[name], pause, encode)
        yield "}"
    elif isinstance(value, list) and len(value) > _FEW:
        yield "["
        for start in range(0, len(value), _FEW):
            pause()
            yield (", " if start else "") + encode(value[start : start + _FEW])[1:-1]
        yield "]"
    elif isinstance(value, str) and len(value) > _LONG:
        yield '"'
        for start in range(0, len(value), _LONG):
            pause()
            yield encode(value[start : start + _LONG])[1:-1]
        yield '"'
    else:
        pause()
        yield encode(value)
