"""What the observer looks at, and when."""

import json
import time
from pathlib import Path

import pytest

import rotting
from rotting.server.http import observer as module
from rotting.server.http.history import Histories, RewardBuckets
from rotting.server.http.observer import Observer
from rotting.server.store.database import all_records, open_database
from rotting.server.store.durable import create
from rotting.server.store.events import BanditRecord
from rotting.server.store.settling import Pending
from rotting.server.store.turns import Turns


def test_a_damaged_log_does_not_keep_other_bandits_from_being_looked_at(tmp_path: Path) -> None:
    turns = Turns(open_database(tmp_path / "songs.rot"), "never")
    for name in ("first", "second"):
        create(turns, name, rotting.UCB1(), ["a", "b"])
        turns.change(name, lambda folded: folded.bandit.decide())
    with turns.database.transaction() as transaction:
        transaction.write("UPDATE {events} SET payload = %s WHERE bandit = %s", b"{", 1)
    observer = Observer(turns.database, histories := Histories(turns.database))
    observer.look(at_once=True)
    second = turns.database.find("second")
    assert second is not None
    assert observer.verdicts(second) is not None
    assert (counted := histories.known(second)) is not None
    assert counted.rounds == 1
    turns.close()


def records(turns: Turns) -> list[BanditRecord]:
    return list(all_records(turns.database))


def test_a_look_without_time_goes_on_where_the_one_before_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(open_database(tmp_path / "songs.rot"), "never")
    for name in ("a", "b", "c"):
        create(turns, name, rotting.UCB1(), ["x", "y"])
        turns.change(name, lambda folded: folded.bandit.decide())
    observer = Observer(turns.database, Histories(turns.database))
    moments = iter(range(1_000))  # each look at the clock takes longer than a look may
    monkeypatch.setattr(module, "_READ_SECONDS", 1.5)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(moments)))
    seen = list[set[str]]()
    for _ in range(3):
        observer.look()
        seen.append({each.name for each in records(turns) if observer.verdicts(each) is not None})
    monkeypatch.undo()
    assert seen == [{"a"}, {"a", "b"}, {"a", "b", "c"}]
    turns.close()


def test_settled_decisions_are_judged_however_many_are_pending() -> None:
    counted = RewardBuckets(Pending(windowed=True))
    for t in range(1, 1_001):
        made = {"event": "decided", "id": f"d{t}", "round": t, "arm": "ab"[t % 2], "propensity": 1.0, "unit": f"u{t % 7}"}
        counted.add(json.dumps(made).encode(), float(t))
    assert counted.sampled().columns[0].size == 0
    counted.add(b'{"event": "rewarded", "id": "d3", "reward": 1.0}')
    counted.add(b'{"event": "settled", "round": 10, "missing": 0.0}')
    sample = counted.sampled()
    rounds, arms, rewards, times, units = (each.tolist() for each in sample.columns)
    assert rounds == times == list(range(1, 11))
    assert [sample.names[arm] for arm in arms] == ["ab"[t % 2] for t in rounds]
    assert rewards == [float(t == 3) for t in rounds]
    assert units == [f"u{t % 7}" for t in rounds]
    counted.add(b'{"event": "forgotten", "arm": "a"}')
    assert set(counted.sampled().columns[1].tolist()) == {0}  # those of b, which came first


def test_bandits_that_are_not_watched_any_more_are_forgotten(tmp_path: Path) -> None:
    turns = Turns(open_database(tmp_path / "songs.rot"), "never")
    for name in ("deleted", "kept"):
        create(turns, name, rotting.UCB1(), ["a", "b"])
        turns.change(name, lambda folded: folded.bandit.decide())
    observer = Observer(turns.database, Histories(turns.database))
    observer.look(at_once=True)
    deleted, kept = records(turns)
    assert observer.verdicts(deleted) is not None
    turns.change("deleted", lambda folded: folded.changes.update(deleted=True))
    observer.look()
    assert observer.verdicts(deleted) is None
    assert observer.verdicts(kept) is not None
    turns.close()
