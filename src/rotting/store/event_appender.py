"""Appends events and new bandits to a store's file."""

from collections.abc import Iterable

from rotting.store import limits
from rotting.store.bandit_table import BanditTable, NewBandits
from rotting.store.database import Database
from rotting.store.protocol import Payload
from rotting.store.records import check_bandit, encode, event_digest

_MOST_ROWS = 128  # in one statement; a power of two
_ROW = "(?, ?, ?, ?, ?, ?)"
_INSERT_ROWS = {
    count: f"INSERT INTO events VALUES {', '.join([_ROW] * count)}"  # noqa: S608 - it holds no input of users
    for count in (2**power for power in range(_MOST_ROWS.bit_length()))
}
_INSERT_ONE = "INSERT INTO events SELECT ?1, ?2, ?3, ?4, ?5, ?6 FROM writer WHERE epoch = ?2"

_NewRow = tuple[int, int, int, int, bytes, bytes]  # number, epoch, id of the bandit, place, payload, digest


class EventAppender:
    """Appends events after number `last`; `places` has the place of the last event of each bandit, by its id."""

    def __init__(self, database: Database, bandits: BanditTable, last: int, digest: bytes, places: dict[int, int]) -> None:
        self._database, self._bandits = database, bandits
        self.last, self._digest, self._places = last, digest, places
        self.held: list[_NewRow] = []  # appended with durability "memory", and not written yet

    @property
    def last_written(self) -> int:
        """The number of the last event in the file."""
        return self.last - len(self.held)

    def append(self, events: Iterable[tuple[str, Payload]], bandits: Iterable[tuple[str, Payload]]) -> int:
        """Add bandits and append events, all of them or none; return the number of the last event."""
        descriptions = [(name, encode("description", description)) for name, description in bandits]
        payloads = [(name, encode("payload", payload)) for name, payload in events]
        with self._database.use(writing=True):
            new = self._bandits.assign_ids(descriptions)
            rows, places = self._chain(payloads, new)
            if new or self._database.durability != "memory":
                self._commit(self.held + rows, new)
                self.held = []
            else:
                if len(self.held) + len(rows) > limits.HELD_EVENTS:
                    self.flush()  # first: if it fails, the new events must not be written later
                self.held += rows
            self._places.update(places)
            if rows:
                self.last, self._digest = rows[-1][0], rows[-1][5]
            return self.last

    def flush(self) -> None:
        """Write the events that were held back."""
        with self._database.use():
            if self.held:
                self._commit(self.held, {})
                self.held = []

    def _chain(self, payloads: list[tuple[str, bytes]], new: NewBandits) -> tuple[list[_NewRow], dict[int, int]]:
        """Return the rows of new events, and the last place of each bandit after them."""
        rows: list[_NewRow] = []
        places: dict[int, int] = {bandit_id: 0 for bandit_id, _ in new.values()}
        number, before, epoch = self.last, self._digest, self._database.epoch
        for name, payload in payloads:
            bandit_id = new[name][0] if name in new else self._bandits.ids.get(name)
            if bandit_id is None:
                check_bandit(name, {*self._bandits.ids, *new})
            assert bandit_id is not None
            number, place = number + 1, (places[bandit_id] if bandit_id in places else self._places[bandit_id]) + 1
            before = event_digest(before, number, epoch, bandit_id, place, payload)
            rows.append((number, epoch, bandit_id, place, payload, before))
            places[bandit_id] = place
        return rows, places

    def _commit(self, rows: list[_NewRow], new: NewBandits) -> None:
        """Write events and bandits, then the mark. The bandits in memory change only after the commit."""
        if not (rows or new):
            return
        database = self._database
        database.check_before_writing(len(rows[0][4]) if len(rows) == 1 else sum(len(row[4]) for row in rows))
        last = rows[-1][0] if rows else self.last_written
        if len(rows) == 1 and not new:  # one statement is a transaction of its own, and takes half the time
            database.connection.execute(_INSERT_ONE, rows[0])
            if database.connection.changes() != 1:
                database.check_epoch()
                raise database.damaged("an event could not be inserted")
        else:
            with database.transaction():
                self._insert(rows)
                if new:
                    self._bandits.insert(new)
                    database.write_counts(len(self._bandits) + len(new), last)
            self._bandits.add(new)
            self._places.update((bandit_id, 0) for bandit_id, _ in new.values())
        if database.mark is not None:
            database.mark.advance(last, len(self._bandits))
        # Events in a file that was deleted meanwhile must not be acknowledged. The WAL is left to the check of every second: a
        # `stat` of it after each commit makes the next commit take 40 us longer, measured on ext4 of Linux 6.18.
        if database.durability == "disk" and not database.file.is_in_place:
            database.check_files()

    def _insert(self, rows: list[_NewRow]) -> None:
        """Insert events in as few statements as possible.

        Each statement releases the GIL while it runs, and must wait for a busy event loop to get it back. With one statement
        per event, a batch of a hundred would wait a hundred times.
        """
        start, count = 0, _MOST_ROWS
        while start < len(rows):
            if count <= len(rows) - start:
                values = [value for row in rows[start : start + count] for value in row]
                self._database.connection.execute(_INSERT_ROWS[count], values)
                start += count
            else:
                count //= 2
