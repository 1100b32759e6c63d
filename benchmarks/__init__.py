"""The project and its peers on the same problems, in one run: `python -m benchmarks --help`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
