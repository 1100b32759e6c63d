"""The project beside its peers, on the same problems, in one run: `python -m benchmarks --help`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The scans of all windows (tests/brute.py) are what the tests compare decisions with; here their time is compared.
sys.path.append(str(ROOT / "tests"))
