"""A process that decides and rewards in a tight loop, and writes down what was acknowledged."""

import json
import subprocess
import sys
import time
from pathlib import Path

import rotting


def main(place: str, acknowledged: str, stop: str) -> None:
    with Path(acknowledged).open("a", buffering=1) as file, rotting.open(place, name="songs", compile="never") as bandit:
        while not Path(stop).exists():
            began = time.monotonic()
            decision = bandit.decide(unit="fr")
            decided = time.monotonic()
            outcome = bandit.reward(decision.id, 0.25)
            waits = [decided - began, time.monotonic() - decided]
            file.write(json.dumps([decision.round, decision.id, decision.arm, outcome, *waits]) + "\n")


def start(place: str, acknowledged: Path, stop: Path) -> "subprocess.Popen[bytes]":
    """Start such a process, which ends when the file `stop` exists."""
    command = [sys.executable, "-m", "tests.helpers.deciders", place, str(acknowledged), str(stop)]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2])


if __name__ == "__main__":
    main(*sys.argv[1:])
