"""Plots of a study: mean regret over one parameter as curves, over two as colours."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting.display.figures import Curve, Figure, Panel, mean_points
from rotting.display.heat_maps import plot_heat
from rotting.display.plots import plot_figure
from rotting.errors import InvalidValueError
from rotting.policy import labels_of
from rotting.problems.oracle import OPTIMAL, reference_kind, regret_against
from rotting.simulation.study_parameters import Value
from rotting.simulation.study_points import Point, StudyPoints

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from rotting.common.arrays import Floats


def mean_curves(points: StudyPoints, axis: str) -> list[Curve]:
    """Return the mean regret over a parameter, a curve for every combination of the others."""
    curves: dict[str, list[tuple[float, Floats]]] = {}
    texts, policies = points.texts(), dict(zip(points.policies, labels_of(points.policies), strict=True))
    for point in points:
        value = points.value(point, axis)
        if isinstance(value, str):
            raise InvalidValueError("x", "be a parameter with numbers", axis, hint=f", which has {value!r}: use table()")
        if value is not None:
            label = _curve_label(points, point, axis, policies[point.policy], texts)
            curves.setdefault(label, []).append((value, point.regret))
    drawn: list[Curve] = []
    for label, samples in curves.items():
        places, runs = zip(*sorted(samples, key=lambda each: each[0]), strict=True)
        drawn.append(mean_points(label, places, runs))
    return drawn


def plot_curves(
    points: StudyPoints, x: str | None, path: str | Path | None, log: bool, log_y: bool, title: str | None
) -> "Picture":
    """Draw the mean regret over a parameter as curves; `Study.plot` documents the arguments."""
    axis = points.axis("x", x, points.first_numeric() or next(iter(points.varying), None))
    panel = Panel("", axis, "regret at the horizon", tuple(mean_curves(points, axis)), x_log=log, y_log=log_y)
    runs, rounds = points.results[0].runs, points.horizons_text
    drawn = f"Mean of {runs:,} runs of {rounds} rounds and its 95 % interval." if runs > 1 else f"A run of {rounds} rounds."
    caption = " ".join([drawn, *points.notes()])
    named = title if title is not None else f"{points.problems_text}: regret over {axis}"
    return plot_figure(Figure("study", named, caption, (panel,), columns=1), path)


def _curve_label(points: StudyPoints, point: Point, axis: str, policy: str, texts: dict[str, dict[Value, str]]) -> str:
    """Return the label of a point's curve: its policy, what else varies, and its reference if there are several."""
    others = {name: value for name, value in point.problem.items() if name != axis and name in points.varying}
    words = [policy]
    if axis in points.policy_parameters:
        words = [point.policy.title]
        for name, (kind, short) in points.policy_parameters.items():
            if name != axis and kind == point.policy.name:
                words.append(f"{short}={texts[name][point.policy.shown_params().get(short, '-')]}")
    words += [f"{name}={texts[name][value]}" for name, value in others.items()]
    if points.has_both_references:
        words.append(f"against {reference_kind(point.reference)}")
    return ", ".join(words)


def plot_heat_map(
    points: StudyPoints, x: str | None, y: str | None, policy: str | None, path: str | Path | None, title: str | None
) -> "Picture":
    """Draw the mean regret over two parameters as colours; `Study.heat_map` documents the arguments."""
    across, up = _heat_axes(points, x, y)
    chosen = _points_of_policy(points, policy, across, up)
    relative = across in points.policy_parameters or up in points.policy_parameters
    cells = _heat_cells(points, chosen, across, up, relative)
    columns, lines = (sorted({place[k] for place in cells}, key=_words_last) for k in (0, 1))
    empty = _Cell([np.nan], OPTIMAL)
    values = np.array([[np.mean(cells.get((column, line), empty).regrets) for column in columns] for line in lines])
    hatched = np.array([[cells.get((column, line), empty).reference != OPTIMAL for column in columns] for line in lines])
    first = chosen[0].policy
    shown = first.label if len({point.policy for point in chosen}) == 1 else first.title
    what = "regret over the best of the problem" if relative else "mean regret"
    runs = points.results[0].runs
    note = " ".join(
        [
            f"Mean of {runs:,} runs." if runs > 1 else "A single run.",
            *(["Framed: the smallest mean of each problem."] if relative else []),
            *regret_against(*(cell.reference for cell in cells.values())),
            *(["Hatched: against a reference that may not be optimal."] if hatched.any() else []),
        ]
    )
    return plot_heat(
        (across, columns),
        (up, lines),
        values,
        what,
        title if title is not None else f"{shown}: {what}",
        best_along=None if not relative else 1 if across in points.policy_parameters else 0,
        path=path,
        hatched=hatched,
        note=note,
    )


def _heat_axes(points: StudyPoints, x: str | None, y: str | None) -> tuple[str, str]:
    """Return the parameters of the two axes; by default the first that varies, and then one of a policy if there is one."""
    across = points.axis("x", x, next(iter(points.varying), None))
    rest = [name for name in points.varying if name != across]
    up = points.axis("y", y, next((name for name in rest if name in points.policy_parameters), next(iter(rest), None)))
    if up == across:
        raise InvalidValueError("y", "be another parameter than x", up, hint=" for both")
    return across, up


def _points_of_policy(points: StudyPoints, policy: str | None, across: str, up: str) -> list[Point]:
    """Return the points of the policy that is asked for; by default, of the one whose parameter is on an axis."""
    on_axes = [points.policy_parameters[name][0] for name in (across, up) if name in points.policy_parameters]
    kind = policy or next(iter(on_axes), points.policies[0].name)
    chosen = [point for point in points if point.policy.name == kind]
    if not chosen or (policy is None and not on_axes and len({*points.policies}) > 1):
        known = ", ".join(dict.fromkeys(each.name for each in points.policies))
        raise InvalidValueError("policy", f"be one of {known}", policy)
    return chosen


_Place = tuple[Value | None, Value | None]


class _Cell(NamedTuple):
    """A cell of a heat map: the mean regrets of its points, and what they are measured against."""

    regrets: list[float]
    reference: str


def _heat_cells(points: StudyPoints, chosen: list[Point], across: str, up: str, relative: bool) -> dict[_Place, _Cell]:
    """Return the cells by their places; if `relative`, regrets are divided by the smallest mean regret of the problem."""
    cells: dict[_Place, _Cell] = {}
    for point in chosen:
        least = 1.0
        if relative:
            least = min(float(other.regret.mean()) for other in chosen if other.problem == point.problem)
            if least <= 0:
                raise InvalidValueError("mean regrets", "be above zero for heat_map to divide by", least, got=f"{least:g}")
        place = points.value(point, across), points.value(point, up)
        cell = cells.setdefault(place, _Cell([], point.reference))
        if reference_kind(cell.reference) != reference_kind(point.reference):
            rule = "be against one reference, so that a heat map can take their mean"
            got = f"{cell.reference!r} and {point.reference!r} at {across}={place[0]}"
            raise InvalidValueError("regrets", rule, point.reference, got=got)
        cell.regrets.append(float(point.regret.mean()) / least)
    return cells


def _words_last(value: Value | None) -> tuple[bool, Value]:
    """Return a sort key: numbers come first, then words, as a sigma may be "estimate"."""
    return isinstance(value, str), 0.0 if value is None else value
