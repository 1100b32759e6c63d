"""The rewards of the last rounds: what leaves the window leaves nothing behind."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rotting.parts.sliding_window import add_recent, forget_recent, new_recent, recent_sum, slide_to, start_recent

REWARDS = st.sampled_from([1e100, -3e99, 1e6, 0.1, 1 / 3, -1e-9])
GAMES = st.lists(st.tuples(st.integers(0, 2), REWARDS, st.integers(1, 3)), max_size=40)  # arm, reward, rounds until the next


@given(game=GAMES, tau=st.integers(1, 12))
def test_sums_and_counts_are_those_of_the_window_alone(game: list[tuple[int, float, int]], tau: int) -> None:
    s = new_recent(3, len(game))
    start_recent(s, tau)
    t, past = 1, []
    for arm, reward, rounds in game:
        add_recent(s, t, arm, reward)
        past.append((t, arm, reward))
        t += rounds
        slide_to(s, t)
        for i in range(3):
            window = [x for when, who, x in past if who == i and when >= t - tau]
            assert s.pulls[i] == len(window)
            total = math.fsum(window)  # rounded once, as the sum is: on a tie they may differ
            assert abs(recent_sum(s, i) - total) <= 2.0**-52 * abs(total) + 1e-30 * math.fsum(map(abs, window))


def test_small_rewards_are_exact_after_large_ones_left() -> None:
    s = new_recent(1, 20)
    start_recent(s, 2)
    for t, reward in enumerate([1e100, -3e99, 0.1, 0.2], 1):
        add_recent(s, t, 0, reward)
        slide_to(s, t + 1)
    assert recent_sum(s, 0) == math.fsum([0.1, 0.2])


def test_a_log_that_is_full_when_it_is_turned_over_empties_to_nothing() -> None:
    s = new_recent(1, 3)
    start_recent(s, 3)
    for t in (1, 2, 3):
        add_recent(s, t, 0, 0.5)
    for t, left in ((4, 1.5), (5, 1.0), (6, 0.5), (7, 0.0)):
        slide_to(s, t)
        assert recent_sum(s, 0) == left


def test_a_forgotten_arm_takes_nothing_along_when_its_rewards_leave() -> None:
    s = new_recent(2, 20)
    start_recent(s, 3)
    for t, arm in enumerate([0, 1, 0], 1):
        add_recent(s, t, arm, 1.0)
    forget_recent(s, 0)
    for arrays in (s.pulls, s.old_high, s.old_low, s.new_high, s.new_low):
        arrays[0] = 0  # what the library does with every array of arms
    for t in range(4, 8):
        add_recent(s, t, 1, 0.5)
        slide_to(s, t + 1)
    assert s.pulls.tolist() == [0, 3]
    assert (recent_sum(s, 0), recent_sum(s, 1)) == (0.0, 1.5)
