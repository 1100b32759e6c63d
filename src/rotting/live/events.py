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
| `learned_many` | `arms`, each once, `which` of them paid, `rewards`, and `propensities` or None: some rows of `Bandit.learn` |
| `added` | `arm`, `prior`: mean and weight, or None |
| `retired`, `revived`, `forgotten` | `arm` |

`arms` are those that a decision could choose from, or `without` those that it could not; both are None if it could choose any.
A propensity that was not asked for is None, unless it is 1 or the policy needs it.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
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
    "learned_many": frozenset({"arms", "which", "rewards", "propensities"}),
    "added": frozenset({"arm", "prior"}),
    "retired": frozenset({"arm"}),
    "revived": frozenset({"arm"}),
    "forgotten": frozenset({"arm"}),
}


_MANY = 1_000  # rows of one event, at most


def learned_many(arms: list[Hashable], which: Ints, rewards: Floats, propensities: Floats | None) -> list[Event]:
    """Return the events of rewards that are learned at once, each of a bounded size.

    Example:
        >>> learned_many(["a", "b"], np.array([1, 1]), np.array([0.5, 2.0]), None)
        [{'event': 'learned_many', 'arms': ['b'], 'which': [0, 0], 'rewards': [0.5, 2.0], 'propensities': None}]
    """
    events: list[Event] = []
    for start in range(0, which.size, _MANY):
        rows = slice(start, start + _MANY)
        used, places = np.unique(which[rows], return_inverse=True)
        events.append(
            {
                "event": "learned_many",
                "arms": [arms[k] for k in used],
                "which": places.tolist(),
                "rewards": rewards[rows].tolist(),
                "propensities": None if propensities is None else propensities[rows].tolist(),
            }
        )
    return events


def one_by_one(event: Event) -> list[Event]:
    """Return the event itself, or those that would tell the same row by row: `learned`, each with its propensity.

    Example:
        >>> one_by_one({"event": "learned_many", "arms": ["b"], "which": [0], "rewards": [0.5], "propensities": None})
        [{'event': 'learned', 'arm': 'b', 'reward': 0.5, 'propensity': None}]
    """
    if event.get("event") != "learned_many":
        return [event]
    arms, propensities = event["arms"], event["propensities"] or [None] * len(event["which"])
    rows = zip(event["which"], event["rewards"], propensities, strict=True)
    return [{"event": "learned", "arm": arms[k], "reward": reward, "propensity": p} for k, reward, p in rows]


def check_event(event: Any) -> tuple[str, Event]:
    """Return the kind of an event and its other fields, or say that it is none."""
    data = dict(event) if isinstance(event, dict) else {}
    kind = data.pop("event", None)
    if _FIELDS.get(kind) != frozenset(data):
        raise InvalidValueError("event", f"be one of {', '.join(_FIELDS)} with its own fields", event)
    return kind, data
