"""Bandits in forked processes, and bandits whose record is broken: each is safe to use, or says why it is not.

A forked child has a copy of all bandits, perhaps in the middle of a change that another thread makes and the child never will,
and with the random numbers that the parent will draw, too. So a fork waits until nobody changes a bandit; in the child each
gets a lock and a stream of random numbers of its own. One that was still being changed after a second refuses to work there. A
bandit that is recorded (`rotting.open`) belongs to the process that opened it, and refuses to work in the child.
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
    _lock: Any

    def _after_fork(self, is_whole: bool) -> None: ...


_all: WeakSet[Any] = WeakSet()


def watch(bandit: _Forked) -> None:
    """Let a bandit know when it finds itself in a forked child."""
    _all.add(bandit)


_PATIENCE = 1.0  # seconds that a fork waits for a change to end
_forking = threading.Lock()  # one fork at a time
_held: dict[int, Any] = {}  # the locks that the fork holds, by the bandit's id()


def _hold_all() -> None:
    _forking.acquire()
    for bandit in list(_all):
        if not isinstance(bandit._lock, Gate) and bandit._lock.acquire(timeout=_PATIENCE):
            _held[id(bandit)] = bandit._lock


def _release_all() -> None:
    for lock in _held.values():
        lock.release()
    _held.clear()
    _forking.release()


def _tell_all() -> None:
    global _forking  # noqa: PLW0603 - that of the parent is held
    for bandit in list(_all):
        bandit._after_fork(id(bandit) in _held)
    _held.clear()
    _forking = threading.Lock()


def own_stream() -> int:
    """Return a key that no other process has."""
    return int.from_bytes(os.urandom(8), "big") >> 1


if hasattr(os, "register_at_fork"):  # where processes can be forked
    _register: Callable[..., None] = os.register_at_fork
    _register(before=_hold_all, after_in_parent=_release_all, after_in_child=_tell_all)
