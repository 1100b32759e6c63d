"""Snapshots in a store's file: saved in pieces while others append, and checked when they are read."""

from collections.abc import Iterator
from contextlib import suppress

from rotting.errors import StoreError, StoreFullError
from rotting.store import limits
from rotting.store.bandit_table import BanditTable
from rotting.store.database import Database
from rotting.store.event_appender import EventAppender
from rotting.store.event_reader import LARGEST
from rotting.store.protocol import Payload, Snapshot
from rotting.store.records import check_snapshot, decode, digest, encode_in_pieces

import apsw  # isort: skip - after `files`, which says what to install

_NEXT_SNAPSHOT = "SELECT 1 + max(ifnull(max(snapshot), 0), (SELECT ifnull(max(snapshot), 0) FROM pieces)) FROM snapshots"
_ADD_PIECE = "INSERT INTO pieces SELECT ?1, ?2, ?3 FROM writer WHERE epoch = ?4"
_REMOVE_OLD = """
DELETE FROM snapshots WHERE bandit = ?1 AND snapshot NOT IN
(SELECT max(snapshot) FROM snapshots WHERE bandit = ?1 GROUP BY number ORDER BY number DESC LIMIT ?2)"""
_OLDER_SNAPSHOT = """
SELECT snapshot, number, digest FROM snapshots WHERE bandit = ?1 AND (number, snapshot) < (?2, ?3)
ORDER BY number DESC, snapshot DESC LIMIT 1"""
_UNUSED = "SELECT DISTINCT snapshot FROM pieces EXCEPT SELECT snapshot FROM snapshots"
_REMOVE_PIECES = "DELETE FROM pieces WHERE rowid IN (SELECT rowid FROM pieces WHERE snapshot = ? LIMIT ?)"


class Snapshots:
    """The snapshots of the bandits of a store.

    A writer saves them through a second connection, which does not synchronise each piece, and which can copy the WAL while
    others append.
    """

    def __init__(self, database: Database, store_id: str, bandits: BanditTable, events: EventAppender) -> None:
        self._database = database
        self._store_id = store_id
        self._bandits = bandits
        self._events = events
        if not database.readonly:
            self._connection = database.connect_for_writing()
            database.set_durability(self._connection, "normal")
            self._connection.wal_autocheckpoint(0)

    def save(self, bandit: str, number: int, state: Payload) -> None:
        """Save the state of a bandit after all its events up to `number`. It counts once the last piece is written."""
        database = self._database
        with database.snapshot_lock:
            with database.use(writing=True):
                bandit_id, checked = self._bandits.id_of(bandit), check_snapshot(number, self._events.last)
                self._events.flush()
                (new,) = database.row(_NEXT_SNAPSHOT)
            try:
                digests = self._write_pieces(new, state)
                row = (new, bandit_id, checked, digest(self._store_id, bandit_id, checked, *digests))
                with database.use(writing=True), database.transaction():
                    database.connection.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", row)
                    database.connection.execute(_REMOVE_OLD, (bandit_id, limits.SNAPSHOTS_KEPT))
                    database.write_counts(len(self._bandits), self._events.last_written)
            except BaseException:
                with suppress(StoreError):  # the first error is the one to raise
                    self.remove_unused()
                raise
            self.remove_unused()

    def _write_pieces(self, snapshot: int, state: Payload) -> list[bytes]:
        """Write the pieces of a snapshot; return their digests."""
        digests = []
        for piece, content in enumerate(encode_in_pieces("state", state, limits.PIECE_BYTES)):
            with self._database.use(writing=True):
                self._database.check_before_writing(len(content))
                self._connection.execute(_ADD_PIECE, (snapshot, piece, content, self._database.epoch))
                if self._connection.changes() != 1:
                    self._database.check_epoch()
            digests.append(digest(content))
            if piece % limits.PIECES == limits.PIECES - 1:
                self.copy_wal()
        return digests

    def copy_wal(self) -> None:
        """Copy the WAL into the file, as far as no reader is in the way, while others may append."""
        try:
            with self._database.copying:
                self._database.check_usable(writing=True)
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            pass  # an append may be copying it now
        except apsw.Error as error:
            raise self._database.translate(error) from error

    def remove_unused(self) -> None:
        """Remove the pieces of snapshots that were replaced or not finished. If the disk is full, leave them for later."""
        with self._database.snapshot_lock, suppress(StoreFullError):
            with self._database.use(writing=True):
                unused = self._connection.execute(_UNUSED).fetchall()
            for (snapshot,) in unused:
                removed = limits.PIECES
                while removed == limits.PIECES:
                    with self._database.use(writing=True):
                        self._database.check_epoch()
                        self._connection.execute(_REMOVE_PIECES, (snapshot, limits.PIECES))
                        removed = self._connection.changes()

    def read(self, bandit: str) -> Iterator[Snapshot]:
        """Yield the intact snapshots of a bandit, the newest first."""
        with self._database.use():
            return self._intact(self._bandits.id_of(bandit))

    def _intact(self, bandit_id: int) -> Iterator[Snapshot]:
        after = (LARGEST, LARGEST)
        while True:
            with self._database.use(), self._database.view():  # the writer may replace the snapshot after this
                rows = self._database.rows(_OLDER_SNAPSHOT, (bandit_id, *after))
                if not rows:
                    return
                snapshot, number, written = rows[0]
                state, after = self._state(snapshot, bandit_id, number, written), (number, snapshot)
            if state is not None:
                yield Snapshot(number, decode(state))

    def _state(self, snapshot: int, bandit_id: int, number: int, written: bytes) -> bytes | None:
        """Return the state of a snapshot, or None if it is not what was written."""
        rows = self._database.rows("SELECT content FROM pieces WHERE snapshot = ? ORDER BY piece", (snapshot,))
        pieces = [content for (content,) in rows]
        if not all(isinstance(each, bytes) for each in pieces):
            return None
        return b"".join(pieces) if written == digest(self._store_id, bandit_id, number, *map(digest, pieces)) else None

    def damages(self) -> list[str]:
        """Return a sentence for each snapshot that is not what was written."""
        rows = self._database.rows("SELECT snapshot, bandit, number, digest FROM snapshots")
        return [
            f"the snapshot at event {number} is not what was written"
            for snapshot, bandit_id, number, written in rows
            if self._state(snapshot, bandit_id, number, written) is None
        ]
