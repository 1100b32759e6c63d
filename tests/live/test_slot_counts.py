"""Counts of decisions and rewards: the waiting slots and the arrays follow from the lists at any time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.live.slot_counts import SlotCounts
from rotting.policies.exp3 import Exp3
from rotting.policies.ucb1 import UCB1

CHANGES = st.lists(
    st.tuples(st.sampled_from(["decided", "ended", "rewarded", "learned", "forget", "add_slot"]), st.integers(0, 3))
)


def assert_consistent(counts: SlotCounts) -> None:
    pending, rewards = (each.tolist() for each in counts.counts)
    assert (pending, rewards) == (counts.pending, counts.rewards)
    waiting = {i for i, n in enumerate(pending) if n > 0 and (counts.by_index or rewards[i] == 0)}
    assert counts.waiting == (waiting if counts.has_rule else set())


@given(CHANGES, st.booleans(), st.booleans())
def test_the_waiting_slots_follow_from_the_counts(changes: list[tuple[str, int]], by_index: bool, lazily: bool) -> None:
    """Whether the arrays are read after every change, or once at the end."""
    counts = SlotCounts(UCB1(), 4, True, by_index)
    for change, slot in changes:
        if change == "rewarded" and counts.pending[slot] > 0:
            counts.learned(slot, 0.5, True)
        elif change == "learned":
            counts.learned(slot, 0.5, False)
        elif change == "add_slot":
            counts.add_slot()
        elif change in {"decided", "forget"} or (change == "ended" and counts.pending[slot] > 0):
            getattr(counts, change)(slot)
        if not lazily:
            assert_consistent(counts)
    assert_consistent(counts)


def test_without_a_rule_no_slot_waits() -> None:
    counts = SlotCounts(UCB1(), 2, False, False)
    counts.decided(1)
    assert counts.pending == [0, 1]
    assert not counts.waiting


def test_a_copy_is_independent() -> None:
    counts = SlotCounts(UCB1(), 2, True, True)
    counts.decided(0)
    twin = counts.copy()
    twin.decided(1)
    twin.learned(0, 1.0, True)
    assert_consistent(twin)
    assert_consistent(counts)
    assert (counts.pending, counts.rewards, counts.waiting) == ([1, 0], [0, 0], {0})
    assert (twin.pending, twin.rewards, twin.waiting) == ([0, 1], [1, 0], {1})


@pytest.mark.parametrize("policy", [UCB1(), Exp3(gamma=0.1, low=-1.0, outside="clip")], ids=lambda each: each.name)
def test_many_rewards_count_as_one_by_one(policy: UCB1 | Exp3) -> None:
    rng = np.random.default_rng(1)
    slots, rewards = rng.integers(3, size=50), rng.normal(size=50)
    at_once, one_by_one = (SlotCounts(policy, 4, True, True) for _ in range(2))
    at_once.learned_all(slots, rewards)
    for slot, reward in zip(slots.tolist(), rewards.tolist(), strict=True):
        one_by_one.learned(slot, reward, False)
    assert at_once.rewards == one_by_one.rewards
    assert (at_once.reward_sum, at_once.n_rewards) == (one_by_one.reward_sum, one_by_one.n_rewards)
    assert_consistent(at_once)
