"""Records as bytes, with digests that tell when one of them is not what was written.

The digest of an event covers the digest of the event before it, and the first one that of the store: an event that was changed,
lost, moved, or comes from another store breaks the chain.
"""

import hashlib
import json
from collections.abc import Collection, Iterator
from typing import Any

from rotting.common.pieces import Pauses, text_of
from rotting.common.rules import nonnegative_int
from rotting.errors import InvalidTypeError, InvalidValueError, brief
from rotting.store.protocol import Payload

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encode(what: str, payload: Payload) -> bytes:
    """Return a payload as JSON, or say why it cannot be carried.

    Example:
        >>> encode("payload", {"arm": "a", "reward": 0.5})
        b'{"arm":"a","reward":0.5}'
        >>> encode("payload", {"reward": float("nan")})
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: payload must hold finite numbers only, got {'reward': nan}
    """
    if not isinstance(payload, dict):
        raise _refusal(what, payload, TypeError())
    try:
        return _encode(payload).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal(what, payload, error) from None


def encode_in_pieces(what: str, payload: Payload, size: int) -> Iterator[bytes]:
    """Yield a large payload as JSON in pieces of `size` bytes: other threads have their turn in between.

    Example:
        >>> list(encode_in_pieces("state", {"arms": ["a", "b"], "rounds": 3}, size=10))
        [b'{"arms": [', b'"a","b"], ', b'"rounds": ', b'3}']
    """
    if not isinstance(payload, dict):
        raise _refusal(what, payload, TypeError())
    piece = bytearray()
    try:
        for part in text_of(payload, Pauses(), _encode):
            piece += part.encode()
            while len(piece) >= size:
                yield bytes(piece[:size])
                del piece[:size]
        yield bytes(piece)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal(what, payload, error) from None


def _refusal(what: str, payload: object, error: Exception) -> Exception:
    """Return the error that says why a payload cannot be carried."""
    if isinstance(error, TypeError):
        return InvalidTypeError(what, "be a dict that JSON can carry", payload)
    if isinstance(error, UnicodeEncodeError):
        return InvalidValueError(what, "hold whole characters only", payload)
    rule = "finite numbers only" if "compliant" in str(error) else "nothing that holds itself"
    return InvalidValueError(what, f"hold {rule}", payload)


NOTE_FIELDS = frozenset({"note", "body", "answer", "cancelled"})
"""What a payload holds that is only there to be found again by its name, the value of `note`."""


def event_in(payload: Payload) -> Payload | None:
    """Return the event of a bandit in a payload, or None if the payload is a note alone, which changes no bandit.

    A payload whose first field is `note` is found again by that name. It may hold an event, too: a decision is found by its
    idempotency key.

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


def decode(text: bytes) -> Any:
    """Return the payload of bytes whose digest was checked."""
    return json.loads(text)


def digest(*parts: bytes | int | str) -> bytes:
    """Return eight bytes that stand for the parts, each with its length, so that one part cannot pass for two.

    Example:
        >>> digest("ab", "c") == digest("a", "bc")
        False
    """
    contents = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return hashlib.blake2b(b"".join([b"%d:%b" % (len(each), each) for each in contents]), digest_size=8).digest()


def check_bandit(name: object, known: Collection[str]) -> None:
    """Check that a bandit is there; few names of those that are there go into the error."""
    if name not in known:
        raise InvalidValueError("bandit", f"be one of {brief(sorted(known))}", name)


def check_new(name: object, known: Collection[str]) -> str:
    """Check the name of a bandit that is added."""
    if check_name(name) in known:
        raise InvalidValueError("bandit", "be new to the store", name, hint=", which is there")
    return str(name)


def check_snapshot(number: object, last: int) -> int:
    """Check that a snapshot stands at an event that is there, or before the first."""
    place = nonnegative_int("number", number)
    if place > last:
        raise InvalidValueError("number", f"be at most {last}, the last event", place)
    return place


def check_name(name: object) -> str:
    """Check the name of a bandit."""
    if not isinstance(name, str):
        raise InvalidTypeError("bandit", "be a string that is not empty", name)
    if not name or not name.isprintable():
        raise InvalidValueError("bandit", "be a string of printable characters that is not empty", name)
    return name
