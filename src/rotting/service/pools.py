"""What the pools of both clients have in common; `blocking_pool` and `asyncio_pool` open the connections.

The pools are our own, because HTTP libraries cost more than the service itself. CPU time of the client process for a decision
and its reward, 64 calls at once, on a busy machine; building the requests and reading the JSON takes 0.02 ms of each figure:

| `Client`    |        |     | `AsyncClient` |        |
| :---------- | -----: | --- | :------------ | -----: |
| httpx       | 2.2 ms |     | httpx         | 7.4 ms |
| urllib3     | 0.8 ms |     | aiohttp       | 0.4 ms |
| http.client | 0.4 ms |     |               |        |
| this pool   | 0.2 ms |     | this pool     | 0.2 ms |
"""

import asyncio
import os
import select
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar
from typing import Protocol as Interface

from rotting.errors import ServiceError

MAX_CONNECTIONS = 100
"""The most connections of a pool; further calls wait until one of them is free."""

MAX_IDLE = 5.0  # seconds; servers close idle connections too, most of them later


class Connection(Interface):
    """A connection that carries one call after another.

    Attributes:
        is_reusable: whether the connection can be used for another call: the last response has come to its end.
    """

    is_reusable: bool

    def is_quiet(self) -> bool:
        """Return whether the connection is open, and no byte has come since the last response."""

    def close(self) -> None:
        """Close the connection."""


C = TypeVar("C", bound=Connection)
P = TypeVar("P")


class Attempt:
    """Records whether the request of an attempt may have been sent."""

    sent = False


class IdleConnections(Generic[C]):
    """A stack: the connection that was used last is used next, so that those at the bottom grow old and are closed.

    No lock is needed, since the methods of a deque are atomic.
    """

    def __init__(self) -> None:
        self._stack: deque[tuple[C, float]] = deque()
        self._is_closed = False

    def pop(self) -> C | None:
        """Return a connection that can be used, if there is one.

        Bytes that came while a connection was idle are the response to no request. The connection is closed then, so that
        nobody takes them for the response to the next one.
        """
        if self._is_closed:
            raise closed_error()
        try:
            while True:
                connection, since = self._stack.pop()
                if time.monotonic() - since < MAX_IDLE and connection.is_quiet():
                    return connection
                connection.close()
        except IndexError:
            return None

    def give_back(self, connection: C) -> None:
        """Keep a connection for the next call if it can be used again; close those that have been idle for too long."""
        if not connection.is_reusable:
            connection.close()
            return
        now = time.monotonic()
        self._stack.append((connection, now))
        try:
            while self._is_closed or self._stack[0][1] < now - MAX_IDLE:
                self._stack.popleft()[0].close()
        except IndexError:  # none is left: the pool is closed, or another thread was faster
            return

    def close(self) -> None:
        """Close all idle connections now, and those in use when they become idle."""
        self._is_closed = True
        with suppress(IndexError):
            while True:
                self._stack.pop()[0].close()


class Pools(Generic[P]):
    """The pools of a client, one for each process and each event loop.

    A forked child inherits the sockets of its parent. If both used them, each would read responses meant for the other, so the
    child opens its own. It neither uses nor closes those of the parent, and keeps a reference to them, since the garbage
    collector would close them. No lock is needed, and none can be inherited in a locked state: `dict.setdefault` is atomic.
    """

    def __init__(self, make: Callable[[], P]) -> None:
        self._make = make
        self._by_owner: dict[tuple[int, asyncio.AbstractEventLoop | None], P] = {}
        self._is_closed = False

    def current(self, loop: asyncio.AbstractEventLoop | None = None) -> P:
        """Return the pool of this process and this event loop."""
        if self._is_closed:
            raise closed_error()
        owner = os.getpid(), loop
        found = self._by_owner.get(owner)
        if found is None:
            self._drop_closed_loops()
            found = self._by_owner.setdefault(owner, self._make())
        return found

    def _drop_closed_loops(self) -> None:
        for process, loop in list(self._by_owner):
            if process == os.getpid() and loop is not None and loop.is_closed():
                self._by_owner.pop((process, loop), None)

    def close(self, loop: asyncio.AbstractEventLoop | None = None) -> P | None:
        """Refuse further requests; return the pool to close, if there is one."""
        self._is_closed = True
        return self._by_owner.pop((os.getpid(), loop), None)


def closed_error() -> ServiceError:
    """Return the exception for a call of a client that is closed."""
    return ServiceError("the client is closed: make a new one")


def is_readable(descriptor: int) -> bool:
    """Return whether bytes, or the end of the connection, can be read from a socket without waiting."""
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([descriptor], [], [], 0.0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
