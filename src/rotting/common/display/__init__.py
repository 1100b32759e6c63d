"""Output for people: tables, figures, plots.

`style` gives your own figures the look of the report's, in the sizes of a paper's columns.
"""

from rotting.common.display.paper_style import style

__all__ = ["style"]
