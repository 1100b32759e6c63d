"""Turns: many threads and processes change the same bandits."""

import os
import threading
import time
import warnings
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

import rotting
from rotting.errors import (
    InvalidArgumentError,
    InvalidValueError,
    OutcomeUnknownError,
    StoreBusyError,
    StoreFailedError,
    StoreFormatError,
    StoreFullError,
)
from rotting.live.bandit_state import BanditState
from rotting.server.keys import new_key
from rotting.server.store import snapshots
from rotting.server.store.copying import backup
from rotting.server.store.database import Database, is_postgres, open_database
from rotting.server.store.durable import DurableBandit, create
from rotting.server.store.events import chained
from rotting.server.store.snapshots import sweep
from rotting.server.store.turns import Call, FoldedBandit, TurnReport, Turns, load
from rotting.server.store.verify import verify


@pytest.fixture
def turns(place: str) -> Iterator[Turns]:
    found = Turns(open_database(place))
    assert create(found, "songs", rotting.UCB1(), ["jazz", "rock"])
    yield found
    found.close()


@pytest.fixture
def other(place: str, turns: Turns) -> Iterator[Turns]:
    """Turns of the same database, as another process makes them."""
    found = Turns(open_database(place))
    yield found
    found.close()


def decide(folded: FoldedBandit) -> int:
    return folded.bandit.decide().round


def pay(id: str, folded: FoldedBandit) -> str:
    return folded.bandit.reward(id, 0.5)


def rounds(turns: Turns) -> int:
    return turns.read("songs", lambda folded: folded.bandit.rounds)


def test_a_bandit_is_created_once(turns: Turns, other: Turns) -> None:
    assert not create(other, "songs", rotting.UCB1(), ["jazz", "rock"])
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda k: create((turns, other)[k % 2], "new", rotting.UCB1(), ["a", "b"]), range(8)))
    assert sum(made) == 1


def test_everyone_sees_what_the_others_decide(turns: Turns, other: Turns) -> None:
    for k in range(10):
        assert (turns, other)[k % 2].change("songs", decide) == k + 1
    assert rounds(turns) == rounds(other) == 10


def test_calls_of_many_threads_are_all_in_the_log(turns: Turns, other: Turns) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda k: (turns, other)[k % 2].change("songs", decide), range(200)))
    assert sorted(made) == list(range(1, 201))
    record = turns.database.find("songs")
    assert record is not None
    assert (verify(turns.database).problems, verify(turns.database).events) == ((), 200)
    states = [each.read("songs", lambda folded: folded.bandit.get_state()) for each in (turns, other)]
    assert states[0] == states[1] == load(turns.database, record).bandit.get_state()


def test_calls_that_wait_share_a_turn(place: str) -> None:
    reports: list[TurnReport] = []
    turns = Turns(open_database(place), report=reports.append)
    create(turns, "songs", rotting.UCB1(), ["jazz", "rock"])
    entered, go_on = threading.Event(), threading.Event()

    def slow(folded: FoldedBandit) -> None:
        entered.set()
        go_on.wait(10)

    first = turns.submit(Call("songs", slow))
    assert entered.wait(10)
    waiting = [turns.submit(Call("songs", decide)) for _ in range(20)]
    go_on.set()
    assert [call.result() for call in waiting] == list(range(1, 21))
    first.result()
    turns.close()
    assert any(len(each.waits) >= 20 for each in reports)


def test_a_refused_call_changes_nothing_and_takes_nobody_down(turns: Turns) -> None:
    def refused(folded: FoldedBandit) -> None:
        folded.bandit.decide(["polka"])

    calls = [turns.submit(Call("songs", work)) for work in (decide, refused, decide)]
    assert calls[0].result() == 1
    with pytest.raises(InvalidValueError, match="polka"):
        calls[1].result()
    assert calls[2].result() == 2


def test_a_call_that_fails_unexpectedly_fails_alone(turns: Turns) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow(folded: FoldedBandit) -> None:
        entered.set()
        go_on.wait(10)

    def poisoned(folded: FoldedBandit) -> None:
        folded.bandit.decide()  # which must be undone
        raise ZeroDivisionError

    turns.submit(Call("songs", slow))
    assert entered.wait(10)
    works: list[Any] = [decide, poisoned, decide]
    calls = [turns.submit(Call("songs", work)) for work in works]
    go_on.set()
    with pytest.raises(ZeroDivisionError):
        calls[1].result()
    # Calls that wait at the same time may be made in any order.
    assert sorted(each.result() for each in (calls[0], calls[2])) == [1, 2]
    assert rounds(turns) == 2


