"""Arms without rewards go first."""

from typing import Any

from rotting.common.arrays import Ints


def pulled(s: Any, i: int) -> bool:
    """Return whether arm i has a reward, by the state's `pulls`; bind another function for a state that counts elsewhere."""
    return bool(s.pulls[i] > 0)


def first_new(s: object, arms: Ints) -> int:
    """Return the lowest of `arms` without a reward, or -1."""
    for i in arms:
        if not pulled(s, i):
            return int(i)
    return -1
