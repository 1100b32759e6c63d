"""Do arms wear out with their pulls or with time? Answered by pauses that a probe drew at random (`Bandit(probe=...)`).

After a pause, an arm that wears out with its pulls goes on where it was. An arm that wears out with time has come as far as it
would have come without the pause. The spans that the probe could have paused, but did not, show both:

    before the span    during the span              after the span
    m pulls            at once: the next m pulls    later: the first m pulls
    m pulls            paused                       resumed: the first m pulls

`resumed` is like `at once` if pulls wear arms out, and like `later` if time does. The share of time is
`(resumed - at once) / (later - at once)`, where each term is a mean over spans, relative to the m pulls before the span.

This is valid although the policy reacts to rewards. What selects a span (where it begins, and the m pulls before it) is known
when it begins, and the probe pauses it by chance alone, so paused spans and others differ by nothing but the pause. Pauses that
the policy makes itself are never used. To test a share of time, the test asks how often spans that are drawn at random from all
of them differ from the others as much as the paused ones do.

What it assumes: an arm wears out with its own pulls and with time, not with the pulls of others, and does not recover in a
pause. Pulls that had not come when the log ended count as if they had paid as much as those before the span; this makes the
three terms more alike.
"""

import math
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.live.probe import SPAN_STARTS
from rotting.logs.log import Log, positions

# docs/probe.md measures with these values how often pauses name a clock, and the right one.
FEWEST_PAUSES = 5
ERROR = 0.01  # of each one-sided test
MAJORITY = 0.5  # a clock is named if the share of the other one is surely below this
WEAR = 3.0  # standard errors by which arms must wear out from `at once` to `later`: otherwise the share divides noise by noise
DRAWS = 1_000  # of spans, for each test; the smallest error that they can show is 1 / 1,001


class Spans(NamedTuple):
    """The spans of all arms that the probe could have paused; levels are relative to the mean of the m pulls before."""

    paused: NDArray[np.bool_]
    number: Ints  # of the span in the life of its arm
    m: Floats
    at_once: Floats
    later: Floats  # `resumed` if the span was paused


class PauseTest(NamedTuple):
    """What random pauses say about the clock."""

    pauses: int
    share_of_time: float  # NaN if the arms do not wear out
    clock: Literal["pulls", "time"] | None  # None if the pauses do not tell


def compare_pauses(log: Log) -> PauseTest:
    """Return what the random pauses of a log say about the clock."""
    spans = find_spans(log)
    pauses = int(spans.paused.sum())
    if pauses < FEWEST_PAUSES or spans.paused.all():
        return PauseTest(pauses, math.nan, None)
    weight = _weights(spans, float(log.reward[log.known].var()))
    others = ~spans.paused
    falls = (weight * (spans.later - spans.at_once))[others]
    if not weight[spans.paused].any() or falls.sum() > -WEAR * math.sqrt((falls**2).sum()):
        return PauseTest(pauses, math.nan, None)
    clock: Literal["pulls", "time"] | None = None
    if _differs(spans, weight, 1 - MAJORITY, "lower"):
        clock = "time"
    elif _differs(spans, weight, MAJORITY, "higher"):
        clock = "pulls"
    at_once, later = (_means(spans, weight * others, each) for each in (spans.at_once, spans.later))
    used = weight * spans.paused
    return PauseTest(pauses, float((used * (spans.later - at_once)).sum() / (used * (later - at_once)).sum()), clock)


def count_pauses(log: Log) -> int:
    """Return the number of random pauses that `compare_pauses` can use."""
    return int(find_spans(log).paused.sum())


