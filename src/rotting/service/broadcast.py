"""Events as they happen, for who watches: a bounded queue for each reader, and nobody waits for one who is slow."""

from collections import deque
from collections.abc import Callable

from rotting.service.messages import encode
from rotting.store.host import Batch
from rotting.store.protocol import Payload

EVERY = 0.2
"""Seconds between two deliveries."""
MAX_READERS = 100
_HELD = 500  # events that wait for one reader; older ones are skipped, and he is told how many
_SILENT = 50  # deliveries without an event, after which a comment keeps the connection open


class Reader:
    """Somebody who watches the events of one bandit, or of all."""

    def __init__(self, bandit: str | None, send: Callable[[bytes], bool]) -> None:
        self.bandit = bandit
        self._send = send
        self._held: deque[tuple[int, str, Payload]] = deque()
        self._skipped, self._silent = 0, 0

    def put(self, first: int, events: list[tuple[str, Payload]]) -> None:
        """Hold events for the next delivery."""
        held = self._held
        for number, (name, payload) in enumerate(events, first):
            if self.bandit in {None, name}:
                held.append((number, name, payload))
                if len(held) > _HELD:
                    held.popleft()
                    self._skipped += 1

    def deliver(self) -> None:
        """Send what is held, unless the reader has not taken what was sent before."""
        if not self._held:
            self._silent += 1
            if self._silent >= _SILENT:
                self._silent = 0
                self._send(b":\n\n")
            return
        parts = [b'event: skipped\ndata: {"count":%d}\n\n' % self._skipped] if self._skipped else []
        for number, name, payload in self._held:
            kind = str(payload.get("event", "note"))
            data = encode({"number": number, "bandit": name, "payload": payload})
            parts.append(b"id: %d\nevent: %b\ndata: %b\n\n" % (number, kind.encode(), data))
        if self._send(b"".join(parts)):
            self._held.clear()
            self._skipped = self._silent = 0


class Broadcast:
    """All readers."""

    def __init__(self) -> None:
        self.readers: set[Reader] = set()

    def publish(self, batch: Batch) -> None:
        """Tell the readers of events that are written."""
        for reader in self.readers:
            reader.put(batch.first, batch.events)

    def deliver(self) -> None:
        """Send what has come since the last time."""
        for reader in list(self.readers):
            reader.deliver()
