"""Tokens: who may do what. A file holds their digests, so that nobody can use what he reads there.

Each line is a digest, the scopes and a name, such as `9f86d0... decide,reward web shop`. A token has 256 random bits, so one
round of SHA-256 is enough: there is nothing to guess.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from rotting.errors import InvalidValueError, PathMissingError

Scope = Literal["decide", "reward", "admin", "read"]
"""`decide`: ask for decisions, cancel them. `reward`: send rewards, expire decisions. `admin`: make and archive bandits, change
arms. `read`: look at everything. None includes another."""

SCOPES: tuple[Scope, ...] = get_args(Scope)
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64}) (?P<scopes>[a-z,]+) (?P<name>\S.*)")


class Holder(NamedTuple):
    """Who has a token."""

    name: str
    scopes: frozenset[str]


ANYBODY = Holder("", frozenset(SCOPES))


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def checked_scopes(scopes: Iterable[str]) -> list[str]:
    """Return the scopes in their order, each once."""
    given = list(scopes)
    for each in given:
        if each not in SCOPES:
            raise InvalidValueError(f"scopes must be among {', '.join(SCOPES)}, got {each!r}")
    if not given:
        raise InvalidValueError("scopes must hold at least one scope, got none")
    return [each for each in SCOPES if each in given]


def new_token(path: Path, name: str, scopes: Sequence[str]) -> str:
    """Append a new token to a file, which nobody else may read, and return it: it is written nowhere else."""
    line_of = checked_scopes(scopes)
    if not re.fullmatch(r"\S(.*\S)?", name) or not name.isprintable():
        raise InvalidValueError(f"name must be printable, without spaces around it, got {name!r}")
    token = f"rot_{secrets.token_urlsafe(32)}"
    line = f"{_digest(token.encode()).hex()} {','.join(line_of)} {name}\n"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
        file.write(line)
    return token


class Tokens:
    """The tokens of a file, or nobody's."""

    def __init__(self, holders: Sequence[tuple[bytes, Holder]]) -> None:
        self._holders = tuple(holders)

    @classmethod
    def load(cls, path: Path) -> "Tokens":
        """Read a file; empty lines and those that begin with # do not count."""
        try:
            lines = path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            raise PathMissingError(f"no such token file: {path}; `rotting token {path}` makes one") from None
        found = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = _LINE.fullmatch(line)
            if parts is None:  # which is not shown: it may be a token
                raise InvalidValueError(f"line {number} of {path} must be a digest, scopes and a name, got something else")
            scopes = frozenset(checked_scopes(parts["scopes"].split(",")))
            found.append((bytes.fromhex(parts["digest"]), Holder(parts["name"], scopes)))
        if not found:
            raise InvalidValueError(f"token file must hold at least one token, got {path}")
        return cls(found)

    def holder(self, header: bytes) -> Holder | None:
        """Return who sends a header `Authorization: Bearer ...`; it takes the same time whichever token it is."""
        kind, _, token = header.partition(b" ")
        if kind.lower() != b"bearer":
            return None
        given, found = _digest(token.strip()), None
        for digest, holder in self._holders:
            if hmac.compare_digest(digest, given):
                found = holder
        return found
