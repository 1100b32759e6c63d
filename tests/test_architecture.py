"""ARCHITECTURE.md speaks of files and functions that are there, and draws the layers that are checked."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import rotting

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rotting"
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PARAGRAPHS = re.split(r"\n(?=- )|\n\n", re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL))
FILE = re.compile(r"[\w./-]+\.(?:py|md|toml)")


def find(name: str) -> Path | None:
    """The file or folder that is meant: of the package, or of the repository."""
    return next((base / name for base in (SOURCE, ROOT) if (base / name).exists()), None)


def names_in(body: list[ast.stmt]) -> set[str]:
    """What a file defines, with the methods, properties and fields of its classes."""
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            if isinstance(node, ast.ClassDef):
                found |= {f"{node.name}.{each}" for each in names_in(node.body)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def mentions() -> list[tuple[str, str]]:
    """Each name in backquotes with the file that was named before it in its paragraph, or an empty string."""
    found = []
    for paragraph in PARAGRAPHS:
        file = ""
        for name in re.findall(r"`([^`]+)`", paragraph):
            if FILE.fullmatch(name):
                file = name
            found.append((name, file))
    return found


MENTIONS = mentions()
FILES = sorted({name for name, _ in MENTIONS if FILE.fullmatch(name) or name.endswith("/")})
FUNCTIONS = sorted({(name, file) for name, file in MENTIONS if re.fullmatch(r"[A-Za-z_][\w.]*", name) and name != file})
KERNEL = {"init", "choose", "update", "explain"}  # of every policy


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_there(name: str) -> None:
    assert find(name) is not None, name


@pytest.mark.parametrize(("name", "file"), FUNCTIONS)
def test_every_function_is_where_the_document_says(name: str, file: str) -> None:
    path = find(file) if file else None
    if path is None:
        assert name in KERNEL or set(name.split(".")) & set(rotting.__all__), name
        return
    there = names_in(ast.parse(path.read_text("utf-8")).body) | KERNEL
    assert name in there, (name, file)


@pytest.mark.parametrize("package", ["kernels", "engines", "live", "store", "service"])
def test_every_module_of_these_packages_is_named(package: str) -> None:
    modules = {f"{package}/{path.name}" for path in (SOURCE / package).glob("[!_]*.py")}
    assert modules <= {*FILES}


def test_the_document_names_enough_to_be_worth_checking() -> None:
    assert len(FILES) > 40
    assert len(FUNCTIONS) > 60


def test_the_layers_that_are_drawn_are_those_that_are_checked() -> None:
    drawn = re.search(r"^```text\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert drawn is not None
    rows = [re.split(r"\s{2,}", line.strip())[0] for line in drawn[1].splitlines() if re.match(r" \w", line)]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = (each for each in settings["tool"]["importlinter"]["contracts"] if each["name"].startswith("Packages"))
    assert rows == contract["layers"]
    assert len(rows) <= 10


def test_every_package_has_its_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    containers = {name for each in settings["tool"]["importlinter"]["contracts"] for name in each.get("containers", [])}
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert containers == {"rotting", *(f"rotting.{name}" for name in packages)}
