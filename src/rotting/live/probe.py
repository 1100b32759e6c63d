"""The probe of a bandit: it pauses random arms for random spans, so that the bandit's log can tell pulls and time apart.

Within one arm, own pulls grow with time, so an ordinary log cannot tell which of the two wears the arm out. While an arm is
paused, time passes and its pulls stand still. Pauses are drawn by chance alone, so what happens to the arms that are paused can
be compared with what happens to the others, although the policy reacts to rewards (`rotting.logs.pauses`).

The rounds since the first pull of an arm are divided into spans; the probe pauses the arm for each span with the same
probability, independently. The more an arm would have worn during a pause, the more the pause tells. How fast arms wear is not
known, and rounds are the only clock that every bandit has. So spans grow with the age of the arm: each is a quarter of the age
at which it begins. An arm that lives for a thousand rounds and one that lives for a million are both paused for a noticeable
part of their lives.
"""

import heapq
from bisect import bisect_right

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import Rule
from rotting.kernels.random_numbers import span_uniform
from rotting.live.arms import NO_SLOTS, Complement, to_complement

_FIRST_AGE = 64  # rounds after its first pull in which an arm is not paused
_GROWTH = 4  # a span is 1/4 of the age at which it begins
_MOST_ROUNDS = 2**62
_SHARE = Rule("a number above 0, at most 0.5", low=0.0, open_low=True, high=0.5)


def _span_starts() -> tuple[int, ...]:
    starts = [_FIRST_AGE]
    while starts[-1] < _MOST_ROUNDS:
        starts.append(starts[-1] + starts[-1] // _GROWTH)
    return tuple(starts)


SPAN_STARTS = _span_starts()
"""The ages of an arm at which its spans begin: rounds since its first pull. Each span ends where the next one begins."""


class Probe:
    """Which arms are paused: a pure function of the key, the slot of an arm, the round of its first pull, and the round.

    Args:
        share: the probability with which an arm is paused for a span, above 0 and at most 0.5.
        first_pulls: the round of the first pull of each slot that was pulled.
    """

    def __init__(self, share: object, first_pulls: dict[int, int] | None = None) -> None:
        self.share = _SHARE.check("probe", share)
        self.first_pulls = {} if first_pulls is None else first_pulls
        self._key: int | None = None  # the key that the present pauses were drawn with; a forked process has its own
        self._ends: list[tuple[int, int, int]] = []  # a heap: when the span of a slot ends, the slot, its first pull
        self._paused = NO_SLOTS
        self.in_effect = NO_SLOTS
        """The slots that the last call of `unpaused` treated as paused: none if it ignored the pauses."""
        # The arguments of the last call of `unpaused`, and its result. Pauses change rarely, and most callers offer the same
        # slots each time, so most decisions find the result here.
        self._last: tuple[object, frozenset[int], Ints | Complement] = (None, NO_SLOTS, np.zeros(0, np.int64))

    def pulled(self, slot: int, t: int) -> None:
        """Record a pull in round t; only the first one of a slot counts."""
        if slot not in self.first_pulls:
            self.first_pulls[slot] = t
            heapq.heappush(self._ends, (t + _FIRST_AGE, slot, t))

    def forget(self, slot: int) -> None:
        """Forget the arm in a slot. The next arm in the slot has pauses of its own."""
        self.first_pulls.pop(slot, None)
        self._paused -= {slot}

    def paused(self, t: int, key: int) -> frozenset[int]:
        """Return the slots that are paused in round t, which must not be before that of the last call."""
        if key != self._key:
            self._key, self._ends = key, [(0, slot, first) for slot, first in sorted(self.first_pulls.items())]
        ends = self._ends
        if not ends or ends[0][0] > t:
            return self._paused
        paused = set(self._paused)
        while ends and ends[0][0] <= t:
            _, slot, first = heapq.heappop(ends)
            if self.first_pulls.get(slot) != first:  # the arm was forgotten
                continue
            span = bisect_right(SPAN_STARTS, t - first)  # 0 before the first span
            heapq.heappush(ends, (first + SPAN_STARTS[span], slot, first))
            if span and span_uniform(key, slot, first, span) < self.share:
                paused.add(slot)
            else:
                paused.discard(slot)
        if paused != self._paused:
            self._paused = frozenset(paused)
        return self._paused

    def unpaused(self, among: Ints | Complement, every: Ints, count: int, t: int, key: int) -> Ints | Complement:
        """Return `among` without the paused slots, or all of `among` if fewer than `count` would be left.

        Sets `in_effect`: `BanditState.paused` reads it when the decision is recorded.

        Args:
            among: the slots that the caller lets a decision choose from.
            every: the slots of all active arms.
            count: how many distinct arms are chosen.
            t: the round.
            key: the key of the bandit's random numbers.
        """
        paused = self.in_effect = self.paused(t, key)
        if not paused:
            return among
        if among is not self._last[0] or paused is not self._last[1]:
            offered = to_complement(among)
            hidden = offered.kept(np.fromiter(paused, np.int64, len(paused))).tolist()
            left: Ints | Complement = among
            if hidden:
                fewer = Complement(offered.every, offered.hidden.union(hidden))
                # A complement must be one of all active arms; slots that the caller listed stay a list.
                left = fewer if offered.every is every else fewer.slots
            self._last = (among, paused, left)
        left = self._last[2]
        if left.size >= count:
            return left
        self.in_effect = NO_SLOTS
        return among
