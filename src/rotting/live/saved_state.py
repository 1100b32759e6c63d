"""Writes the state of a bandit as JSON-able data with a version and a digest (`Bandit.get_state`), and reads it back."""

import hashlib
import json
from collections.abc import Hashable
from typing import Any, NamedTuple

from rotting.common.pieces import Pauses, text_of
from rotting.errors import InvalidValueError
from rotting.live import policy_state as states
from rotting.live.arms import Arms, arm_to_json, restore_arm
from rotting.live.decisions import Key
from rotting.live.learner import Learner
from rotting.live.ledger import ClosedDecisions, Entry, Ledger, Orphans
from rotting.live.missing_zeros import MissingZeros
from rotting.live.state import BanditState, PendingRule
from rotting.registry import from_json as policy_from_json

FORMAT, VERSION = "rotting-bandit", 4


def _plain(value: Any) -> Any:
    """Return a value in which 1.0 is 1, as some JSON tools write it: the digest must not depend on it."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _encode_plain(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True, allow_nan=False)


def _digest(data: dict[str, Any]) -> str:
    found = hashlib.sha256()
    for piece in text_of({name: value for name, value in data.items() if name != "digest"}, Pauses(), _encode_plain):
        found.update(piece.encode())
    return found.hexdigest()


class StateParts(NamedTuple):
    """Copies of all parts of a `BanditState`. Making them is fast and needs the lock; writing them is slow and needs none."""

    fields: dict[str, Any]  # JSON of everything short
    learner: Learner
    active: dict[Hashable, int]
    retired: dict[Hashable, int]
    pulls: list[int]  # rewards of each slot
    decisions: list[Entry]
    early: dict[Key, list[Any]]  # JSON of the decisions with an early reward, since these entries may change meanwhile
    closed: ClosedDecisions

    @classmethod
    def of(cls, state: BanditState) -> "StateParts":
        """Return copies of the parts of a state."""
        pending, ledger = state.pending, state.ledger
        fields = {
            "policy": state.policy.to_json(),
            "key": f"{state.key:x}",  # a string: some JSON readers keep fewer than 63 bits of a number
            "rounds": state.rounds,
            "pending": state.pending_rule,
            "max_pending": ledger.max_pending,
            "orphans": state.orphans.to_json(),
            "rewards": [pending.total, pending.number],
            "reporting": state.missing_zeros.to_json(),
        }
        early = (
            {each.key: each.to_json() for each in ledger.entries.values() if each.reward is not None} if ledger.early else {}
        )
        active, retired, pulls = state.arms.active.copy(), state.arms.retired.copy(), pending.rewards.copy()
        decisions = list(ledger.entries.values())
        return cls(fields, state.learner.copy(), active, retired, pulls, decisions, early, ledger.closed.copy())

    def to_json(self) -> dict[str, Any]:
        """Return the parts as JSON-able data, with format, version and digest."""
        pause = Pauses()
        arms: list[Any] = []
        for retired, group in ((False, self.active), (True, self.retired)):
            for arm, slot in group.items():
                pause()
                arms.append({"arm": arm_to_json(arm), "slot": slot, "retired": retired, "pulls": self.pulls[slot]})
        decisions: list[Any] = []
        for each in self.decisions:
            pause()
            decisions.append(self.early.get(each.key) or [each.key, each.slot, each.round, each.propensity, None, 0, False])
        closed: list[Any] = []
        for item in self.closed:
            pause()
            closed.append([*item])
        data = {
            "format": FORMAT,
            "version": VERSION,
            **self.fields,
            "capacity": self.learner.capacity,
            "updates": self.learner.updates,
            "slots": self.learner.n_slots,
            "arms": arms,
            "decisions": decisions,
            "answers": closed,
            "state": states.to_json(self.learner.state, pause),
        }
        return {**data, "digest": _digest(data)}


def restore(saved: Any) -> BanditState:
    """Return the state that `StateParts.to_json` wrote, in this version or an earlier one."""
    data = _checked(saved)
    active: dict[Hashable, int] = {}
    retired: dict[Hashable, int] = {}
    for each in data["arms"]:
        (retired if each["retired"] else active)[restore_arm(each["arm"])] = each["slot"]
    arms = Arms.restored(data["slots"], active, retired)
    closed = ((id, None if value is None else float(value)) for id, value in data["answers"])  # noqa: A001
    ledger = Ledger(data["max_pending"], closed)
    orphans = Orphans(data["max_pending"], [(restore_arm(arm), rounds) for arm, rounds in data["orphans"]])
    policy, capacity = policy_from_json(data["policy"]), data["capacity"]
    # Older states lack the number of updates: at most one for each round, and one for each reward, priors included.
    updates = data.get("updates", data["rounds"] + data["rewards"][1])
    arrays = states.from_json(policy, data["state"], data["slots"], capacity)
    learner = Learner(policy, data["slots"], capacity, arrays, updates)
    state = BanditState(learner, current_rule(data["pending"]), arms, int(data["key"], 16), data["rounds"], ledger, orphans)
    state.missing_zeros = MissingZeros(*data["reporting"])
    pending = state.pending
    for each in data["arms"]:
        pending.restore(each["slot"], each["pulls"])
    pending.total, pending.number = float(data["rewards"][0]), data["rewards"][1]
    for each in data["decisions"]:
        entry = Entry.restored(each)
        ledger.add(entry)
        if entry.reward is None:
            pending.decided(entry.slot)
    return state


def current_rule(pending: Any) -> PendingRule:
    """Return the current name of a rule for pending decisions; older states and stores call "shrink" "young"."""
    rule: PendingRule = "shrink" if pending == "young" else pending
    return rule


def _checked(state: Any) -> dict[str, Any]:
    """Return the data in the current version, or raise an error that says why it cannot be used."""
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise InvalidValueError("state", f"be what Bandit.get_state returned (format {FORMAT!r})", state)
    version = state.get("version")
    if version not in {3, VERSION}:
        raise InvalidValueError("state version", f"be 3 or {VERSION}, those that can be read", version)
    try:
        intact = state.get("digest") == _digest(state)
    except (TypeError, ValueError):
        intact = False
    if not intact:
        raise InvalidValueError("state", "be complete and unedited", state, got="one whose digest does not match its content")
    return _from_version_3(state) if version == 3 else state


def _from_version_3(state: dict[str, Any]) -> dict[str, Any]:
    """Convert from version 3, which had no ids, but only the number of pending decisions of each arm."""
    decisions: list[list[Any]] = []
    arms: list[dict[str, Any]] = []
    for each in state["arms"]:
        for k in range(each["pending"]):
            propensity = each["propensities"][k] if each["propensities"] else None
            # The rounds of these decisions are not known: their keys are negative, so that no round has them, oldest first.
            decisions.append([-1 - len(decisions), each["slot"], state["rounds"], propensity, None, 0, False])
        arms.append({"arm": each["arm"], "slot": each["slot"], "retired": each["kept"], "pulls": each["pulls"]})
    new = {"pending": "shrink", "max_pending": max(10_000, len(decisions)), "rewards": [0.0, 0], "reporting": []}
    new |= {"answers": [], "orphans": []}
    return {**state, **new, "arms": arms, "decisions": decisions}
