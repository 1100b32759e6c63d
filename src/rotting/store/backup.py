"""A copy of a store, made while somebody writes.

To copy the file with other programs is safe only while the store is closed: what was written last is in the log ahead, beside
the file.
"""

import os
from contextlib import closing
from pathlib import Path

from rotting.common.atomic_files import partial_path
from rotting.common.progress import Progress
from rotting.errors import PathExistsError, PathMissingError, StoreFailedError
from rotting.store.files import look, remove, resolved, sync_folder, to_store_error
from rotting.store.open_files import OpenFile
from rotting.store.sqlite import SQLiteStore

import apsw  # isort: skip - after `files`, which says what to install

_PAGES = 2_000  # that are copied at once


def backup(path: str | os.PathLike[str], copy: str | os.PathLike[str], progress: bool | None = None) -> int:
    """Copy a store as it is at one moment; return the number of its last event.

    The writer goes on meanwhile, and its log ahead grows until the copy is there. The copy appears whole and synchronised, or
    not at all. It has the name of the store and all ids of decisions: go on with one of the two, not with both.

    Args:
        path: the store.
        copy: the new file; nothing is overwritten.
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
    source, target = resolved(path), resolved(copy, "copy")
    _check_new(target)
    partial = partial_path(target)
    try:
        _copy_pages(source, partial, progress)
        with SQLiteStore(partial, readonly=True) as store:  # it is one
            last = store.last
        _check_new(target)
        partial.rename(target)
        sync_folder(target.parent)
    finally:
        remove(partial)
    return last


def _check_new(target: Path) -> None:
    if os.path.lexists(target):
        raise PathExistsError("copy", "be new", target, hint=", which exists")
    if not target.parent.is_dir():
        raise PathMissingError(f"no such folder: {target.parent}")


def _copy_pages(source: Path, target: Path, progress: bool | None) -> None:
    """Copy all pages of one view of a store."""
    with closing(OpenFile(source)) as file:  # so that its locks outlive a store of this process that is closed meanwhile
        try:
            reader = file.keep(look(source))
        except apsw.Error as error:
            raise to_store_error(source, error) from error
        file.attach()
        try:
            with closing(apsw.Connection(str(target))) as written:
                written.pragma("journal_mode", "off")  # an unfinished copy is removed
                reader.execute("BEGIN")
                pages = reader.pragma("page_count")  # from now on the view is the same
                with Progress(pages, "pages", show=progress) as bar, written.backup("main", reader, "main") as copying:
                    while not copying.done:
                        left = copying.remaining or pages
                        copying.step(_PAGES)
                        bar.advance(left - copying.remaining)
        except apsw.Error as error:
            if isinstance(error, apsw.FullError | apsw.CantOpenError | apsw.ReadOnlyError):
                raise to_store_error(target, error) from error
            raise StoreFailedError(f"could not be copied: {error}", source) from error
