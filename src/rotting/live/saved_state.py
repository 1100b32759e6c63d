"""Writes the state of a bandit as JSON-able data with a version and a digest (`Bandit.get_state`), and reads it back."""

import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from rotting.common.thread_breaks import ThreadBreaks, json_pieces
from rotting.engines.tiers import CompileMode
from rotting.errors import InvalidValueError
from rotting.live import policy_state as states
from rotting.live.arms import Arms, arm_to_json, restore_arm
from rotting.live.bandit_state import BanditState, PendingMode, RewardWindow
from rotting.live.learner import Learner
from rotting.live.ledger import ClosedDecisions, Entry, Ledger, Orphans
from rotting.live.missing_zeros import MissingZeros
from rotting.live.probe import Probe
from rotting.registry import from_json as policy_from_json

T = TypeVar("T")

FORMAT, VERSION = "rotting-bandit", 5

SavedState = dict[str, Any]
"""The state of a bandit as JSON-able data, by the names of its parts."""


def _plain(value: object) -> object:
    """Return a value in which 1.0 is 1, as some JSON tools write it: the digest must not depend on it."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _encode_plain(value: object) -> str:
    return json.dumps(_plain(value), sort_keys=True, allow_nan=False)


def _digest(data: SavedState) -> str:
    found = hashlib.sha256()
    for piece in json_pieces({name: value for name, value in data.items() if name != "digest"}, ThreadBreaks(), _encode_plain):
        found.update(piece.encode())
    return found.hexdigest()


class StateParts(NamedTuple):
    """Copies of all parts of a `BanditState`. Making them is fast and needs the lock; writing them is slow and needs none."""

    fields: SavedState  # everything short
    learner: Learner
    active: dict[Hashable, int]
    retired: dict[Hashable, int]
    pulls: list[int]  # rewards of each slot
    decisions: list[Entry]
    closed: ClosedDecisions

    @classmethod
    def of(cls, state: BanditState) -> "StateParts":
        """Return copies of the parts of a state."""
        pending, ledger = state.pending, state.ledger
        fields = {
            "policy": state.policy.to_json(),
            "key": f"{state.random_key:x}",  # a string: some JSON readers keep fewer than 63 bits of a number
            "rounds": state.rounds,
            "pending": state.pending_rule,
            "max_pending": ledger.max_pending,
            "orphans": state.orphans.to_json(),
            "rewards": [pending.reward_sum, pending.n_rewards],
            "reporting": state.missing_zeros.to_json(),
        }
        if state.window is not None:
            fields |= {"reward_window": state.window.seconds, "missing": state.window.missing, "latest": state.latest}
        if state.probe is not None:
            first_pulls = [[slot, first] for slot, first in sorted(state.probe.first_pulls.items())]
            fields |= {"probe": state.probe.share, "first_pulls": first_pulls}
        active, retired, pulls = state.arms.active.copy(), state.arms.retired.copy(), pending.rewards.copy()
        decisions = list(ledger.entries.values())
        return cls(fields, state.learner.copy(), active, retired, pulls, decisions, ledger.closed.copy())

    def to_json(self) -> SavedState:
        """Return the saved state, with format, version and digest."""
        take_break = ThreadBreaks()

        def with_breaks(items: Iterable[T]) -> Iterator[T]:
            for item in items:
                take_break()
                yield item

        data = {
            "format": FORMAT,
            "version": VERSION,
            **self.fields,
            "capacity": self.learner.capacity,
            "updates": self.learner.updates,
            "slots": self.learner.n_slots,
            "arms": [
                {"arm": arm_to_json(arm), "slot": slot, "retired": retired, "pulls": self.pulls[slot]}
                for retired, group in ((False, self.active), (True, self.retired))
                for arm, slot in with_breaks(group.items())
            ],
            "decisions": [entry.to_json("reward_window" in self.fields) for entry in with_breaks(self.decisions)],
            "answers": [[*each] for each in with_breaks(self.closed)],
            "state": states.to_json(self.learner.state, take_break),
        }
        return {**data, "digest": _digest(data)}


def restore(saved: object, compile: CompileMode = "auto") -> BanditState:
    """Return the state that `StateParts.to_json` wrote, in this version or an earlier one."""
    data = _checked(saved)
    active: dict[Hashable, int] = {}
    retired: dict[Hashable, int] = {}
    for saved_arm in data["arms"]:
        (retired if saved_arm["retired"] else active)[restore_arm(saved_arm["arm"])] = saved_arm["slot"]
    arms = Arms.restored(data["slots"], active, retired)
    closed = ((id, None if value is None else float(value)) for id, value in data["answers"])
    ledger = Ledger(data["max_pending"], closed)
    orphans = Orphans(data["max_pending"], [(restore_arm(arm), rounds) for arm, rounds in data["orphans"]])
    policy, capacity = policy_from_json(data["policy"]), data["capacity"]
    # Older states lack the number of updates: at most one for each round, and one for each reward, priors included.
    updates = data.get("updates", data["rounds"] + data["rewards"][1])
    arrays = states.from_json(policy, data["state"], data["slots"], capacity)
    learner = Learner(policy, data["slots"], capacity, arrays, updates, compile)
    window = None
    if "reward_window" in data:
        window = RewardWindow(float(data["reward_window"]), None if data["missing"] is None else float(data["missing"]))
    rule, random_key = current_rule(data["pending"]), int(data["key"], 16)
    probe = Probe(data["probe"], dict(data["first_pulls"])) if "probe" in data else None
    state = BanditState(learner, rule, arms, random_key, data["rounds"], ledger, orphans, window, probe)
    state.latest = float(data.get("latest", 0.0))
    state.missing_zeros = MissingZeros(*data["reporting"])
    pending = state.pending
    for saved_arm in data["arms"]:
        pending.restore(saved_arm["slot"], saved_arm["pulls"])
    pending.reward_sum, pending.n_rewards = float(data["rewards"][0]), data["rewards"][1]
    for saved_entry in data["decisions"]:
        entry = Entry(*saved_entry)
        ledger.add(entry)
        pending.decided(entry.slot)
    for id, slot, _, _, reward, _, expired in data.get("early", ()):
        learner.learn(state.rounds, slot, float(reward))
        if isinstance(id, str):
            ledger.closed.add(id, None if expired else float(reward))
    return state


def current_rule(pending: Any) -> PendingMode:
    """Return the current name of a rule for pending decisions; older states and stores call "shrink" "young"."""
    rule: PendingMode = "shrink" if pending == "young" else pending
    return rule


def _checked(state: object) -> SavedState:
    """Return the data in the current version, or raise an error that says why it cannot be used."""
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise InvalidValueError("state", f"be what Bandit.get_state returned (format {FORMAT!r})", state)
    version = state.get("version")
    if version not in {3, 4, VERSION}:
        raise InvalidValueError("state version", f"be 3, 4 or {VERSION}, those that can be read", version)
    try:
        intact = state.get("digest") == _digest(state)
    except (TypeError, ValueError):
        intact = False
    if not intact:
        raise InvalidValueError("state", "be complete and unedited", state, got="one whose digest does not match its content")
    return _from_version_4(_from_version_3(state) if version == 3 else state) if version < VERSION else state


def _from_version_4(state: SavedState) -> SavedState:
    """Convert from version 4, in which a reward could wait for those of older decisions of the same arm ("early")."""
    decisions = [each[:4] for each in state["decisions"] if each[4] is None]
    return {**state, "decisions": decisions, "early": [each for each in state["decisions"] if each[4] is not None]}


def _from_version_3(state: SavedState) -> SavedState:
    """Convert from version 3, which had no ids, but only the number of pending decisions of each arm."""
    decisions: list[list[object]] = []
    arms: list[dict[str, object]] = []
    for saved_arm in state["arms"]:
        for k in range(saved_arm["pending"]):
            propensity = saved_arm["propensities"][k] if saved_arm["propensities"] else None
            # The rounds of these decisions are not known: their keys are negative, so that no round has them, oldest first.
            decisions.append([-1 - len(decisions), saved_arm["slot"], state["rounds"], propensity, None, 0, False])
        arms.append(
            {"arm": saved_arm["arm"], "slot": saved_arm["slot"], "retired": saved_arm["kept"], "pulls": saved_arm["pulls"]}
        )
    new = {"pending": "shrink", "max_pending": max(10_000, len(decisions)), "rewards": [0.0, 0], "reporting": []}
    new |= {"answers": [], "orphans": []}
    return {**state, **new, "arms": arms, "decisions": decisions}
