"""Write docs/benchmarks.md from what `python -m benchmarks` measured: `make bench`, then `python -m docs.make_benchmarks`."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "benchmarks.md"
PICTURES = DOCS / "benchmarks"
MEASURED = DOCS.parent / "build" / "benchmarks"
HEAD = """\
# Benchmarks

<!-- Written by `python -m docs.make_benchmarks` from what `make bench` measured: do not edit. -->

This page compares the library with its peers in one run, on the machine named below. Run `make bench` to measure on your own
machine. Look at the ratios rather than at absolute times: they are comparable because the contestants take turns. The goals are
those that the project set for itself, including those that it misses.
"""


def page(report: str) -> str:
    """Return the page: its own beginning, and the report's tables, with pictures where the page has them."""
    title, _, rest = report.partition("\n")
    if title != "# Benchmark":
        raise ValueError(f"the report must begin with '# Benchmark', got '{title}'")
    return HEAD + rest.replace("](", f"]({PICTURES.name}/")


def main(arguments: Sequence[str]) -> None:
    """Write the page and its pictures from a folder of results."""
    folder = Path(arguments[0]) if arguments else MEASURED
    PAGE.write_text(page((folder / "benchmark.md").read_text("utf-8")), "utf-8")
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir()
    for picture in sorted(folder.glob("*.png")):
        shutil.copyfile(picture, PICTURES / picture.name)


if __name__ == "__main__":
    main(sys.argv[1:])
