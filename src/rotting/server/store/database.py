"""What a database does for the bandits in it; `sqlite` and `postgres` are the two there are.

A `Database` holds records of bandits, their events, idempotency keys and snapshots. It knows nothing about policies: `turns`
decides what is written. Every change happens in a `Transaction` that locks its bandit, so any number of processes may use one
database at the same time.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from os import PathLike, fspath
from typing import Literal, NamedTuple, Protocol

from rotting.errors import InvalidTypeError
from rotting.server.store.events import BanditRecord, StoredEvent, StoredKey, StoredSnapshot

FORMAT = 3
"""The format of the tables and events. A database of another format is refused."""

Durability = Literal["disk", "os"]
"""What is safe when a call returns. "disk": its changes survive a power cut. "os": they survive the end of the process."""

MAX_EVENTS = 1_000
"""How many events are read at once, at most."""
MAX_BYTES = 1 << 18
"""How many bytes of events are read at once, at most, unless the first event alone is larger."""


class Reading(NamedTuple):
    """What a transaction reads after its bandit is locked."""

    events: list[StoredEvent]
    keys: dict[str, StoredKey]
    now: int
    """The time of the database, in microseconds since 1970."""


class Transaction(Protocol):
    """Changes of bandits; all of them are committed together, or none."""

    def record(self, name: str) -> BanditRecord | None:
        """Lock a bandit, and return its record; None if there is none of this name."""

    def read(self, record: BanditRecord, first: int, keys: Collection[str]) -> Reading:
        """Return the events of a locked bandit from number `first` on, those of `keys` that are known, and the time."""

    def append(self, record: BanditRecord, events: Iterable[StoredEvent], keys: Iterable[StoredKey]) -> None:
        """Append events to the log of a locked bandit, and store idempotency keys."""

    def create(self, record: BanditRecord) -> BanditRecord | None:
        """Add and lock a bandit, and return its record; None if its name is taken."""

    def update(self, record: BanditRecord) -> None:
        """Write whether a locked bandit is archived, how long its events are kept, and its base."""

    def save_base(self, record: BanditRecord, base: StoredSnapshot) -> None:
        """Make a snapshot the base of a locked bandit: `Database.sweep` deletes the events up to it."""

    def delete(self, record: BanditRecord) -> None:
        """Delete a locked bandit; `Database.sweep` deletes its events later."""


class Database(Protocol):
    """A database of bandits. All methods may be called from several threads, but for transactions: one thread uses each."""

    place: str
    """Where it is, for messages: never with a password."""
    one_lane: bool
    """Whether one transaction serves all bandits that have calls waiting; otherwise each has its own."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return a transaction, which is committed at the end of the `with` block, and rolled back after an exception.

        Raises `OutcomeUnknownError` if the connection is lost while it is committed.
        """

    def records(self, after: str = "", limit: int = 1_000) -> list[BanditRecord]:
        """Return the bandits whose names come after a name, in their order."""

    def find(self, name: str) -> BanditRecord | None:
        """Return a bandit, or None."""

    def count(self) -> int:
        """Return the number of bandits."""

    def events(self, record: BanditRecord, first: int, limit: int = MAX_EVENTS) -> list[StoredEvent]:
        """Return events from number `first` on: as many as `limit`, or fewer if they are large."""

    def last(self, record: BanditRecord) -> StoredEvent | None:
        """Return the last event of a bandit."""

    def keys(self, record: BanditRecord, after: str = "", limit: int = MAX_EVENTS) -> list[StoredKey]:
        """Return idempotency keys of a bandit, in their order, after a key."""

    def snapshots(self, record: BanditRecord) -> list[StoredSnapshot]:
        """Return the snapshots of a bandit that this revision of the rules can use, the newest first; the base is the last."""

    def save_snapshot(self, record: BanditRecord, snapshot: StoredSnapshot) -> None:
        """Save a state, if the log still has the event that it belongs to; of older ones, keep the newest and the base."""

    def sweep(self, before: int, limit: int) -> int:
        """Delete at most `limit` rows that are not needed any more, and return how many were deleted.

        These are idempotency keys of a time before `before`, events that a base replaces, and what deleted bandits left.
        """

    def size(self) -> int:
        """Return the bytes that the database takes on the disk."""

    def check(self) -> list[str]:
        """Check the database itself, and return a sentence for each damage."""

    def now(self) -> int:
        """Return the time of the database, in microseconds since 1970."""

    def check_ready(self) -> None:
        """Raise a `StoreError` if the database cannot be used at present."""

    def before_fork(self) -> None:
        """Prepare for a fork: no connection may be in use that a child would share."""

    def after_fork_in_parent(self) -> None:
        """Go on after a fork."""

    def after_fork(self) -> None:
        """Forget all connections in a forked child; those that are open belong to the parent."""

    def close(self) -> None:
        """Close all connections. A second call does nothing."""


def all_records(database: Database, after: str = "") -> Iterator[BanditRecord]:
    """Yield all bandits of a database whose names come after a name, in their order."""
    while some := database.records(after):
        yield from some
        after = some[-1].name


def is_postgres(place: str) -> bool:
    """Return whether this is the address of a PostgreSQL database."""
    return place.startswith(("postgresql://", "postgres://"))


def open_database(
    place: str | PathLike[str], durability: Durability = "disk", *, create: bool = True, readonly: bool = False
) -> Database:
    """Open a database: the path of an SQLite file, or the address of a PostgreSQL database.

    Args:
        place: the path or the address, such as "songs.rot" or "postgresql://user@host/database?schema=ads".
        durability: what is safe when a transaction has ended.
        create: make the file or the tables if they are missing.
        readonly: only read.
    """
    if not isinstance(place, str | PathLike):
        raise InvalidTypeError("store", "be the path of a file or the address of a database", place)
    if isinstance(place, str) and is_postgres(place):
        from rotting.server.store.postgres import PostgresDatabase  # noqa: PLC0415 - needs an extra

        return PostgresDatabase(place, durability, create=create, readonly=readonly)
    from rotting.server.store.sqlite import SQLiteDatabase  # noqa: PLC0415 - needs an extra

    return SQLiteDatabase(fspath(place), durability, create=create, readonly=readonly)