def find_spans(log: Log) -> Spans:
    """Return the spans of a log's arms that have pulls before them and at least one more span after them."""
    order = np.argsort(log.round, kind="stable")
    rounds, arms, rewards, known = (each[order] for each in (log.round, log.arm, log.reward, log.known))
    lists = log.paused or [frozenset()] * len(log)
    times = np.repeat(log.round, [len(each) for each in lists])
    which = np.fromiter(chain.from_iterable(lists), np.int64, times.size)
    rows: list[tuple[bool, int, int, float, float]] = []
    for arm in range(len(log.arms)):
        own = arms == arm
        starts = rounds[own][0] + np.array((0, *SPAN_STARTS))
        starts = starts[starts <= rounds[-1] + 1]
        pulls, sums = rounds[own & known], np.concatenate([[0.0], np.cumsum(rewards[own & known])])
        place = np.searchsorted(pulls, starts)
        during = np.searchsorted(np.sort(times[which == arm]), starts)
        decisions = np.searchsorted(rounds, starts)
        # The first m pulls after a span need time to come, so a whole span must follow: the log must reach starts[k + 2].
        for k in range(1, starts.size - 2):
            m = int(place[k] - place[k - 1])
            if m:
                level = (sums[place[k]] - sums[place[k - 1]]) / m
                ends = np.minimum(place[k : k + 2] + m, pulls.size)
                at_once, later = (sums[ends] - sums[place[k : k + 2]] - (ends - place[k : k + 2]) * level) / m
                # The probe pauses an arm for a whole span, but pauses do not apply to a decision for which the other arms do
                # not suffice. If they applied to less than half of the decisions, the arm was not really paused.
                is_paused = 2 * (during[k + 1] - during[k]) > decisions[k + 1] - decisions[k]
                rows.append((bool(is_paused), k, m, float(at_once), float(later)))
    columns = [np.array(each) for each in zip(*rows, strict=True)] if rows else [np.zeros(0, np.int64)] * 5
    return Spans(columns[0].astype(np.bool_), columns[1], *(each.astype(np.float64) for each in columns[2:]))


def _weights(spans: Spans, variance: float) -> Floats:
    """Return the weight of each span: how much arms wear out in spans of this number, divided by the variance of its levels."""
    others, m = ~spans.paused, spans.m
    # Few spans have the same number, so their mean fall is mostly noise. Arms of neighbouring numbers have nearly the same age
    # and wear by nearly as much, so three numbers are pooled.
    fall, size = (
        np.convolve(np.bincount(spans.number[others], each[others], int(spans.number.max()) + 1), np.ones(3), "same")
        for each in (m * (spans.at_once - spans.later), m)
    )
    noise = 2 * variance / m
    center = np.average(spans.later[others], weights=m[others])
    between = np.average((spans.later[others] - center) ** 2 - noise[others], weights=m[others])
    wear = np.maximum(fall, 0.0) / np.maximum(size, 1.0)
    weights: Floats = wear[spans.number] / (noise + max(0.0, float(between)) + np.finfo(float).tiny)
    return weights


def _means(spans: Spans, weight: Floats, values: Floats) -> Floats:
    """Return for each span the mean of the values of all spans with its number."""
    sums, sizes = (np.bincount(spans.number, each) for each in (weight * values, weight))
    means: Floats = (sums / np.maximum(sizes, np.finfo(float).tiny))[spans.number]
    return means


def _differs(spans: Spans, weight: Floats, share_of_time: float, direction: Literal["lower", "higher"]) -> bool:
    """Return whether arms surely resume lower, or higher, than this share of time would let them.

    Spans are drawn and compared among those of the same number, since arms of another age have worn by another amount.
    """
    expected = spans.at_once + share_of_time * (spans.later - spans.at_once)
    level = np.where(spans.paused, spans.later, expected)
    score = weight * (level - _means(spans, weight, level))
    if direction == "higher":
        score = -score
    found, rng = score[spans.paused].sum(), np.random.default_rng(0)
    order = np.argsort(spans.number, kind="stable")
    in_order, number = score[order], spans.number[order]
    drawn = positions(number) < np.bincount(number, spans.paused[order])[number]  # as many of each number as were paused
    as_low = 0  # draws that differ as much as the paused spans do
    for _ in range(DRAWS):
        shuffled = in_order[np.argsort(number + rng.random(number.size))]  # the spans of each number, in a random order
        as_low += shuffled[drawn].sum() <= found
    return bool(1 + as_low <= ERROR * (DRAWS + 1))
