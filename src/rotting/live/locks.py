"""The lock of a bandit, its clock, and what happens to it in a forked process.

A forked child has a copy of every bandit. The copy could be in the middle of a change that another thread of the parent is
making, and would draw the same random numbers as the parent. So a fork waits until no bandit is being changed. In the child,
each bandit gets a new lock and its own random numbers. A bandit that is still being changed after a second cannot be used in
the child.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Generic
from weakref import WeakSet

from rotting.errors import StoreFailedError
from rotting.live.arms import Arm
from rotting.live.bandit_state import BanditState

Clock = Callable[[], float]
"""Returns the time in seconds since 1970. It never goes back in the life of a process."""

_START = time.time() - time.monotonic()


def steady_clock() -> float:
    """Return the wall-clock time at the start of the process plus the time since then: a `Clock` that never jumps."""
    return _START + time.monotonic()


class ShutLock:
    """The lock of a bandit that cannot be used in this process: every call raises an error."""

    def __enter__(self) -> None:
        raise StoreFailedError("the bandit was being changed when this process was forked: make it anew from its state")

    def __exit__(self, *error: object) -> None:
        pass


class Guard(Generic[Arm]):
    """Lets one thread at a time use a state, and gives a forked child its own lock and random numbers.

    Args:
        state: the state of a bandit.
        clock: the time in seconds.
    """

    def __init__(self, state: BanditState[Arm], clock: Clock | None = None) -> None:
        self.state = state
        self.clock: Clock = clock or steady_clock
        self.lock: threading.RLock | ShutLock = threading.RLock()
        _guards.add(self)

    def now(self) -> float:
        """Return the time. It is never before that of the latest decision.

        If the clock of the machine went back before a restart, reward windows stay open until it has caught up.
        """
        return max(self.clock(), self.state.latest)

    def settle(self) -> float:
        """Settle the decisions whose reward window has closed, and return the time. The lock must be held."""
        now = self.now()
        self.state.settle_closed(now)
        return now

    def after_fork(self, is_whole: bool) -> None:
        """Prepare the bandit for the forked child; `is_whole`: no thread was changing it."""
        if is_whole:
            self.lock, self.state.random_key = threading.RLock(), int.from_bytes(os.urandom(8), "big") >> 1
        else:
            self.lock = ShutLock()


_guards: WeakSet[Guard] = WeakSet()
_PATIENCE = 1.0  # seconds that a fork waits for a change to end
_forking = threading.Lock()  # one fork at a time
_held: dict[int, threading.RLock] = {}  # the locks that the fork holds, by the guard's id()


def _before_fork() -> None:
    _forking.acquire()
    for guard in list(_guards):
        lock = guard.lock
        if not isinstance(lock, ShutLock) and lock.acquire(timeout=_PATIENCE):
            _held[id(guard)] = lock


def _after_fork_in_parent() -> None:
    for lock in _held.values():
        lock.release()
    _held.clear()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking  # noqa: PLW0603 - the child inherits the parent's lock, which is held
    for guard in list(_guards):
        guard.after_fork(id(guard) in _held)
    _held.clear()
    _forking = threading.Lock()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
