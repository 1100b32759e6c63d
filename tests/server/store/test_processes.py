"""Several processes use one bandit, and some of them are killed at any moment."""

import json
import random
import time
from pathlib import Path

import rotting
from rotting.server.store.database import open_database
from rotting.server.store.rows import decision_rows
from rotting.server.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.deciders import start

SECONDS, PROCESSES, KILLS = (60.0, 4, 20) if STRESS else (0.0, 3, 4)


def _wait_for_lines(file: Path, more: int) -> None:
    """Wait until a process has written some more lines."""
    wanted, until = file.read_text().count("\n") + more, time.monotonic() + 60
    while file.read_text().count("\n") < wanted:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_nothing_acknowledged_is_lost_or_doubled_by_kills(place: str, tmp_path: Path) -> None:
    with rotting.open(place, rotting.EffRAWUCB(), arms=["a", "b", "c"], name="songs", compile="never"):
        pass
    files = [tmp_path / f"acknowledged-{k}" for k in range(PROCESSES)]
    for file in files:
        file.touch()
    stop = tmp_path / "stop"
    running = [start(place, file, stop) for file in files]
    began, chance = time.monotonic(), random.Random(1)
    for number in range(KILLS):
        k = number % PROCESSES
        _wait_for_lines(files[k], 20)
        time.sleep(chance.uniform(0.0, 0.2))
        running[k].kill()
        running[k].wait()
        running[k] = start(place, files[k], stop)
    for file in files:
        _wait_for_lines(file, 20)
    time.sleep(max(0.0, SECONDS - (time.monotonic() - began)))
    stop.touch()
    for process in running:
        assert process.wait(60) == 0
    acknowledged = [json.loads(line) for file in files for line in file.read_text().splitlines() if line.endswith("]")]
    assert len(acknowledged) > 50
    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    rows = {row.id: row for row in decision_rows(database, record)}
    assert len({id for _, id, *_ in acknowledged}) == len(acknowledged)
    for round, id, arm, outcome, *_ in acknowledged:
        row = rows[id]
        assert (row.round, row.arm, row.reward, row.unit, outcome) == (round, arm, 0.25, "fr", "applied")
    assert [row.round for row in rows.values()] == list(range(1, len(rows) + 1))
    found = verify(database)
    assert (found.problems, found.notes) == ((), ())
    # A decision of a process that was killed may be in the log without being acknowledged, and without its reward.
    assert len(rows) - len(acknowledged) <= KILLS
    database.close()
    counts = [len(file.read_text().splitlines()) for file in files]
    waits = sorted(wait for *_, first, second in acknowledged for wait in (first, second))
    print("calls of each process:", counts, "longest wait:", waits[-1])
    if STRESS:
        assert min(counts) > 0.5 * sum(counts) / len(counts)
        assert waits[-1] < 0.5
