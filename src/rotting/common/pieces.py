"""Long work in small pieces, so that other threads do not wait for the interpreter meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any


class Pauses:
    """Call it between small pieces of work: now and then it lets the other threads run.

    A thread that is asked for the interpreter gives it up after 5 ms, a thousand times what a decision takes. So one that works
    for long beside others stops by itself. To sleep for no time is not enough: it would be the first to wake up.
    """

    _WORK, _REST = 20e-6, 20e-6  # seconds

    def __init__(self) -> None:
        self._alone, self._began = threading.active_count() == 1, time.perf_counter()

    def __call__(self) -> None:
        """Stop for a moment, if there are others and it is time."""
        if not self._alone and time.perf_counter() - self._began > self._WORK:
            time.sleep(self._REST)
            self._began = time.perf_counter()


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
