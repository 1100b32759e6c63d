"""What `Bandit.get_state` returns: JSON-able data under a digest, of a format with a version."""

import hashlib
import json
from typing import Any

from rotting.common.rules import brief
from rotting.errors import InvalidValueError

FORMAT, VERSION = "rotting-bandit", 4


def _plain(value: Any) -> Any:
    """Write 1.0 as 1: some JSON tools do, and the digest must not change."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _digest(data: dict[str, Any]) -> str:
    text = json.dumps(
        _plain({name: value for name, value in data.items() if name != "digest"}), sort_keys=True, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def seal(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data as JSON carries it, with format, version and digest."""
    plain: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **data}, allow_nan=False))
    return {**plain, "digest": _digest(plain)}


def unseal(state: Any) -> dict[str, Any]:
    """Return the data of this version, or say why it cannot be used."""
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise InvalidValueError(f"state must be what Bandit.get_state returned (format {FORMAT!r}), got {brief(state)}")
    version = state.get("version")
    if version not in {3, VERSION}:
        raise InvalidValueError(f"state version must be 3 or {VERSION}, those that can be read, got {version!r}")
    try:
        intact = state.get("digest") == _digest(state)
    except (TypeError, ValueError):
        intact = False
    if not intact:
        raise InvalidValueError("state must be complete and unedited, got one whose digest does not match its content")
    return _from_version_3(state) if version == 3 else state


def _from_version_3(state: dict[str, Any]) -> dict[str, Any]:
    """Return the same in this version: it had no ids, and for each arm only the number of decisions under way."""
    decisions: list[list[Any]] = []
    arms: list[dict[str, Any]] = []
    for each in state["arms"]:
        for k in range(each["pending"]):
            propensity = each["propensities"][k] if each["propensities"] else None
            # Their rounds are not known. A number that no round has is as good, and the oldest come first.
            decisions.append([-1 - len(decisions), each["slot"], state["rounds"], propensity, None, 0])
        arms.append({"arm": each["arm"], "slot": each["slot"], "retired": each["kept"], "pulls": each["pulls"]})
    new = {"pending": "young", "max_pending": max(10_000, len(decisions)), "rewards": [0.0, 0], "reporting": []}
    new |= {"answers": [], "orphans": []}
    return {**state, **new, "arms": arms, "decisions": decisions}
