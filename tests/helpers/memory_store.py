"""A store in memory: its content is lost when the process ends; otherwise it behaves like every store."""

import itertools
import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from rotting.common.rules import nonnegative_int
from rotting.errors import StoreDamagedError, StoreFailedError, StoreLockedError, StoreReadOnlyError
from rotting.store.protocol import Payload, Snapshot, StoredEvent
from rotting.store.records import check_bandit, check_new, check_snapshot, decode, digest, encode


class _Record(NamedTuple):
    epoch: int
    bandit: str
    payload: bytes
    digest: bytes


@dataclass
class Medium:
    """The content of a store in memory: it outlives the store, and can be opened again.

    Example:
        >>> medium = Medium()
        >>> with MemoryStore(medium) as store:
        ...     store.add_bandit("songs", {"arms": ["a", "b"]})
        ...     store.append([("songs", {"decided": "a"}), ("songs", {"decided": "b"})])
        2
        >>> with MemoryStore(medium, readonly=True) as store:
        ...     [event.payload for event in store.read("songs", after=1)]
        [{'decided': 'b'}]
    """

    id: str = field(default_factory=lambda: secrets.token_hex(16))
    epoch: int = 0
    written: bool = False  # whether a writer has it
    bandits: dict[str, bytes] = field(default_factory=dict)
    log: list[_Record] = field(default_factory=list)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


class MemoryStore:
    """A store on a `Medium`.

    Args:
        medium: what an earlier store left; a new one by default.
        readonly: open it as a reader.
    """

    def __init__(self, medium: Medium | None = None, readonly: bool = False) -> None:
        self.medium = Medium() if medium is None else medium
        self._readonly, self._closed = readonly, False
        with self.medium.lock:
            if not readonly:
                if self.medium.written:
                    raise StoreLockedError("is locked: another writer has it", "the store")
                self.medium.epoch += 1
                self.medium.written = True
            self._epoch = self.medium.epoch

    @property
    def id(self) -> str:
        """The unique id of this store."""
        return self.medium.id

    @property
    def epoch(self) -> int:
        """The epoch of this writer, or of the latest one."""
        return self.medium.epoch if self._readonly else self._epoch

    @property
    def last(self) -> int:
        """The number of the last event."""
        return len(self._open().log)

    def bandits(self) -> dict[str, Payload]:
        """Return the description of each bandit, by name."""
        medium = self._open()
        with medium.lock:
            return {name: decode(description) for name, description in medium.bandits.items()}

    def add_bandit(self, name: str, description: Payload) -> None:
        """Add a bandit."""
        self.append((), [(name, description)])

    def append(self, events: Iterable[tuple[str, Payload]], bandits: Iterable[tuple[str, Payload]] = ()) -> int:
        """Add bandits and append events, all or none."""
        descriptions = [(name, encode("description", description)) for name, description in bandits]
        given = [(name, encode("payload", payload)) for name, payload in events]
        with self._writing() as medium:
            added: dict[str, bytes] = {}
            for name, content in descriptions:
                check_new(name, added)
                added[check_new(name, medium.bandits)] = content
            known = {*medium.bandits, *added}
            for name, _ in given:
                check_bandit(name, known)
            medium.bandits.update(added)
            before = medium.log[-1].digest if medium.log else digest(medium.id)
            for name, content in given:
                before = digest(before, len(medium.log) + 1, self._epoch, name, content)
                medium.log.append(_Record(self._epoch, name, content, before))
            return len(medium.log)

    def read(self, bandit: str | None = None, after: int = 0) -> Iterator[StoredEvent]:
        """Yield the events after a number."""
        medium = self._open()
        if bandit is not None:
            check_bandit(bandit, medium.bandits)
        start = nonnegative_int("after", after)
        return self._events(medium, bandit, start)

    def note(self, bandit: str, name: str) -> StoredEvent | None:
        """Return the newest note of a bandit that has this name, or None."""
        notes = [event for event in self.read(bandit) if event.payload.get("note") == name]
        return notes[-1] if notes else None

    def _events(self, medium: Medium, bandit: str | None, start: int) -> Iterator[StoredEvent]:
        before = medium.log[start - 1].digest if 0 < start <= len(medium.log) else digest(medium.id)
        for number in itertools.count(start + 1):
            if number > len(medium.log):
                return
            record = medium.log[number - 1]
            before = digest(before, number, *record[:3])
            if before != record.digest:
                raise StoreDamagedError(f"is damaged: event {number} is not what was written", "the store")
            if bandit in {None, record.bandit}:
                yield StoredEvent(number, record.epoch, record.bandit, decode(record.payload))

    def save_snapshot(self, bandit: str, number: int, state: Payload) -> None:
        """Keep the state of a bandit; only the newest is kept."""
        content = encode("state", state)
        with self._writing() as medium:
            check_bandit(bandit, medium.bandits)
            check_snapshot(number, len(medium.log))
            kept = medium.snapshots.get(bandit)
            if kept is None or kept.number <= number:
                medium.snapshots[bandit] = Snapshot(number, decode(content))

    def snapshots(self, bandit: str) -> Iterator[Snapshot]:
        """Yield the snapshot that is kept, if there is one."""
        medium = self._open()
        check_bandit(bandit, medium.bandits)
        kept = medium.snapshots.get(bandit)
        return iter(() if kept is None else (Snapshot(kept.number, decode(encode("state", kept.state))),))

    def flush(self) -> None:
        """Do nothing: every event is written at once."""
        self._open()

    def damages(self) -> list[str]:
        """Return an empty list: only events can be damaged, and reading finds that."""
        self._open()
        return []

    def close(self) -> None:
        """Release the medium for the next writer."""
        if not (self._closed or self._readonly):
            with self.medium.lock:
                if self.medium.epoch == self._epoch:
                    self.medium.written = False
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open(self) -> Medium:
        if self._closed:
            raise StoreFailedError("is closed: open it again", "the store")
        return self.medium

    @contextmanager
    def _writing(self) -> Iterator[Medium]:
        """Lock the medium for a change; fail if a later writer has opened it."""
        medium = self._open()
        if self._readonly:
            raise StoreReadOnlyError("was opened for reading: it cannot be written to", "the store")
        with medium.lock:
            if medium.epoch != self._epoch:
                raise StoreLockedError(
                    f"is locked: the writer of epoch {medium.epoch} has replaced that of epoch {self._epoch}", "the store"
                )
            yield medium
