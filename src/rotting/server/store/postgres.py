"""A database in PostgreSQL.

A transaction takes three messages: one begins it and locks the row of the bandit, one reads what is new, one writes and
commits. Each is one string of statements, into which psycopg writes the values (the simple query protocol), so PostgreSQL's
timeouts apply between them. A pipeline of statements with parameters takes twice as long. Nothing is kept in the session, so a
pooler in transaction mode may stand between.

The row is locked by a statement of its own: a statement sees what was committed before it began, and one that both waited for
the lock and read the events would miss those of the transaction that it waited for.

An advisory lock comes before that of the row, for fairness alone: PostgreSQL grants it in the order in which it was asked for,
while the lock of a row goes to whoever asks when it is free. A process in a tight loop kept others waiting for ten seconds. The
row is locked as well, since a commit that has locked a row waits for a synchronous standby even if it has written nothing.
"""

import random
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rotting.common.rules import option
from rotting.common.version import __version__
from rotting.errors import (
    InvalidValueError,
    MissingExtraError,
    NotAStoreError,
    OutcomeUnknownError,
    StoreBusyError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreReadOnlyError,
)
from rotting.server.store.database import (
    FORMAT,
    KEY,
    MAX_BYTES,
    MAX_EVENTS,
    RECORD,
    TABLES,
    Database,
    Durability,
    Reading,
    Transaction,
    to_events,
    to_record,
)
from rotting.server.store.events import BanditRecord, StoredEvent, StoredKey

try:
    import psycopg
    from psycopg import conninfo, sql
except ImportError as error:
    raise MissingExtraError("a PostgreSQL store needs psycopg: pip install 'rotting[postgres]'") from error

_TABLES = """
CREATE TABLE IF NOT EXISTS {format} (
  one boolean PRIMARY KEY DEFAULT true CHECK (one), format integer NOT NULL, made_by text NOT NULL
);
CREATE TABLE IF NOT EXISTS {bandits} (
  "row" integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL, name text COLLATE "C" NOT NULL UNIQUE,
  description bytea NOT NULL, archived boolean NOT NULL, keep double precision, base bigint NOT NULL, base_digest bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS {events} (
  number bigint NOT NULL, time bigint NOT NULL, bandit integer NOT NULL, caller text NOT NULL, payload bytea NOT NULL,
  digest bytea NOT NULL, PRIMARY KEY (bandit, number) WITH (fillfactor = 100)
);
CREATE TABLE IF NOT EXISTS {keys} (
  bandit integer NOT NULL, key text COLLATE "C" NOT NULL, request bytea NOT NULL, time bigint NOT NULL, answer bytea NOT NULL,
  PRIMARY KEY (bandit, key)
);
CREATE INDEX IF NOT EXISTS rotting_keys_by_time ON {keys} (time);
CREATE TABLE IF NOT EXISTS {snapshots} (
  bandit integer NOT NULL, revision integer NOT NULL, number bigint NOT NULL, digest bytea NOT NULL, state bytea NOT NULL,
  PRIMARY KEY (bandit, revision, number)
);
CREATE TABLE IF NOT EXISTS {deleted} ("row" integer PRIMARY KEY);
CREATE TABLE IF NOT EXISTS {due} (bandit integer PRIMARY KEY, time bigint NOT NULL);
"""
# A server that sends much to a client which has stopped reading is not idle: no timeout would end its lock.
_FEW_EVENTS = (
    "SELECT number, time, caller, payload, digest FROM (SELECT *, sum(length(payload)) OVER (ORDER BY number) AS size "  # noqa: S608
    "FROM {events} WHERE bandit = %s AND number >= %s ORDER BY number LIMIT %s) AS each "
    f"WHERE size - length(payload) <= {2 * MAX_BYTES} ORDER BY number"
)
_CLOCK = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_IDLE_MS = 5_000  # for which a transaction may compute before the server ends it
_LOCK_MS = 10_000  # for which a transaction waits for others
_MAX_CONNECTIONS = 16
_LOST = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)


