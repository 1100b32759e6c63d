"""Rewards that wait for their turn are kept in the order of their decisions."""

from hypothesis import given
from hypothesis import strategies as st

from rotting.live.early_rewards import EarlyRewards


@given(st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=120))
def test_they_are_a_sorted_list(steps: list[tuple[int, bool]]) -> None:
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
