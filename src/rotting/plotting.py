"""Regret curves. Matplotlib is an extra and is imported only when something is drawn."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.arrays import Floats, Ints
from rotting.rules import PathExistsError
from rotting.statistics import quantiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Okabe and Ito's colours, told apart with every common colour blindness; grey for their yellow, too pale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#8C8C8C")
# Five styles against eight colours: 40 curves before a pair repeats, and neighbours differ in both.
STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2, 3, 2)))

LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 3.6}


def check_new_file(path: str | Path) -> Path:
    """Return `path` when a picture can be written there, a new file with a suffix; raise when not."""
    path = Path(path)
    if not path.suffix:
        raise ValueError(f"path must end in a picture's suffix such as .png, .pdf or .svg, got '{path}'")
    if path.exists() or path.is_symlink():
        raise PathExistsError(f"path must be a new file, but '{path}' exists")
    return path


def plot_regret(
    labels: Sequence[str],
    checkpoints: Ints,
    regret: Floats,
    title: str,
    ax: "Axes | None" = None,
    path: str | Path | None = None,
    log: bool = False,
) -> "Axes":
    """Draw each policy's mean regret over the rounds, and the band from 10 % to 90 % of its runs.

    Args:
        labels: one per policy.
        checkpoints: the C rounds.
        regret: one number per policy, run and checkpoint.
        title: written above, at the left.
        ax: where to draw; None makes a figure, one that pyplot shows unless it goes to `path`.
        path: a new picture file; its suffix says the format.
        log: rounds on a logarithmic axis, where logarithmic regret is a straight line.

    Example:
        >>> regret = np.cumsum(np.ones((1, 5, 3)), axis=2)
        >>> ax = plot_regret(["UCB1()"], np.array([1, 2, 3]), regret, "an example")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('round t', 'regret (units of reward)')
        >>> import matplotlib.pyplot
        >>> matplotlib.pyplot.close(ax.get_figure())
    """
    if path is not None:
        path = check_new_file(path)
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("plotting needs Matplotlib: pip install 'rotting[plot]'") from error
    if ax is not None:
        lines = draw(ax, labels, checkpoints, regret, log)
        # Beside the axes: a place inside could cover a curve.
        ax.legend(handles=lines, loc="upper left", bbox_to_anchor=(1.01, 1.0), **LEGEND)
    else:
        columns = 1 if max(map(len, labels)) > 40 else 2
        rows = -(-len(labels) // columns)
        size = (7.2, 4.6 + 0.2 * rows)  # grows with the legend below it, which covers and narrows no curve
        if path is not None:
            figure = Figure(size, layout="constrained")  # needs no display, and pyplot does not keep it alive
        else:
            from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra

            figure = plt.figure(figsize=size, layout="constrained")
        ax = figure.add_subplot()
        lines = draw(ax, labels, checkpoints, regret, log)
        figure.legend(handles=lines, loc="outside lower center", ncols=columns, **LEGEND)
    ax.set_title(title, loc="left", fontsize="medium")
    if path is not None:
        picture = io.BytesIO()
        ax.figure.figure.savefig(picture, format=path.suffix[1:], dpi=200, bbox_inches="tight")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:  # x: another process may have written it since the check
            file.write(picture.getvalue())
    return ax


def draw(ax: "Axes", labels: Sequence[str], checkpoints: Ints, regret: Floats, log: bool) -> "list[Line2D]":
    """Draw the curves, the bands and the axes' labels; return the curves, the highest end first."""
    alone = "o" if len(checkpoints) == 1 else None  # a line of one point is invisible
    lines = []
    for k, (label, runs) in enumerate(zip(labels, regret, strict=True)):
        colour, style = COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]
        low, high = quantiles(runs, 0.1, 0.9)
        ax.fill_between(checkpoints, low, high, color=colour, alpha=0.12, linewidth=0)
        lines += ax.plot(checkpoints, runs.mean(axis=0), color=colour, linestyle=style, marker=alone, label=label)
    ax.set_xlabel("round t" + (" (logarithmic)" if log else ""))
    ax.set_ylabel("regret (units of reward)")
    if log:
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.margins(x=0.01)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    order = np.argsort(-regret[:, :, -1].mean(axis=1), kind="stable")  # the order in which the eye meets them
    return [lines[k] for k in order]
