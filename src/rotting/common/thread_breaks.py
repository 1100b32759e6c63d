"""Long work in small pieces, with breaks in which other threads get the interpreter."""

import threading
import time
from collections.abc import Callable, Iterator

_WORK, _REST = 20e-6, 20e-6  # seconds of work, and of the break after it
_BUSY_WORK, _BUSY_REST = 200e-6, 12e-3  # the same while other threads are busy
_BUSY = 0.2  # other threads are busy if they work for more than this share of the time
_LONG_WORK = 5_000  # a piece of work may take 1/5,000 of the time since the start, so that long work does not take for ever


class ThreadBreaks:
    """Sleeps now and then when it is called between small pieces of work, so that other threads can run.

    Python lets a thread keep the interpreter for 5 ms while others wait, a thousand times as long as a decision takes. A thread
    that does long work therefore has to sleep. `sleep(0)` is not enough, since the same thread would be the first to wake up.

    Each time it wakes up, a busy thread waits for the piece of work and for two switches, as long as ten decisions take. So it
    wakes up rarely while other threads are busy: less than one of a thousand consecutive decisions has to wait.
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
    """Return the CPU time of the other threads, in seconds."""
    return time.process_time() - time.thread_time()


_ITEMS_AT_ONCE = 16  # items of a list that are encoded at a time
_CHARACTERS_AT_ONCE = 16_384  # characters of a text that are


def json_pieces(value: object, take_break: Callable[[], None], encode: Callable[[object], str]) -> Iterator[str]:
    """Yield the JSON of a value in small pieces; the keys of dicts are sorted.

    Args:
        value: JSON-able data.
        take_break: called between the pieces.
        encode: encodes a small value.
    """
    if isinstance(value, dict):
        yield "{"
        if not all(isinstance(name, str) for name in value):
            raise TypeError("names must be strings")
        for number, name in enumerate(sorted(value)):
            yield f"{', ' if number else ''}{encode(name)}: "
            yield from json_pieces(value[name], take_break, encode)
        yield "}"
    elif isinstance(value, list) and len(value) > _ITEMS_AT_ONCE:
        yield "["
        for start in range(0, len(value), _ITEMS_AT_ONCE):
            take_break()
            yield (", " if start else "") + encode(value[start : start + _ITEMS_AT_ONCE])[1:-1]
        yield "]"
    elif isinstance(value, str) and len(value) > _CHARACTERS_AT_ONCE:
        yield '"'
        for start in range(0, len(value), _CHARACTERS_AT_ONCE):
            take_break()
            yield encode(value[start : start + _CHARACTERS_AT_ONCE])[1:-1]
        yield '"'
    else:
        take_break()
        yield encode(value)
