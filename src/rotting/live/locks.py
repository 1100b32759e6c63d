"""The locks of bandits: for bandits whose events are recorded, and for forked processes.

A forked child has a copy of every bandit. The copy could be in the middle of a change that another thread of the parent is
making, and would draw the same random numbers as the parent. So a fork waits until no bandit is being changed. In the child,
each bandit gets a new lock and its own random numbers. A bandit that is still being changed after a second cannot be used in
the child. Nor can a recorded bandit (`rotting.open`), which belongs to the process that opened it.
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
from rotting.live.decisions import Ids
from rotting.live.durations import Clock, steady_clock
from rotting.live.events import Listener


class RecordingLock:
    """The lock of a recorded bandit: when it is released, the events since it was acquired are passed to a listener.

    If the listener fails, the bandit is ahead of its record. Then the lock is shut: it refuses every later call and every call
    that waits for it, even calls that change nothing, since a reward that was not recorded must not be reported as a duplicate.

    Args:
        state: the state whose events are recorded.
        listener: called with the events.
    """

    __slots__ = ("_listener", "_lock", "_reason", "_state")

    def __init__(self, state: BanditState, listener: Listener) -> None:
        self._lock, self._state, self._listener = threading.RLock(), state, listener
        self._reason = ""
        state.events = []

    def shut(self, reason: str) -> None:
        """Refuse every later call; the first reason counts."""
        self._reason = self._reason or reason

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._reason:
            self._lock.release()
            raise StoreFailedError(self._reason)

    def __exit__(self, *error: object) -> None:
        try:
            if self._state.events:
                self._notify_listener()
        finally:
            self._lock.release()

    def _notify_listener(self) -> None:
        events, self._state.events = self._state.events, []
        try:
            self._listener(events or [])
        except BaseException as error:
            self.shut(f"the bandit is ahead of its record, which could not be written: open it again ({error})")
            raise


class ShutLock:
    """The lock of a bandit that cannot be used in this process: every call raises an error with this reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __enter__(self) -> None:
        raise StoreFailedError(self._reason)

    def __exit__(self, *error: object) -> None:
        pass


class Guard(Generic[Arm]):
    """Lets one thread at a time use a state, and gives a forked child its own lock, ids and random numbers.

    Args:
        state: the state of a bandit.
        listener: called with the events of each change before the lock is released; None if they are not recorded.
        clock: the time in seconds; tests pass a clock of their own.
    """

    ids = Ids()
    """Makes the ids of the decisions of all bandits."""

    def __init__(self, state: BanditState[Arm], listener: Listener | None = None, clock: Clock | None = None) -> None:
        self.state = state
        # Without a reward window, times are compared with each other in this process, and never saved.
        self.clock: Clock = clock or (time.monotonic if state.window is None else steady_clock)
        self.opened = self.clock()
        """When the bandit was made or opened in this process."""
        self._recording = None if listener is None else RecordingLock(state, listener)
        self.lock: threading.RLock | RecordingLock | ShutLock = self._recording or threading.RLock()
        _guards.add(self)

    def settle(self) -> float:
        """Settle the decisions whose reward window has closed, and return the time. The lock must be held.

        The time is never before that of the latest decision: if the clock of the machine went back before a restart, windows
        stay open until it has caught up.
        """
        state = self.state
        if state.window is None:
            return self.clock()
        now = max(self.clock(), state.latest)
        closed = state.closed_by(now)
        if closed:
            state.settle(closed[-1].round, state.window.missing)
        return now

    def shut(self, reason: str) -> None:
        """Refuse every later call to a recorded bandit, with this reason."""
        if self._recording is not None:
            self._recording.shut(reason)

    def after_fork(self, is_whole: bool) -> None:
        """Prepare the bandit for the forked child; `is_whole`: no thread was changing it."""
        if self._recording is not None:
            self.lock = ShutLock("the bandit belongs to the process that opened it: open it again in this one")
        elif not is_whole:
            self.lock = ShutLock("the bandit was being changed when this process was forked: make it anew from its state")
        else:
            self.lock, self.state.random_key = threading.RLock(), int.from_bytes(os.urandom(8), "big") >> 1


_guards: WeakSet[Guard] = WeakSet()
_PATIENCE = 1.0  # seconds that a fork waits for a change to end
_forking = threading.Lock()  # one fork at a time
_held: dict[int, threading.RLock] = {}  # the locks that the fork holds, by the guard's id()


def _before_fork() -> None:
    _forking.acquire()
    for guard in list(_guards):
        lock = guard.lock  # bandits with a lock of another kind cannot be used in the child
        if not isinstance(lock, RecordingLock | ShutLock) and lock.acquire(timeout=_PATIENCE):
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


if hasattr(os, "register_at_fork"):  # not on Windows
    _register: Callable[..., None] = os.register_at_fork
    _register(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