class PostgresDatabase(Database):
    """The tables of a PostgreSQL database; see `Database`.

    Args:
        url: its address. `?schema=` names the schema of the tables, "rotting" by default; everything else is passed on to
            libpq.
        durability: "disk" waits for the disk, and for a synchronous standby if there is one; "os" does not
            (`synchronous_commit = off`).
        create: make the tables if they are missing.
        readonly: only read.
    """

    one_lane = False

    def __init__(self, url: str, durability: Durability = "disk", *, create: bool = True, readonly: bool = False) -> None:
        option("disk", "os").check("durability", durability)
        self._conninfo, self.schema, self.place = parse_url(url, readonly)
        self._readonly, self._closed = readonly, False
        local: dict[str, object] = {"idle_in_transaction_session_timeout": _IDLE_MS, "lock_timeout": _LOCK_MS}
        local["client_min_messages"] = "warning"  # by which `commit` knows that it did not wait for a standby
        if durability == "os":
            local["synchronous_commit"] = "off"
        settings = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in local.items())
        tables = {name: sql.Identifier(self.schema, f"rotting_{name}") for name in ("format", *TABLES)}
        self._parts = {**tables, "unlocked": sql.SQL("FOR UPDATE OF each SKIP LOCKED")}
        self._statements: dict[str, bytes] = {}
        # One statement, since each takes its time. The clock is read when the lock is granted.
        lock = "pg_advisory_xact_lock(hashtextextended(%s, 0))"
        self.begin = self.statement(f"SELECT format, {settings}, {lock}, {_CLOCK} FROM {{format}}")  # noqa: S608
        self._forget_connections()
        with self._connection() as connection:
            self._prepare(connection, create and not readonly)

    def _forget_connections(self) -> None:
        self._idle: list[psycopg.Connection[Any]] = []
        self._mutex = threading.Lock()
        self._room = threading.BoundedSemaphore(_MAX_CONNECTIONS)

    def _prepare(self, connection: "psycopg.Connection[Any]", create: bool) -> None:
        """Check the format of the tables, or make them."""
        exists = "SELECT count(*) FROM information_schema.tables WHERE table_schema = %s AND table_name = 'rotting_format'"
        (there,) = connection.execute(exists, (self.schema,)).fetchone() or (0,)
        if not there:
            if not create:
                raise NotAStoreError("has no tables of rotting: run `rotting migrate`", self.place)
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # to see what another process has just made
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('rotting tables'))")
                known = "SELECT FROM information_schema.schemata WHERE schema_name = %s"
                if connection.execute(known, (self.schema,)).fetchone() is None:
                    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema)))
                connection.execute(self.statement(_TABLES))
                insert = "INSERT INTO {format} (format, made_by) VALUES (%s, %s) ON CONFLICT DO NOTHING"
                connection.execute(self.statement(insert), (FORMAT, __version__))
        (version,) = connection.execute(self.statement("SELECT format FROM {format}")).fetchone() or (0,)
        self.check_format(version)

    def statement(self, text: str) -> bytes:
        """Return a statement of `database` for PostgreSQL."""
        found = self._statements.get(text)
        if found is None:
            found = self._statements[text] = sql.SQL(text).format(**self._parts).as_bytes(None)
        return found

    # --- Connections --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator["psycopg.Connection[Any]"]:
        """Lend a connection; it is closed after an error, and used again otherwise."""
        if self._closed:
            raise StoreFailedError("is closed: open it again", self.place)
        if not self._room.acquire(timeout=_LOCK_MS / 1e3):
            raise StoreBusyError(f"is busy: all {_MAX_CONNECTIONS} connections are in use", self.place)
        connection: psycopg.Connection[Any] | None = None
        try:
            with self._mutex:
                self._idle = [each for each in self._idle if not each.closed]
                if self._idle:
                    connection = self._idle.pop()
            try:
                if connection is None:
                    connection = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None)
                yield connection
            except psycopg.Error as error:
                if isinstance(error, _LOST):
                    self._close_idle()  # they are lost, too: the server has restarted, or another one took over
                raise self._translated(error) from error
            with self._mutex:
                if not self._closed and not connection.closed:  # type: ignore[redundant-expr]
                    self._idle.append(connection)
                    connection = None
        finally:
            self._room.release()
            if connection is not None:
                connection.close()

    def _translated(self, error: psycopg.Error) -> StoreError:
        """Return the error of the library."""
        place, text = self.place, _reason(error)
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return StoreBusyError(f"is busy: another process has held the lock for {_LOCK_MS / 1e3:g} s", place)
        if isinstance(error, psycopg.errors.DiskFull):
            return StoreFullError("cannot grow: the disk is full, and nothing was written", place)
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return StoreReadOnlyError(f"refuses this role: {text}", place)
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            return StoreFailedError("is read-only at present: a standby answers instead of the primary", place)
        if isinstance(error, _LOST):
            return StoreFailedError(f"cannot be reached: {text}", place)
        if isinstance(error, psycopg.DataError | psycopg.ProgrammingError | psycopg.IntegrityError):
            return StoreError(f"refused a statement: {text}", place)  # it would refuse it again
        return StoreFailedError(f"refused a statement: {text}", place)

    # --- Transactions -------------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator["PostgresTransaction"]:
        """Return a transaction."""
        if self._readonly:
            raise StoreReadOnlyError("was opened for reading only", self.place)
        with self._connection() as connection:
            transaction = PostgresTransaction(self, connection)
            try:
                yield transaction
            except BaseException:
                transaction.roll_back()
                raise
            transaction.commit()

    # --- Reading ------------------------------------------------------------------------------------------------------------

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement; after a lost connection it is sent once more, since it only reads."""
        try:
            with self._connection() as connection:
                return connection.execute(self.statement(statement), values).fetchall()
        except StoreFailedError:
            time.sleep(0.05 + 0.1 * random.random())  # noqa: S311 - so that not all clients come back at once
            with self._connection() as connection:
                return connection.execute(self.statement(statement), values).fetchall()

    def now(self) -> int:
        """Return the time of the server, in microseconds since 1970."""
        ((now,),) = self.rows(f"SELECT {_CLOCK}")
        return int(now)

    # --- Upkeep -------------------------------------------------------------------------------------------------------------

    def size(self) -> int:
        """Return the bytes of all tables and their indexes."""
        statement = (
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
            "WHERE relnamespace = to_regnamespace(%s) AND left(relname, 8) = 'rotting_' AND relkind = 'r'"
        )
        ((size,),) = self.rows(statement, f'"{self.schema}"')
        return int(size)

    def check(self) -> list[str]:
        """Return nothing: PostgreSQL has tools of its own (`pg_amcheck`, data checksums)."""
        return []

    def check_ready(self) -> None:
        """Raise a `StoreError` if the server does not answer."""
        self.now()

    def after_fork(self) -> None:
        """Forget all connections, which belong to the parent process."""
        self._inherited = [*self._idle, *getattr(self, "_inherited", [])]  # never closed: the server would end the parent's
        self._forget_connections()

    def close(self) -> None:
        """Close all idle connections; the others are closed when they come back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class PostgresTransaction(Transaction):
    """A transaction; see `Transaction`. Its statements are sent when their results are needed."""

    def __init__(self, database: PostgresDatabase, connection: "psycopg.Connection[Any]") -> None:
        self._database, self._connection = database, connection
        self._begun = False
        self._now = 0
        self._writes: list[tuple[bytes, tuple[object, ...]]] = []

    def _send(self, *statements: tuple[bytes, tuple[object, ...]]) -> list[list[Any]]:
        """Send statements in one message, and return the rows of each."""
        cursor, found = psycopg.ClientCursor(self._connection), list[list[Any]]()
        cursor.execute(b"; ".join(text for text, _ in statements), [value for _, values in statements for value in values])
        while not found or cursor.nextset():
            found.append([] if cursor.description is None else cursor.fetchall())
        return found

    def _ask(self, *statements: tuple[str, tuple[object, ...]], lock: str | None = None) -> list[list[Any]]:
        """Send statements in one message, and return the rows of each; the first one also begins the transaction."""
        encoded = [(self._database.statement(text), values) for text, values in statements]
        if self._begun:
            return self._send(*encoded)
        _, began, *found = self._send(*self._begin(lock), *encoded)
        version, *_, self._now = began[0] if began else (0, 0)
        self._database.check_format(version)
        return found

    def _begin(self, lock: str | None = None) -> list[tuple[bytes, tuple[object, ...]]]:
        self._begun = True
        name = None if lock is None else f"{self._database.schema} {lock}"  # nothing is locked for None
        # Whatever the default of the role is.
        return [(b"BEGIN ISOLATION LEVEL READ COMMITTED", ()), (self._database.begin, (name,))]

    def record(self, name: str) -> BanditRecord | None:
        """Lock a bandit, and return its record."""
        (rows,) = self._ask((f"{RECORD} WHERE name = %s FOR UPDATE", (name,)), lock=name)
        return next((to_record(row) for row in rows), None)

    def read(self, record: BanditRecord, first: int, keys: Collection[str]) -> Reading:
        """Return the events from number `first` on, the keys that are known, and the time."""
        asked = [(f"{KEY} AND key = ANY(%s)", (record.row, list(keys)))] if keys else []
        events, *known = self._ask((_FEW_EVENTS, (record.row, first, MAX_EVENTS + 1)), *asked)
        return Reading(to_events(events), {row[0]: StoredKey(*row) for rows in known for row in rows}, self._now)

    def append(self, record: BanditRecord, events: Iterable[StoredEvent], keys: Iterable[StoredKey]) -> None:
        """Append events, and store keys."""
        listed, stored = list(events), list(keys)
        insert = "INSERT INTO {events} (bandit, number, time, caller, payload, digest) "
        if len(listed) == 1:  # arrays would take 0.15 ms more
            self.write(f"{insert} VALUES (%s, %s, %s, %s, %s, %s)", record.row, *listed[0])
        elif listed:
            insert += "SELECT %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::bytea[], %s::bytea[])"
            self.write(insert, record.row, *map(_column, zip(*listed, strict=True)))
        if stored:
            insert = (
                "INSERT INTO {keys} SELECT %s, * FROM "
                "unnest(%s::text[], %s::bytea[], %s::bigint[], %s::bytea[]) "
                "ON CONFLICT (bandit, key) DO UPDATE "
                "SET request = excluded.request, time = excluded.time, answer = excluded.answer"
            )
            self.write(insert, record.row, *map(_column, zip(*stored, strict=True)))

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""
        (found,) = self._ask((statement, values))
        return found

    def write(self, statement: str, *values: object) -> None:
        """Carry out a statement when the transaction is committed."""
        self._writes.append((self._database.statement(statement), values))

    def raise_format(self) -> None:
        """Raise the format."""
        self.write("UPDATE {format} SET format = %s, made_by = %s", FORMAT, __version__)

    def commit(self) -> None:
        """Send what is to be written, and commit."""
        if not (self._begun or self._writes):
            return
        connection, levels = self._connection, list[str | None]()

        def note(notice: psycopg.errors.Diagnostic) -> None:
            levels.append(notice.severity_nonlocalized)

        connection.add_notice_handler(note)
        try:
            self._send(*([] if self._begun else self._begin()), *self._writes, (b"COMMIT", ()))
        except _LOST as error:
            if not (connection.closed or connection.broken or (error.sqlstate or "08")[:2] in {"08", "57"}):
                self.roll_back()  # such as a full disk: the server says that nothing was committed
                raise
            connection.close()
            reason = f"was lost while a change was committed: {_reason(error)}"
            raise OutcomeUnknownError(reason, self._database.place) from error
        except psycopg.Error:
            self.roll_back()
            raise
        finally:
            connection.remove_notice_handler(note)
        # PostgreSQL warns if a commit stops waiting for its standby: then it is not known whether the standby has it.
        if "WARNING" in levels:
            connection.close()
            reason = "did not wait for its standby: whether a change was committed there is not known"
            raise OutcomeUnknownError(reason, self._database.place)

    def roll_back(self) -> None:
        """Undo everything; a connection on which that fails is closed."""
        try:
            if not self._connection.closed:
                self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._connection.close()


