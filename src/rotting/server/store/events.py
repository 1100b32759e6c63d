"""The events of a bandit as they are stored: their bytes, their chain of digests, and the record of a bandit.

The digest of an event covers the one before it, and the first covers the random id of its bandit. So an event that was changed,
lost, moved or copied from another bandit breaks the chain, also when a name is used again.
"""

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from rotting.errors import InvalidTypeError, InvalidValueError, StoreDamagedError, StoreFormatError
from rotting.live.arms import restore_arm
from rotting.live.bandit_state import BanditState, RewardWindow
from rotting.live.events import Event, check_event
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.simulation.engines.tiers import CompileMode

Payload = dict[str, Any]
"""The content of an event, of a state or of a description, as JSON-able data. Tuples come back as lists."""

MICROSECOND = 1e-6
_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder()


class StoredEvent(NamedTuple):
    """One entry of the log of a bandit."""

    number: int
    """Its position in the log: 1, 2, 3, ... without gaps."""
    time: int
    """When it was written, in microseconds since 1970; never earlier than the event before it."""
    caller: str
    """The name of the token of the caller; "" without tokens."""
    payload: bytes
    """The event as JSON, without its time."""
    digest: bytes


class StoredKey(NamedTuple):
    """An idempotency key, and what was answered to its first request."""

    key: str
    request: bytes
    """The digest of the request."""
    time: int
    answer: bytes
    """The answer; empty if the key was cancelled, so that no request can use it any more."""


class StoredSnapshot(NamedTuple):
    """The state of a bandit after its event with a number."""

    number: int
    digest: bytes
    state: bytes


class BanditRecord(NamedTuple):
    """A bandit of a store."""

    row: int
    """Its number in the database."""
    id: str
    """A random id, with which its chain of digests begins."""
    name: str
    description: bytes
    """The arguments that it was made with, as JSON."""
    archived: bool = False
    keep: float | None = None
    """Seconds for which settled events are kept; None for ever."""
    base: int = 0
    """The number of the event whose snapshot replaces it and all events before it; 0 if none was removed."""
    base_digest: bytes = b""

    @property
    def first_digest(self) -> bytes:
        """The digest that the chain of the events in the log begins with."""
        return self.base_digest if self.base else digest_of(self.id.encode())


def new_record(name: str, description: Payload, keep: float | None = None) -> BanditRecord:
    """Return the record of a new bandit."""
    return BanditRecord(0, uuid.uuid4().hex, check_name(name), encode(description), keep=keep)


def check_name(name: object) -> str:
    """Check that a bandit can have this name, and return it."""
    if not isinstance(name, str):
        raise InvalidTypeError("name", "be a string", name)
    if not name or len(name) > 200 or not name.isprintable():
        raise InvalidValueError("name", "be 1 to 200 printable characters", name)
    return name


# --- Events as bytes --------------------------------------------------------------------------------------------------------


def encode(payload: object) -> bytes:
    """Return JSON-able data as bytes.

    Example:
        >>> encode({"arm": "a", "reward": 0.5})
        b'{"arm":"a","reward":0.5}'
    """
    return _encoder.encode(payload)


def decode(text: bytes) -> Any:
    """Return the data in some bytes."""
    return _decoder.decode(text)


def encode_event(event: Event) -> bytes:
    """Return an event as bytes: without its time, which has a column, and without fields that have their usual value.

    Example:
        >>> encode_event({"event": "rewarded", "id": "4f", "reward": 1.0})
        b'{"event":"rewarded","id":"4f","reward":1.0}'
    """
    usual = {"time": event.get("time"), **_USUAL.get(event["event"], {})}
    return _encoder.encode({name: value for name, value in event.items() if name not in usual or value != usual[name]})


def decode_event(stored: StoredEvent) -> Event:
    """Return the event in a stored one, for `BanditState.apply`.

    Raises:
        StoreFormatError: the event is of a kind that this version does not know.
    """
    try:
        event: Event = _decoder.decode(stored.payload)
    except msgspec.DecodeError as error:
        raise StoreDamagedError(f"is damaged: event {stored.number} is no JSON: {error}") from error
    kind = event.get("event")
    for name, usual in _USUAL.get(kind, {}).items():
        event.setdefault(name, usual)
    if kind == "decided":
        event["time"] = stored.time * MICROSECOND
    try:
        check_event(event)
    except InvalidValueError as error:
        reason = f"holds an event that this version of the library does not know ({kind!r}, number {stored.number}): upgrade it"
        raise StoreFormatError(reason) from error
    return event


_USUAL: Mapping[str | None, Payload] = {
    "decided": {"arms": None, "without": None, "propensity": 1.0},
    "added": {"prior": None},
    "expired": {"reward": None},
    "learned_many": {"propensities": None},
}
"""Fields that an event lacks in the log if they have this value."""


def digest_of(content: bytes) -> bytes:
    """Return a digest of eight bytes.

    Example:
        >>> digest_of(b"a").hex()
        '40f89e395b66422f'
    """
    return hashlib.blake2b(content, digest_size=8).digest()


def event_digest(before: bytes, number: int, time: int, caller: str, payload: bytes) -> bytes:
    """Return the digest of an event, given that of the event before it."""
    head = f"{number} {time} {len(caller)} {caller} ".encode()
    return hashlib.blake2b(b"%b%b%b" % (before, head, payload), digest_size=8).digest()


def chained(before: bytes, number: int, time: int, caller: str, payloads: Iterable[bytes]) -> list[StoredEvent]:
    """Return new events of one time and caller, after the event `number` with the digest `before`."""
    events: list[StoredEvent] = []
    for payload in payloads:
        number += 1
        before = event_digest(before, number, time, caller, payload)
        events.append(StoredEvent(number, time, caller, payload, before))
    return events


# --- Descriptions -----------------------------------------------------------------------------------------------------------


def describe(state: BanditState, seed: int) -> Payload:
    """Return the description of a new bandit, from which `initial_state` makes its state."""
    window = {} if state.window is None else {"reward_window": state.window.seconds, "missing": state.window.missing}
    return {
        "policy": state.policy.to_json(),
        "arms": [state.arms.names[slot] for slot in state.arms.slots],
        "seed": seed,
        "pending": state.pending_rule,
        "max_pending": state.max_pending,
        "holdout": state.holdout,
        **window,
    }


def initial_state(record: BanditRecord, compile: CompileMode = "auto") -> BanditState:
    """Return the state of a bandit before its first event."""
    described = decode(record.description)
    policy, arms = policy_from_json(described["policy"]), [restore_arm(arm) for arm in described["arms"]]
    names = ("seed", "pending", "max_pending", "reward_window", "missing", "holdout")
    options = {name: described[name] for name in names if name in described}
    return BanditState.new(policy, arms, **options, compile=compile)


def window_in(arguments: Mapping[str, object], policy: Policy) -> RewardWindow | None:
    """Return the reward window in a description, or in other arguments of a bandit with this policy."""
    return RewardWindow.checked(policy, arguments.get("reward_window"), arguments.get("missing", 0.0))
