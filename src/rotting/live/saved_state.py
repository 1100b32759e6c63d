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
from rotting.live.ledger import Answers, Entry, Ledger, Orphans
from rotting.live.reporting import Reporting
from rotting.live.state import BanditState, PendingRule
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json

FORMAT, VERSION = "rotting-bandit", 4


def _plain(value: Any) -> Any:
    """Write 1.0 as 1, as some JSON tools do: the digest must not depend on it."""
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


class Parts(NamedTuple):
    """Copies of all parts of a `BanditState`. Making them is fast, and needs a lock; writing them is slow, and needs none."""

    policy: Policy
    key: int
    rounds: int
    pending_rule: PendingRule
    max_pending: int
    learner: Learner
    active: dict[Hashable, int]
    retired: dict[Hashable, int]
    pulls: list[int]  # rewards of each slot
    decisions: list[Entry]
    early: dict[Key, list[Any]]  # the decisions with an early reward, which may be learned meanwhile
    answers: Answers
    orphans: list[Any]
    rewards: list[Any]
    reporting: list[Any]

    @classmethod
    def of(cls, state: BanditState) -> "Parts":
        """Return copies of the parts of a state."""
        pending, ledger = state.pending, state.ledger
        return cls(
            state.policy,
            state.key,
            state.rounds,
            state.pending_rule,
            ledger.max_pending,
            state.learner.copy(),
            state.arms.active.copy(),
            state.arms.retired.copy(),
            pending.rewards.copy(),
            list(ledger.entries.values()),
            {each.key: each.to_json() for each in ledger.entries.values() if each.reward is not None} if ledger.early else {},
            ledger.answers.copy(),
            state.orphans.to_json(),
            [pending.total, pending.number],
            state.reporting.to_json(),
        )

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
        answers: list[Any] = []
        for item in self.answers:
            pause()
            answers.append([*item])
        data = {
            "format": FORMAT,
            "version": VERSION,
            "policy": self.policy.to_json(),
            "key": f"{self.key:x}",  # a string: some JSON readers keep fewer than 63 bits of a number
            "rounds": self.rounds,
            "capacity": self.learner.capacity,
            "updates": self.learner.updates,
            "slots": self.learner.n_slots,
            "pending": self.pending_rule,
            "max_pending": self.max_pending,
            "arms": arms,
            "decisions": decisions,
            "answers": answers,
            "orphans": self.orphans,
            "rewards": self.rewards,
            "reporting": self.reporting,
            "state": states.to_json(self.learner.state, pause),
        }
        return {**data, "digest": _digest(data)}


def restore(saved: Any) -> BanditState:
    """Return the state that `Parts.to_json` wrote, in this version or an earlier one."""
    data = _checked(saved)
    active: dict[Hashable, int] = {}
    retired: dict[Hashable, int] = {}
    for each in data["arms"]:
        (retired if each["retired"] else active)[restore_arm(each["arm"])] = each["slot"]
    arms = Arms.restored(data["slots"], active, retired)
    answers = ((id, None if value is None else float(value)) for id, value in data["answers"])  # noqa: A001
    ledger = Ledger(data["max_pending"], answers)
    orphans = Orphans(data["max_pending"], [(restore_arm(arm), rounds) for arm, rounds in data["orphans"]])
    policy, capacity = policy_from_json(data["policy"]), data["capacity"]
    # States from before the count was saved: at most one update a round, and one for each reward, which includes priors.
    updates = data.get("updates", data["rounds"] + data["rewards"][1])
    arrays = states.from_json(policy, data["state"], data["slots"], capacity)
    learner = Learner(policy, data["slots"], capacity, arrays, updates)
    state = BanditState(learner, current_rule(data["pending"]), arms, int(data["key"], 16), data["rounds"], ledger, orphans)
    state.reporting = Reporting(*data["reporting"])
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
    """Return the rule for pending decisions by its present name; states and stores may hold the former one, "young"."""
    rule: PendingRule = "shrink" if pending == "young" else pending
    return rule


def _checked(state: Any) -> dict[str, Any]:
    """Return the data in the present version, or raise an error that says why it cannot be used."""
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
    """Convert from version 3, which had no ids, and only the number of pending decisions of each arm."""
    decisions: list[list[Any]] = []
    arms: list[dict[str, Any]] = []
    for each in state["arms"]:
        for k in range(each["pending"]):
            propensity = each["propensities"][k] if each["propensities"] else None
            # Their rounds are not known. A key that no round has will do, and the oldest come first.
            decisions.append([-1 - len(decisions), each["slot"], state["rounds"], propensity, None, 0, False])
        arms.append({"arm": each["arm"], "slot": each["slot"], "retired": each["kept"], "pulls": each["pulls"]})
    new = {"pending": "shrink", "max_pending": max(10_000, len(decisions)), "rewards": [0.0, 0], "reporting": []}
    new |= {"answers": [], "orphans": []}
    return {**state, **new, "arms": arms, "decisions": decisions}
