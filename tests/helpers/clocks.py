"""A clock that tests set by hand."""

from dataclasses import dataclass


@dataclass
class HandClock:
    """Returns the time that it was set to."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now
