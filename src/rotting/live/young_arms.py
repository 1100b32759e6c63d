"""The choice while decisions are under way, as compiled code around a policy's own `choose` and `explain`.

What the rule is, and why, is told in `under_way.py`, which keeps the `marks`: of each slot the number of its decisions under way
if it is young, NEW if it was never chosen, and SETTLED else.
"""

import math
from collections.abc import Callable
from typing import Any

from rotting.common.arrays import Ints
from rotting.kernels.binding import bind, slot
from rotting.parts.tournament import MANY
from rotting.policy import Kernel, Reason

SETTLED, NEW = 0, -1
"""Marks of slots that are not young."""


@slot
def choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    """Stand for the policy's own `choose`."""
    raise NotImplementedError


@slot
def explain(p: Any, s: Any, t: int, arms: Ints, arm: int) -> Reason:
    """Stand for the policy's own `explain`."""
    raise NotImplementedError


@slot
def admit(p: Any, s: Any, arms: Ints) -> None:
    """Stand for the policy's own `admit`."""
    raise NotImplementedError


def _admit_any(p: Any, s: Any, arms: Ints) -> None:
    return


def list_settled(marks: Ints, arms: Ints, new_first: bool, asked: Ints) -> int:
    """Write the arms that the policy chooses from to `asked`, and return how many they are.

    Those are the arms that are not young; of a policy that does not choose new arms first by itself (`new_first`), the new
    ones, if there are both new and young ones.
    """
    n, fresh = 0, 0
    for i in arms:
        if marks[i] <= SETTLED:
            asked[n] = i
            n += 1
            fresh += marks[i] == NEW
    if new_first or fresh == 0 or n == arms.size:
        return n
    n = 0
    for i in arms:
        if marks[i] == NEW:
            asked[n] = i
            n += 1
    return n


def _is_among(arms: Ints, arm: int) -> bool:
    for i in arms:
        if i == arm:
            return True
    return False


def _fewest(marks: Ints, arms: Ints) -> int:
    """Return the young arm with the fewest decisions under way, the lowest on a tie."""
    found = arms[0]
    for i in arms:
        if marks[i] < marks[found]:
            found = i
    return int(found)


def _choose_settled(p: Any, s: Any, t: int, key: int, settled: Ints) -> int:
    if settled.size >= MANY:
        admit(p, s, settled)
    return choose(p, s, t, key, settled)


def without_index(
    p: Any, s: Any, t: int, key: int, arms: Ints, marks: Ints, new_first: bool, mean: float, asked: Ints
) -> tuple[int, float, int]:
    """Choose one of `arms` by a policy that draws, or has no index; as `by_index` does, but young arms only wait."""
    n = list_settled(marks, arms, new_first, asked)
    if n == 0:
        return _fewest(marks, arms), math.nan, 0
    return _choose_settled(p, s, t, key, asked[:n]), math.nan, n


def _width(reason: Reason) -> float:
    return reason.width if abs(reason.width) < math.inf else 0.0


def _level(reason: Reason) -> float:
    return _width(reason) * math.sqrt(reason.window)


def by_index(
    p: Any, s: Any, t: int, key: int, arms: Ints, marks: Ints, new_first: bool, mean: float, asked: Ints
) -> tuple[int, float, int]:
    """Choose one of `arms` in round t by a policy that has an index.

    Return the arm; the index with which it joined, if it is young, or NaN; and how many arms the policy was asked about: those
    are now in `asked`, but none if no arm has a reward. An arm that the policy returns and that is none of them is returned.

    Args:
        p: parameters of the policy.
        s: its state.
        t: round.
        key: of its random numbers.
        arms: available.
        marks: of all slots.
        new_first: whether the policy chooses new arms before others.
        mean: of all rewards.
        asked: as long as `arms`; it is written to.
    """
    n = list_settled(marks, arms, new_first, asked)
    settled = asked[:n]
    chosen, best, level, joined = -1, -math.inf, 0.0, False
    if n > 0:
        chosen = _choose_settled(p, s, t, key, settled)
        if n == arms.size or not _is_among(settled, chosen) or (marks[chosen] == NEW and not new_first):
            return chosen, math.nan, n
        reason = explain(p, s, t, settled, chosen)
        best, level = reason.value, _level(reason)
        if best == math.inf:
            return chosen, math.nan, n
    bare = 0
    for i in arms:
        if marks[i] <= SETTLED:
            continue
        reason = explain(p, s, t, arms, i)
        if not reason.value < math.inf:  # no reward, or none that the policy still knows
            asked[n + bare] = i
            bare += 1
            continue
        index = reason.mean + _width(reason) * math.sqrt(reason.window / (reason.window + marks[i]))
        if chosen < 0 or index > best or (index == best and i < chosen):
            chosen, best, joined = int(i), index, True
            if n == 0:
                level = _level(reason)
    if chosen < 0:
        return _fewest(marks, arms), math.nan, 0
    for i in asked[n : n + bare]:
        index = mean + level / math.sqrt(marks[i])
        if index > best or (index == best and i < chosen):
            chosen, best, joined = int(i), index, True
    if not joined:
        return chosen, math.nan, n
    for k in range(arms.size):
        asked[k] = arms[k]
    return chosen, best, arms.size


def rule(kernel: Kernel, has_index: bool) -> Callable[..., tuple[int, float, int]]:
    """Return the rule around the functions of a kernel: `by_index` or `without_index`."""
    parts: dict[Any, Any] = {choose: kernel.choose, admit: kernel.admit or _admit_any}
    return bind(by_index, {**parts, explain: kernel.explain}) if has_index else bind(without_index, parts)
