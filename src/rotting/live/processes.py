"""Bandits in forked processes, and bandits whose record is broken: each is safe to use, or says why it is not.

A forked child has a copy of all bandits, with their locks as they were at that moment, perhaps held by a thread that the child
does not have, and with the random numbers that the parent will draw, too. So in the child each gets a lock of its own, and a
stream of random numbers of its own. A bandit that is recorded (`rotting.open`) belongs to the process that opened it, and
refuses to work in the child.
"""

import os
import threading
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakSet

from rotting.errors import StoreFailedError


class Gate:
    """The lock of a bandit that is recorded, which lets nobody in once the bandit and its record are not the same any more.

    Who waited for it meanwhile is refused as well, also where nothing would change: a reward that was not kept must not be
    called a duplicate.
    """

    def __init__(self, why_not: str = "") -> None:
        self._lock, self._why_not = threading.RLock(), why_not

    def shut(self, why_not: str) -> None:
        """Let nobody in any more; the first reason is the one that is told."""
        self._why_not = self._why_not or why_not

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._why_not:
            self._lock.release()
            raise StoreFailedError(self._why_not)

    def __exit__(self, *error: object) -> None:
        self._lock.release()


class _Forked(Protocol):
    def _after_fork(self) -> None: ...


_all: WeakSet[Any] = WeakSet()


def watch(bandit: _Forked) -> None:
    """Let a bandit know when it finds itself in a forked child."""
    _all.add(bandit)


def _tell_all() -> None:
    for bandit in list(_all):
        bandit._after_fork()


def own_stream() -> int:
    """Return a key that no other process has."""
    return int.from_bytes(os.urandom(8), "big") >> 1


if hasattr(os, "register_at_fork"):  # where processes can be forked
    _register: Callable[..., None] = os.register_at_fork
    _register(after_in_child=_tell_all)
