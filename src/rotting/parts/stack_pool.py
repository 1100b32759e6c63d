"""Room for a stack of points for each arm, in arrays that all arms share.

Most stacks stay short, a few grow long. A stack that needs more room moves to a place twice as large, and leaves its old place
to others: nothing is allocated. When no place is left, the state sets its field `full`, and gets larger arrays from
`Kernel.enlarge`.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints

FIRST = 16  # points that fit into an arm's first place
_SIZES = 48  # kinds of places: of 16, 32, 64, ... points
_NONE = -1
LARGE = 1 << 14  # points from which on copying takes long, and a reserve takes up no memory
_RESERVE = 8  # the size of a reserve in capacities


class Stacks(NamedTuple):
    """A stack of points (start, high + low) for every arm."""

    size: Ints  # [K] points on the stack
    first: Ints  # [K] where its place begins
    room: Ints  # [K] how many points fit into its place; 0 = it has none yet
    used: Ints  # [1] how much of the arrays belongs to places
    free: Ints  # [kinds] for each size, a place that no stack uses; its `start` holds the next such place
    start: Floats  # [capacity]
    high: Floats  # [capacity]
    low: Floats  # [capacity]


def new_stacks(n_arms: int, capacity: int) -> Stacks:
    """Return empty stacks, with room for `capacity` points in all."""
    return Stacks(
        size=np.zeros(n_arms, np.int64),
        first=np.zeros(n_arms, np.int64),
        room=np.zeros(n_arms, np.int64),
        used=np.zeros(1, np.int64),
        free=np.full(_SIZES, _NONE, np.int64),
        start=np.zeros(capacity),
        high=np.zeros(capacity),
        low=np.zeros(capacity),
    )


def enlarged(s: Stacks, capacity: int) -> Stacks:
    """Return the same stacks with room for `capacity` points, more than before."""
    used = s.used[0]
    start, high, low = longer(s.start, used, capacity), longer(s.high, used, capacity), longer(s.low, used, capacity)
    return Stacks(s.size, s.first, s.room, s.used, s.free, start, high, low)


def longer(array: Floats, used: int, capacity: int) -> Floats:
    """Return the first `used` numbers of the array, and zeros up to this capacity."""
    new = np.zeros(capacity)
    for k in range(used):  # assigning the slice takes Numba two seconds longer to compile, for the message of its error
        new[k] = array[k]
    return new


def longer_with_reserve(array: Floats, used: int, capacity: int) -> Floats:
    """Return what `longer` returns, without copying if the array has a reserve. To be bound to `longer` in interpreted code.

    The result is the first part of a longer array, the reserve. A system provides the memory of a large array of zeros where it
    is written to, so the rest of a reserve takes up no memory. It lasts long: where hulls grow most, on means that fall
    steadily, they grow with the cube root of the number of rounds.
    """
    reserve = array.base
    if reserve is None or reserve.size < capacity:
        reserve = np.zeros(_RESERVE * capacity if capacity >= LARGE else capacity)
        reserve[:used] = array[:used]
    return reserve[:capacity]


def _kind(room: int) -> int:
    """Return the number of the kind of places with this room: 0, 1, 2, ... for 16, 32, 64, ..."""
    kind = 0
    while room > FIRST:
        room >>= 1
        kind += 1
    return kind


def _take(s: Stacks, room: int) -> int:
    """Return where a free place with this room begins, or -1 if there is none."""
    kind = _kind(room)
    place = s.free[kind]
    if place != _NONE:
        s.free[kind] = int(s.start[place])
    elif s.used[0] + room <= s.start.size:
        place = s.used[0]
        s.used[0] += room
    return int(place)


def release(s: Stacks, i: int) -> None:
    """Empty arm i's stack, and leave its place to others."""
    if s.room[i] > 0:
        kind = _kind(s.room[i])
        s.start[s.first[i]] = s.free[kind]
        s.free[kind] = s.first[i]
    s.size[i], s.first[i], s.room[i] = 0, 0, 0


def ensure_room(s: Stacks, i: int) -> bool:
    """Make room for another point on arm i's stack, which moves if it must. Return False if there is no room for it."""
    size = s.size[i]
    if size < s.room[i]:
        return True
    room = max(FIRST, 2 * s.room[i])
    place = _take(s, room)
    if place == _NONE:
        return False
    for k in range(size):
        old, new = s.first[i] + k, place + k
        s.start[new], s.high[new], s.low[new] = s.start[old], s.high[old], s.low[old]
    release(s, i)
    s.size[i], s.first[i], s.room[i] = size, place, room
    return True
