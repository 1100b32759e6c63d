"""Tokens and their scopes. The token file holds digests only, so that nobody can read a token from it.

Each line is a digest, the scopes, the bandits if the token is limited to some, and a name, such as
`9f86d0... decide,reward bandits=songs,radio-* web shop`. A token has 256 random bits, so one round of SHA-256 is enough.
"""

import hashlib
import logging
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from rotting.errors import InvalidValueError, PathMissingError, RottingError

TokenScope = Literal["decide", "reward", "admin", "read"]
"""`decide`: make and cancel decisions. `reward`: send rewards, expire decisions. `admin`: create and archive bandits, add
and remove arms. `read`: read everything. No scope includes another."""

SCOPES: tuple[TokenScope, ...] = get_args(TokenScope)
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64}) (?P<scopes>[a-z,]+)(?: bandits=(?P<bandits>\S+))? (?P<name>\S.*)")
_PATTERN = re.compile(r"[A-Za-z0-9._~-]+\*?|\*")

_log = logging.getLogger("rotting.server.http")


class Holder(NamedTuple):
    """The holder of a token."""

    name: str  # of the token
    scopes: frozenset[str]
    bandits: tuple[str, ...] | None = None  # names, or prefixes that end in `*`; None for all bandits
    key: str = ""  # the digest of the token, since two tokens may have the same name

    def may_use(self, bandit: str) -> bool:
        """Return whether the token is for a bandit.

        Example:
            >>> holder = Holder("shop", frozenset({"decide"}), ("songs", "radio-*"))
            >>> [holder.may_use(name) for name in ("songs", "radio-1", "news")]
            [True, True, False]
        """
        return self.bandits is None or any(fnmatchcase(bandit, each) for each in self.bandits)


ANYBODY = Holder("", frozenset(SCOPES))
"""The holder of every request if the service has no tokens."""


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def checked_scopes(scopes: Iterable[str]) -> list[str]:
    """Return the scopes in the order of `SCOPES`, without duplicates."""
    given = list(scopes)
    for scope in given:
        if scope not in SCOPES:
            raise InvalidValueError("scopes", f"be among {', '.join(SCOPES)}", scope)
    if not given:
        raise InvalidValueError("scopes", "hold at least one scope", given, got="none")
    return [each for each in SCOPES if each in given]


def checked_bandits(bandits: Iterable[str]) -> tuple[str, ...]:
    """Return the names of bandits, or prefixes that end in `*`, after a check."""
    given = tuple(bandits)
    for name in given:
        if not _PATTERN.fullmatch(name):
            raise InvalidValueError("bandits", "be names of bandits, or prefixes that end in *", name)
    return given


def new_token(path: Path, name: str, scopes: Sequence[str], bandits: Sequence[str] | None = None) -> str:
    """Append the digest of a new token to a file that only its owner may read, and return the token.

    Args:
        path: the token file; it is created if it is missing.
        name: the name of the token, for the log.
        scopes: its scopes.
        bandits: names or prefixes of the bandits it is limited to; None for all.
    """
    fields = [",".join(checked_scopes(scopes))]
    if bandits is not None:
        fields.append(f"bandits={','.join(checked_bandits(bandits))}")
    if not re.fullmatch(r"\S(.*\S)?", name) or not name.isprintable() or name.startswith("bandits="):
        raise InvalidValueError("name", "be printable, without spaces around it", name)
    token = f"rot_{secrets.token_urlsafe(32)}"
    line = " ".join([_digest(token.encode()).hex(), *fields, name]) + "\n"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
        file.write(line)
    return token


def _load(path: Path) -> dict[bytes, Holder]:
    """Return the holders in a token file by digest; empty lines and lines that begin with # are skipped."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise PathMissingError(f"no such token file: {path}; `rotting token {path}` makes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError("token file", "be a text file that can be read", path, hint=f": {error}") from error
    found: dict[bytes, Holder] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = _LINE.fullmatch(line)
        if parts is None:
            where, rule = f"line {number} of {path}", "be a digest, scopes and a name"
            raise InvalidValueError(where, rule, None, got="something else")  # not the line: it may be a token
        scopes = frozenset(checked_scopes(parts["scopes"].split(",")))
        bandits = None if parts["bandits"] is None else checked_bandits(parts["bandits"].split(","))
        found[bytes.fromhex(parts["digest"])] = Holder(parts["name"], scopes, bandits, parts["digest"])
    if not found:
        raise InvalidValueError("token file", "hold at least one token", path)
    return found


class TokenFile:
    """The tokens of a file that may change while the service runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._read_stamp()
        self._holders = _load(path)

    def holder(self, header: bytes) -> Holder | None:
        """Return the holder of the token in an `Authorization` header, or None."""
        kind, _, token = header.partition(b" ")
        # Nobody can choose a digest, so how long the look-up takes says nothing about a token.
        return self._holders.get(_digest(token.strip())) if kind.lower() == b"bearer" else None

    def _read_stamp(self) -> tuple[int, ...]:
        """Return numbers that change with the file."""
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ino, found.st_size

    def reload_if_changed(self) -> None:
        """Reload the file if it has changed; if it cannot be read, keep the tokens and log the reason."""
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._holders = _load(self._path)
        except RottingError as error:
            _log.error("the token file was not reloaded: %s", error)
        else:
            _log.warning("the token file was reloaded")
