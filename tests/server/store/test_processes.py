"""Several processes use one bandit, and some of them are killed at any moment.

`ROTTING_STRESS=1` plays for a minute, and also asserts how long a process waits for its turn.
"""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg

import rotting
from rotting.server.store.database import Database, open_database
from rotting.server.store.rows import decision_rows
from rotting.server.store.turns import load
from rotting.server.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.deciders import read, start, wait_for_more
from tests.helpers.postgres import Postgres

SECONDS, PROCESSES, KILLS = (60.0, 4, 20) if STRESS else (0.0, 3, 3)
LONGEST = 2.0  # seconds, of which 0.5 are promised; the rest is for other programs on the same processors


def test_turns_on_postgresql_are_granted_in_the_order_in_which_they_were_asked_for(server: Postgres) -> None:
    place = f"{server.url}?schema=order"
    rotting.open(place, rotting.UCB1(), arms=["a", "b"], name="songs").close()
    one, two = open_database(place), open_database(place)
    order: list[str] = []

    def lock(database: Database, who: str) -> None:
        with database.transaction() as transaction:
            transaction.record("songs")
            order.append(who)

    with ThreadPoolExecutor(1) as pool:
        for _ in range(50):
            with one.transaction() as transaction:
                transaction.record("songs")
                waiting = pool.submit(lock, two, "who waited")
                _wait_until_it_waits(server)
            lock(one, "who came later")  # at once: a lock that is free would be theirs
            waiting.result()
    assert order == ["who waited", "who came later"] * 50
    one.close()
    two.close()


def _wait_until_it_waits(server: Postgres) -> None:
    until = time.monotonic() + 10
    with psycopg.connect(server.url, autocommit=True) as watcher:
        while watcher.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is None:
            assert time.monotonic() < until
            time.sleep(0.001)


def test_nothing_acknowledged_is_lost_or_doubled_by_kills(place: str, tmp_path: Path) -> None:
    with rotting.open(place, rotting.EffRAWUCB(), arms=["a", "b", "c"], name="songs", compile="never"):
        pass
    files = [tmp_path / f"acknowledged-{k}" for k in range(PROCESSES)]
    for file in files:
        file.touch()
    stop = tmp_path / "stop"
    running = [start(place, file, stop) for file in files]
    for file in files:
        wait_for_more(file, 20)
    began, chance = time.monotonic(), random.Random(1)
    moments = sorted(chance.uniform(0.0, SECONDS) for _ in range(KILLS))
    for number, moment in enumerate(moments):
        time.sleep(max(0.0, began + moment - time.monotonic()))
        k = number % PROCESSES
        wait_for_more(files[k], 20)
        running[k].kill()
        running[k].communicate()
        running[k] = start(place, files[k], stop)
    for file in files:
        wait_for_more(file, 20)
    time.sleep(max(0.0, SECONDS - (time.monotonic() - began)))
    stop.touch()
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
    states = [json.loads(process.communicate(timeout=60)[0]) for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES

    acknowledged = [line for file in files for line in read(file)]
    assert len(acknowledged) > 50
    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    rows = {row.id: row for row in decision_rows(database, record)}
    assert len({line.id for line in acknowledged}) == len(acknowledged)
    for line in acknowledged:
        row = rows[line.id]
        found = (row.round, row.arm, row.reward, row.unit, line.outcome)
        assert found == (line.round, line.arm, 0.25, "fr", "applied")
    assert [row.round for row in rows.values()] == list(range(1, len(rows) + 1))
    verified = verify(database)
    assert (verified.problems, verified.notes) == ((), ())
    folded = load(database, record, "never").bandit.get_state()
    assert states == [json.loads(json.dumps(folded))] * PROCESSES
    # A decision of a process that was killed may be in the log without being acknowledged, and without its reward.
    assert len(rows) - len(acknowledged) <= KILLS
    database.close()
    counts = [len(read(file)) for file in files]
    waits = [wait for line in acknowledged for wait in (line.decided - line.asked, line.rewarded - line.decided)]
    print(f"calls of each process: {counts}; longest wait: {max(waits):.3f} s")
    if STRESS:
        assert min(counts) > 0.5 * sum(counts) / len(counts)
        assert max(waits) < LONGEST
