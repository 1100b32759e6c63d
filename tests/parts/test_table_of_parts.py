"""The tables in the docstring of `rotting.parts` are those of the code."""

import ast
from pathlib import Path

import pytest

from rotting import parts, policies

PARTS, POLICIES = Path(parts.__path__[0]), Path(policies.__path__[0])


def modules(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in folder.glob("*.py") if path.stem != "__init__"}


def imported_parts(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "rotting.parts":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rotting.parts."):
            found.add(node.module.removeprefix("rotting.parts."))
    return found


def tables() -> list[dict[str, str]]:
    """The indented blocks of the docstring: what each name is, what each part uses, what each policy uses."""
    assert parts.__doc__ is not None
    blocks = parts.__doc__.split("\n\n")
    return [dict(line.split(maxsplit=1) for line in block.splitlines()) for block in blocks if block.startswith("    ")]


def test_every_part_is_described() -> None:
    assert set(tables()[0]) == set(modules(PARTS))


@pytest.mark.parametrize(("table", "folder"), [(1, PARTS), (2, POLICIES)], ids=["parts", "policies"])
def test_the_tables_say_what_is_imported(table: int, folder: Path) -> None:
    used = {name: ", ".join(sorted(imported_parts(path))) for name, path in modules(folder).items()}
    assert tables()[table] == {name: names for name, names in used.items() if names}
