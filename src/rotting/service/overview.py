"""The responses for the dashboard, whose size does not grow with the number of arms and decisions."""

import math
from collections.abc import Hashable, Mapping, Sequence

from rotting.live.decisions import Decision
from rotting.live.explanations import ArmExplanation
from rotting.service import messages as m
from rotting.service.reward_buckets import ArmTotals, RewardBuckets, is_worn
from rotting.service.routes import ArmsQuery

_STEPS = 40  # of the sparkline of each arm
_NOTHING_KNOWN = ArmExplanation(math.nan, math.nan, 0, math.nan, 0)


def _number(value: float) -> float | None:
    """Return a number for JSON; None (null) if it is not finite."""
    return float(value) if math.isfinite(value) else None  # interpreted policies return NumPy numbers, which JSON lacks


def numbers_of(reason: ArmExplanation) -> tuple[float | None, float | None, int, float | None, int, int]:
    """Return the fields of `messages.ArmNumbers`, in their order."""
    index, mean, window, width, pulls, pending = reason
    return _number(index), _number(mean), int(window), _number(width), pulls, pending


def history_response(
    counted: RewardBuckets,
    behind: int,
    top: int,
    last: Decision | None,
    declared_range: tuple[float, float] | None = None,
) -> m.HistoryResponse:
    """Return choices and rewards over time.

    Args:
        counted: the events that were read.
        behind: how many events were not read yet.
        top: how many of the most chosen arms are listed one by one.
        last: the latest decision since the bandit was loaded, if there is one.
        declared_range: the range of rewards that the policy declares, if any.
    """
    buckets, shown = counted.buckets, counted.most_chosen(top)
    plays = [each.plays for each in buckets]
    arms = [m.ArmHistory(counted.arms[arm].name, counted.plays_of(arm), counted.means_of(arm)) for arm in shown]
    rewards, lost = sum(each.rewards for each in buckets), sum(each.lost for each in buckets)
    paid = sum(each.mean * each.rewards for each in buckets)
    low, high = _reward_range(counted, declared_range)
    return m.HistoryResponse(
        rounds=counted.rounds,
        width=counted.width,
        behind=behind,
        totals=m.Totals(sum(plays), rewards, paid / rewards if rewards else None, counted.waiting, lost),
        last=_last(counted, last),
        plays=plays,
        rewards=[each.rewards for each in buckets],
        lost=[each.lost for each in buckets],
        mean=[each.mean if each.rewards else None for each in buckets],
        squares=[each.squares for each in buckets],
        lowest_reward=low,
        highest_reward=high,
        binary=counted.binary and (low, high) == (0.0, 1.0),
        arms=arms,
        others=len(counted.arms) - len(shown),
        other_plays=[all_ - sum(each) for all_, *each in zip(plays, *(arm.plays for arm in arms), strict=True)],
    )


def _last(counted: RewardBuckets, last: Decision | None) -> m.LastDecision | None:
    logged = counted.last
    if last is not None:
        restricted = logged.restricted if logged is not None and logged.round == last.round else None
        return m.LastDecision(last.arm, last.round, last.propensity, m.ArmNumbers(*numbers_of(last.reason)), restricted)
    if logged is None:
        return None
    return m.LastDecision(logged.arm, logged.round, logged.propensity, None, logged.restricted)


def _reward_range(counted: RewardBuckets, declared: tuple[float, float] | None) -> tuple[float | None, float | None]:
    """Return the smallest and the largest possible reward; None if unknown.

    If all rewards were in [0, 1], that is taken as their range. If none was negative, they are taken as amounts, and the
    dashboard draws no interval below 0.
    """
    if declared is not None:
        return declared
    if counted.highest < counted.lowest or counted.lowest < 0.0:  # no reward yet, or a negative one
        return None, None
    return 0.0, 1.0 if counted.highest <= 1.0 else None


def _spark(plays: Sequence[int]) -> list[int]:
    """Return the same counts in at most `_STEPS` steps.

    Example:
        >>> _spark([1] * 100)
        [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1]
    """
    size = -(-len(plays) // _STEPS) or 1
    return [sum(plays[k : k + size]) for k in range(0, len(plays), size)]


def arm_list_response(
    counted: RewardBuckets, reasons: Mapping[Hashable, ArmExplanation], retired: Sequence[Hashable], query: ArmsQuery
) -> m.ArmListResponse:
    """Return a page of the list of arms."""
    newest, recent = counted.recent()
    arms = [*reasons, *retired]
    worn = {arm for arm, reason in reasons.items() if is_worn(reason, counted.totals(arm).mean)}
    searched = query.search.casefold()
    found = [arm for arm in arms if searched in str(arm).casefold()]

    def order(arm: Hashable) -> tuple[float, ...]:
        return _order(query.order, counted.totals(arm), reasons.get(arm, _NOTHING_KNOWN), recent.get(arm, 0), arm in worn)

    def row(arm: Hashable) -> m.ArmRow:
        totals = counted.totals(arm)
        return m.ArmRow(
            *numbers_of(reasons.get(arm, _NOTHING_KNOWN)),
            arm=arm,
            retired=arm not in reasons,
            plays=totals.plays,
            share=recent.get(arm, 0) / newest if newest else None,
            rewards=totals.rewards,
            overall=totals.mean,
            lost=totals.lost,
            worn=arm in worn,
            spark=_spark(counted.plays_of(totals.number)),
        )

    found.sort(key=str if query.order == "name" else order)
    rows = [row(arm) for arm in found[query.offset : query.offset + query.limit]]
    low, high = _estimate_range(counted, reasons)
    return m.ArmListResponse(rows, len(arms), len(found), len(worn), newest, low, high)


def _order(order: str, totals: ArmTotals, reason: ArmExplanation, recent: int, is_worn: bool) -> tuple[float, ...]:
    """Return the sort key of an arm. Unknown numbers come last, and an infinite index (an arm without rewards) first."""
    largest_first = {
        "plays": totals.plays,
        "share": recent,
        "index": -math.inf if math.isnan(reason.index) else reason.index,
        "overall": -math.inf if totals.mean is None else totals.mean,
        "worn": is_worn,
    }
    return -largest_first[order], -totals.plays


def _estimate_range(counted: RewardBuckets, reasons: Mapping[Hashable, ArmExplanation]) -> tuple[float | None, float | None]:
    """Return the smallest and the largest mean or index of all arms."""
    estimates = [each for arm, reason in reasons.items() for each in (reason.mean, reason.index, counted.totals(arm).mean)]
    finite = [float(each) for each in estimates if each is not None and math.isfinite(each)]
    return (min(finite), max(finite)) if finite else (None, None)
