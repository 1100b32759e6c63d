"""Data that JSON can represent, and the number that it cannot, to name it in an error."""

import math
from typing import Any, NamedTuple

JsonDict = dict[str, Any]
"""An object of JSON: texts, numbers, lists and further objects by name."""


class Nonfinite(NamedTuple):
    """A NaN or an infinite number."""

    place: str
    """The path to it, such as `params.alpha`; empty if it is the data itself."""
    number: float


def find_nonfinite(data: object) -> Nonfinite | None:
    """Return the first NaN or infinite number in nested dicts, lists and tuples; None if there is none.

    Raises:
        RecursionError: the data contain themselves.

    Example:
        >>> find_nonfinite({"count": 2, "params": {"alpha": float("inf")}})
        Nonfinite(place='params.alpha', number=inf)
        >>> find_nonfinite([{"reward": 1.0}, {"reward": float("nan")}])
        Nonfinite(place='[1].reward', number=nan)
    """
    if isinstance(data, float) and not math.isfinite(data):
        return Nonfinite("", data)
    if isinstance(data, dict):
        steps = [(str(name), value) for name, value in data.items()]
    elif isinstance(data, list | tuple):
        steps = [(f"[{k}]", value) for k, value in enumerate(data)]
    else:
        return None
    for step, value in steps:
        found = find_nonfinite(value)
        if found is not None:
            dot = "." if found.place and not found.place.startswith("[") else ""
            return Nonfinite(f"{step}{dot}{found.place}", found.number)
    return None
