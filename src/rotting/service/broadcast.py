"""Streams events to the clients that watch them.

The latest events are kept once for all clients; a client that reads too slowly misses some.
"""

import asyncio
from collections import Counter, deque

from rotting.service.messages import encode
from rotting.store.hosted import Batch
from rotting.store.protocol import Payload

MAX_READERS = 100
_KEPT = 500  # events; a reader that is further behind misses the older ones
_MANY_ARMS = 1_000  # an event that names more arms is sent without its payload, which is in the log
_PAUSE = 0.2  # seconds between two deliveries to one reader
_SILENCE = 10.0  # seconds without an event, after which a comment keeps the connection open


class _PublishedEvent:
    """An event that was written. It is encoded when the first reader gets it."""

    __slots__ = ("_frame", "_payload", "name", "number")

    def __init__(self, number: int, name: str, payload: Payload) -> None:
        self.number, self.name, self._payload = number, name, payload
        self._frame: bytes | None = None

    @property
    def frame(self) -> bytes:
        """The event as a server-sent event."""
        if self._frame is None:
            kind = str(self._payload.get("event", "note"))
            arms = self._payload.get("arms") or self._payload.get("without") or ()
            payload = None if len(arms) > _MANY_ARMS else self._payload
            data = encode({"number": self.number, "bandit": self.name, "payload": payload})
            self._frame = b"id: %d\nevent: %b\ndata: %b\n\n" % (self.number, kind.encode(), data)
        return self._frame


class Broadcast:
    """The latest events, and the readers that watch them."""

    def __init__(self) -> None:
        self.readers: set[Reader] = set()
        self._events: deque[_PublishedEvent] = deque(maxlen=_KEPT)
        self.published: Counter[str | None] = Counter()
        """How many events, of each bandit and of all (None), were published while there was a reader."""

    def add_reader(self, bandit: str | None) -> "Reader":
        """Return a reader of new events, of one bandit or of all."""
        reader = Reader(self, bandit)
        self.readers.add(reader)
        return reader

    def publish(self, batch: Batch) -> None:
        """Pass the events of a written batch to the readers."""
        if not self.readers:
            return
        for number, (name, payload) in enumerate(batch.events, batch.first):
            self._events.append(_PublishedEvent(number, name, payload))
        self.published[None] += len(batch.events)
        self.published.update(name for name, _ in batch.events)
        for reader in self.readers:
            reader.arrived.set()

    @property
    def last(self) -> int:
        """The number of the last event that was published; 0 before the first."""
        return self._events[-1].number if self._events else 0

    def events_after(self, number: int, bandit: str | None) -> list[_PublishedEvent]:
        """Return the kept events with higher numbers, of one bandit or of all."""
        found = []
        for event in reversed(self._events):
            if event.number <= number:
                break
            if bandit in {None, event.name}:
                found.append(event)
        return found[::-1]


class Reader:
    """A client that watches the events of one bandit, or of all."""

    def __init__(self, broadcast: Broadcast, bandit: str | None) -> None:
        self._broadcast, self._bandit = broadcast, bandit
        self._last, self._seen = broadcast.last, broadcast.published[bandit]
        self.arrived = asyncio.Event()

    async def next_part(self) -> bytes:
        """Return the events since the last call as server-sent events; wait if there are none."""
        broadcast = self._broadcast
        if broadcast.last == self._last:
            self.arrived.clear()
            try:
                async with asyncio.timeout(_SILENCE):
                    await self.arrived.wait()
            except TimeoutError:
                return b":\n\n"
        # All readers are served at the same moments, so that an event that every reader misses is never encoded.
        await asyncio.sleep(_PAUSE - asyncio.get_running_loop().time() % _PAUSE)
        events = broadcast.events_after(self._last, self._bandit)
        skipped = broadcast.published[self._bandit] - self._seen - len(events)
        self._last, self._seen = broadcast.last, broadcast.published[self._bandit]
        parts = [b'event: skipped\ndata: {"count":%d}\n\n' % skipped] if skipped else []
        return b"".join([*parts, *(event.frame for event in events)])
