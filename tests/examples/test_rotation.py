"""The trial of the advertising server, in short form."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(180)
def test_all_views_of_the_store_agree_after_kills_and_late_clicks() -> None:
    command = [sys.executable, "-m", "examples.rotation.trial", "400"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=150)
    assert found.stdout.startswith("All views agree: "), found.stdout
    counts = {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", found.stdout)}
    assert counts["decisions"] > 300
    assert counts["pending"] == 0
    assert counts["hours"] >= 2
    assert 0.0 < counts["mean"] < 1.0
