"""Durations such as "30min", and the clock that measures them."""

import math
import numbers
import re
import time
from collections.abc import Callable
from datetime import timedelta

from rotting.errors import InvalidTypeError, InvalidValueError

Duration = str | float | timedelta
"""A duration: "45s", "30min", "2h" or "1d", a `timedelta`, or a number of seconds."""

Clock = Callable[[], float]
"""Returns the time in seconds since 1970. It never goes back in the life of a process."""

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_TEXT = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_SECONDS)})")
_RULE = 'be a positive duration: "30min", "2h", "1d", a timedelta or seconds'
_START = time.time() - time.monotonic()


def seconds_in(field: str, duration: object) -> float:
    """Return a duration in seconds, or raise an error that names the field.

    Example:
        >>> [seconds_in("reward_window", each) for each in ("30min", "2h", timedelta(days=1), 45)]
        [1800.0, 7200.0, 86400.0, 45.0]
        >>> seconds_in("age", "?")
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: age must be a positive duration: "30min", "2h", "1d", a timedelta or seconds, got '?'
    """
    if isinstance(duration, str):
        match = _TEXT.fullmatch(duration.strip())
        seconds = float(match[1]) * _SECONDS[match[2]] if match else math.nan
    elif isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, numbers.Real) and not isinstance(duration, bool):
        seconds = float(duration)
    else:
        raise InvalidTypeError(field, _RULE, duration)
    if not 0.0 < seconds < math.inf:
        raise InvalidValueError(field, _RULE, duration)
    return seconds


def steady_clock() -> float:
    """Return the wall-clock time at the start of the process plus the time since then: a `Clock` that never jumps."""
    return _START + time.monotonic()
