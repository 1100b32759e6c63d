"""The rewards of an arm over its own pulls and over time, as figures with 95 % bands."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import Floats
from rotting.display.figures import Curve, Figure, Panel
from rotting.display.plots import plot_figure
from rotting.logs.log import Log

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BINS = 12  # of a curve, each with at least ten rewards
SHOWN = 8  # arms in one figure
_STANDARD_ERRORS = 1.96  # on each side of a mean, for a 95 % interval


class Plotted(ABC):
    """A result with a figure that can be plotted."""

    @abstractmethod
    def figure(self) -> Figure:
        """Return what `plot` draws, as data."""

    def plot(self, path: str | Path | None = None) -> "Picture":
        """Draw what `figure` returns.

        Needs the extra `rotting[plot]`.

        Args:
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.

        Returns:
            The Matplotlib figure.
        """
        return plot_figure(self.figure(), path)


def binned(clock: Floats, rewards: Floats, label: str) -> Curve:
    """Return the mean reward in bins with equally many rows along a clock, with 95 % intervals."""
    order = np.argsort(clock, kind="stable")
    bins = [part for part in np.array_split(order, min(BINS, max(1, order.size // 10))) if part.size]
    x = np.array([clock[part].mean() for part in bins])
    y = np.array([rewards[part].mean() for part in bins])
    # The spread of all rewards of the arm: a bin of clicks may have none, and then no spread of its own.
    half = np.array([_STANDARD_ERRORS * max(rewards[part].std(), rewards.std() / 2) / np.sqrt(part.size) for part in bins])
    return Curve(label, x, y, y - half, y + half)


def panels(log: Log, arm: int) -> tuple[Panel, Panel]:
    """Return the rewards of one arm over its own pulls, and over time."""
    rows = log.known & (log.arm == arm)
    label, rewards = str(log.arms[arm]), log.reward[rows]
    pulls = "pulls of the arm by its unit" if log.has_units else "pulls of the arm"
    time, unit = log.time[rows], "row"
    if log.has_times:
        unit = "time"
    if log.has_dates:
        time, unit = (time - log.time[0]) / 86_400, "days since the first row"
    return (
        Panel(f"{label}: over its pulls", pulls, "mean reward", (binned(log.own_pulls[rows].astype(float), rewards, label),)),
        Panel(f"{label}: over time", unit, "mean reward", (binned(time, rewards, label),)),
    )


def arm_figure(log: Log, arms: Sequence[int] | None = None) -> Figure:
    """Return the rewards of arms over their pulls and over time, by default of those with the most pulls."""
    chosen = np.argsort(-log.pulls, kind="stable")[:SHOWN] if arms is None else arms
    known = np.bincount(log.arm[log.known], minlength=len(log.arms))
    drawn = [panel for arm in chosen if known[arm] for panel in panels(log, int(arm))]
    caption = "Mean rewards in bins of equally many pulls; the bands are 95 % intervals of these means."
    return Figure("arms", "Rewards over pulls and over time", caption, tuple(drawn), columns=2)
