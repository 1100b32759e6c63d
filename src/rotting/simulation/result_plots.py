"""The plot of a result: its curves, the bounds that apply, and the caption."""

import json
from typing import TYPE_CHECKING, Any

from rotting.common.statistics import what_runs_can_miss
from rotting.display.figures import BANDS, Band
from rotting.display.plots import plot_regret
from rotting.errors import InvalidValueError
from rotting.problems import Problem
from rotting.problems.oracle import regret_against
from rotting.simulation.selection import Labels, chosen_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rotting.simulation.result import Result
    from rotting.theory import Bound


def plot_result(
    result: "Result", bounds: bool | Problem, labels: Labels, title: str | None, band: Band | None, **look: Any
) -> "Axes":
    """Draw the regret of a result; `Result.plot` documents the arguments, and `look` are those of `plot_regret`."""
    named, problem = chosen_labels(result, labels), _problem_of_bounds(result, bounds)
    proved: list[tuple[Bound, ...]] = [()] * len(result.policies)
    if problem is not None:
        from rotting import theory  # noqa: PLC0415 - theorems are about results: see pyproject.toml

        rounds = result.checkpoints.tolist()
        proved = [theory.bounds(problem, policy, result.horizon, rounds) for policy in result.policies]
    caption = ""
    if title is None:
        title = f"{result.problem_name}, horizon {result.horizon:,}"
        no_bounds = "" if problem is None else "No bound applies (see `rotting theory`)."
        caption = _caption(result, band, "Thin: proved bounds." if any(proved) else no_bounds)
    drawn = [[(f"{label}: {bound.theorem}", bound.values) for bound in each] for label, each in zip(named, proved, strict=True)]
    return plot_regret(named, result.checkpoints, result.regret, title, caption, bounds=drawn, band=band, **look)


def _caption(result: "Result", band: Band | None, about_bounds: str) -> str:
    """Return what the plot shows, and what its regret is measured against."""
    drawn = "A single run"
    if result.runs > 1:
        drawn = ", ".join(filter(None, [f"Mean of {result.runs:,} runs", BANDS.get(band)]))
    missed = what_runs_can_miss(result.runs) if band == "interval" and result.runs > 1 else ""
    return " ".join(filter(None, [f"{drawn}.", *regret_against(result.reference), about_bounds, missed]))


def _problem_of_bounds(result: "Result", bounds: bool | Problem) -> Problem | None:
    """Return the problem whose bounds are to be drawn, or None."""
    if bounds is False:
        return None
    if "family" in result.problem:
        raise InvalidValueError("bounds", "be of one problem", bounds, got="a family, which has a problem for each run")
    if bounds is True:
        if result.played is None:
            raise InvalidValueError("bounds", "be a Problem, as the result has none", bounds)
        return result.played
    described = json.loads(json.dumps(bounds.describe()))
    if {**described, "name": None} != {**result.problem, "name": None}:  # older versions gave the same problem another name
        raise InvalidValueError("bounds", f"be the problem that was played, {result.problem_name}", bounds)
    return bounds
