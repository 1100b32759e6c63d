"""A store opens after an upgrade that changes decisions: the log is trusted, and only `verify` compares."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rotting
from rotting.common.arrays import Floats, Ints
from rotting.kit import Kernel, Params, Policy
from rotting.live.saved_state import _digest, restore
from rotting.store.durable import DurableBandit, open_in
from rotting.store.host import Host
from rotting.store.protocol import Snapshot
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from rotting.store.writers import Writer
from tests.helpers.memory_store import Medium, MemoryStore
from tests.helpers.stores import newest_snapshot

ARMS = ["a", "b", "c"]


class State(NamedTuple):
    """`choose` writes `chosen` and `propensity`, as policies do that draw, or that play in batches."""

    pulls: Ints
    total: Floats
    chosen: Ints
    propensity: Floats


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(n_arms, np.int64), np.zeros(n_arms))


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    arm = arms[(t - 1) % arms.size]
    s.chosen[arm] += 1
    s.propensity[arm] = 0.5
    return int(arm)


def choose_backwards(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    arm = arms[arms.size - 1 - (t - 1) % arms.size]
    s.chosen[arm] += 1
    s.propensity[arm] = 0.25
    return int(arm)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.pulls[arm] += 1
    s.total[arm] += reward / s.propensity[arm]


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    out[:] = 1.0 / arms.size


def upgraded(chooses: Any) -> Policy:
    """The policy with another `choose`, as after an upgrade of the library: the last definition of its class counts."""

    class Turns(Policy):
        name = "turns"
        randomised = True
        kernel = Kernel(init, chooses, update, propensities=propensities)

    return Turns()


def play(bandit: DurableBandit, rounds: int) -> list[Any]:
    decisions = [bandit.decide() for _ in range(rounds)]
    for decision in decisions[:-1]:  # the last stays pending
        bandit.reward(decision, 1.0)
    return [decision.arm for decision in decisions]


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("crash", [False, True])
def test_a_store_opens_with_another_code_of_its_policy(crash: bool, snapshot: bool) -> None:
    medium, policy = Medium(), upgraded(choose)
    bandit = open_in(MemoryStore(medium), "songs", policy, ARMS)
    assert play(bandit, 4) == ["a", "b", "c", "a"]
    if snapshot:  # in the middle of the log, so that events follow it
        medium.snapshots["songs"] = Snapshot(len(medium.log), bandit.get_state())
    assert play(bandit, 3) == ["b", "c", "a"]
    old = restore(bandit.get_state())
    if crash:
        medium.written = False
    else:
        bandit.close()
    if not snapshot:
        medium.snapshots.clear()

    upgraded(choose_backwards)
    bandit = open_in(MemoryStore(medium), "songs", None, None)
    state = restore(bandit.get_state())
    assert (bandit.rounds, bandit.pending) == (7, 2)
    assert [entry.propensity for entry in state.ledger.entries.values()] == [0.5, 0.5]  # the recorded ones
    for name in ("pulls", "total"):  # what was learned is what the log says, with the recorded arms and propensities
        assert getattr(state.learner.state, name).tolist() == getattr(old.learner.state, name).tolist()
    assert state.learner.state.chosen.sum() == 7  # `choose` was called once for each decision
    pending = [entry.key for entry in state.ledger.entries.values()]
    assert bandit.reward_many([(str(key), 1.0) for key in pending]) == ["applied", "applied"]
    assert play(bandit, 3) == ["b", "a", "c"]  # rounds 8 to 10, by the new code
    bandit.close()


def test_verify_says_which_code_wrote_an_epoch() -> None:
    medium, policy = Medium(), upgraded(choose)
    first = Writer.of(policy)
    with open_in(MemoryStore(medium), "songs", policy, ARMS) as bandit:
        play(bandit, 3)
    with open_in(MemoryStore(medium), "songs", None, None) as bandit:
        play(bandit, 1)
    assert not any("note" in event.payload for event in MemoryStore(medium, readonly=True).read())  # the same code, once
    second = Writer.of(upgraded(choose_backwards))
    assert first != second
    with open_in(MemoryStore(medium), "songs", None, None) as bandit:
        play(bandit, 2)
        play(bandit, 1)
    reader = MemoryStore(medium, readonly=True)
    notes = [(event.epoch, event.payload) for event in reader.read() if "note" in event.payload]
    assert notes == [(3, second.to_note())]
    found = verify(reader, replay=True)
    assert found.problems == ()
    epochs, latest, snapshot, decisions = found.notes
    assert epochs == f"turns: epochs 1-2 were written by {first}"
    assert latest == f"turns: epoch 3 was written by {second}, as this is"
    assert snapshot.endswith("is not the state that the events up to it make; other code wrote some of them")
    share = "3 of 4 decisions of other code would differ today"
    assert decisions == f"bandit 'songs': {share}; first, the decision of round 1 was 'a', and is 'c' now"
    upgraded(choose)
    found = verify(reader, replay=True)
    assert found.problems == ()
    assert f"turns: epoch 3 was written by {second}" in found.notes


def test_a_decision_that_differs_under_the_same_code_is_a_problem() -> None:
    """After other code wrote, from the first snapshot on."""
    medium, policy = Medium(), upgraded(choose)
    with open_in(MemoryStore(medium), "songs", policy, ARMS) as bandit:
        play(bandit, 3)
    upgraded(choose_backwards)
    with open_in(MemoryStore(medium), "songs", None, None) as bandit:
        play(bandit, 1)
        snapshot = Snapshot(len(medium.log), bandit.get_state())
        play(bandit, 1)
    reader = MemoryStore(medium, readonly=True)
    (last,) = (event for event in reader.read() if event.payload.get("round") == 5)
    forged, other = Medium(), {**last.payload, "arm": "c"}
    assert last.payload["arm"] != "c"
    with MemoryStore(forged) as store:
        before = [(event.bandit, event.payload) for event in reader.read() if event.number < last.number]
        store.append([*before, ("songs", other)], reader.bandits().items())
    forged.snapshots["songs"] = snapshot
    with MemoryStore(forged, readonly=True) as store:
        found = verify(store, replay=True)
    (problem,) = found.problems
    assert problem.startswith(f"event {last.number}: the decision of round 5 was 'c', and is 'b' now; epoch ")
    assert problem.endswith("as this is")
    forged.snapshots.clear()
    with MemoryStore(forged, readonly=True) as store:
        found = verify(store, replay=True)
    assert found.problems == ()
    assert "bandit 'songs': 1 of 2 decisions of this code in a state that other code left would differ today" in str(found)


def test_a_log_that_does_not_name_its_writer_opens_and_verifies() -> None:
    medium, policy = Medium(), upgraded(choose)
    with open_in(MemoryStore(medium), "songs", policy, ARMS) as bandit:
        play(bandit, 3)
    description = MemoryStore(medium, readonly=True).bandits()["songs"]
    del description["version"], description["code"]
    old, events = Medium(), [(event.bandit, event.payload) for event in MemoryStore(medium, readonly=True).read()]
    with MemoryStore(old) as store:
        store.append(events, [("songs", {**description, "pending": "young"})])  # the word of that time
    with open_in(MemoryStore(old), "songs", policy, ARMS, pending="shrink") as bandit:
        assert bandit.rounds == 3
        play(bandit, 1)
    reader = MemoryStore(old, readonly=True)
    assert [event.payload["note"] for event in reader.read() if "note" in event.payload] == ["writer"]
    assert verify(reader, replay=True).problems == ()
    upgraded(choose_backwards)
    found = verify(reader, replay=True)
    assert found.problems == ()
    assert "turns: epoch 1 was written by an unknown version" in found.notes
    assert len(found.notes) == 5  # two writers, the decisions of each that differ, and a snapshot


@pytest.mark.parametrize("name", [each.name for each in fields(Kernel) if each.name != "params"])
def test_a_change_of_any_function_of_a_policy_is_another_writer(name: str) -> None:
    policy, other = upgraded(choose), upgraded(choose)
    changed: dict[str, Any] = {name: choose_backwards}
    type(other).kernel = replace(policy.kernel, **changed)
    assert Writer.of(policy) == Writer.of(upgraded(choose)) != Writer.of(other)


def test_a_host_names_the_writer_before_its_first_events(tmp_path: Path) -> None:
    path, policy = tmp_path / "songs.rot", upgraded(choose)
    chosen = []
    for code in (choose, choose, choose_backwards):
        new = upgraded(code)
        host = Host(path)
        hosted = host.adopt(host.load("songs") if "songs" in host.descriptions else host.make("songs", policy, ARMS))
        chosen.append(hosted.bandit.decide().arm)
        host.collect(hosted)
        host.write(host.take())
        host.close()
    assert chosen == ["a", "b", "a"]  # the third of "c", "b", "a"
    with SQLiteStore(path, readonly=True) as store:
        assert [event.payload.get("note") for event in store.read()] == [None, None, "writer", None]
        note = store.note("songs", "writer")
        assert note is not None
        assert note.payload == Writer.of(new).to_note()


def test_a_state_with_a_former_word_is_read_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with rotting.open(path, rotting.UCB1(), arms=["a", "b"]) as bandit:
        bandit.update("a", 1.0)
        state = bandit.get_state()
    former = {**state, "pending": "young"}
    former["digest"] = _digest(former)
    assert restore(former).pending_rule == "shrink"
    assert rotting.Bandit.from_state(former).get_state() == state
    with SQLiteStore(path) as store:
        store.save_snapshot("bandit", 1, former)
        assert verify(store, replay=True).problems == ()


def test_a_snapshot_from_before_updates_were_counted_verifies_and_goes_on(tmp_path: Path) -> None:
    """Its count is guessed from above, which is no difference; one that is too low would be."""
    path = tmp_path / "songs.rot"
    with rotting.open(path, rotting.FEWA(), arms=["z"]) as bandit:
        bandit.add_arm("a", prior=(0.9, 10))
        for _ in range(100):
            bandit.update("a", 1.0)
        former = bandit.get_state()
        del former["updates"]
        former["digest"] = _digest(former)
    with SQLiteStore(path) as store:
        store.save_snapshot("bandit", store.last, former)
    with rotting.open(path) as bandit:
        bandit.update("a", 0.0)
        bandit.update("a", 0.0)
        state = bandit.get_state()
    assert state["updates"] == 100 + 110 + 2
    with SQLiteStore(path) as store:
        assert newest_snapshot(store, "bandit") == Snapshot(store.last, state)
        assert verify(store, replay=True).problems == ()
        low = {**state, "updates": 111}
        low["digest"] = _digest(low)
        store.save_snapshot("bandit", store.last, low)
        (problem,) = verify(store, replay=True).problems
        assert "is not the state that the events up to it make" in problem
