"""`rotting.open`: the methods of a bandit, on a database."""

import copy
import pickle
import time
import warnings
from pathlib import Path

import pytest

import rotting
from rotting.errors import InvalidArgumentError, InvalidValueError, RewardsWarning, StoreFailedError
from rotting.registry import make
from rotting.server.store import turns
from rotting.server.store.copying import copy as copy_bandits
from rotting.server.store.database import open_database
from rotting.server.store.durable import DurableBandit, open_in
from rotting.server.store.events import BanditRecord, StoredEvent, decode
from rotting.server.store.rows import decision_rows
from rotting.server.store.snapshots import remove_old_events, sweep
from rotting.server.store.turns import Turns, load
from rotting.server.store.verify import verify
from tests.helpers.clocks import HandClock


def test_the_same_call_creates_and_opens(place: str) -> None:
    for k in range(3):
        with rotting.open(place, rotting.UCB1(), arms=["jazz", "rock"]) as bandit:
            assert bandit.decide().round == k + 1
    with rotting.open(place) as bandit:
        assert (bandit.policy, bandit.arms, bandit.rounds, bandit.pending) == (rotting.UCB1(), ("jazz", "rock"), 3, 3)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"policy": rotting.UCB1(sigma=0.5)}, "policy"),
        ({"arms": ["jazz"]}, "arms"),
        ({"seed": 1}, "seed"),
        ({"pending": "ignore"}, "pending"),
        ({"max_pending": 5}, "max_pending"),
        ({"reward_window": "1h"}, "reward_window and missing"),
        ({"keep": "soon"}, "keep"),
        ({"name": ""}, "name"),
    ],
)
def test_other_arguments_are_refused(place: str, arguments: dict[str, object], field: str) -> None:
    rotting.open(place, rotting.UCB1(), arms=["jazz", "rock"]).close()
    with pytest.raises(InvalidValueError) as refused:
        rotting.open(place, **arguments)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_new_bandit_needs_a_policy_and_arms(place: str) -> None:
    for arguments, missing in (({}, "policy"), ({"policy": rotting.UCB1()}, "arms")):
        with pytest.raises(InvalidValueError, match=f"^{missing} must be given for a bandit that is new"):
            rotting.open(place, **arguments)  # type: ignore[arg-type]


def test_it_decides_as_a_bandit_in_memory(place: str) -> None:
    policy = make("thompson-sampling")
    twin = rotting.Bandit(policy, arms=["a", "b", "c"], seed=3)
    with rotting.open(place, policy, arms=["a", "b", "c"], seed=3) as bandit:
        assert isinstance(bandit, rotting.Bandit)
        for k in range(20):
            assert [each.arm for each in bandit.preview(count=2)] == [each.arm for each in twin.preview(count=2)]
            mine, theirs = bandit.decide(count=2), twin.decide(count=2)
            assert repr([each[1:] for each in mine]) == repr([each[1:] for each in theirs])  # of which some are NaN
            assert bandit.reward_many([(each, k % 3 / 2) for each in mine]) == ["applied", "applied"]
            twin.reward_many([(each, k % 3 / 2) for each in theirs])
            assert bandit.pull(without=["a"]) == twin.pull(without=["a"])
            for each in (bandit, twin):
                each.update("b", 1.0)
        for each in (bandit, twin):
            each.add_arm("d", prior=(0.5, 2))
            each.retire("a")
            each.learn([("b", 1.0), ("d", 0.5)])
        assert repr(bandit.explain()) == repr(twin.explain())
        assert bandit.propensities() == twin.propensities()
        assert bandit.cancel(bandit.decide()) == "applied"
        assert bandit.expire(older_than_rounds=0) == twin.expire(older_than_rounds=0)


def test_an_iterator_is_read_once(place: str) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b", "c"]) as bandit:
        assert bandit.decide(iter(["b", "c"])).arm == "b"


def test_a_refused_call_changes_nothing(place: str) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"]) as bandit:
        before = bandit.get_state()
        with pytest.raises(InvalidValueError):
            bandit.decide(["polka"])
        with pytest.raises(InvalidValueError):
            bandit.reward("x", float("nan"))
        assert bandit.get_state() == before


def test_the_log_says_when_who_and_for_whom(place: str) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"]) as bandit:
        first = bandit.decide(unit="fr")
        bandit.decide(["b"], unit="de")
        bandit.reward(first, 0.5)
        bandit.decide()
    database = open_database(place, readonly=True)
    record = database.find("bandit")
    assert record is not None
    rows = list(decision_rows(database, record))
    assert [(row.unit, row.arm, row.available, row.reward, row.state) for row in rows] == [
        ("fr", "a", ("a", "b"), 0.5, "settled"),
        ("de", "b", ("b",), None, "pending"),
        (None, rows[2].arm, ("a", "b"), None, "pending"),
    ]
    assert rows[0].time <= rows[1].time <= rows[2].time
    assert "arms" not in decode(database.events(record, 1)[0].payload)
    database.close()


