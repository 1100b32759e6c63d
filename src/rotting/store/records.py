"""Records as bytes, with digests that tell when one of them is not what was written.

The digest of an event covers the digest of the event before it, and the first one that of the store: an event that was changed,
lost, moved, or comes from another store breaks the chain.
"""

import hashlib
import json
from collections.abc import Collection
from typing import Any

from rotting.common.pieces import Pauses, text_of
from rotting.common.rules import brief, nonnegative_int
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.store.protocol import Payload

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encode(what: str, payload: Payload, gently: bool = False) -> bytes:
    """Return a payload as JSON, or say why it cannot be carried; `gently`: in small pieces, since it is large.

    Example:
        >>> encode("payload", {"arm": "a", "reward": 0.5})
        b'{"arm":"a","reward":0.5}'
        >>> encode("payload", {"reward": float("nan")})
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: payload must hold finite numbers only, got {'reward': nan}
    """
    if not isinstance(payload, dict):
        raise InvalidTypeError(f"{what} must be a dict that JSON can carry, got {brief(payload)}")
    try:
        if gently:
            return b"".join(piece.encode() for piece in text_of(payload, Pauses(), _encode))
        return _encode(payload).encode()
    except TypeError:
        raise InvalidTypeError(f"{what} must be a dict that JSON can carry, got {brief(payload)}") from None
    except UnicodeEncodeError:
        raise InvalidValueError(f"{what} must hold whole characters only, got {brief(payload)}") from None
    except (ValueError, RecursionError) as error:
        rule = "finite numbers only" if "compliant" in str(error) else "nothing that holds itself"
        raise InvalidValueError(f"{what} must hold {rule}, got {brief(payload)}") from None


def is_note(payload: Payload) -> bool:
    """Tell whether an event is a note: it changes no bandit, and is found again by its name, the first thing that it says.

    Example:
        >>> is_note({"note": "archived"}), is_note({"event": "retired", "arm": "a"})
        (True, False)
    """
    return "note" in payload


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
        raise InvalidValueError(f"bandit must be one of {brief(sorted(known))}, got {brief(name)}")


def check_new(name: object, known: Collection[str]) -> str:
    """Check the name of a bandit that is added."""
    if check_name(name) in known:
        raise InvalidValueError(f"bandit must be new to the store, got {brief(name)}, which is there")
    return str(name)


def check_snapshot(number: object, last: int) -> int:
    """Check that a snapshot stands at an event that is there, or before the first."""
    place = nonnegative_int("number", number)
    if place > last:
        raise InvalidValueError(f"number must be at most {last}, the last event, got {place}")
    return place


def check_name(name: object) -> str:
    """Check the name of a bandit."""
    if not isinstance(name, str):
        raise InvalidTypeError(f"bandit must be a string that is not empty, got {name!r}")
    if not name or not name.isprintable():
        raise InvalidValueError(f"bandit must be a string of printable characters that is not empty, got {brief(name)}")
    return name