def _reason(error: psycopg.Error) -> str:
    """Return the first line of a message, since others may hold data, without the address: a client of a service may see it."""
    return str(error).strip().partition("\n")[0].rpartition(" failed: ")[2]


def _column(values: Iterable[object]) -> list[object]:
    """Return values for an array; bytes as text: psycopg writes others into it if `standard_conforming_strings` is off."""
    return [rf"\x{each.hex()}" if isinstance(each, bytes) else each for each in values]


def parse_url(url: str, readonly: bool) -> tuple[str, str, str]:
    """Return what libpq gets, the schema, and the address without a password, for messages.

    Example:
        >>> _, schema, place = parse_url("postgresql://ann:secret@db/ads?schema=eu", readonly=False)
        >>> schema, place
        ('eu', 'postgresql://ann@db/ads?schema=eu')
    """
    start, _, query = url.partition("?")
    parts = [each for each in query.split("&") if each]
    schemas = [each.partition("=")[2] for each in parts if each.startswith("schema=")]
    schema = schemas[-1] if schemas else "rotting"
    if not schema or len(schema.encode()) > 63 or not schema.replace("_", "a").isalnum():
        raise InvalidValueError("schema", "be letters, digits and _, 63 bytes at most", schema)
    rest = "&".join(each for each in parts if not each.startswith("schema="))
    try:
        if "@" in query:
            raise psycopg.ProgrammingError
        settings = conninfo.conninfo_to_dict(f"{start}?{rest}" if rest else start)
        if "@" in str(settings.get("dbname", "")) or not str(settings.get("port", "1")).replace(",", "").isdigit():
            raise psycopg.ProgrammingError  # a password with / in it was taken for the name of the database
    except psycopg.Error:  # whose text may hold the password
        rule = "be an address such as postgresql://user@host/database, in which special characters are escaped: / as %2F"
        raise InvalidValueError("store", rule, None, got="something else") from None
    defaults: dict[str, Any] = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
    defaults["tcp_user_timeout"] = 10_000  # ms
    if not readonly:
        defaults["target_session_attrs"] = "read-write"
    user = f"{settings['user']}@" if settings.get("user") else ""
    port = f":{settings['port']}" if settings.get("port") else ""
    place = f"postgresql://{user}{settings.get('host') or ''}{port}/{settings.get('dbname') or ''}"
    shown = place if schema == "rotting" else f"{place}?schema={schema}"
    # Whatever the role's encoding is: in another one, some names cannot be sent, or come back as bytes.
    return conninfo.make_conninfo(**{**defaults, **settings, "client_encoding": "UTF8"}), schema, shown
