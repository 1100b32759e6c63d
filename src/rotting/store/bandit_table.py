"""The table of the bandits in a store's file."""

from collections.abc import Iterable

from rotting.store.database import Database
from rotting.store.protocol import Payload
from rotting.store.records import check_bandit, check_new, decode, digest

_BANDITS = "SELECT bandit, name, meta, digest FROM bandits ORDER BY bandit"

NewBandits = dict[str, tuple[int, bytes]]
"""The id and the encoded description of each bandit that is about to be added, by name."""


class BanditTable:
    """The names and descriptions of the bandits; each has an id (1, 2, 3, ...) by which rows of other tables refer to it.

    Args:
        database: the store.
        store_id: its id.
        known: the table of the writer of this process, which was checked when the writer opened the store. A reader shares its
            content, so that opening one does not take longer if there are many bandits.
    """

    def __init__(self, database: Database, store_id: str, known: "BanditTable | None" = None) -> None:
        self._database, self._store_id = database, store_id
        self._looks_for_new = database.readonly and known is None
        self.ids: dict[str, int]
        self.names: dict[int, str]  # by id
        self.encoded: dict[str, bytes]
        """The description of each bandit as JSON, by name."""
        if known is None:
            self.load()
        else:
            self.ids, self.names, self.encoded = known.ids, known.names, known.encoded

    def __len__(self) -> int:
        return len(self.ids)

    def load(self) -> None:
        """Read the table, and check it. A table that shared the content of another one has its own content from then on."""
        ids: dict[str, int] = {}
        encoded: dict[str, bytes] = {}
        for bandit_id, name, description, found in self._database.rows(_BANDITS):
            have_types = isinstance(name, str) and isinstance(description, bytes)  # damage can change a type alone
            written = digest(self._store_id, bandit_id, name, description)
            if not have_types or found != written or bandit_id != len(ids) + 1:
                raise self._database.damaged(f"bandit {bandit_id} is not what was written")
            ids[name], encoded[name] = bandit_id, description
        self.ids, self.encoded = ids, encoded
        self.names = {bandit_id: name for name, bandit_id in ids.items()}
        self._looks_for_new = self._database.readonly

    def id_of(self, name: str) -> int:
        """Return the id of a bandit; a reader looks for new bandits first if it does not know the name."""
        if name not in self.ids:
            if self._looks_for_new:
                self.load()
            check_bandit(name, self.ids)
        return self.ids[name]

    def descriptions(self) -> dict[str, Payload]:
        """Return the description of each bandit, by name; a reader looks for new bandits first."""
        if self._looks_for_new:
            self.load()
        return {name: decode(description) for name, description in self.encoded.items()}

    def assign_ids(self, bandits: Iterable[tuple[str, bytes]]) -> NewBandits:
        """Check the names of new bandits, and assign their ids."""
        new: NewBandits = {}
        for name, description in bandits:
            check_new(name, new)
            new[check_new(name, self.ids)] = len(self.ids) + len(new) + 1, description
        return new

    def insert(self, new: NewBandits) -> None:
        """Insert new bandits in the current transaction."""
        rows = [
            (bandit_id, name, description, digest(self._store_id, bandit_id, name, description))
            for name, (bandit_id, description) in new.items()
        ]
        self._database.connection.executemany("INSERT INTO bandits VALUES (?, ?, ?, ?)", rows)

    def add(self, new: NewBandits) -> None:
        """Remember new bandits after the transaction was committed."""
        for name, (bandit_id, description) in new.items():
            self.ids[name], self.encoded[name], self.names[bandit_id] = bandit_id, description, name
