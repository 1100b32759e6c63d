"""Records which version of the library, and which code, wrote the events of a bandit.

The description of a bandit names its first writer. If a later writer differs from the one before, a note that names it precedes
its first event. Logs of earlier versions have neither: their writer is unknown until the first note.
"""

import hashlib
from dataclasses import dataclass, fields
from functools import lru_cache
from types import FunctionType
from typing import ClassVar

from rotting.common.version import __version__
from rotting.errors import KernelError
from rotting.kernels.binding import digest
from rotting.live.bandit_state import REVISION
from rotting.policy import Kernel, Policy
from rotting.store.protocol import Payload, Store


@dataclass(frozen=True)
class Writer:
    """A version of the library, and a digest of the code of a policy and of the revision of the rules of learning.

    The digest also depends on the version of Python.

    Example:
        >>> print(Writer("0.1.0", "8c3f"))
        rotting 0.1.0 with policy code 8c3f
    """

    version: str
    code: str

    NOTE: ClassVar[str] = "writer"
    """The name of the note that names a writer."""

    @classmethod
    def of(cls, policy: Policy) -> "Writer":
        """Return the present version of the library with the present code of a policy."""
        return cls(__version__, _code(policy.kernel))

    @classmethod
    def from_json(cls, payload: Payload) -> "Writer | None":
        """Return the writer that a note or a description names, or None."""
        return cls(payload["version"], payload["code"]) if "code" in payload else None

    def to_json(self) -> Payload:
        """Return the fields that name the writer."""
        return {"version": self.version, "code": self.code}

    def to_note(self) -> Payload:
        """Return the note that names the writer."""
        return {"note": self.NOTE, **self.to_json()}

    def __str__(self) -> str:
        return f"rotting {self.version} with policy code {self.code}"


@lru_cache(maxsize=1_000)
def _code(kernel: Kernel) -> str:
    """Return a digest of all functions of a policy, and of the rules by which events make a state."""
    parts = [str(REVISION), *(_digest(getattr(kernel, field.name)) for field in fields(kernel))]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def _digest(function: FunctionType | None) -> str:
    if function is None:
        return ""
    try:
        return digest(function)
    except KernelError:  # an interpreted function that cannot be compiled; its own byte code has to suffice
        return hashlib.sha256(repr((function.__code__.co_code, function.__code__.co_names)).encode()).hexdigest()


def last_writer(store: Store, name: str, description: Payload) -> Writer | None:
    """Return the writer of the newest events of a bandit with this description, or None if the log does not say."""
    note = store.note(name, Writer.NOTE)
    return Writer.from_json(description if note is None else note.payload)
