"""One row for each decision of a bandit, from its events: for `rotting.Log`, `learn` and `rotting log`."""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import partial

from rotting.live.arms import restore_arm
from rotting.live.events import one_by_one
from rotting.server.store.database import Database
from rotting.server.store.events import MICROSECOND, BanditRecord, decode, decode_event
from rotting.server.store.settling import Pending


@dataclass(slots=True)
class DecisionRow:
    """A decision, or a reward that was learned without one."""

    round: int
    time: float
    """When it was made, in seconds since 1970."""
    caller: str
    unit: str | None
    arm: Hashable
    propensity: float | None
    reward: float | None
    """What counted for it when it settled; None if it is pending or nothing counts."""
    available: tuple[Hashable, ...]
    """The arms that could have been chosen."""
    id: str
    state: str = "pending"
    """"pending", "settled", "expired" or "cancelled", as `rotting.server.store.settling` says."""
    rule: str = ""
    """What overruled the policy: "holdout", "floor", "cap" or ""."""
    forgotten: bool = False
    """Whether its arm was forgotten since: an arm that was added again under this id is another one."""


def decision_rows(database: Database, record: BanditRecord) -> Iterator[DecisionRow]:
    """Yield the decisions of a bandit in their order, with the rewards that count by now.

    Events that a base has replaced are not there any more: decisions before it have no row.
    """
    rows: list[DecisionRow] = []
    pending = Pending[DecisionRow].at_the_base(database, record)
    described = decode(record.description)
    arms: dict[Hashable, None] = dict.fromkeys(restore_arm(each) for each in described["arms"])
    used: Counter[Hashable] = Counter()  # how often each id was forgotten or added
    uses: list[int] = []  # of the arm of each row, before it
    number, t = record.base, 0
    while events := database.events(record, number + 1):
        for stored in events:
            number, when = stored.number, stored.time * MICROSECOND
            for event in one_by_one(decode_event(stored)):
                kind, ended = event["event"], iter(())  # type: str, Iterator[tuple[DecisionRow, float | None]]
                if kind == "decided":
                    t, arm = event["round"], restore_arm(event["arm"])
                    available = _available(event, arms)
                    row = DecisionRow(
                        t, when, stored.caller, event.get("unit"), arm, event["propensity"], None, available, str(event["id"])
                    )
                    uses.append(used[arm])
                    row.rule = event.get("rule", "")
                    pending.decided(event["id"], t, row)
                    rows.append(row)
                elif kind == "rewarded":
                    ended = pending.rewarded(event["id"], event["reward"])
                elif kind in {"expired", "cancelled"}:
                    ended = pending.ended(event["id"], event.get("reward"))
                elif kind == "settled":
                    ended = pending.settled(event["round"], event["missing"])
                elif kind == "changed" and "reward_window" in event:
                    ended = pending.changed(event["reward_window"] is not None)
                elif kind == "learned":
                    t, arm = t + 1, restore_arm(event["arm"])
                    propensity, reward = event.get("propensity"), event["reward"]
                    uses.append(used[arm])
                    rows.append(DecisionRow(t, when, stored.caller, None, arm, propensity, reward, tuple(arms), "", "settled"))
                elif kind in {"added", "revived"}:
                    arm = restore_arm(event["arm"])
                    used[arm] += kind == "added"
                    arms[arm] = None
                    ended = iter(()) if kind == "revived" else pending.forgotten(partial(_is_of, arm))
                elif kind in {"retired", "forgotten"}:
                    arm = restore_arm(event["arm"])
                    used[arm] += kind == "forgotten"
                    arms.pop(arm, None)
                    ended = iter(()) if kind == "retired" else pending.forgotten(partial(_is_of, arm))
                for each, reward in ended:
                    each.reward = reward
                    each.state = "settled" if reward is not None else "cancelled" if kind == "cancelled" else "expired"
    for row, before in zip(rows, uses, strict=True):
        row.forgotten = before != used[row.arm]
        yield row


def _is_of(arm: Hashable, row: DecisionRow) -> bool:
    return row.arm == arm


def _available(event: dict[str, object], arms: dict[Hashable, None]) -> tuple[Hashable, ...]:
    chosen, without = event["arms"], event["without"]
    if chosen is not None:
        return tuple(restore_arm(each) for each in chosen)  # type: ignore[attr-defined]
    if without is not None:
        left_out = {restore_arm(each) for each in without}  # type: ignore[attr-defined]
        return tuple(arm for arm in arms if arm not in left_out)
    return tuple(arms)
