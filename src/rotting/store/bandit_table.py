"""The table of the bandits in a store's file."""

from collections.abc import Iterable

from rotting.store.database import Database
from rotting.store.protocol import Payload
from rotting.store.records import check_bandit, check_new, decode, digest

NewBandits = dict[str, tuple[int, bytes]]
"""The slot and the encoded description of each bandit that is about to be added, by name."""


class BanditTable:
    """The names and descriptions of the bandits; each has a slot (1, 2, 3, ...) by which rows of other tables refer to it.

    Args:
        database: the store.
        store_id: its id.
        known: the table of the writer of this process, which was checked when the writer opened the store. A reader shares its
            content, so that opening one does not take longer if there are many bandits.
    """

    def __init__(self, database: Database, store_id: str, known: "BanditTable | None" = None) -> None:
        self._database, self._store_id = database, store_id
        self._looks_for_new = database.readonly and known is None
        self.slots: dict[str, int]
        self.names: dict[int, str]  # by slot
        self.encoded: dict[str, bytes]
        """The description of each bandit as JSON, by name."""
        if known is None:
            self.load()
        else:
            self.slots, self.names, self.encoded = known.slots, known.names, known.encoded

    def __len__(self) -> int:
        return len(self.slots)

    def load(self) -> None:
        """Read the table, and check it. A table that shared the content of another one has its own content from then on."""
        slots: dict[str, int] = {}
        metas: dict[str, bytes] = {}
        for slot, name, meta, found in self._database.rows("SELECT bandit, name, meta, digest FROM bandits ORDER BY bandit"):
            if found != digest(self._store_id, slot, name, meta) or slot != len(slots) + 1:
                raise self._database.damaged(f"bandit {slot} is not what was written")
            slots[name], metas[name] = slot, meta
        self.slots, self.encoded = slots, metas
        self.names = {slot: name for name, slot in slots.items()}
        self._looks_for_new = self._database.readonly

    def slot(self, name: str) -> int:
        """Return the slot of a bandit; a reader looks for new bandits first if it does not know the name."""
        if name not in self.slots:
            if self._looks_for_new:
                self.load()
            check_bandit(name, self.slots)
        return self.slots[name]

    def descriptions(self) -> dict[str, Payload]:
        """Return the description of each bandit, by name; a reader looks for new bandits first."""
        if self._looks_for_new:
            self.load()
        return {name: decode(meta) for name, meta in self.encoded.items()}

    def assign_slots(self, bandits: Iterable[tuple[str, bytes]]) -> NewBandits:
        """Check the names of new bandits, and assign their slots."""
        new: NewBandits = {}
        for name, meta in bandits:
            check_new(name, new)
            new[check_new(name, self.slots)] = len(self.slots) + len(new) + 1, meta
        return new

    def insert(self, new: NewBandits) -> None:
        """Insert new bandits in the current transaction."""
        rows = [(slot, name, meta, digest(self._store_id, slot, name, meta)) for name, (slot, meta) in new.items()]
        self._database.connection.executemany("INSERT INTO bandits VALUES (?, ?, ?, ?)", rows)

    def add(self, new: NewBandits) -> None:
        """Remember new bandits after the transaction was committed."""
        for name, (slot, meta) in new.items():
            self.slots[name], self.encoded[name], self.names[slot] = slot, meta, name
