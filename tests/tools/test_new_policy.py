"""`make policy` writes files that are complete: they pass lint, types, and the comparison with the reference."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.new_policy import INDEX, RANDOM, ROOT, main, with_import, write

CLASSES = {"my_ucb": "MyUCB", "my_ts": "MyTS"}
FILES = [f"{folder}{module}.py" for module in CLASSES for folder in ("src/rotting/policies/", "tests/policies/test_")]

PLAY = """
import random
import sys
import rotting
from tests.helpers import games

make = getattr(rotting, sys.argv[1])
rotting.check_policy(make())
assert rotting.make(make.name, **{make.parameters()[0].name: 0.5}) == make(0.5)
rng = random.Random(0)
for _ in range(10):
    table = [[rng.gauss(-0.01 * n * i, 1) for n in range(80)] for i in range(3)]
    chosen = games.play(make(0.3), table, 80)
    assert chosen == games.play_naive(make(0.3), table, 80)
    assert set(chosen) == {0, 1, 2}
print("kept")
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources and of the tests with a policy of each kind that was just written."""
    root = tmp_path_factory.mktemp("tree")
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__", "*.json.gz"))
    shutil.copy(ROOT / "pyproject.toml", root)
    write("my-ucb", "MyUCB", INDEX, root)
    write("my-ts", "MyTS", RANDOM, root)
    return root


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "NUMBA_DISABLE_JIT": "1"}
    environment["MYPYPATH"] = "src"
    return subprocess.run(
        [sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("module", CLASSES)
def test_it_plays_as_its_reference_does(module: str, tree: Path) -> None:
    done = run(tree, "-c", PLAY, CLASSES[module])
    assert (done.stdout, done.stderr) == ("kept\n", "")
    pytest_here = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")
    done = run(tree, *pytest_here, f"tests/policies/test_{module}.py")
    assert done.returncode == 0, done.stdout
    decides = run(tree, *pytest_here, "tests/live/test_pending.py", "tests/live/test_arms.py", "-k", module.replace("_", "-"))
    assert decides.returncode == 0, decides.stdout


def test_it_is_compared_with_its_reference_until_it_is_recorded(tree: Path) -> None:
    """`make test` compiles the games of a new policy, whichever policies represent the others."""
    command = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--collect-only", "--representative")
    done = run(tree, *command, "tests/policies/test_equality.py")
    played = {*re.findall(r"test_choices_equal_the_reference\[(\w+)\(", done.stdout)}
    assert played >= {"MyUCB", "MyTS", "UCB1"}
    assert "FEWA" not in played


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=["lint", "format"])
def test_it_has_the_style_of_the_library(tree: Path, command: tuple[str, ...]) -> None:
    done = run(tree, "-m", "ruff", *command, *FILES, "src/rotting/__init__.py")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_its_types_are_strict(tree: Path) -> None:
    done = run(tree, "-m", "mypy", *FILES)
    assert done.returncode == 0, done.stdout


def test_a_policy_that_exists_is_not_overwritten(tree: Path) -> None:
    with pytest.raises(SystemExit, match="my_ucb.py exists"):
        write("my-ucb", "MyUCB", root=tree)


@pytest.mark.parametrize("name", ["MyUCB", "my_ucb", "my-", ""])
def test_a_name_that_no_policy_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="NAME must be lower-case words"):
        write(name, "MyUCB", root=tmp_path)


@pytest.mark.parametrize("cls", ["myUCB", "ucb", "My_UCB", "1UCB"])
def test_a_class_name_without_a_capital_is_refused(cls: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"the name of the class must be letters and digits after a capital, .*, got '{cls}'"):
        write("my-ucb", cls, root=tmp_path)


@pytest.mark.parametrize(("name", "cls", "word"), [("lambda", "Lambda", "lambda"), ("none", "None", "None")])
def test_a_keyword_of_python_is_refused(name: str, cls: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"^NAME must not be a keyword of Python, got '{word}'$"):
        write(name, cls, root=tmp_path)


@pytest.mark.parametrize(("names", "got"), [([], "none"), (["my-ucb", "my-ts"], "my-ucb my-ts")])
def test_no_name_and_several_names_get_a_line_of_usage(names: list[str], got: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(names)
    usage, error = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2
    assert usage.startswith("usage: python -m tools.new_policy NAME")
    assert error == f"python -m tools.new_policy: error: NAME must be one name such as my-ucb, got {got}"


def test_the_import_takes_its_place() -> None:
    text = (ROOT / "src" / "rotting" / "__init__.py").read_text("utf-8")
    changed = with_import(text, "my_ucb", "MyUCB")
    assert "meta import META as META\n    from rotting.policies.my_ucb import MyUCB as MyUCB\n" in changed
    assert changed.replace("    from rotting.policies.my_ucb import MyUCB as MyUCB\n", "") == text
