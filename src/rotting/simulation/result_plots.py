"""The caption of a plot of regret, and the problem whose bounds it shows."""

import json
from typing import Any

from rotting.common.statistics import what_runs_can_miss
from rotting.display.figures import BANDS
from rotting.errors import InvalidValueError
from rotting.problems import Problem
from rotting.problems.oracle import regret_against


def plot_caption(runs: int, reference: str, band: str | None, has_bounds: bool, wants_bounds: bool) -> str:
    """Return what a plot shows, and what its regret is measured against.

    Example:
        >>> plot_caption(20, "optimal", None, has_bounds=False, wants_bounds=False)
        'Mean of 20 runs. Regret against the optimal policy.'
    """
    drawn = "A single run"
    if runs > 1:
        drawn = ", ".join([f"Mean of {runs:,} runs", *filter(None, [BANDS.get(band)])])
    caption = [f"{drawn}.", *regret_against(reference)]
    if has_bounds:
        caption.append("Thin: proved bounds.")
    elif wants_bounds:
        caption.append("No bound applies (see `rotting theory`).")
    if band == "interval" and runs > 1:
        caption.append(what_runs_can_miss(runs))
    return " ".join(caption)


def problem_of_bounds(bounds: bool | Problem, description: dict[str, Any], played: Problem | None, name: str) -> Problem | None:
    """Return the problem whose bounds are to be drawn, or None.

    Args:
        bounds: as given to `Result.plot`.
        description: the description of the problem that was played.
        played: the problem itself, if the result has it.
        name: its name.
    """
    if bounds is False:
        return None
    if "family" in description:
        raise InvalidValueError("bounds", "be of one problem", bounds, got="a family, whose runs have one each")
    if bounds is True:
        if played is None:
            raise InvalidValueError("bounds", "be the problem itself for a result that has none", bounds)
        return played
    described = json.loads(json.dumps(bounds.describe()))
    if {**described, "name": None} != {**description, "name": None}:  # older versions named the same problem otherwise
        raise InvalidValueError("bounds", f"be the problem that was played, {name}", bounds)
    return bounds
