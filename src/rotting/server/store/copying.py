"""Copies bandits from one database into another, and an SQLite file while it is being written to."""

import os
from pathlib import Path

from rotting.errors import InvalidValueError, PathMissingError, StoreDamagedError, StoreFailedError
from rotting.server.store.database import Database, all_records, is_postgres
from rotting.server.store.events import BanditRecord
from rotting.server.store.turns import load


def copy(source: Database, target: Database) -> int:
    """Copy all bandits with their logs into another database, and check them there; return the number of events.

    Events that are written during the copy may be missing from it. If the target has a bandit of the
    same name, nothing is copied.

    Args:
        source: the database to read.
        target: the database to write; its bandits stay as they are.
    """
    records = list(all_records(source))
    for record in records:
        if target.find(record.name) is not None:
            raise InvalidValueError("bandit", "be new to the store that is copied to", record.name, hint=", which has it")
    return sum(_copy_bandit(source, target, record) for record in records)


def _copy_bandit(source: Database, target: Database, record: BanditRecord) -> int:
    base = next((each for each in source.snapshots(record) if each.number == record.base), None)
    with target.transaction() as transaction:
        created = transaction.create(record)
        if created is None:
            raise StoreFailedError(f"had bandit {record.name!r} created by another process", target.place)
        if record.base and base is not None:
            transaction.save_base(created, base)
        if record.archived:
            transaction.update(created)
    number = copied = record.base
    while events := source.events(record, number + 1):
        with target.transaction() as transaction:
            locked = transaction.record(record.name)
            if locked is None or locked.id != record.id:
                raise StoreFailedError(f"had bandit {record.name!r} deleted by another process", target.place)
            transaction.append(locked, events, ())
        number = events[-1].number
    after = ""
    while keys := source.keys(record, after):
        with target.transaction() as transaction:
            locked = transaction.record(record.name)
            if locked is not None:
                transaction.append(locked, (), keys)
        after = keys[-1].key
    copied_record = target.find(record.name)
    folded = None if copied_record is None else load(target, copied_record)  # which checks every digest
    if copied_record is None or folded is None or folded.number != number:
        raise StoreDamagedError(f"does not hold what was copied of bandit {record.name!r}", target.place)
    if folded.bandit.state.window is not None:
        with target.transaction() as transaction:
            transaction.set_due(copied_record, 0)  # a turn finds out when
    for snapshot in reversed(source.snapshots(record)):  # so that the copy opens as fast
        if record.base < snapshot.number <= number:
            target.save_snapshot(copied_record, snapshot)
    return number - copied


def backup(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy an SQLite file as it is at one moment, even while it is being written to."""
    from rotting.server.store.sqlite import SQLiteDatabase  # noqa: PLC0415 - needs an extra

    if is_postgres(os.fspath(path)):
        raise InvalidValueError("store", "be an SQLite file", None, got="the address of a PostgreSQL database: use pg_dump")
    place = Path(target)
    if os.path.lexists(place):
        raise InvalidValueError("copy", "be a new file", place, hint=", which exists")
    if not place.parent.is_dir():
        raise PathMissingError(f"no such folder: {place.parent}")
    source = SQLiteDatabase(path, create=False, readonly=True)
    try:
        source.copy_to(place)
    finally:
        source.close()
