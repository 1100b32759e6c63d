"""Tables of the pages, and the marks between which measured parts of a page stand."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_END = "<!-- end -->"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Return a table in Markdown that is aligned as plain text, too; `sides` has l, c or r for each column."""
    widths = [max(3, *map(len, column)) for column in zip(heads, *rows, strict=True)]
    align: dict[str, Callable[[str, int], str]] = {"l": str.ljust, "c": str.center, "r": str.rjust}
    rule = {"l": lambda n: ":" + "-" * (n - 1), "c": lambda n: ":" + "-" * (n - 2) + ":", "r": lambda n: "-" * (n - 1) + ":"}

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(align[side](cell, n) for cell, n, side in zip(cells, widths, sides, strict=True)) + " |"

    ruled = [rule[side](n) for n, side in zip(widths, sides, strict=True)]
    return "\n".join([line(heads), line(ruled), *map(line, rows)])


def fill(page: Path, parts: Mapping[str, str]) -> None:
    """Write these parts into a page, between their marks; a page need not show all of them."""
    text = page.read_text("utf-8")
    for name, part in parts.items():
        before, mark, after = text.partition(f"<!-- measured: {name} -->\n")
        if mark:
            text = f"{before}{mark}{part}\n{after[after.index(_END) :]}"
    page.write_text(text, "utf-8")


def show(parts: Mapping[str, str]) -> None:
    """Print these parts."""
    for name, text in parts.items():
        print(f"\n{name}\n{text}")  # noqa: T201 - for the reader of the terminal
