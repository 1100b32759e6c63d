"""Colours and line styles of curves, in plots, in notebooks and in the report."""

from typing import Literal

# Okabe and Ito's colours, which are distinct for colour-blind readers; grey replaces their yellow, which is too pale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#8C8C8C")

LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]
"""A style in Matplotlib's notation: "-", or an offset and the lengths of dashes and gaps."""

# Five styles and eight colours make 40 pairs, and neighbouring curves differ in both.
STYLES: tuple[LineStyle, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2, 3, 2)))
