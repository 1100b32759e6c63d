"""The limit of time that every test has: a hang fails, and the suite goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HANGS = """
import numpy as np
import pytest

from rotting.simulation.engines.compile import compiled


def endless(x):
    while x[0] == 0:
        x[1] += 1


def test_before():
    pass


def test_endless_machine_code():
    compiled(endless)(np.zeros(2, np.int64))


def test_between():
    pass


@pytest.fixture(scope="session")
def stuck():
    compiled(endless)(np.zeros(2, np.int64))


def test_endless_fixture(stuck):
    pass


def test_after():
    pass
"""


def test_every_test_has_a_limit(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("timeout")) > 0
    assert not pytestconfig.getini("timeout_func_only")  # fixtures count


def test_a_hang_fails_and_the_suite_goes_on(tmp_path: Path) -> None:
    """With the project's own settings, but for the seconds."""
    (tmp_path / "test_hangs.py").write_text(HANGS)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, "-n", "1", "--timeout", "2", "test_hangs.py"],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "2 failed, 3 passed" in done.stdout
    for name in ("test_endless_machine_code", "test_endless_fixture"):
        assert f"crashed while running 'test_hangs.py::{name}'" in done.stdout
