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


def of_history(history: History, behind: int, top: int, last: dict[str, Any] | None) -> m.HistoryAnswer:
    """Return what happened, with the `top` arms that were chosen most; `last`: the newest decision, if its reason is known."""
    buckets, shown = history.buckets, history.most_chosen(top)
    plays = [each.plays for each in buckets]
    arms = [m.ArmHistory(history.arms[arm].name, history.plays_of(arm), history.means_of(arm)) for arm in shown]
    rewards, lost = sum(each.rewards for each in buckets), sum(each.lost for each in buckets)
    paid = sum(each.mean * each.rewards for each in buckets)
    return m.HistoryAnswer(
        rounds=history.rounds,
        width=history.width,
        behind=behind,
        totals=m.TotalsAnswer(sum(plays), rewards, paid / rewards if rewards else None, history.waiting, lost),
        last=_last(history, last),
        plays=plays,
        rewards=[each.rewards for each in buckets],
        lost=[each.lost for each in buckets],
        mean=[each.mean if each.rewards else None for each in buckets],
        squares=[each.squares for each in buckets],
        arms=arms,
        others=len(history.arms) - len(shown),
        other_plays=[all_ - sum(each) for all_, *each in zip(plays, *(arm.plays for arm in arms), strict=True)],
    )


def _last(history: History, last: dict[str, Any] | None) -> m.LastAnswer | None:
    if last is not None:
        return m.LastAnswer(last["arm"], last["round"], last["propensity"], m.ReasonAnswer(**last["reason"]))
    return None if history.last is None else m.LastAnswer(*history.last, None)


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
) -> m.ArmList:
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

    return m.ArmList(
        arms=[row(arm) for arm in found[query.offset : query.offset + query.limit]],
        total=len(every),
        matching=len(found),
        worn=len(worn),
        newest=newest,
        low=float(min(finite)) if finite else None,
        high=float(max(finite)) if finite else None,
    )
