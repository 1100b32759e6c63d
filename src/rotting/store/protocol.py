"""What every store does: one ordered log of events, snapshots of states, one writer, many readers.

The state of a bandit is made from its events. A snapshot only saves the time to apply them all: a store that has lost its
snapshots has lost nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, Protocol, Self

Payload = dict[str, Any]
"""The content of an event, of a state or of a description, as JSON-able data. Tuples come back as lists."""

Durability = Literal["disk", "os", "memory"]
"""What is safe when an append returns. "disk": the events are on the disk and survive a power cut. "os": the operating system
has them, and they survive the process. "memory": they are held in this process and written with later ones."""

DURABILITIES: tuple[Durability, ...] = ("disk", "os", "memory")


class StoredEvent(NamedTuple):
    """One entry of the log."""

    number: int
    """Its position in the log: 1, 2, 3, ... over all bandits of the store, without gaps."""
    epoch: int
    """The epoch of the writer that appended it: each writer has a higher epoch than those before it."""
    bandit: str
    payload: Payload


class Snapshot(NamedTuple):
    """The state of a bandit after all its events up to a number."""

    number: int
    state: Payload


class Store(Protocol):
    """The log of the events of one or several bandits.

    A store is opened by one writer, and by any number of readers at the same time. Calls raise a `StoreError` if the store is
    closed, if a reader should write, or if another writer has taken over. All methods may be called from several threads.
    """

    @property
    def id(self) -> str:
        """A unique id, assigned when the store was created."""

    @property
    def epoch(self) -> int:
        """The epoch of this writer; for a reader, that of the latest writer."""

    @property
    def last(self) -> int:
        """The number of the last event; 0 before the first."""

    def bandits(self) -> dict[str, Payload]:
        """Return the description of each bandit (its policy, arms, seed), by name."""

    def add_bandit(self, name: str, description: Payload) -> None:
        """Add a bandit with its description."""

    def append(self, events: Iterable[tuple[str, Payload]], bandits: Iterable[tuple[str, Payload]] = ()) -> int:
        """Add bandits and append events in one transaction, all of them or none; return the number of the last event.

        When this returns, they are as durable as was requested. Many events at once cost hardly more than one.

        Args:
            events: the name of its bandit and the payload of each event.
            bandits: the name and the description of each new bandit; `events` may already belong to it.
        """

    def read(self, bandit: str | None = None, after: int = 0) -> Iterator[StoredEvent]:
        """Yield the events after a number, of one bandit or of all, in order; each is checked to be as it was written."""

    def note(self, bandit: str, name: str) -> StoredEvent | None:
        """Return the newest note of a bandit that has this name, or None; see `records.event_in`."""

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        """Save the state of a bandit after all its events up to `number`; older snapshots are removed."""

    def snapshots(self, bandit: str) -> Iterator[Snapshot]:
        """Yield the intact snapshots, the newest first."""

    def flush(self) -> None:
        """Write what was held back with durability "memory", without waiting for the disk."""

    def damages(self) -> list[str]:
        """Check everything but the events, and return a sentence for each damage."""

    def close(self) -> None:
        """Close the store and release its lock. A second call does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...
