"""Figures as data, and the styles of their curves.

Matplotlib draws them for print (`plots.py`), and `svg.py` for pages and notebooks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.statistics import mean_interval, quantiles

# Okabe and Ito's colours, which are distinct for colour-blind readers; grey replaces their yellow, which is too pale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#8C8C8C")

LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]
"""A style in Matplotlib's notation: "-", or an offset and the lengths of dashes and gaps."""

# Five styles and eight colours make 40 pairs, and neighbouring curves differ in both.
STYLES: tuple[LineStyle, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2, 3, 2)))
# Seven markers, since seven has no factor in common with the numbers of colours and line styles.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


class CurveStyle(NamedTuple):
    """The style of a curve: colour, line style and marker."""

    colour: str
    style: LineStyle
    marker: str


def curve_style(k: int) -> CurveStyle:
    """Return the style of the k-th label of a figure.

    Example:
        >>> curve_style(0)
        CurveStyle(colour='#0072B2', style='-', marker='o')
    """
    return CurveStyle(COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)], MARKERS[k % len(MARKERS)])


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through points, each with its interval.

    Args:
        label: what it shows; curves of one label share a colour, a line style and an entry of the legend.
        x: the positions, increasing.
        y: the values.
        low: the lower ends of the intervals; None if there are none.
        high: the upper ends.
        points: whether to draw markers with error bars, for a few points, instead of a line with a band.
    """

    label: str
    x: Floats | Ints
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    points: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Args:
        title: what the panel shows, in a few words.
        x_label: what the x axis counts, with its unit.
        y_label: what the y axis counts, with its unit.
        curves: in the order of the legend.
        x_log: whether the x axis is logarithmic.
        y_log: whether the y axis is.
        y_max: the end of the y axis, if the largest curves would flatten the others; None to show all curves in full.
        note: a line of text, such as where the curves outside the panel end.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    x_log: bool = False
    y_log: bool = False
    y_max: float | None = None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels that are read together.

    Args:
        name: the name of its files, in lower case with hyphens.
        title: one line.
        caption: what is drawn, and what the bands and bars are.
        panels: from left to right, row by row.
        columns: panels per row on a wide page.
        first: labels that get the first styles, so that they look the same in several figures.
        colours: of labels that do not get the colour of their style.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 3
    first: tuple[str, ...] = ()
    colours: Mapping[str, str] = field(default_factory=dict)

    @property
    def families(self) -> list[list[str]]:
        """The labels of all curves, grouped by the panels that they share, in order of appearance.

        Example:
            >>> one, two, three = (Curve(label, np.zeros(1), np.zeros(1)) for label in ("article 1", "UCB1", "article 2"))
            >>> panels = [Panel("", "", "", curves) for curves in ((one,), (two,), (one, three))]
            >>> Figure("nights", "", "", tuple(panels)).families
            [['article 1', 'article 2'], ['UCB1']]
        """
        families: list[list[str]] = []
        for panel in self.panels:
            labels = [curve.label for curve in panel.curves]
            joined = [family for family in families if not set(family).isdisjoint(labels)]
            merged = list(dict.fromkeys([*(label for family in joined for label in family), *labels]))
            place = next((k for k, family in enumerate(families) if family in joined), len(families))
            rest = [family for family in families if family not in joined]
            families = [*rest[:place], merged, *rest[place:]] if merged else rest
        return families

    @property
    def labels(self) -> list[str]:
        """The labels of all curves, family by family."""
        return [label for family in self.families for label in family]

    @property
    def styles(self) -> dict[str, int]:
        """The number of each label's style; labels in `first` have the same style in every figure.

        Example:
            >>> Figure("f", "t", "c", (), first=("RAW-UCB", "FEWA")).styles
            {}
        """
        order = {label: k for k, label in enumerate(dict.fromkeys([*self.first, *self.labels]))}
        return {label: order[label] for label in self.labels}

    def style(self, label: str) -> CurveStyle:
        """Return the style of a label, in its own colour if it has one."""
        found = curve_style(self.styles[label])
        return found._replace(colour=self.colours.get(label, found.colour))

    @property
    def marked(self) -> set[str]:
        """The labels of the curves that are drawn as points."""
        return {curve.label for panel in self.panels for curve in panel.curves if curve.points}


def join_panels(panels: Sequence[Panel]) -> Panel:
    """Return the curves of several panels in one, whose axes show all of them in full."""
    return replace(panels[0], curves=tuple(curve for panel in panels for curve in panel.curves), y_max=None, note="")


def least_curves(panels: Sequence[Panel], most: int) -> tuple[tuple[Panel, ...], str]:
    """Return panels with at most so many different curves, those that end lowest on average, and what was left out, in words.

    Example:
        >>> curves = tuple(Curve(label, np.arange(2), np.array([0.0, end])) for label, end in (("a", 3), ("b", 1), ("c", 2)))
        >>> (panel,), words = least_curves([Panel("", "", "", curves)], 2)
        >>> [curve.label for curve in panel.curves], words
        (['b', 'c'], 'The 2 of 3 curves with the least regret.')
    """
    places: dict[str, list[int]] = {}
    for panel in panels:
        for place, curve in enumerate(sorted(panel.curves, key=lambda each: float(each.y[-1]))):
            places.setdefault(curve.label, []).append(place)
    if len(places) <= most:
        return tuple(panels), ""
    kept = sorted(places, key=lambda label: float(np.mean(places[label])))[:most]
    shown = (replace(panel, curves=tuple(each for each in panel.curves if each.label in kept)) for panel in panels)
    return tuple(shown), f"The {most} of {len(places)} curves with the least regret."


BAND = "mean over the runs; the band holds 10 % to 90 % of them"
Band = Literal["quantiles", "interval"]
BANDS: dict[Band | None, str] = {
    "quantiles": "band from 10 % to 90 % of them",
    "interval": "band: 95 % interval of the mean",
    None: "",
}
"""What can be drawn around a mean, in words for captions."""
_FAR = 4.0  # a policy that ends above this multiple of the median would flatten the others


def regret_panel(
    title: str, labels: Sequence[str], checkpoints: Ints, regret: Floats, band: Band | None = "quantiles"
) -> Panel:
    """Return each policy's mean regret over the rounds, with the band from 10 % to 90 % of its runs.

    The axis ends above the policies that learn; the note says where the others end.

    Args:
        title: of the panel.
        labels: one per policy.
        checkpoints: the C rounds.
        regret: one number per policy, run and checkpoint.
        band: one of `BANDS`.

    Example:
        >>> panel = regret_panel("an example", ["UCB1"], np.array([1, 2]), np.array([[[1.0, 2.0], [3.0, 4.0]]]))
        >>> panel.curves[0].y, panel.curves[0].low
        (array([2., 3.]), array([1.2, 2.2]))
    """
    curves = []
    for label, runs in zip(labels, regret, strict=True):
        low, high = _band(runs, band)
        curves.append(Curve(label, checkpoints, runs.mean(axis=0), low, high))
    ends = np.array([curve.y[-1] for curve in curves])
    usual = float(np.median(ends))
    far = (ends > _FAR * usual) & (usual > 0)  # regret against a policy may be below zero
    panel = Panel(title, "round t", "regret (units of reward)", tuple(curves))
    if not far.any():
        return panel
    top = 1.15 * max(float(quantiles(runs[:, -1], 0.9)[0]) for runs in regret[~far])
    style = ",.0f" if top >= 10 else ",.2f"
    higher = ", ".join(f"{label} at {end:{style}}" for label, end, out in zip(labels, ends, far, strict=True) if out)
    return replace(panel, y_max=top, note=f"Ending higher: {higher}")


def _band(runs: Floats, band: Band | None) -> tuple[Floats, Floats] | tuple[None, None]:
    """Return the lower and the upper ends of a band over the checkpoints, if there is one."""
    if band is None:
        return None, None
    if band == "quantiles":
        tenth, ninetieth = quantiles(runs, 0.1, 0.9)
        return tenth, ninetieth
    _, low, high = _intervals(runs.T)
    return (None, None) if low is None or high is None else (low, high)


def mean_points(label: str, x: Sequence[float], samples: Sequence[Floats]) -> Curve:
    """Return the means of samples and their 95 % intervals, as points over x; no intervals if a sample is a single run.

    Example:
        >>> mean_points("UCB1", [1.0], [np.array([1.0, 3.0])]).y
        array([2.])
    """
    mean, low, high = _intervals(samples)
    return Curve(label, np.array(x), mean, low, high, points=True)


def _intervals(samples: Iterable[Floats]) -> tuple[Floats, Floats | None, Floats | None]:
    """Return the means of samples, and the ends of their 95 % intervals if each of them has one."""
    mean, low, high = np.array([mean_interval(sample) for sample in samples], np.float64).T
    return (mean, low, high) if np.isfinite(low).all() else (mean, None, None)
