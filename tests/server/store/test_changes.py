"""`change` of a durable bandit: what other processes see, and what is learned anew."""

import time
from contextlib import closing
from typing import Any

import pytest

import rotting
from rotting.errors import InvalidValueError
from rotting.live.saved_state import save
from rotting.registry import make
from rotting.server.store.copying import copy
from rotting.server.store.database import open_database
from rotting.server.store.durable import DurableBandit
from rotting.server.store.events import decode_event
from rotting.server.store.snapshots import remove_old_events, sweep
from rotting.server.store.turns import load
from rotting.server.store.verify import verify

FIRST, SECOND = make("raw-ucb", alpha=1.4), make("eff-raw-ucb", alpha=0.5)


def opened(place: str, **more: Any) -> DurableBandit[str]:
    return rotting.open(place, FIRST, arms=["a", "b", "c"], compile="never", **more)


def play(bandit: rotting.Bandit[str], rounds: int) -> None:
    for k in range(rounds):
        decision = bandit.decide(unit=f"u{k}")
        if k % 4:
            bandit.reward(decision.id, float(decision.arm == "b"))


def saved(place: str) -> dict[str, Any]:
    with closing(open_database(place, readonly=True)) as database:
        record = database.find("bandit")
        assert record is not None
        return save(load(database, record, "never").bandit.state, timed=True)


def test_other_processes_go_on_with_the_new_policy_and_all_ids(place: str) -> None:
    with opened(place, reward_window="1h", holdout=0.1) as bandit, opened(place) as other:
        play(bandit, 60)
        late, earlier = other.decide(), bandit.decide()
        bandit.change(alpha=0.7, reason="less exploration")
        assert bandit.policy == other.policy == make("raw-ucb", alpha=0.7)
        assert other.reward(late.id, 1.0) == bandit.reward(earlier.id, 0.0) == "applied"
        play(other, 20)
        other.change(policy=SECOND, missing=None)
        play(bandit, 20)
        assert bandit.policy == SECOND
        assert bandit.get_state() == other.get_state()
    with opened(place, reward_window="1h", missing=0.0) as again:  # the arguments that it was made with
        assert again.policy == SECOND
    rotting.open(place, SECOND, reward_window="1h", missing=None, holdout=0.1).close()  # those that it has
    with pytest.raises(InvalidValueError, match="^policy must be that of the store, EffRAWUCB"):
        rotting.open(place, make("ucb1"))
    with closing(open_database(place, readonly=True)) as database:
        found = verify(database)
    assert (found.problems, found.notes) == ((), ())


def test_what_is_learned_anew_equals_a_bandit_that_had_the_settings_from_the_start(place: str) -> None:
    with opened(place) as bandit:
        play(bandit, 100)
        bandit.change(policy=SECOND)
        play(bandit, 30)
    twin = rotting.Bandit(SECOND, arms=["a", "b", "c"], compile="never")
    with closing(open_database(place, readonly=True)) as database:
        record = database.find("bandit")
        assert record is not None
        for event in database.events(record, 1):
            twin._state.apply(decode_event(event))
    assert saved(place) == save(twin._state, timed=True)


def test_a_log_without_its_snapshots_folds_to_the_same_state(place: str, tmp_path: Any) -> None:
    with opened(place, holdout=0.2) as bandit:
        play(bandit, 50)
        bandit.change(alpha=0.7)
        play(bandit, 50)
        bandit.change(policy=SECOND, caps={"b": 0.5})
        play(bandit, 50)
    with closing(open_database(place, readonly=True)) as source, closing(open_database(tmp_path / "copy.rot")) as target:
        copy(source, target)  # snapshots are not copied
    assert saved(str(tmp_path / "copy.rot")) == saved(place)


def test_a_policy_learns_what_the_log_still_keeps(place: str) -> None:
    with opened(place, keep="1s") as bandit:
        play(bandit, 800)
        bandit.change(alpha=0.7)
        play(bandit, 10)
        assert sum(each.pulls for each in bandit.explain().values()) == 607
        late = bandit.decide()
        turns = bandit._turns
        removed = remove_old_events(turns.database, "bandit", now=time.time() + 200_000)
        assert removed > 1_000
        sweep(turns.database)
        play(bandit, 8)
        bandit.change(policy=SECOND)
        assert sum(each.pulls for each in bandit.explain().values()) == 6  # those that are kept
        assert bandit.reward(late.id, 1.0) == "applied"
        assert bandit.rounds == 819
    with closing(open_database(place, readonly=True)) as database:
        assert verify(database).problems == ()


def test_settings_are_changed_in_a_turn_and_logged(place: str) -> None:
    with opened(place, reward_window="1h") as bandit, opened(place) as other:
        bandit.change(caps={"a": 0.4}, holdout=0.25, reason="contract")
        bandit.pause("c", reason="broken")
        bandit.pause("c")  # nothing to change, and nothing to log
        assert other.explain()["c"].rule == "paused"
        assert other.propensities()["c"] == 0.0
        play(other, 40)
        assert repr(bandit.uplift()) == repr(other.uplift())
        other.resume("c")
        database = bandit._turns.database
        record = database.find("bandit")
        assert record is not None
        changed = [each.payload for each in database.events(record, 1) if each.payload.startswith(b'{"event":"changed"')]
        assert changed == [
            b'{"event":"changed","holdout":0.25,"caps":[["a",0.4]],"reason":"contract"}',
            b'{"event":"changed","paused":["c"],"reason":"broken"}',
            b'{"event":"changed","paused":[],"reason":""}',
        ]


def test_a_unit_stays_on_its_side_in_every_process(place: str) -> None:
    with opened(place, holdout=0.3) as bandit, opened(place) as other:
        sides = [[each.decide(unit=f"u{k}").reason.rule for each in (bandit, other)] for k in range(100)]
    assert all(first == second for first, second in sides)
    assert 7 < sum(first == "holdout" for first, _ in sides) < 53  # five standard deviations


def test_rewards_that_another_policy_does_not_take_are_named(place: str) -> None:
    with opened(place) as bandit:
        bandit.update("a", 7.0)
        with pytest.raises(InvalidValueError, match=r"^reward must be in \[0\.0, 1\.0\], .* got 7\.0"):
            bandit.change(policy=make("thompson-sampling"))
        with pytest.raises(InvalidValueError, match="^setting must be one of"):
            bandit.change(tau=3)
        assert bandit.policy == FIRST
        bandit.archive()
        with pytest.raises(InvalidValueError, match="^bandit must be active"):
            bandit.change(holdout=0.1)
