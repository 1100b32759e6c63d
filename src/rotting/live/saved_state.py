"""Writes the state of a bandit as JSON-able data with a version and a digest (`Bandit.get_state`), and reads it back."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from rotting.errors import InvalidValueError
from rotting.live import policy_state as states
from rotting.live.arms import Arms, arm_to_json, restore_arm
from rotting.live.bandit_state import MAX_PENDING, BanditState, RewardWindow
from rotting.live.holdout import Comparison
from rotting.live.learner import Learner
from rotting.live.ledger import Entry, Ledger
from rotting.live.limits import Limits
from rotting.live.locks import steady_clock
from rotting.registry import from_json as policy_from_json
from rotting.simulation.engines.tiers import CompileMode

if TYPE_CHECKING:
    from collections.abc import Hashable

FORMAT, VERSION = "rotting-bandit", 7
OLDEST_VERSION = 7
"""The oldest version that can be read. It stays: what a store has removed is in a state of that version alone, its base."""

SavedState = dict[str, Any]
"""The state of a bandit as JSON-able data, by the names of its parts."""


def _plain(value: object) -> object:
    """Return a value in which 1.0 is 1, as some JSON tools write it: the digest must not depend on it."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _digest(data: SavedState) -> str:
    content = _plain({name: value for name, value in data.items() if name != "digest"})
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def save(state: BanditState, timed: bool = False) -> SavedState:
    """Return a state as JSON-able data. This is slow; a copy of a state can be saved while the original goes on.

    `timed`: with the times of the pending decisions, which are always saved if there is a reward window.
    """
    timed = timed or state.window is not None
    chooser, ledger, learner, arms = state.chooser, state.ledger, state.learner, state.arms
    window: SavedState = {}
    if state.window is not None:
        window = {"reward_window": state.window.seconds, "missing": state.window.missing}
    data = {
        "format": FORMAT,
        "version": VERSION,
        "policy": state.policy.to_json(),
        "key": f"{state.random_key:x}",  # a string: some JSON readers keep fewer than 63 bits of a number
        "rounds": state.rounds,
        **({"latest": state.latest} if timed else {}),
        "pending": state.pending_rule,
        "max_pending": state.max_pending,
        "holdout": state.holdout,
        "comparison": None if state.comparison is None else state.comparison.to_json(),
        "limits": None if state.limits is None else state.limits.to_json(),
        "rewards": [chooser.reward_sum, chooser.n_rewards],
        **window,
        "capacity": learner.capacity,
        "updates": learner.updates,
        "slots": learner.n_slots,
        "arms": [
            {"arm": arm_to_json(arm), "slot": slot, "retired": retired, "pulls": chooser.counts.rewards.item(slot)}
            for retired, group in ((False, arms.active), (True, arms.retired))
            for arm, slot in group.items()
        ],
        "decisions": [list(entry if timed else entry[:-2]) for entry in ledger.entries.values()],
        "answers": [[*each] for each in ledger.closed.items()],
        "state": states.to_json(learner.state),
    }
    return {**data, "digest": _digest(data)}


def restore(saved: object, compile: CompileMode = "auto") -> BanditState:
    """Return the state that `save` wrote."""
    data = _checked(saved)
    active: dict[Hashable, int] = {}
    retired: dict[Hashable, int] = {}
    for saved_arm in data["arms"]:
        (retired if saved_arm["retired"] else active)[restore_arm(saved_arm["arm"])] = saved_arm["slot"]
    arms = Arms.restored(data["slots"], active, retired)
    remembered = data["max_pending"] or MAX_PENDING
    ledger = Ledger(remembered, ((id, None if value is None else float(value)) for id, value in data["answers"]))
    policy, capacity = policy_from_json(data["policy"]), data["capacity"]
    arrays = states.from_json(policy, data["state"], data["slots"], capacity)
    learner = Learner(policy, data["slots"], capacity, arrays, data["updates"], compile)
    window = None
    if "reward_window" in data:
        window = RewardWindow(float(data["reward_window"]), None if data["missing"] is None else float(data["missing"]))
    random_key, share = int(data["key"], 16), float(data["holdout"])
    settings = window, data["max_pending"], share
    state = BanditState(learner, data["pending"], arms, random_key, data["rounds"], ledger, *settings)
    state.comparison = Comparison.from_json(data["comparison"]) if share else None
    state.limits = None if data["limits"] is None else Limits.from_json(data["limits"])
    state.latest = float(data.get("latest", 0.0))
    chooser = state.chooser
    for saved_arm in data["arms"]:
        chooser.counts.rewards[saved_arm["slot"]] = saved_arm["pulls"]
    chooser.reward_sum, chooser.n_rewards = float(data["rewards"][0]), data["rewards"][1]
    for saved_entry in data["decisions"]:
        entry = Entry(*saved_entry)
        if "latest" not in data:
            entry = entry._replace(time=steady_clock())
        ledger.add(entry)
        chooser.decided(entry.slot)
    return state


def _checked(state: object) -> SavedState:
    """Return the data, or raise an error that says why it cannot be used."""
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise InvalidValueError("state", f"be what Bandit.get_state returned (format {FORMAT!r})", state)
    version = state.get("version")
    if not isinstance(version, int) or not OLDEST_VERSION <= version <= VERSION:
        raise InvalidValueError("state version", f"be from {OLDEST_VERSION} to {VERSION}, which this rotting reads", version)
    try:
        intact = state.get("digest") == _digest(state)
    except (TypeError, ValueError):
        intact = False
    if not intact:
        raise InvalidValueError("state", "be complete and unedited", state, got="one whose digest does not match its content")
    return state
