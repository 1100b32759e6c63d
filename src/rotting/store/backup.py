"""Copies a store, even while it is written to.

Copying the file with another program is safe only while the store is closed: the latest events are in another file, the
write-ahead log (WAL).
"""

import os
from contextlib import closing
from pathlib import Path

from rotting.common.atomic_files import partial_path
from rotting.common.progress import Progress
from rotting.errors import PathExistsError, PathMissingError, StoreFailedError
from rotting.store import limits
from rotting.store.files import connect_for_reading, remove_database, resolve, sync_folder, to_store_error
from rotting.store.open_files import OpenFile
from rotting.store.sqlite import SQLiteStore

import apsw  # isort: skip - after `files`, which says what to install


def backup(path: str | os.PathLike[str], copy: str | os.PathLike[str], progress: bool | None = None) -> int:
    """Copy a store as it is at one moment; return the number of its last event.

    Others may write meanwhile; the WAL grows until the copy is complete. The copy is created completely and synchronised to the
    disk, or not at all. It has the id of the store and the ids of all decisions: continue with one of the two, not with both.

    Args:
        path: the store.
        copy: the new file; an existing file is not overwritten.
        progress: show a progress bar; by default when standard error is a terminal.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with SQLiteStore(Path(folder.name, "songs.rot")) as store:
        ...     store.add_bandit("songs", {"arms": ["a", "b"]})
        ...     _ = store.append([("songs", {"decided": "a"}), ("songs", {"decided": "b"})])
        ...     backup(Path(folder.name, "songs.rot"), Path(folder.name, "copy.rot"))
        2
        >>> folder.cleanup()
    """
    source, target = resolve(path), resolve(copy, "copy")
    _check_new(target)
    SQLiteStore(source, readonly=True).close()  # a store that lost events is not copied as if it were complete
    partial = partial_path(target)
    try:
        _copy_pages(source, partial, progress)
        with SQLiteStore(partial, readonly=True) as store:  # which checks the copy
            last = store.last
        _check_new(target)
        partial.rename(target)
        sync_folder(target.parent)
    finally:
        remove_database(partial)
    return last


def _check_new(target: Path) -> None:
    if os.path.lexists(target):
        raise PathExistsError("copy", "be new", target, hint=", which exists")
    if not target.parent.is_dir():
        raise PathMissingError(f"no such folder: {target.parent}")


def _copy_pages(source: Path, target: Path, progress: bool | None) -> None:
    """Copy all pages of a store as it is at one moment."""
    with closing(OpenFile(source)) as file:  # so that its locks remain if a store of this process is closed meanwhile
        try:
            reader = file.add_connection(connect_for_reading(source))
        except apsw.Error as error:
            raise to_store_error(source, error) from error
        file.attach()
        try:
            with closing(apsw.Connection(str(target))) as written:
                written.pragma("journal_mode", "off")  # an unfinished copy is removed
                reader.execute("BEGIN")
                pages = reader.pragma("page_count")  # the first read fixes the view
                with Progress(pages, "pages", show=progress) as bar, written.backup("main", reader, "main") as copying:
                    while not copying.done:
                        left = copying.remaining or pages
                        copying.step(limits.BACKUP_PAGES)
                        bar.advance(left - copying.remaining)
        except apsw.Error as error:
            if isinstance(error, apsw.FullError | apsw.CantOpenError | apsw.ReadOnlyError):
                raise to_store_error(target, error) from error
            raise StoreFailedError(f"could not be copied: {error}", source) from error
