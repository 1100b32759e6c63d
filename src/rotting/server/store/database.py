"""What a database does for the bandits in it; `sqlite` and `postgres` are the two there are.

A `Database` holds records of bandits, their events, idempotency keys, snapshots and due times. It knows nothing about policies:
`turns` decides what is written. Every change happens in a `Transaction` that locks its bandit, so any number of processes may
use one database at the same time.

Both databases understand the statements here. `{events}` is the table of events, and `%s` a value.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple

from rotting.common.version import __version__
from rotting.errors import InvalidTypeError, StoreFormatError
from rotting.live.bandit_state import REVISION
from rotting.server.store.events import BanditRecord, StoredEvent, StoredKey, StoredSnapshot

FORMAT = 5
"""The format of the tables and events that `Database.migrate` raises a store to."""
OLDEST_FORMAT = 5
"""The oldest format that can be used. Events of a kind that it does not have are written after `migrate` only.

So servers of two versions can use a store side by side until all are new; a version that is too old refuses it from then on.
"""

BASE = 0
"""The revision of the rules that a base has in the table of snapshots: all versions read it, whatever their revision is."""

Durability = Literal["disk", "os"]
"""What is safe when a call returns. "disk": its changes survive a power cut. "os": they survive the end of the process."""

MAX_EVENTS = 1_000
"""How many events are read at once, at most."""
MAX_BYTES = 1 << 18
"""How many bytes of events are read at once, at most, unless the first event alone is larger."""

TABLES = ("bandits", "events", "keys", "snapshots", "deleted", "due")
RECORD = 'SELECT "row", id, name, description, archived, keep, base, base_digest FROM {bandits}'
EVENT = "SELECT number, time, caller, payload, digest FROM {events} WHERE bandit = %s"
EVENTS = f"{EVENT} AND number >= %s ORDER BY number LIMIT %s"
KEY = "SELECT key, request, time, answer FROM {keys} WHERE bandit = %s"
_SNAPSHOTS = (
    "SELECT number, digest, state FROM {snapshots} "
    "WHERE bandit = %s AND (revision = %s AND number > %s OR revision = %s AND number = %s) ORDER BY number DESC"
)
_DUE = 'SELECT name FROM {due} JOIN {bandits} ON bandit = "row" WHERE time <= %s ORDER BY time LIMIT %s'
_CREATE = (
    "INSERT INTO {bandits} (id, name, description, archived, keep, base, base_digest) VALUES (%s, %s, %s, %s, %s, %s, %s) "
    'ON CONFLICT (name) DO NOTHING RETURNING "row"'
)
_UPDATE = 'UPDATE {bandits} SET archived = %s, keep = %s, base = %s, base_digest = %s WHERE "row" = %s'
_SET_DUE = "INSERT INTO {due} VALUES (%s, %s) ON CONFLICT (bandit) DO UPDATE SET time = excluded.time"
_SAVE_SNAPSHOT = (
    "INSERT INTO {snapshots} SELECT bandit, %s, number, digest, %s FROM {events} "
    "WHERE bandit = %s AND number = %s AND digest = %s "
    "ON CONFLICT (bandit, revision, number) DO UPDATE SET digest = excluded.digest, state = excluded.state"
)
_OLD_SNAPSHOTS = (
    "DELETE FROM {snapshots} WHERE bandit = %s AND revision = %s AND number NOT IN "
    "(SELECT number FROM {snapshots} WHERE bandit = %s AND revision = %s ORDER BY number DESC LIMIT 2) "
    "AND (SELECT substr(payload, 1, %s) FROM {events} AS each "
    "WHERE each.bandit = {snapshots}.bandit AND each.number = {snapshots}.number) IS DISTINCT FROM %s"
)
POLICY_CHANGED = b'{"event":"changed","policy":'
"""The beginning of an event with which the policy changes."""
_OLD_BASE = "DELETE FROM {snapshots} WHERE bandit = %s AND revision = %s"
_OTHER_REVISIONS = "DELETE FROM {snapshots} WHERE revision NOT IN (%s, %s)"
_SAVE_BASE = "INSERT INTO {snapshots} VALUES (%s, %s, %s, %s, %s)"

# Two servers that sweep at once pass over each other's rows (`{unlocked}`): in another order, they would wait for each other.
_SWEEP_KEYS = (
    "DELETE FROM {keys} WHERE (bandit, key) IN "
    "(SELECT bandit, key FROM {keys} AS each WHERE time < %s ORDER BY time LIMIT %s {unlocked}) RETURNING 1"
)
_REPLACED = (
    'WITH ends AS (SELECT "row", base AS last FROM {bandits} WHERE base > 0 '
    'UNION ALL SELECT "row", 9223372036854775807 FROM {deleted}), '
    'found AS (SELECT "row", (SELECT min(number) FROM {events} WHERE bandit = "row") AS first, last FROM ends) '
    'SELECT "row", first, last FROM found WHERE first <= last LIMIT 1'
)


class Reading(NamedTuple):
    """What a transaction reads after its bandit is locked."""

    events: list[StoredEvent]
    keys: dict[str, StoredKey]
    now: int
    """The time of the database, in microseconds since 1970."""


class Transaction(ABC):
    """Changes of bandits; all of them are committed together, or none."""

    @abstractmethod
    def record(self, name: str) -> BanditRecord | None:
        """Lock a bandit, and return its record; None if there is none of this name."""

    @abstractmethod
    def read(self, record: BanditRecord, first: int, keys: Collection[str]) -> Reading:
        """Return the events of a locked bandit from number `first` on, those of `keys` that are known, and the time."""

    @abstractmethod
    def append(self, record: BanditRecord, events: Iterable[StoredEvent], keys: Iterable[StoredKey]) -> None:
        """Append events to the log of a locked bandit, and store idempotency keys."""

    @abstractmethod
    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""

    @abstractmethod
    def write(self, statement: str, *values: object) -> None:
        """Carry out a statement, at the latest when the transaction is committed."""

    @abstractmethod
    def raise_format(self) -> None:
        """Raise the format of the store to that of this version."""

    def create(self, record: BanditRecord) -> BanditRecord | None:
        """Add and lock a bandit, and return its record; None if its name is taken."""
        found = self.rows(_CREATE, *record[1:])
        return record._replace(row=found[0][0]) if found else None

    def update(self, record: BanditRecord) -> None:
        """Write whether a locked bandit is archived, how long its events are kept, and its base."""
        self.write(_UPDATE, record.archived, record.keep, record.base, record.base_digest, record.row)

    def set_due(self, record: BanditRecord, time: int) -> None:
        """Write when the next reward window of a locked bandit closes."""
        self.write(_SET_DUE, record.row, time)

    def drop_due(self, record: BanditRecord, until: int) -> None:
        """Delete what `set_due` has written, if it is not later than a time."""
        self.write("DELETE FROM {due} WHERE bandit = %s AND time <= %s", record.row, until)

    def save_snapshot(self, record: BanditRecord, snapshot: StoredSnapshot) -> None:
        """Save a state, if the log still has the event that it belongs to.

        Of older ones of this revision, the newest stays. If events are kept for a limited time, so do those after a change of
        the policy: they cannot be learned anew when the events before them are gone.
        """
        row, (number, digest, state) = record.row, snapshot
        self.write(_SAVE_SNAPSHOT, REVISION, state, row, number, digest)
        kept = b"" if record.keep is None else POLICY_CHANGED
        self.write(_OLD_SNAPSHOTS, row, REVISION, row, REVISION, len(POLICY_CHANGED), kept)

    def save_base(self, record: BanditRecord, base: StoredSnapshot) -> None:
        """Make a snapshot the base of a locked bandit: `Database.sweep` deletes the events up to it."""
        self.write(_OLD_BASE, record.row, BASE)
        self.write(_SAVE_BASE, record.row, BASE, *base)
        self.update(record._replace(base=base.number, base_digest=base.digest))

    def delete(self, record: BanditRecord) -> None:
        """Delete a locked bandit; `Database.sweep` deletes its events later."""
        self.drop_due(record, sys.maxsize)
        self.write('DELETE FROM {bandits} WHERE "row" = %s', record.row)
        self.write("INSERT INTO {deleted} VALUES (%s)", record.row)


class Database(ABC):
    """A database of bandits. All methods may be called from several threads, but for transactions: one thread uses each."""

    place: str
    """Where it is, for messages: never with a password."""
    one_lane: bool
    """Whether one transaction serves all bandits that have calls waiting; otherwise each has its own."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return a transaction, which is committed at the end of the `with` block, and rolled back after an exception.

        Raises `OutcomeUnknownError` if the connection is lost while it is committed.
        """

    @abstractmethod
    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement that only reads."""

    def migrate(self) -> None:
        """Raise the format to that of this version: versions that do not know it cannot use the store any more.

        The snapshots of other revisions go: no version that could use them is expected to run any longer.
        """
        with self.transaction() as transaction:
            transaction.write(_OTHER_REVISIONS, BASE, REVISION)
            transaction.raise_format()

    def check_format(self, version: int) -> None:
        """Refuse a format that this version cannot use."""
        if not OLDEST_FORMAT <= version <= FORMAT:
            age = "a newer" if version > FORMAT else "an older"
            reason = f"has format {version}, of {age} version; rotting {__version__} reads format {FORMAT}"
            raise StoreFormatError(reason, self.place)

    # --- Reading ------------------------------------------------------------------------------------------------------------

    def records(self, after: str = "", limit: int = 1_000) -> list[BanditRecord]:
        """Return the bandits whose names come after a name, in their order."""
        return [to_record(row) for row in self.rows(f"{RECORD} WHERE name > %s ORDER BY name LIMIT %s", after, limit)]

    def find(self, name: str) -> BanditRecord | None:
        """Return a bandit, or None."""
        return next((to_record(row) for row in self.rows(f"{RECORD} WHERE name = %s", name)), None)

    def count(self) -> int:
        """Return the number of bandits."""
        ((number,),) = self.rows("SELECT count(*) FROM {bandits}")
        return int(number)

    def events(self, record: BanditRecord, first: int, limit: int = MAX_EVENTS) -> list[StoredEvent]:
        """Return events from number `first` on: as many as `limit`, or fewer if they are large."""
        return to_events(self.rows(EVENTS, record.row, first, limit))

    def last(self, record: BanditRecord) -> StoredEvent | None:
        """Return the last event of a bandit."""
        return next(iter(to_events(self.rows(f"{EVENT} ORDER BY number DESC LIMIT 1", record.row))), None)

    def keys(self, record: BanditRecord, after: str = "", limit: int = MAX_EVENTS) -> list[StoredKey]:
        """Return idempotency keys of a bandit, in their order, after a key."""
        return [StoredKey(*row) for row in self.rows(f"{KEY} AND key > %s ORDER BY key LIMIT %s", record.row, after, limit)]

    def snapshots(self, record: BanditRecord) -> list[StoredSnapshot]:
        """Return the snapshots of a bandit that this revision of the rules can use, the newest first; the base is the last."""
        rows = self.rows(_SNAPSHOTS, record.row, REVISION, record.base, BASE, record.base)
        return [StoredSnapshot(*row) for row in rows]

    def due(self, now: int, limit: int = 100) -> list[str]:
        """Return the names of bandits that have a reward window which closes before a time."""
        return [name for (name,) in self.rows(_DUE, now, limit)]

    @abstractmethod
    def now(self) -> int:
        """Return the time of the database, in microseconds since 1970."""

    @abstractmethod
    def size(self) -> int:
        """Return the bytes that the database takes on the disk."""

    @abstractmethod
    def check(self) -> list[str]:
        """Check the database itself, and return a sentence for each damage."""

    @abstractmethod
    def check_ready(self) -> None:
        """Raise a `StoreError` if the database cannot be used at present."""

    # --- Upkeep -------------------------------------------------------------------------------------------------------------

    def save_snapshot(self, record: BanditRecord, snapshot: StoredSnapshot) -> None:
        """Save a state in a transaction of its own."""
        with self.transaction() as transaction:
            transaction.save_snapshot(record, snapshot)

    def sweep(self, before: int, limit: int) -> int:
        """Delete some rows that are not needed any more, about `limit` at most, and return how many; 0 if none are left.

        These are idempotency keys of a time before `before`, also those of deleted bandits, events that a base replaces, and
        what else deleted bandits left.
        """
        with self.transaction() as transaction:
            deleted = len(transaction.rows(_SWEEP_KEYS, before, limit))
            if deleted == limit:
                return deleted
            for row, first, last in transaction.rows(_REPLACED):
                number = min(last, first + limit - deleted - 1)
                events = transaction.rows("DELETE FROM {events} WHERE bandit = %s AND number <= %s RETURNING 1", row, number)
                return deleted + len(events)
            for (row,) in transaction.rows('SELECT "row" FROM {deleted} LIMIT 1'):
                deleted += len(transaction.rows("DELETE FROM {snapshots} WHERE bandit = %s RETURNING 1", row))
                deleted += len(transaction.rows('DELETE FROM {deleted} WHERE "row" = %s RETURNING 1', row))
            return deleted

    # --- Processes ----------------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:  # noqa: B027 - mostly there is nothing to do
        """Prepare for a fork: no connection may be in use that a child would share."""

    def after_fork_in_parent(self) -> None:  # noqa: B027
        """Go on after a fork."""

    @abstractmethod
    def after_fork(self) -> None:
        """Forget all connections in a forked child; those that are open belong to the parent."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections. A second call does nothing."""


def to_record(row: tuple[Any, ...]) -> BanditRecord:
    """Return the bandit in a row of `RECORD`."""
    record = BanditRecord(*row)
    return record._replace(archived=bool(record.archived))  # SQLite has no booleans


def to_events(rows: Iterable[tuple[Any, ...]]) -> list[StoredEvent]:
    """Return the events in rows, up to `MAX_BYTES`."""
    found: list[StoredEvent] = []
    size = 0
    for row in rows:
        size += len(row[3]) if found else 0  # the first may be one that the caller knows
        found.append(StoredEvent(*row))
        if size > MAX_BYTES:
            break
    return found


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
