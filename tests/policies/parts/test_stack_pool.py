"""Stacks that share their arrays: each keeps its own points, and no place is ever lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.parts.hull import FIRST, Stacks, enlarged, ensure_room, new_stacks, release

N_ARMS = 4


def put(s: Stacks, i: int, value: float) -> None:
    """Put a point on arm i's stack, which has room."""
    place = s.first[i] + s.size[i]
    s.start[place], s.high[place], s.low[place] = value, value + 0.5, -value
    s.size[i] += 1


def points(s: Stacks, i: int) -> list[float]:
    """The points of arm i, as they were put."""
    own = slice(s.first[i], s.first[i] + s.size[i])
    assert s.high[own].tolist() == (s.start[own] + 0.5).tolist()
    assert s.low[own].tolist() == (-s.start[own]).tolist()
    return [float(x) for x in s.start[own]]


def free_places(s: Stacks) -> list[tuple[int, int]]:
    """Where each place that was left begins, and its room."""
    found: list[tuple[int, int]] = []
    for kind, first in enumerate(s.free):
        place = int(first)
        while place >= 0:
            assert len(found) <= s.start.size  # no ring
            found.append((place, FIRST << kind))
            place = int(s.start[place])
    return found


def assert_accounted(s: Stacks) -> None:
    """The places in use and those that were left cover what was given away, once."""
    taken = [(int(s.first[i]), int(s.room[i])) for i in range(s.size.size) if s.room[i] > 0]
    end = 0
    for first, room in sorted(taken + free_places(s)):
        assert first == end
        end = first + room
    assert end == s.used[0] <= s.start.size
    assert (s.size <= s.room).all()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, N_ARMS - 1), st.integers(1, 40)),
        st.tuples(st.just("release"), st.integers(0, N_ARMS - 1), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS, st.integers(1, 300))
def test_any_order_of_points_and_releases_keeps_the_stacks_apart(steps: list[tuple[str, int, int]], capacity: int) -> None:
    s = new_stacks(N_ARMS, capacity)
    wanted: list[list[float]] = [[] for _ in range(N_ARMS)]
    count = 0
    for what, i, many in steps:
        if what == "release":
            release(s, i)
            wanted[i] = []
        for _ in range(many):
            while not ensure_room(s, i):
                assert [points(s, each) for each in range(N_ARMS)] == wanted  # nothing has changed
                assert_accounted(s)
                capacity *= 2
                s = enlarged(s, capacity)
            count += 1
            put(s, i, float(count))
            wanted[i].append(float(count))
        assert [points(s, each) for each in range(N_ARMS)] == wanted
        assert_accounted(s)


@pytest.mark.parametrize("height", [1, FIRST, FIRST + 1, 10 * FIRST])
def test_places_that_were_left_are_used_again(height: int) -> None:
    """A thousand stacks of the same height, one after another, take the room of one."""
    s = new_stacks(2, 64 * FIRST)
    used = set()
    for k in range(1_000):
        for n in range(height):
            assert ensure_room(s, k % 2)
            put(s, k % 2, float(n))
        used.add(int(s.used[0]))
        release(s, k % 2)
    assert len(used) == 1
    assert_accounted(s)
