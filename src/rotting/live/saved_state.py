"""What `Bandit.get_state` returns: JSON-able data under a digest, of a format with a version."""

import hashlib
import json
from collections.abc import Hashable
from typing import Any, NamedTuple

from rotting.common.pieces import Pauses, text_of
from rotting.errors import InvalidValueError
from rotting.live import policy_state as states
from rotting.live.answers import Answers
from rotting.live.arms import arm_to_json
from rotting.live.decisions import Entry, Key
from rotting.live.learner import Learner
from rotting.policy import Policy

FORMAT, VERSION = "rotting-bandit", 4


def _plain(value: Any) -> Any:
    """Write 1.0 as 1: some JSON tools do, and the digest must not change."""
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
    """Copies of what a bandit is made of, which are made in no time; to write them takes longer."""

    policy: Policy
    key: int
    rounds: int
    pending: str
    max_pending: int
    learner: Learner
    active: dict[Hashable, int]
    retired: dict[Hashable, int]
    pulls: list[int]  # rewards of each slot
    decisions: list[Entry]
    early: dict[Key, list[Any]]  # those with a reward, which may be learned meanwhile
    answers: Answers
    orphans: list[Any]
    rewards: list[Any]
    reporting: list[Any]

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON carries them, with format, version and digest."""
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
            "slots": self.learner.n_slots,
            "pending": self.pending,
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


def unseal(state: Any) -> dict[str, Any]:
    """Return the data of this version, or say why it cannot be used."""
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
    """Return the same in this version: it had no ids, and for each arm only the number of decisions under way."""
    decisions: list[list[Any]] = []
    arms: list[dict[str, Any]] = []
    for each in state["arms"]:
        for k in range(each["pending"]):
            propensity = each["propensities"][k] if each["propensities"] else None
            # Their rounds are not known. A number that no round has is as good, and the oldest come first.
            decisions.append([-1 - len(decisions), each["slot"], state["rounds"], propensity, None, 0, False])
        arms.append({"arm": each["arm"], "slot": each["slot"], "retired": each["kept"], "pulls": each["pulls"]})
    new = {"pending": "young", "max_pending": max(10_000, len(decisions)), "rewards": [0.0, 0], "reporting": []}
    new |= {"answers": [], "orphans": []}
    return {**state, **new, "arms": arms, "decisions": decisions}
