"""A month of decisions of which a week is kept: size, start and latency stop growing, and no state is lost.

The clock is fast, and the rate is scaled down: 100 decisions a second would be 2.6e8 in a month. It is a decision every 14
minutes here, and one every 43 seconds with `ROTTING_STRESS=1`. How the store behaves depends on how many events it keeps.
"""

import statistics
import time
from itertools import pairwise

import psycopg
import pytest

import rotting
from rotting.live.values import Decision
from rotting.server.store import snapshots
from rotting.server.store.database import open_database
from rotting.server.store.durable import create
from rotting.server.store.events import MICROSECOND, StoredEvent, initial_state
from rotting.server.store.snapshots import remove_old_events, sweep
from rotting.server.store.turns import FoldedBandit, TurnReport, Turns, load
from rotting.server.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.clocks import HandClock

DAY = 86_400.0
DAYS, KEPT, A_DAY, A_TURN = (30, 7, 2_000, 50) if STRESS else (30, 7, 100, 10)


def test_a_store_that_keeps_a_week_stops_growing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not STRESS:
        monkeypatch.setattr(snapshots, "_LEAST_REMOVED", 100)
        monkeypatch.setattr("rotting.server.store.turns.SNAPSHOT_EVENTS", 250)
    log: list[StoredEvent] = []

    def keep(report: TurnReport) -> None:
        log.extend(report.events["songs"])

    clock = HandClock()
    database = open_database(place)
    turns = Turns(database, "never", keep, clock=clock)
    # A state knows the answers to its last `max_pending` decisions, and grows until there are so many.
    policy = rotting.EffRAWUCB() if STRESS else rotting.UCB1()  # the second takes less time
    create(turns, "songs", policy, ["a", "b", "c"], KEPT * DAY, max_pending=5 * A_DAY)
    pending: list[Decision[str]] = []

    def decide(folded: FoldedBandit) -> list[Decision[str]]:
        folded.bandit.reward_many([(each.id, 0.5 + (each.round % 7 - 3) / 10) for each in pending])
        made = [folded.bandit.decide() for _ in range(A_TURN)]
        for each in made:
            folded.store_key(each.id, b"request", b"an answer of about two hundred bytes" * 5)
        return made

    sizes, events, starts, latencies = [], [], [], []
    for _ in range(DAYS):
        took = []
        for _ in range(A_DAY // A_TURN):
            clock.now += DAY * A_TURN / A_DAY
            began = time.perf_counter()
            pending = turns.change("songs", decide)
            took.append(time.perf_counter() - began)
        remove_old_events(database, "songs", clock.now)
        sweep(database, clock.now)
        if place.startswith("postgresql"):
            with psycopg.connect(place.partition("?")[0], autocommit=True) as connection:
                connection.execute("VACUUM")  # as PostgreSQL does by itself every minute, of a clock that is not fast
        record = database.find("songs")
        assert record is not None
        began = time.perf_counter()
        loaded = load(database, record, "never")
        starts.append(time.perf_counter() - began)
        events.append(loaded.number - record.base)
        sizes.append(database.size())
        latencies.append(statistics.median(took))
    turns.close()

    first = loaded.record._replace(base=0)
    whole = FoldedBandit(first, initial_state(first, "never"), 0, first.first_digest)
    whole.follow(log)
    assert whole.number == loaded.number == len(log)
    assert loaded.bandit.get_state() == whole.bandit.get_state()
    assert log[-1].time * MICROSECOND - log[0].time * MICROSECOND > (DAYS - 1) * DAY
    database = open_database(place, readonly=True)
    assert verify(database).problems == ()
    database.close()

    week, last = slice(KEPT + 2, KEPT + 9), slice(-7, None)  # the first week in which events were removed, and the last
    assert max(events[last]) <= max(events[week])
    assert max(sizes[last]) < 1.1 * max(sizes[week])
    assert max(sizes[last]) < 0.6 * sizes[KEPT] * DAYS / KEPT  # of what all would take
    figures = {"MB": [each / 1e6 for each in sizes], "start, ms": [each * 1e3 for each in starts]}
    figures["turn, ms"] = [each * 1e3 for each in latencies]
    for what, values in figures.items():
        print(what, " ".join(f"{value:.3g}" for value in values))
    if STRESS:  # the state grows with the logarithm of its rounds
        assert statistics.median(starts[last]) < 1.5 * statistics.median(starts[week])
        assert statistics.median(latencies[last]) < 1.5 * statistics.median(latencies[week])
    assert all(b >= a for a, b in pairwise(each.time for each in log))
