"""Readers of one store that worker threads share."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from rotting.errors import StoreError, StoreFailedError
from rotting.store.sqlite import SQLiteStore


class ReaderPool:
    """Opens readers of a store when they are needed, and reuses them.

    Args:
        path: the file.
        writer: the writer of the store in this process; another store at the path is refused.
    """

    def __init__(self, path: str | PathLike[str], writer: SQLiteStore) -> None:
        self._path, self._store_id = path, writer.id
        self.writer = writer
        """The present writer; it is replaced when the store is opened again."""
        self._idle: list[SQLiteStore] = []
        self._generation = 0  # increased by `close`: readers from before are not reused
        self._lock = threading.Lock()

    @contextmanager
    def reader(self) -> Iterator[SQLiteStore]:
        """Lend a reader to a thread. A reader that fails is not reused."""
        with self._lock:
            generation, reader = self._generation, self._idle.pop() if self._idle else None
        reader = reader or self.new_reader()
        has_failed = False
        try:
            yield reader
        except StoreError:
            has_failed = True
            raise
        finally:
            with self._lock:
                reuse = generation == self._generation and not has_failed
                if reuse:
                    self._idle.append(reader)
            if not reuse:
                reader.close()

    def new_reader(self) -> SQLiteStore:
        """Open a reader that does not belong to the pool."""
        return self.check_id(self.writer.new_reader())

    def check_id(self, store: SQLiteStore) -> SQLiteStore:
        """Return a store that was opened at the path, or close it and raise an error if it is another store."""
        if store.id != self._store_id:
            store.close()
            raise StoreFailedError("was replaced by another store: it is not used", self._path)
        return store

    def close(self) -> None:
        """Close all readers: those in use are closed when they are given back. The pool opens new ones when asked."""
        with self._lock:
            self._generation += 1
            readers, self._idle = self._idle, []
        for reader in readers:
            reader.close()
