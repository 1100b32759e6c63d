"""What a page shows of a bandit: few numbers, however many arms and decisions there are."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from rotting.live.explanations import ArmExplanation
from rotting.service import messages as m
from rotting.service.history import History, is_worn
from rotting.service.routes import ArmsQuery

_STEPS = 40  # of the small picture of each arm
_NOTHING_KNOWN = ArmExplanation(math.nan, math.nan, 0, math.nan, 0)


def number(value: float) -> float | None:
    """Return a number that JSON can carry; null for what is not finite."""
    return float(value) if math.isfinite(value) else None  # NumPy's, where nothing is compiled, JSON does not know


def of_reason(reason: ArmExplanation) -> dict[str, Any]:
    """Return what decided."""
    index, mean, window, width, pulls, pending = reason
    return {
        "index": number(index),
        "mean": number(mean),
        "window": int(window),
        "width": number(width),
        "pulls": pulls,
        "pending": pending,
    }


def of_history(
    history: History,
    behind: int,
    top: int,
    last: dict[str, Any] | None,
    declared_range: tuple[float, float] | None = None,
) -> m.HistoryResponse:
    """Return what happened so far.

    Args:
        history: what was read of the log.
        behind: events that were not read yet.
        top: how many of the arms that were chosen most are listed one by one.
        last: the newest decision, if its reason is known.
        declared_range: the rewards that the policy accepts, if it declares them.
    """
    buckets, shown = history.buckets, history.most_chosen(top)
    plays = [each.plays for each in buckets]
    arms = [m.ArmHistory(history.arms[arm].name, history.plays_of(arm), history.means_of(arm)) for arm in shown]
    rewards, lost = sum(each.rewards for each in buckets), sum(each.lost for each in buckets)
    paid = sum(each.mean * each.rewards for each in buckets)
    low, high = _reward_range(history, declared_range)
    return m.HistoryResponse(
        rounds=history.rounds,
        width=history.width,
        behind=behind,
        totals=m.Totals(sum(plays), rewards, paid / rewards if rewards else None, history.waiting, lost),
        last=_last(history, last),
        plays=plays,
        rewards=[each.rewards for each in buckets],
        lost=[each.lost for each in buckets],
        mean=[each.mean if each.rewards else None for each in buckets],
        squares=[each.squares for each in buckets],
        lowest_reward=low,
        highest_reward=high,
        binary=history.binary and (low, high) == (0.0, 1.0),
        arms=arms,
        others=len(history.arms) - len(shown),
        other_plays=[all_ - sum(each) for all_, *each in zip(plays, *(arm.plays for arm in arms), strict=True)],
    )


def _last(history: History, last: dict[str, Any] | None) -> m.LastDecision | None:
    logged = history.last
    if last is not None:
        restricted = logged.restricted if logged is not None and logged.round == last["round"] else None
        return m.LastDecision(last["arm"], last["round"], last["propensity"], m.Reason(**last["reason"]), restricted)
    if logged is None:
        return None
    return m.LastDecision(logged.arm, logged.round, logged.propensity, None, logged.restricted)


def _reward_range(history: History, declared: tuple[float, float] | None) -> tuple[float | None, float | None]:
    """Return the smallest and the largest possible reward, None for what is not known.

    Rewards that were all between 0 and 1 are taken for such rewards, and rewards that were never negative for amounts: what is
    drawn of them must not go below 0.
    """
    if declared is not None:
        return declared
    if history.highest < history.lowest or history.lowest < 0.0:  # no reward yet, or a negative one
        return None, None
    return 0.0, 1.0 if history.highest <= 1.0 else None


def _spark(plays: Sequence[int]) -> list[int]:
    """Return the same counts in few steps.

    Example:
        >>> _spark([1] * 100)
        [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1]
    """
    size = -(-len(plays) // _STEPS) or 1
    return [sum(plays[k : k + size]) for k in range(0, len(plays), size)]


def of_arms(
    history: History, reasons: Mapping[Hashable, ArmExplanation], retired: Sequence[Hashable], query: ArmsQuery
) -> m.ArmListResponse:
    """Return the arms that are asked for."""
    newest, counts = history.recent()
    every = [*reasons, *retired]
    worn = {arm for arm, reason in reasons.items() if is_worn(reason, history.totals(arm).mean)}
    searched = query.search.casefold()
    found = [arm for arm in every if searched in str(arm).casefold()]

    def place(arm: Hashable) -> tuple[float, ...]:
        totals, index = history.totals(arm), reasons.get(arm, _NOTHING_KNOWN).index
        # What is unknown comes last; an arm that was never tried has an endless index, and comes first.
        largest = {
            "plays": totals.plays,
            "share": counts.get(arm, 0),
            "index": -math.inf if math.isnan(index) else index,
            "overall": -math.inf if totals.mean is None else totals.mean,
            "worn": arm in worn,
        }
        return -largest[query.order], -totals.plays

    found.sort(key=str if query.order == "name" else place)
    ends = [each for arm, reason in reasons.items() for each in (reason.mean, reason.index, history.totals(arm).mean)]
    finite = [each for each in ends if each is not None and math.isfinite(each)]

    def row(arm: Hashable) -> m.ArmRow:
        totals = history.totals(arm)
        return m.ArmRow(
            **of_reason(reasons.get(arm, _NOTHING_KNOWN)),
            arm=arm,
            retired=arm not in reasons,
            plays=totals.plays,
            share=counts.get(arm, 0) / newest if newest else None,
            rewards=totals.rewards,
            overall=totals.mean,
            lost=totals.lost,
            worn=arm in worn,
            spark=_spark(history.plays_of(totals.number)),
        )

    return m.ArmListResponse(
        arms=[row(arm) for arm in found[query.offset : query.offset + query.limit]],
        total=len(every),
        matching=len(found),
        worn=len(worn),
        newest=newest,
        low=float(min(finite)) if finite else None,
        high=float(max(finite)) if finite else None,
    )