def test_the_arms_that_were_added_before_a_base_are_available_after_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.store.snapshots._LEAST_REMOVED", 1)
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"], keep="1d") as bandit:
        bandit.add_arm("c")
        bandit.retire("a")
        old = [bandit.decide() for _ in range(4)]
        assert remove_old_events(bandit._turns.database, bandit.name, time.time() + 100_000) == 6
        sweep(bandit._turns.database)
        bandit.reward(old[0], 1.0)
        bandit.decide()
        bandit.decide(without=["c"])
    database = open_database(place, readonly=True)
    record = database.find("bandit")
    assert record is not None
    assert [(row.round, row.available) for row in decision_rows(database, record)] == [(5, ("b", "c")), (6, ("b",))]
    database.close()


def test_windows_close_after_a_restart_and_a_replay_agrees(place: str) -> None:
    clock = HandClock()

    def opened() -> DurableBandit[str]:
        turns = Turns(open_database(place), clock=clock)
        return open_in(turns, "songs", make("raw-ucb"), ["a", "b"], reward_window="1h", missing=0.0)

    bandit = opened()
    made = [bandit.decide() for _ in range(4)]
    bandit.reward(made[1], 1.0)
    bandit.close()
    clock.now += 3_600.0
    bandit = opened()
    assert bandit.pending == 4
    bandit.decide()
    assert bandit.pending == 1
    bandit.close()
    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    kinds = [decode(event.payload)["event"] for event in database.events(record, 1)]
    assert kinds == ["decided"] * 4 + ["rewarded", "settled", "decided"]
    assert [row.reward for row in decision_rows(database, record)] == [0.0, 1.0, 0.0, 0.0, None]
    assert verify(database).problems == ()
    database.close()


def test_any_server_closes_the_windows_of_a_bandit_that_nobody_calls(place: str) -> None:
    clock = HandClock(1e9)
    first, second = (Turns(open_database(place), clock=clock) for _ in range(2))
    bandit = open_in(first, "songs", make("raw-ucb"), ["a", "b"], reward_window="1h", missing=0.0)
    made = [bandit.decide() for _ in range(3)]
    bandit.reward(made[0], 1.0)
    asked = []
    for hours in (0.9, 0.2, 5.0):
        clock.now += 3_600.0 * hours
        asked.append(second.database.due(round(clock.now * 1e6)))
        second.settle_windows()
        second.change("songs", lambda folded: None)  # after the turn of nobody's call
    assert asked == [[], ["songs"], []]
    record = second.database.find("songs")
    assert record is not None
    assert decode(second.database.events(record, 1)[-1].payload)["event"] == "settled"
    assert bandit.pending == 0
    bandit.decide()
    clock.now += 3_601.0
    assert second.database.due(round(clock.now * 1e6)) == ["songs"]
    bandit.close()
    second.close()


def test_windows_close_though_another_process_saw_nothing_pending(place: str) -> None:
    clock = HandClock(1e9)
    first, second = (Turns(open_database(place), clock=clock) for _ in range(2))
    bandit = open_in(first, "songs", make("raw-ucb"), ["a", "b"], reward_window="1h", missing=0.0)
    decision = bandit.decide()
    clock.now += 600.0
    second.change("songs", lambda folded: folded.bandit.reward(decision.id, 1.0))
    clock.now += 600.0
    bandit.decide()
    due = []
    for _ in range(4):  # the time of the first decision, that of the second, and nothing after them
        clock.now += 3_000.0
        due.append(second.database.due(round(clock.now * 1e6)))
        second.settle_windows()
        second.change("songs", lambda folded: None)
    assert due == [["songs"], ["songs"], [], []]
    assert bandit.pending == 0
    bandit.change(reward_window=None)
    assert second.database.due(10**18) == []
    bandit.close()
    second.close()


def test_windows_close_in_a_copy_that_nobody_calls(place: str, tmp_path: Path) -> None:
    clock = HandClock(1e9)
    bandit = open_in(Turns(open_database(place), clock=clock), "songs", make("raw-ucb"), ["a"], reward_window="1h")
    bandit.decide()
    source, copied = open_database(place), Turns(open_database(tmp_path / "copy.rot"), clock=clock)
    copy_bandits(source, copied.database)
    source.close()
    bandit.close()
    pending = []
    for _ in range(2):
        copied.settle_windows()
        copied.change("songs", lambda folded: None)
        pending.append(copied.read("songs", lambda folded: folded.bandit.pending))
        clock.now += 3_601.0
    assert pending == [1, 0]
    copied.close()


