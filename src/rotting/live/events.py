"""Events: everything that changes a bandit, as plain data.

A bandit's state is the fold of its events: a bandit made with the same policy, arms and seed, to which they are applied in
their order, has the same state bit for bit. Policy time is the number of the decision, never the clock on the wall. An event is
a dict of values that JSON can carry:

| event | other fields |
|---|---|
| `decided` | `id` (the number of the round for a `pull`), `round`, `arm`, `arms`, `without`, `propensity` |
| `rewarded` | `id`, `reward` |
| `cancelled` | `id` |
| `expired` | `id`, `reward`: what is learned in its place, or None |
| `learned` | `arm`, `reward`: without a decision |
| `ignored` | `arm`: the reward of a pull of an arm that was forgotten, and whose id is used again |
| `added` | `arm`, `prior`: mean and weight, or None |
| `retired`, `revived`, `forgotten` | `arm` |

`arms` are those that a decision could choose from, or `without` those that it could not; both are None if it could choose any.
A propensity that was not asked for is None, unless it is 1 or the policy needs it.
"""

from collections.abc import Callable
from typing import Any

from rotting.common.rules import brief
from rotting.errors import InvalidValueError

Event = dict[str, Any]
Listener = Callable[[list[Event]], None]
"""Called with the events of one call of a bandit, in their order, under its lock and before it replies."""

_FIELDS: dict[str, frozenset[str]] = {
    "decided": frozenset({"id", "round", "arm", "arms", "without", "propensity"}),
    "rewarded": frozenset({"id", "reward"}),
    "cancelled": frozenset({"id"}),
    "expired": frozenset({"id", "reward"}),
    "learned": frozenset({"arm", "reward"}),
    "ignored": frozenset({"arm"}),
    "added": frozenset({"arm", "prior"}),
    "retired": frozenset({"arm"}),
    "revived": frozenset({"arm"}),
    "forgotten": frozenset({"arm"}),
}


def check_event(event: Any) -> tuple[str, Event]:
    """Return the kind of an event and its other fields, or say that it is none."""
    data = dict(event) if isinstance(event, dict) else {}
    kind = data.pop("event", None)
    if _FIELDS.get(kind) != frozenset(data):
        raise InvalidValueError(f"event must be one of {', '.join(_FIELDS)} with its own fields, got {brief(event)}")
    return kind, data
