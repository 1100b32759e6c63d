"""Payloads as bytes, the digests that protect them, and checks of arguments that all stores share.

The digest of an event covers the digest of the event before it; that of the first event covers the store's id. So an event that
was changed, lost, moved, or copied from another store breaks the chain.
"""

import hashlib
import json
from collections.abc import Collection, Iterator

from rotting.common.rules import nonnegative_int
from rotting.common.thread_breaks import ThreadBreaks, json_pieces
from rotting.errors import InvalidTypeError, InvalidValueError, brief
from rotting.store.protocol import Payload

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encode(what: str, payload: Payload) -> bytes:
    """Return a payload as JSON, or raise an error that says why JSON cannot represent it.

    Example:
        >>> encode("payload", {"arm": "a", "reward": 0.5})
        b'{"arm":"a","reward":0.5}'
        >>> encode("payload", {"reward": float("nan")})
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: payload must hold finite numbers only, got {'reward': nan}
    """
    if not isinstance(payload, dict):
        raise _payload_error(what, payload, TypeError())
    try:
        return _encode(payload).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _payload_error(what, payload, error) from None


def encode_in_pieces(what: str, payload: Payload, size: int) -> Iterator[bytes]:
    """Yield a large payload as JSON in pieces of `size` bytes; other threads can run between two pieces.

    Example:
        >>> list(encode_in_pieces("state", {"arms": ["a", "b"], "rounds": 3}, size=10))
        [b'{"arms": [', b'"a","b"], ', b'"rounds": ', b'3}']
    """
    if not isinstance(payload, dict):
        raise _payload_error(what, payload, TypeError())
    piece = bytearray()
    try:
        for part in json_pieces(payload, ThreadBreaks(), _encode):
            piece += part.encode()
            while len(piece) >= size:
                yield bytes(piece[:size])
                del piece[:size]
        yield bytes(piece)
    except (TypeError, ValueError, RecursionError) as error:
        raise _payload_error(what, payload, error) from None


def _payload_error(what: str, payload: object, error: Exception) -> Exception:
    """Return the error that says why JSON cannot represent a payload."""
    if isinstance(error, TypeError):
        return InvalidTypeError(what, "be a dict that JSON can carry", payload)
    if isinstance(error, UnicodeEncodeError):
        return InvalidValueError(what, "hold valid Unicode only", payload)
    try:
        json.dumps(payload)  # which allows infinities
    except (ValueError, RecursionError):
        return InvalidValueError(what, "hold no reference to itself", payload)
    return InvalidValueError(what, "hold finite numbers only", payload)


NOTE_FIELDS = frozenset({"note", "body", "answer", "cancelled"})
"""The fields of a payload that belong to its note; the others belong to the event."""


def event_in(payload: Payload) -> Payload | None:
    """Return the event in a payload, or None if the payload is only a note, which changes no bandit.

    A payload whose first field is `note` can be looked up by the value of that field. It may hold an event as well: a decision
    is looked up by its idempotency key.

    Example:
        >>> event_in({"note": "archived"})
        >>> event_in({"note": "key:a", "body": "7f", "event": "retired", "arm": "a"})
        {'event': 'retired', 'arm': 'a'}
    """
    if "note" not in payload:
        return payload
    if "event" not in payload:
        return None
    return {name: value for name, value in payload.items() if name not in NOTE_FIELDS}


def decode(text: bytes) -> Payload:
    """Return the payload in some bytes, whose digest must have been checked."""
    payload: Payload = json.loads(text.decode())  # from bytes, `loads` would guess their encoding
    return payload


def digest(*parts: bytes | int | str) -> bytes:
    """Return a digest of eight bytes. It covers the length of each part, so that one part cannot pass for two.

    Example:
        >>> digest("ab", "c") == digest("a", "bc")
        False
    """
    contents = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return hashlib.blake2b(b"".join([b"%d:%b" % (len(each), each) for each in contents]), digest_size=8).digest()


def event_digest(before: bytes, number: int, epoch: int, bandit: int, place: int, payload: bytes) -> bytes:
    """Return what `digest` returns for these parts, in two thirds of the time.

    Writing and replaying events spend much of their time on digests.

    Args:
        before: the digest of the event before, eight bytes.
        number: the number of the event.
        epoch: the epoch of its writer.
        bandit: the id of its bandit.
        place: its place among the events of the bandit.
        payload: its payload as JSON.

    Example:
        >>> event_digest(bytes(8), 10, 1, 1, 9, b"{}") == digest(bytes(8), 10, 1, 1, 9, b"{}")
        True
    """
    n, e, b, p = str(number), str(epoch), str(bandit), str(place)
    numbers = f"{len(n)}:{n}{len(e)}:{e}{len(b)}:{b}{len(p)}:{p}".encode()
    return hashlib.blake2b(b"8:%b%b%d:%b" % (before, numbers, len(payload), payload), digest_size=8).digest()


def check_bandit(name: object, known: Collection[str]) -> None:
    """Check that a bandit exists; the error lists a few of the existing ones."""
    if name not in known:
        raise InvalidValueError("bandit", f"be one of {brief(sorted(known))}", name)


def check_new(name: object, known: Collection[str]) -> str:
    """Check the name of a new bandit, and return it."""
    if check_name(name) in known:
        raise InvalidValueError("bandit", "be new to the store", name, hint=", which exists")
    return str(name)


def check_snapshot(number: object, last: int) -> int:
    """Check that the number of a snapshot is that of an event, or 0, and return it."""
    checked = nonnegative_int("number", number)
    if checked > last:
        raise InvalidValueError("number", f"be at most {last}, the last event", checked)
    return checked


def check_name(name: object) -> str:
    """Check that a bandit can have this name, and return it."""
    if not isinstance(name, str):
        raise InvalidTypeError("name", "be a string that is not empty", name)
    if not name or not name.isprintable():
        raise InvalidValueError("name", "be a string of printable characters that is not empty", name)
    return name