def test_windows_that_could_not_be_closed_are_closed_later(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_SETTLE_AGAIN", 0.0)
    clock = HandClock(1e9)
    bandit = open_in(made := Turns(open_database(place), clock=clock), "songs", make("raw-ucb"), ["a"], reward_window="1h")
    bandit.decide()
    clock.now += 3_601.0
    with monkeypatch.context() as busy:
        busy.setattr(turns, "MAX_WAITING", 0)
        made.settle_windows()
    made.settle_windows()
    made.change("songs", lambda folded: None)  # after the turn that settles
    record = made.database.find("songs")
    assert record is not None
    assert decode(made.database.events(record, 1)[-1].payload)["event"] == "settled"
    bandit.close()


def test_warnings_reach_the_caller(place: str) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"], max_pending=2) as bandit:
        bandit.decide()
        bandit.decide()
        with pytest.warns(RewardsWarning, match="max_pending reached"):
            bandit.decide()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bandit.decide()


def test_a_copy_is_an_independent_bandit_in_memory(place: str) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"]) as bandit:
        bandit.decide()
        for twin in (copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
            assert type(twin) is rotting.Bandit
            assert twin.decide().round == 2
        assert bandit.rounds == 1


def test_an_archived_bandit_decides_no_more_and_a_deleted_one_is_gone(place: str) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"]) as bandit:
        bandit.decide()
        bandit.archive()
        with pytest.raises(InvalidValueError, match="archived"):
            bandit.decide()
        assert bandit.rounds == 1
        bandit.delete()
        with pytest.raises(InvalidValueError, match="exist"):
            bandit.explain()
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"]) as bandit:
        assert bandit.rounds == 0


def test_a_timeout_is_a_positive_number(place: str) -> None:
    for timeout in (0, -1, float("nan"), "30s"):
        with pytest.raises(InvalidArgumentError, match="^timeout must be a positive finite number"):
            rotting.open(place, rotting.UCB1(), ["a"], timeout=timeout)  # type: ignore[arg-type]
    with rotting.open(place, rotting.UCB1(), ["a"], timeout=1e300) as bandit:
        assert bandit.decide().round == 1


def test_a_closed_bandit_refuses_calls(place: str) -> None:
    bandit = rotting.open(place, rotting.UCB1(), arms=["a", "b"])
    bandit.close()
    bandit.close()
    with pytest.raises(StoreFailedError, match="closed"):
        bandit.decide()


def test_snapshots_of_changes_do_not_pile_up_if_all_events_are_kept(place: str) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"], compile="never") as bandit:
        for policy in [rotting.EffRAWUCB(), rotting.UCB1()] * 3:
            bandit.change(policy=policy)
        database = bandit._turns.database
        record = database.find(bandit.name)
        assert record is not None
        assert [each.number for each in database.snapshots(record)] == [6, 5]


def test_a_base_has_learned_what_a_new_policy_had_learned(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.store.snapshots._LEAST_REMOVED", 1)
    monkeypatch.setattr("rotting.server.store.turns.SNAPSHOT_EVENTS", 20)
    clock = HandClock(1e9)
    made = Turns(open_database(place), "never", clock=clock)
    bandit = open_in(made, "songs", rotting.UCB1(), ["a", "b"], keep=86_400.0)
    removed = list[int]()
    for days in (0.5, 0.9, 3.0, 3.0):  # the base comes after the change with the third
        for _ in range(40):
            bandit.reward(bandit.decide(), 1.0)
        clock.now += 86_400.0 * days
        if not removed:
            bandit.change(policy=rotting.EffRAWUCB())
        removed.append(remove_old_events(made.database, "songs", clock.now))
        sweep(made.database, clock.now)
    assert removed == [0, 80, 161, 80]
    record = made.database.find("songs")
    assert record is not None
    assert verify(made.database).problems == ()
    assert load(made.database, record, "never").bandit.get_state() == bandit.get_state()
    bandit.close()


def test_an_export_begins_anew_if_events_are_removed_meanwhile(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.store.snapshots._LEAST_REMOVED", 1)
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"], keep="1d") as bandit:
        database = bandit._turns.database
        old = [bandit.decide() for _ in range(8)]
        pages, read = [], database.events

        def events(record: BanditRecord, first: int, limit: int = 1_000) -> list[StoredEvent]:
            pages.append(first)
            if len(pages) == 3:
                remove()
            return read(record, first, min(limit, 2))

        def remove() -> None:
            assert remove_old_events(database, bandit.name, time.time() + 100_000) == 8
            sweep(database)
            bandit.reward(old[7], 1.0)
            bandit.decide()

        record = database.find(bandit.name)
        assert record is not None
        monkeypatch.setattr(database, "events", events)
        rows = list(decision_rows(database, record))
        assert [(row.round, row.state) for row in rows] == [(9, "pending")]


def test_how_long_events_are_kept_can_be_changed(place: str) -> None:
    for keep, kept in ((None, None), ("90d", 7_776_000.0), (None, 7_776_000.0), ("30d", 2_592_000.0)):
        rotting.open(place, rotting.UCB1(), arms=["a", "b"], keep=keep).close()
        database = open_database(place, readonly=True)
        record = database.find("bandit")
        assert record is not None
        assert record.keep == kept
        database.close()
