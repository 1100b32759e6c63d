"""A process that decides and rewards in a tight loop, and writes down what was acknowledged."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import rotting
from rotting.live.values import Outcome


class Acknowledged(NamedTuple):
    """A decision and its reward, with the times when the process asked and got its answers."""

    round: int
    id: str
    arm: str
    outcome: Outcome
    asked: float
    decided: float
    rewarded: float


def main(place: str, acknowledged: str, stop: str) -> None:
    """Decide until the file `stop` exists. When standard input ends, too, write the state that this process sees."""
    with Path(acknowledged).open("a", buffering=1) as file, rotting.open(place, name="songs", compile="never") as bandit:
        while not Path(stop).exists():
            asked = time.monotonic()
            decision = bandit.decide(unit="fr")
            decided = time.monotonic()
            outcome = bandit.reward(decision.id, 0.25)
            line = Acknowledged(decision.round, decision.id, decision.arm, outcome, asked, decided, time.monotonic())
            file.write(json.dumps(line) + "\n")
        print("stopped", flush=True)
        sys.stdin.read()
        print(json.dumps(bandit.get_state()))


def start(place: str, acknowledged: Path, stop: Path, source: Path | None = None) -> "subprocess.Popen[str]":
    """Start such a process; `source` is the folder of another version of the package."""
    command = [sys.executable, "-m", "tests.helpers.deciders", place, str(acknowledged), str(stop)]
    path = {} if source is None else {"PYTHONPATH": str(source)}
    root = Path(__file__).parents[2]
    environment, pipe = {**os.environ, **path}, subprocess.PIPE
    return subprocess.Popen(command, cwd=root, env=environment, text=True, stdin=pipe, stdout=pipe)


def read(acknowledged: Path) -> list[Acknowledged]:
    """Return what a process has written down; a line that a kill has cut was not."""
    return [Acknowledged(*json.loads(line)) for line in acknowledged.read_text().splitlines() if line.endswith("]")]


def wait_for_more(acknowledged: Path, more: int) -> None:
    """Wait until a process has written some more lines."""
    wanted, until = acknowledged.read_text().count("\n") + more, time.monotonic() + 60
    while acknowledged.read_text().count("\n") < wanted:
        assert time.monotonic() < until
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
