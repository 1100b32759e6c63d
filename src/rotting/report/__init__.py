"""The report of experiments: one HTML file to look into, and beside it every figure and table as files.

`write` takes sections, which are data, and knows nothing of the experiments that made them.
"""

from rotting.report.about import About, machine, versions
from rotting.report.writer import write

__all__ = ["About", "machine", "versions", "write"]
