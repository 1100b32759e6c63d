"""Events: everything that changes a bandit, as plain data.

A bandit's state is the fold of its events: a new bandit with the same policy, arms and seed, to which the events are applied in
order, has the same state bit for bit. Applying events reads no clock: with a reward window, the events say which decisions have
settled. An event is a dict of values that JSON can carry:

| event | other fields |
|---|---|
| `decided` | `id` (or the round of a `pull`), `round`, `arm`, `arms`, `without`, `propensity`, `time`, `unit`, `rule` |
| `rewarded` | `id`, `reward` |
| `cancelled` | `id` |
| `expired` | `id`, `reward`: the reward that is learned instead, or None |
| `settled` | `round`, `missing`: all pending decisions up to this round learn the reward they have, or `missing` unless None |
| `learned` | `arm`, `reward`: a reward without a decision |
| `learned_many` | `arms`, each once, `which` of them paid, `rewards`, and `propensities` or None: some rows of `Bandit.learn` |
| `added` | `arm`, `prior`: mean and weight, or None |
| `retired`, `revived`, `forgotten` | `arm` |
| `changed` | the settings that have another value from now on, and `reason`: see `rotting.live.settings` |

`arms` lists the arms that a decision could choose from, or `without` those that it could not; both are None if it could choose
any. `propensity` is None for a `pull` of a policy that draws, unless the policy itself needs it. `time` is in seconds,
since 1970 for a bandit with a reward window and for a durable one. `unit` is there if `decide` was given one, and `rule` if the
policy was overruled: "holdout", "floor" or "cap".
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import InvalidValueError

Event = dict[str, Any]

_FIELDS: dict[str, set[str]] = {
    "decided": {"id", "round", "arm", "arms", "without", "propensity"},
    "rewarded": {"id", "reward"},
    "cancelled": {"id"},
    "expired": {"id", "reward"},
    "settled": {"round", "missing"},
    "learned": {"arm", "reward"},
    "learned_many": {"arms", "which", "rewards", "propensities"},
    "added": {"arm", "prior"},
    "retired": {"arm"},
    "revived": {"arm"},
    "forgotten": {"arm"},
    "changed": {"reason"},
}
_OPTIONAL: dict[str, set[str]] = {
    "decided": {"time", "unit", "rule"},
    "changed": {"policy", "reward_window", "missing", "holdout", "max_pending", "caps", "floors", "paused"},
}
_MAX_ROWS = 1_000  # most rows of one event


def learned_many(arms: list[Hashable], which: Ints, rewards: Floats, propensities: Floats | None) -> list[Event]:
    """Return the events for many rewards that are learned at once; each event has at most 1,000 of them.

    Example:
        >>> learned_many(["a", "b"], np.array([1, 1]), np.array([0.5, 2.0]), None)
        [{'event': 'learned_many', 'arms': ['b'], 'which': [0, 0], 'rewards': [0.5, 2.0], 'propensities': None}]
    """
    events: list[Event] = []
    for start in range(0, which.size, _MAX_ROWS):
        rows = slice(start, start + _MAX_ROWS)
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
    """Return the event itself; for `learned_many`, one `learned` event for each row, with its propensity.

    Example:
        >>> one_by_one({"event": "learned_many", "arms": ["b"], "which": [0], "rewards": [0.5], "propensities": None})
        [{'event': 'learned', 'arm': 'b', 'reward': 0.5, 'propensity': None}]
    """
    if event.get("event") != "learned_many":
        return [event]
    arms, propensities = event["arms"], event["propensities"] or [None] * len(event["which"])
    rows = zip(event["which"], event["rewards"], propensities, strict=True)
    return [{"event": "learned", "arm": arms[k], "reward": reward, "propensity": p} for k, reward, p in rows]


def check_event(event: object) -> tuple[str, Event]:
    """Return the kind of an event and its other fields, or raise an error if it is not an event."""
    data = dict(event) if isinstance(event, dict) else {}
    kind = data.pop("event", None)
    optional = _OPTIONAL.get(kind)
    if _FIELDS.get(kind) != (data.keys() - optional if optional else data.keys()):
        raise InvalidValueError("event", f"be one of {', '.join(_FIELDS)} with its own fields", event)
    return kind, data
