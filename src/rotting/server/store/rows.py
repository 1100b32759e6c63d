"""One row for each decision of a bandit, from its events: for `rotting.Log`, `learn` and `rotting log`."""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from rotting.errors import StoreDamagedError
from rotting.live.arms import restore_arm
from rotting.server.store.database import Database
from rotting.server.store.events import MICROSECOND, BanditRecord, decode
from rotting.server.store.settling import CountedEvent, Pending, counted_events, state_at_the_base


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
    state = state_at_the_base(database, record)
    pending = Pending[DecisionRow].of(state)
    available = tuple(state.arms.names[slot] for slot in state.arms.slots)
    rows: list[DecisionRow] = []
    used: Counter[Hashable] = Counter()  # how often each id was forgotten or added
    uses: list[int] = []  # of the arm of each row, before it
    number, t = record.base, 0
    while events := database.events(record, number + 1):
        if events[0].number > number + 1:
            now = database.find(record.name)
            if now is None or (now.id, now.base) == (record.id, record.base):
                raise StoreDamagedError(f"is damaged: event {number + 1} of bandit {record.name!r} is missing", database.place)
            yield from decision_rows(database, now)  # events were replaced by a base meanwhile
            return
        for stored in events:
            number, when = stored.number, stored.time * MICROSECOND
            for event in counted_events(stored.payload):
                kind, arm, row = event.event, restore_arm(event.arm), None
                if kind in {"decided", "learned"}:
                    t = event.round or t + 1
                    could = available if not event.restricted else _offered(event, available)
                    row = DecisionRow(t, when, stored.caller, event.unit, arm, event.propensity, None, could, str(event.id))
                    row.rule = event.rule
                    if kind == "learned":
                        row.reward, row.state = event.reward, "settled"
                    rows.append(row)
                    uses.append(used[arm])
                elif kind in {"added", "revived", "retired", "forgotten"}:
                    used[arm] += kind in {"added", "forgotten"}
                    available = tuple(each for each in available if each != arm)
                    available += (arm,) if kind in {"added", "revived"} else ()
                for each, reward in pending.take(event, row):
                    each.reward = reward
                    each.state = "settled" if reward is not None else "cancelled" if kind == "cancelled" else "expired"
    for row, before in zip(rows, uses, strict=True):
        row.forgotten = before != used[row.arm]
        yield row


def _offered(event: CountedEvent, available: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Return the arms that a decision could choose from."""
    chosen, without = decode(event.arms), decode(event.without)
    if chosen is not None:
        return tuple(restore_arm(each) for each in chosen)
    left_out = {restore_arm(each) for each in without}
    return tuple(arm for arm in available if arm not in left_out)
