"""The report of experiments: one HTML file, and every figure and table as files of their own.

`write` takes sections, which are data, and knows nothing about the experiments behind them.
"""

from rotting.report.about import About, versions
from rotting.report.writer import write

__all__ = ["About", "versions", "write"]
