"""The windows that can have the tightest bound: the upper hull of the prefix sums of an arm (docs/hull.md)."""

from collections.abc import Sequence

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import LARGEST
from rotting.errors import InvalidValueError
from rotting.policies.parts.hull import FIRST, enlarged, ensure_room, new_stacks, push, top
from rotting.problems.decays import vector


def _check(rewards: object) -> Floats:
    values = vector("rewards", rewards)
    for k in np.flatnonzero(np.abs(values) > LARGEST)[:1]:
        raise InvalidValueError(f"rewards[{k}]", f"be a finite number of at most {LARGEST:g} in size", float(values[k]))
    return values


def hull(rewards: Sequence[float] | Floats | Ints) -> Ints:
    """Return the starts of the windows that can have the tightest bound, from the oldest, 0, to the newest.

    Start k is the window of all rewards but the first k, `rewards[k:]`. The starts are the vertices of the least concave
    majorant of the points (k, P_k), where P_k is the sum of the first k rewards, without the newest point, at which no window
    starts. For every level, the indices of RAW-UCB and of RAW-klUCB are the smallest bounds of these windows alone. The mean of
    the window falls from each start to the next.

    Vertices are found from sums of 106 bits, as in the policies. That is exact except for points closer to a line than about
    1e-25 of the sums. A point on the line between two others is not a vertex.

    Args:
        rewards: the rewards of one arm, in the order of its pulls; finite numbers of at most 1e100 in size.

    Example:
        >>> hull([0.8, 1.0, 0.0]).tolist()
        [0, 2]
        >>> hull([3.0, 2.0, 1.0]).tolist(), hull([1.0, 2.0, 3.0]).tolist(), hull([1.0, 1.0, 1.0]).tolist()
        ([0, 1, 2], [0], [0])

    Reference: docs/hull.md in the repository has the theorem, its proof, and how many starts to expect.
    """
    stacks = new_stacks(1, FIRST)
    for reward in _check(rewards).tolist():
        while not ensure_room(stacks, 0):
            stacks = enlarged(stacks, 2 * stacks.start.size)
        push(stacks, 0, reward)
    first = int(stacks.first[0])
    return stacks.start[first : top(stacks, 0)].astype(np.int64)
