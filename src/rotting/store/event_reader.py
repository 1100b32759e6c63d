"""Reads the events of a store's file, and checks that they are what was written.

An event knows its number in the log and its place among the events of its bandit. Its digest covers both, and the digest of the
event before it. So events that were changed or lost are found, also when only those of one bandit are read.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rotting.common.rules import nonnegative_int
from rotting.errors import StoreDamagedError, brief
from rotting.store import limits
from rotting.store.bandit_table import BanditTable
from rotting.store.database import Database
from rotting.store.files import IS_NOTE, NOTE_NAME
from rotting.store.protocol import StoredEvent
from rotting.store.records import decode, digest, event_digest

LARGEST = 2**63 - 1
"""The largest integer of SQLite."""

_DIGEST_BEFORE = "(SELECT digest FROM events AS last WHERE last.number = events.number - 1)"
_EVENTS = f"SELECT number, epoch, bandit, place, payload, digest, {_DIGEST_BEFORE} FROM events"  # noqa: S608 - no user input
_OF_BANDIT = "INDEXED BY events_of WHERE bandit = ?3 AND number > ?1 ORDER BY number LIMIT ?2"
_CHECKED_PAGE = f"{_EVENTS} {_OF_BANDIT}"
_UNCHECKED_PAGE = f"SELECT number, epoch, bandit, place, payload, NULL, NULL FROM events {_OF_BANDIT}"  # noqa: S608
_OF_ALL = f"{_EVENTS} WHERE number > ?1 ORDER BY number LIMIT ?2"
_LAST_PLACE = "SELECT place FROM events INDEXED BY events_of WHERE bandit = ?2 AND number <= ?1 ORDER BY number DESC LIMIT 1"
_LAST_PLACES = f"SELECT bandit, ({_LAST_PLACE.replace('?2', 'bandits.bandit')}) FROM bandits"  # noqa: S608
_NOTES = f"{_EVENTS} INDEXED BY notes WHERE {IS_NOTE} AND bandit = ?1 AND {NOTE_NAME} = ?2"  # ORDER BY would cost 5 us
_NOTE_NAMES = f"""
SELECT DISTINCT {NOTE_NAME} FROM events INDEXED BY notes WHERE {IS_NOTE} AND bandit = ?1 AND {NOTE_NAME} > ?2
ORDER BY {NOTE_NAME} LIMIT ?3"""  # noqa: S608


class _Row(NamedTuple):
    """A row of the table of events."""

    number: int
    epoch: int
    bandit: int
    place: int
    payload: bytes
    digest: bytes
    digest_before: bytes | None


class EncodedEvents(NamedTuple):
    """Some events of a bandit, with payloads as they are in the file."""

    rows: list[tuple[int, int, bytes]]
    """The number and the epoch of each, and its payload as JSON."""
    last: int
    """The number of the last of them."""
    left: int
    """How many events of the bandit come after it."""


class EventReader:
    """Reads events and notes, and checks them."""

    def __init__(self, database: Database, store_id: str, bandits: BanditTable) -> None:
        self._database, self._store_id, self._bandits = database, store_id, bandits

    def last_event(self) -> tuple[int, bytes, int]:
        """Return the number, the digest and the epoch of the last event, which is checked; the number is 0 if there is none."""
        rows = self._database.rows(f"{_EVENTS} ORDER BY number DESC LIMIT 1")
        if not rows:
            return 0, digest(self._store_id), 0
        row = self._row(rows[0])
        self._check(row)
        return row.number, row.digest, row.epoch

    def last_places(self) -> dict[int, int]:
        """Return the place of the last event of each bandit, by its id."""
        return {bandit_id: _place_or_zero(place) for bandit_id, place in self._database.rows(_LAST_PLACES, (LARGEST,))}

    def _last_place(self, bandit_id: int, number: int = LARGEST) -> int:
        """Return the place of the last event of a bandit up to a number."""
        found = self._database.rows(_LAST_PLACE, (min(number, LARGEST), bandit_id))
        return _place_or_zero(found[0][0]) if found else 0

    def read(self, bandit: str | None, after: int) -> Iterator[StoredEvent]:
        """Yield the events after a number, of one bandit or of all, and check each of them."""
        start = nonnegative_int("after", after)
        if bandit is None:
            return self._read_all(start)
        with self._database.use():
            bandit_id = self._bandits.id_of(bandit)
            return self._read_bandit(bandit_id, start, self._last_place(bandit_id, start), self._last_place(bandit_id))

    def _read_all(self, start: int) -> Iterator[StoredEvent]:
        for row in self._rows(_OF_ALL, start):
            start += 1
            if row.number != start:
                raise self._database.damaged(f"event {start} is missing")
            yield self._event(row)

    def _read_bandit(self, bandit_id: int, start: int, place: int, due: int) -> Iterator[StoredEvent]:
        """Yield the events of a bandit after number `start`, which follow `place`; there must be events up to place `due`."""
        for row in self._rows(_CHECKED_PAGE, start, bandit_id):
            place, start = place + 1, row.number
            self._check_place(row, place)
            yield self._event(row)
        if place < due:
            raise self._database.damaged(f"after event {start} one of {brief(self._bandits.names[bandit_id])} is missing")

    def _rows(self, query: str, start: int, *bandit_id: int) -> Iterator[_Row]:
        """Yield rows after a number. They are read in chunks, and without the mutex between two chunks."""
        while True:
            with self._database.use():
                found = self._database.rows(query, (min(start, LARGEST), limits.READ_EVENTS, *bandit_id))
                rows = [self._row(columns) for columns in found]
                if any(row.bandit not in self._bandits.names for row in rows):
                    self._bandits.load()
            if not rows:
                return
            yield from rows
            start = rows[-1].number

    def _row(self, columns: Iterable[Any]) -> _Row:
        """Return a row, whose payload is checked to be bytes: damage can change the type of a value in the file."""
        row = _Row(*columns)
        if not isinstance(row.payload, bytes):
            raise self._error_of(row.number)
        return row

    def _error_of(self, number: int) -> StoreDamagedError:
        """Return the error for an event that was changed in the file."""
        return self._database.damaged(f"event {number} is not what was written")

    def _event(self, row: _Row) -> StoredEvent:
        """Check a row and return its event."""
        self._check(row)
        if row.bandit not in self._bandits.names:
            raise self._database.damaged(f"the bandit of event {row.number} is missing")
        return StoredEvent(row.number, row.epoch, self._bandits.names[row.bandit], decode(row.payload))

    def encoded_events(self, bandit: str, after: int, limit: int, max_bytes: int | None, checked: bool) -> EncodedEvents:
        """Return some events of a bandit after a number; see `SQLiteStore.encoded_events`."""
        with self._database.use():
            bandit_id = self._bandits.id_of(bandit)
            with self._database.view():
                query = _CHECKED_PAGE if checked else _UNCHECKED_PAGE
                rows = self._page(query, (min(after, LARGEST), limit, bandit_id), max_bytes)
                if not rows:
                    return EncodedEvents([], after, 0)
                if checked:
                    for place, row in enumerate(rows, start=1 + self._last_place(bandit_id, after)):
                        self._check_place(row, place)
                        self._check(row)
                left = self._last_place(bandit_id) - _place_or_zero(rows[-1].place)
        return EncodedEvents([(row.number, row.epoch, row.payload) for row in rows], rows[-1].number, left)

    def _page(self, query: str, values: tuple[int, int, int], max_bytes: int | None) -> list[_Row]:
        """Return the rows of a query until their payloads exceed a number of bytes, but at least one."""
        found: list[_Row] = []
        size, cursor = 0, self._database.connection.execute(query, values)
        for columns in cursor:
            row = self._row(columns)
            size += len(row.payload)
            if found and max_bytes is not None and size > max_bytes:
                break
            found.append(row)
        cursor.close(True)  # an open cursor would hold its view of the file
        return found

    def note(self, bandit: str, name: str) -> StoredEvent | None:
        """Return the newest note of a bandit that has this name, or None."""
        with self._database.use():
            found = self._database.rows(_NOTES, (self._bandits.id_of(bandit), name))
        return self._event(self._row(max(found))) if found else None

    def note_names(self, bandit: str) -> Iterator[str]:
        """Yield the names of all notes of a bandit. They are read in chunks, and without the mutex between two chunks."""
        last = ""
        while True:
            with self._database.use():
                found = self._database.rows(_NOTE_NAMES, (self._bandits.id_of(bandit), last, limits.READ_EVENTS))
            if not found:
                return
            yield from (name for (name,) in found)
            (last,) = found[-1]

    def _check(self, row: _Row) -> None:
        """Check that an event is what was written after the one before it."""
        before = digest(self._store_id) if row.number == 1 else row.digest_before
        if before is None:
            raise self._database.damaged(f"event {row.number - 1} is missing")
        if not isinstance(before, bytes):
            raise self._error_of(row.number - 1)
        if row.digest != event_digest(before, row.number, row.epoch, row.bandit, row.place, row.payload):
            raise self._error_of(row.number)

    def _check_place(self, row: _Row, place: int) -> None:
        """Check that no event of a bandit is missing before this one."""
        if row.place != place:
            name = brief(self._bandits.names[row.bandit])
            raise self._database.damaged(f"before event {row.number} one of {name} is missing")


def _place_or_zero(place: object) -> int:
    """Return a place from the file, or 0 if there is none or it is damaged: 0 then contradicts the other places."""
    return place if isinstance(place, int) else 0