def test_a_caller_who_gives_up_changes_nothing(turns: Turns) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow(folded: FoldedBandit) -> None:
        entered.set()
        go_on.wait(10)

    first = turns.submit(Call("songs", slow))
    assert entered.wait(10)
    with pytest.raises(StoreBusyError, match="^the store is busy: .*nothing was changed"):
        turns.change("songs", decide, seconds=0.05)
    go_on.set()
    first.result()
    assert rounds(turns) == 0


def test_a_bandit_that_does_not_exist_is_refused(turns: Turns) -> None:
    message = "bandit must exist, got 'none'"
    with pytest.raises(InvalidValueError, match=message):
        turns.change("none", decide)
    with pytest.raises(InvalidValueError, match=message):
        turns.read("none", decide)


def test_a_name_that_is_used_again_is_another_bandit(turns: Turns, other: Turns) -> None:
    assert other.change("songs", decide) == 1
    turns.change("songs", lambda folded: folded.changes.update(deleted=True))
    create(turns, "songs", rotting.UCB1(), ["polka"])
    assert other.read("songs", lambda folded: (folded.bandit.arms, folded.bandit.rounds)) == (("polka",), 0)
    assert other.change("songs", decide) == 1


def test_a_cache_far_behind_catches_up(turns: Turns, other: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    assert other.change("songs", decide) == 1
    for _ in range(3):
        turns.change("songs", lambda folded: [folded.bandit.decide() for _ in range(700)])
    assert other.change("songs", decide) == 2_102


def test_a_snapshot_is_used_and_makes_the_same_state(turns: Turns, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.store.turns.SNAPSHOT_EVENTS", 50)
    for _ in range(5):
        turns.change("songs", lambda folded: [folded.bandit.decide() for _ in range(30)])
    record = turns.database.find("songs")
    assert record is not None
    until = time.monotonic() + 10
    while not turns.database.snapshots(record) and time.monotonic() < until:
        time.sleep(0.01)
    (snapshot, *_) = turns.database.snapshots(record)
    assert snapshot.number % 30 == 0
    assert load(turns.database, record).bandit.get_state() == turns.read("songs", lambda f: f.bandit.get_state())


@pytest.mark.parametrize("state", [b"\0" * 8, zlib.compress(b"[" * 100_000), zlib.compress(b"{}"), b""])
def test_a_damaged_snapshot_is_passed_over(turns: Turns, other: Turns, state: bytes) -> None:
    for _ in range(3):
        turns.change("songs", decide)
    folded = turns.known("songs")
    assert folded is not None
    snapshot = snapshots.to_snapshot(folded.number, folded.digest, folded.bandit.state)._replace(state=state)
    turns.database.save_snapshot(folded.record, snapshot)
    assert rounds(other) == 3
    (problem,) = verify(turns.database).problems
    assert problem.startswith("bandit 'songs': the snapshot at event 3 cannot be read back")


def test_closed_turns_refuse_calls(place: str) -> None:
    turns = Turns(open_database(place))
    create(turns, "songs", rotting.UCB1(), ["jazz"])
    turns.close()
    turns.close()
    with pytest.raises(StoreFailedError, match="closed"):
        turns.change("songs", decide)


def test_keys_of_a_turn_are_stored_with_it(turns: Turns, other: Turns) -> None:
    def keyed(folded: FoldedBandit) -> bytes:
        if "k" in folded.keys:
            return folded.keys["k"].answer
        answer = b"%d" % folded.bandit.decide().round
        folded.store_key("k", b"request", answer)
        return answer

    calls = [each.submit(Call("songs", keyed, keys=("k",))) for each in (turns, other) * 10]
    assert {call.result() for call in calls} == {b"1"}
    assert rounds(turns) == 1


def test_a_key_that_is_stored_twice_in_a_turn_keeps_the_last_answer(turns: Turns) -> None:
    def store(folded: FoldedBandit) -> int:
        folded.store_key("k", b"request", b"made")
        folded.store_key("k", b"", b"")
        return decide(folded)

    assert turns.change("songs", store) == 1
    record = turns.database.find("songs")
    assert record is not None
    assert [each.answer for each in turns.database.keys(record)] == [b""]


def test_a_decision_with_its_reward_takes_at_most_350_bytes(turns: Turns, place: str, tmp_path: Path) -> None:
    def size() -> int:
        """Return the bytes of the store without the room that deleted rows have left."""
        sweep(turns.database, 1e12)
        if not is_postgres(place):
            copy = tmp_path / f"{turns.database.now()}.rot"
            backup(place, copy)
            return copy.stat().st_size
        with psycopg.connect(place.partition("?")[0], autocommit=True) as connection:
            connection.execute("VACUUM FULL")
        return turns.database.size()

    def live(folded: FoldedBandit) -> None:
        for _ in range(100):
            decision = folded.bandit.decide()
            folded.store_key(new_key(), b"12345678", b"x" * 200)
            folded.bandit.reward(decision.id, 0.0123)

    before = size()
    for _ in range(20):
        turns.change("songs", live, caller="shop")
    with_keys = turns.database.size()
    after = size()
    assert after < with_keys
    assert (after - before) / 2_000 <= 350


def test_old_events_are_replaced_by_a_base(turns: Turns, other: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_LEAST_REMOVED", 1)
    for _ in range(30):
        decision = turns.change("songs", lambda folded: folded.bandit.decide())
        other.change("songs", partial(pay, decision.id))
    before = turns.read("songs", lambda folded: folded.bandit.get_state())
    assert snapshots.remove_old_events(turns.database, "songs") == 0
    turns.change("songs", lambda folded: folded.changes.update(keep=86_400.0))
    assert snapshots.remove_old_events(turns.database, "songs") == 0
    assert snapshots.remove_old_events(turns.database, "songs", now=time.time() + 200_000) == 60
    snapshots.sweep(turns.database)
    record = turns.database.find("songs")
    assert record is not None
    assert record.base == 60
    assert turns.database.events(record, 1) == []
    assert load(turns.database, record).bandit.get_state() == before
    assert other.change("songs", decide) == turns.change("songs", decide) - 1 == 31
    assert load(turns.database, record).number == 62
    assert verify(turns.database).problems == ()


class Faults:
    """Makes the next commits of a database fail, before or after they are made."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.later: list[Exception] = []
        """For the commits after those of `after`."""
        transaction = database.transaction

        @contextmanager
        def failing() -> Iterator[Any]:
            with transaction() as found:
                yield found
                if self.before:
                    raise self.before.pop()
            if self.after:
                self.before, self.later = self.later, []
                raise self.after.pop()

        monkeypatch.setattr(database, "transaction", failing)


@pytest.fixture
def faults(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(turns.database, monkeypatch)


def test_a_turn_whose_commit_fails_is_made_again(turns: Turns, faults: Faults) -> None:
    faults.before = [StoreFailedError("cannot be reached"), StoreBusyError("is busy")]
    assert turns.change("songs", decide) == 1
    assert rounds(turns) == 1


def test_a_commit_with_an_unknown_outcome_is_looked_up(turns: Turns, faults: Faults) -> None:
    faults.after = [OutcomeUnknownError("was lost"), OutcomeUnknownError("was lost")]
    assert [turns.change("songs", decide) for _ in range(2)] == [1, 2]
    faults.before = [OutcomeUnknownError("was lost")]
    assert turns.change("songs", decide) == 3
    assert rounds(turns) == 3


def test_a_report_that_fails_takes_nobody_down(place: str) -> None:
    def fails(report: TurnReport) -> None:
        raise ZeroDivisionError

    turns = Turns(open_database(place), report=fails)
    assert create(turns, "songs", rotting.UCB1(), ["jazz"])
    assert turns.change("songs", decide) == 1
    turns.close()


def test_a_fault_of_ours_reaches_the_callers(turns: Turns, faults: Faults) -> None:
    faults.before = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        turns.change("songs", decide)
    assert turns.change("songs", decide) == 1


def test_every_method_of_a_bandit_is_one_of_a_durable_bandit() -> None:
    public = {name for name in vars(rotting.Bandit) if not name.startswith("_")}
    assert public - {name for name in vars(DurableBandit) if not name.startswith("_")} == {"holding", "from_state"}


def test_an_event_that_cannot_be_written_is_refused_and_changes_nothing(turns: Turns) -> None:
    for unit in (7, "\ud800", "a\0b"):
        with pytest.raises(InvalidArgumentError, match="^unit must be"):
            turns.change("songs", lambda folded, unit=unit: folded.bandit.decide(unit=unit))  # type: ignore[misc]
    assert turns.change("songs", decide) == 1


def test_a_cache_behind_large_events_catches_up(turns: Turns, other: Turns) -> None:
    assert other.change("songs", decide) == 1
    turns.change("songs", lambda folded: folded.bandit.learn([("jazz", k / 7) for k in range(30_000)]))
    assert other.change("songs", decide) == 30_002
    turns.change("songs", decide)
    assert rounds(other) == 30_003


def test_time_never_falls(place: str) -> None:
    times = iter([2e9, 2e9, 1e9, 1e9])
    for _ in range(2):  # the second begins with the log of the first
        turns = Turns(open_database(place), clock=lambda: next(times))
        if turns.database.find("songs") is None:
            create(turns, "songs", rotting.UCB1(), ["jazz"])
        turns.change("songs", decide)
        turns.close()
    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    assert [event.time for event in database.events(record, 1)] == [2 * 10**15] * 2
    database.close()


def test_a_damaged_bandit_does_not_keep_others_from_deciding(turns: Turns) -> None:
    create(turns, "films", rotting.UCB1(), ["x", "y"])
    assert turns.change("films", decide) == 1
    with turns.database.transaction() as transaction:
        record = transaction.record("films")
        assert record is not None
        last = turns.database.last(record)
        assert last is not None
        transaction.append(record, chained(last.digest, 1, last.time, "", [b'{"event":"of a newer version"}']), ())
    calls = [turns.submit(Call(name, decide)) for name in ("films", "songs", "films")]
    assert calls[1].result() == 1
    for call in (calls[0], calls[2]):
        with pytest.raises(StoreFormatError, match="that this version of the library does not know"):
            call.result()


def test_children_of_a_busy_process_go_on(turns: Turns) -> None:
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            turns.change("songs", decide)

    thread = threading.Thread(target=busy)
    thread.start()
    codes = []
    for _ in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads
            child = os.fork()
        if not child:
            os._exit(0 if turns.change("songs", decide) else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    thread.join()
    assert codes == [0] * 5
    record = turns.database.find("songs")
    assert record is not None
    assert verify(turns.database).problems == ()
    assert load(turns.database, record).number == rounds(turns)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:se/cret@db/ads",
        "postgresql://ann:se?cret@db/ads",
        "postgresql://ann:se%cret@db/ads",
        "postgresql://ann:se cret@db/ads",
        "postgresql://ann:secret@[::1/ads",
    ],
)
def test_no_message_shows_a_password(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(InvalidArgumentError) as refused:
        open_database(url)
    assert "cret" not in str(refused.value)


def test_a_server_that_cannot_be_reached_is_named_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreFailedError, match="postgresql://ann@127.0.0.1:1/ads cannot be reached") as refused:
        open_database("postgresql://ann:secret@127.0.0.1:1/ads")
    assert "secret" not in str(refused.value)


def test_calls_share_a_turn_though_others_held_the_lock_for_long(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.store.turns._MAX_SECONDS", 0.05)
    reports: list[TurnReport] = []
    turns = Turns(open_database(place), report=reports.append)
    create(turns, "songs", rotting.UCB1(), ["jazz", "rock"])
    other = open_database(place)
    with other.transaction() as transaction:
        assert transaction.record("songs") is not None
        calls = [turns.submit(Call("songs", decide)) for _ in range(20)]
        time.sleep(0.2)
    assert [call.result() for call in calls] == list(range(1, 21))
    assert len(reports[-1].waits) == 20
    other.close()
    turns.close()


def test_a_read_that_waited_for_a_turn_that_failed_does_not_see_its_changes(turns: Turns) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def poisoned(folded: FoldedBandit) -> None:
        folded.bandit.decide()
        entered.set()
        go_on.wait(10)
        raise ZeroDivisionError

    assert rounds(turns) == 0
    call = turns.submit(Call("songs", poisoned))
    assert entered.wait(10)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(rounds, turns)
        time.sleep(0.1)  # so that it waits for the lock of the bandit
        go_on.set()
        assert read.result() == 0
    with pytest.raises(ZeroDivisionError):
        call.result()


def test_a_snapshot_is_not_made_in_the_middle_of_a_read(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.store.turns.SNAPSHOT_EVENTS", 1)
    halfway, go_on = threading.Event(), threading.Event()
    apply = BanditState.apply
    readers = ThreadPoolExecutor(1, "a reader")

    def slow(state: BanditState, event: Any, **options: Any) -> Any:
        found = apply(state, event, **options)
        if threading.current_thread().name.startswith("a reader"):
            halfway.set()  # the state has the event, but its number has not been counted
            go_on.wait(10)
        return found

    def read_on(report: TurnReport) -> None:
        """After the turn is committed, and before its snapshot is made, begin to read what others have written."""
        other.change("songs", decide)
        reads.append(readers.submit(rounds, turns))
        assert halfway.wait(10)

    reads: list[Any] = []
    turns, other = Turns(open_database(place), report=read_on), Turns(open_database(place))
    create(other, "songs", rotting.UCB1(), ["jazz", "rock"])
    monkeypatch.setattr(BanditState, "apply", slow)
    monkeypatch.setattr(other, "_save", lambda folded: None)
    assert turns.change("songs", decide) == 1
    time.sleep(0.1)  # for a snapshot that does not wait for the read
    go_on.set()
    assert reads[0].result() == 2
    readers.shutdown()
    turns.close()  # when the snapshot has been made
    other.close()
    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    assert database.snapshots(record)
    assert verify(database).problems == ()
    database.close()


def test_a_change_that_may_be_written_is_not_said_to_be_unwritten(turns: Turns, faults: Faults) -> None:
    faults.after = [OutcomeUnknownError("was lost")]
    faults.later = [StoreFullError("cannot grow: the disk is full, and nothing was written")]
    with pytest.raises(OutcomeUnknownError):
        turns.change("songs", decide, seconds=5.0)
    assert turns.change("songs", decide) == 2
