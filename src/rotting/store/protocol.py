"""What every store does: one ordered log of events, snapshots of states, one writer, many readers.

The log is the truth. A bandit is the fold of its events; a snapshot only shortens the way, and a store without its snapshots
has lost nothing.
"""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

Payload = dict[str, Any]
"""What an event or a state says: data that JSON can carry. It comes back as JSON gives it, with lists for tuples."""

Durability = Literal["disk", "os", "memory"]
"""What a reply means: the event is on the disk and outlives a power cut; the operating system has it, and it outlives the
process; this process has it, and will write it with those that follow."""

DURABILITIES: tuple[Durability, ...] = ("disk", "os", "memory")


class Event(NamedTuple):
    """One entry of the log."""

    number: int
    """Its place in the log: 1, 2, 3, ... over all bandits of the store, without gaps."""
    epoch: int
    """Which writer appended it: each has a higher epoch than those before it."""
    bandit: str
    payload: Payload


class Snapshot(NamedTuple):
    """The state of a bandit after all its events up to a number."""

    number: int
    state: Payload


class Store(Protocol):
    """The log of the events of one or several bandits.

    A store is opened by one writer, or by any number of readers beside it. What is asked of a store that is closed, of a reader
    that should write, or of a writer that another one has replaced, is refused. All methods may be called from several threads.
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
        """Return what was said of each bandit when it was added (its policy, arms, seed), by name."""

    def add_bandit(self, name: str, meta: Payload) -> None:
        """Add a bandit whose events will follow."""

    def append(self, events: Iterable[tuple[str, Payload]], bandits: Iterable[tuple[str, Payload]] = ()) -> int:
        """Add bandits and append events in one transaction, all of them or none; return the number of the last event.

        When this returns, they are as durable as was asked for. Many events at once cost hardly more than one.

        Args:
            events: the name of its bandit and the payload of each event.
            bandits: the name and the description of each bandit that is new; events of it may follow in the same call.
        """

    def read(self, bandit: str | None = None, after: int = 0) -> Iterator[Event]:
        """Yield the events after a number, of one bandit or of all, in order; each is checked to be as it was written."""

    def note(self, bandit: str, name: str) -> Event | None:
        """Return the newest note of a bandit that has this name, or None; see `records.event_in`."""

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        """Keep the state of a bandit after all its events up to `number`; few snapshots of each bandit are kept."""

    def snapshots(self, bandit: str) -> Iterator[Snapshot]:
        """Yield the snapshots that are intact, the newest first."""

    def snapshot(self, bandit: str) -> Snapshot | None:
        """Return the newest snapshot that is intact, or None."""

    def flush(self) -> None:
        """Hand over to the operating system what was appended with durability "memory"."""

    def damages(self) -> list[str]:
        """Look at everything but the events, and return a sentence for each damage."""

    def close(self) -> None:
        """Close the store and release its lock. A second call does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
