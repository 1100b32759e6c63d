"""The parts of a ledger: early rewards in the order of their decisions, and the last answers."""

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.live.ledger import ClosedDecisions, EarlyRewards


@given(st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=120))
def test_early_rewards_are_a_sorted_list(steps: list[tuple[int, bool]]) -> None:
    early, model = EarlyRewards(), dict[int, tuple[int, int, float]]()
    for came, (decided, stays) in enumerate(steps, start=100):
        if decided in model and not stays:
            del model[decided]
            early.remove(decided)
        elif decided not in model:
            model[decided] = (came, decided % 7, decided / 8)
            early.add(decided, *model[decided])
        assert early.number == len(model)
        if model:
            rounds, slots, rewards = early.to_learn()
            in_order = [model[each] for each in sorted(model)]
            assert rounds.tolist() == [max(came for came, _, _ in in_order)] * len(model)
            assert list(zip(slots.tolist(), rewards.tolist(), strict=True)) == [(slot, reward) for _, slot, reward in in_order]


@pytest.mark.parametrize("most", [1, 2, 255, 256, 257, 600])
def test_only_the_latest_closed_decisions_are_kept(most: int) -> None:
    closed, model = ClosedDecisions(most), OrderedDict[str, float | None]()
    for k in range(1_500):
        key, reward = f"{k:x}", None if k % 7 == 0 else k / 2
        closed.add(key, reward)
        model[key] = reward
        if len(model) > most:
            model.popitem(last=False)
        assert len(closed) == len(model)
        for near in (k, k - most + 1, k - most, k - most - 255, k - most - 256):
            found = closed.find(f"{near:x}") if near >= 0 else None
            assert found == ((model[f"{near:x}"],) if near >= 0 and f"{near:x}" in model else None)
        if k % 100 == 0:
            assert list(closed) == list(model.items())
            assert list(ClosedDecisions(most, closed)) == list(closed)


def test_a_copy_of_closed_decisions_is_independent() -> None:
    closed = ClosedDecisions(300, ((str(k), 1.0) for k in range(400)))
    twin, before = closed.copy(), list(closed)
    closed.add("one", 0.5)
    twin.add("other", None)
    assert list(twin) == [*before[1:], ("other", None)]
    assert list(closed) == [*before[1:], ("one", 0.5)]
    assert twin.find("one") is closed.find("other") is None
