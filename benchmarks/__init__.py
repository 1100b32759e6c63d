"""The project and its peers on the same problems, in one run: `python -m benchmarks --help`."""

import os
from pathlib import Path

os.environ.setdefault("ROTTING_COMPILE", "now")  # the times are those of machine code

ROOT = Path(__file__).resolve().parents[1]
