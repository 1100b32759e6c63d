"""`make check` runs the tests that matter for a change, the closest first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.order_of_tests import COMMON, share
from tools.changed_tests import ALWAYS, ROOT, arguments_for, changed_files

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""What git calls a commit without files: everything differs from it."""


def test_a_module_is_tested_by_its_own_file_and_examples_then_by_those_of_its_importers() -> None:
    found = arguments_for(["src/rotting/parts/hull.py"])
    assert found[:4] == ["tests/parts/test_hull.py", "src/rotting/parts/hull.py", *ALWAYS]
    assert "tests/parts/test_hull_windows.py" in found[4:]
    assert "tests/cli/test_cli.py" not in found


def test_a_module_that_is_tested_with_another_finds_that_file() -> None:
    assert arguments_for(["src/rotting/service/decoding.py"])[0] == "tests/service/test_application.py"


def test_a_policy_is_tested_by_the_tests_that_run_for_every_policy() -> None:
    found = arguments_for(["src/rotting/policies/exp3.py", "src/rotting/policies/__init__.py"])
    own = ["tests/policies/test_exp3.py", "src/rotting/policies/exp3.py"]
    assert found[:3] == ["--policies=exp3", *own]
    assert [each for each in found if each in {*COMMON, *ALWAYS}] == [*COMMON, *ALWAYS]
    assert arguments_for(["src/rotting/policies/exp3.py", "src/rotting/policies/fewa.py"])[0] == "--policies=exp3,fewa"


def test_a_common_test_that_has_changed_is_run_for_every_policy() -> None:
    for changed in ("tests/policies/test_equality.py", "src/rotting/live/checks.py"):
        assert not [each for each in arguments_for(["src/rotting/policies/exp3.py", changed]) if each.startswith("--")]


def test_the_common_tests_are_those_of_the_policies_that_are_named() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n0",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "--policies=sw_ucb",
        *COMMON,
    ]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if "::" in line]
    assert {line.partition("::")[0] for line in found} == {*COMMON}
    assert {share(line) for line in found} == {"swucb"}


def test_a_changed_test_comes_first_and_once() -> None:
    found = arguments_for(["src/rotting/parts/hull.py", "tests/parts/test_hull.py"])
    assert found.count("tests/parts/test_hull.py") == 1
    assert found[0] == "tests/parts/test_hull.py"


def test_a_text_needs_no_tests_but_the_quick_ones() -> None:
    assert arguments_for(["docs/paper.md", "CHANGELOG.md"]) == list(ALWAYS)


def test_every_file_that_is_named_is_there() -> None:
    modules = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src/rotting/common").glob("*.py")]
    assert all((ROOT / each).is_file() for each in arguments_for(modules))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_new_and_changed_files_are_found() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert set(changed_files(EMPTY_TREE)) >= {each for each in listed if (ROOT / each).is_file()}


@pytest.mark.parametrize(("seconds", "summary"), [("0", "2 skipped"), ("inf", "2 passed")])
def test_tests_that_find_no_time_left_are_skipped_with_a_word(seconds: str, summary: str, tmp_path: Path) -> None:
    file = tmp_path / "test_some.py"
    file.write_text("def test_first(): pass\n\ndef test_second(): pass\n")
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_runtest_setup\n")
    command = [sys.executable, "-m", "pytest", "-n0", "-rs", "-p", "no:cacheprovider", "-c", os.devnull, str(file)]
    environment = {**os.environ, "ROTTING_TEST_SECONDS": seconds, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert summary in done.stdout
    assert ("no time left: make test runs it" in done.stdout) == (seconds == "0")
