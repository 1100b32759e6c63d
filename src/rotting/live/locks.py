"""The lock of a bandit, its clock, and what happens to it in a forked process.

A forked child has a copy of every bandit. The copy could be in the middle of a change that another thread of the parent is
making, and would draw the same random numbers as the parent. So a fork waits until no bandit is being changed, and the child
gives each bandit its own random numbers.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Generic
from weakref import WeakSet

from rotting.live.arms import Arm
from rotting.live.bandit_state import BanditState

Clock = Callable[[], float]
"""Returns the time in seconds since 1970. It never goes back in the life of a process."""

_START = time.time() - time.monotonic()


def steady_clock() -> float:
    """Return the wall-clock time at the start of the process plus the time since then: a `Clock` that never jumps."""
    return _START + time.monotonic()


class Guard(Generic[Arm]):
    """Lets one thread at a time use a state, and gives it its own random numbers in a forked child.

    Args:
        state: the state of a bandit.
        clock: the time in seconds.
    """

    def __init__(self, state: BanditState[Arm], clock: Clock | None = None) -> None:
        self.state = state
        self.clock: Clock = clock or steady_clock
        self.lock = threading.RLock()
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


_guards: WeakSet[Guard] = WeakSet()
_forking = threading.Lock()  # one fork at a time
_held: list[Guard] = []  # whose locks the fork holds


def _before_fork() -> None:
    _forking.acquire()
    for guard in list(_guards):
        guard.lock.acquire()
        _held.append(guard)


def _after_fork() -> None:
    for guard in _held:
        guard.lock.release()
    _held.clear()
    _forking.release()


def _after_fork_in_child() -> None:
    for guard in _held:
        guard.state.random_key = int.from_bytes(os.urandom(8), "big") >> 1
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
