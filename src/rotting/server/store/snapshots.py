"""Snapshots of states, and retention: replacing old events by a snapshot.

A snapshot saves the time to fold all events; a log that has lost its snapshots has lost nothing. That is different for the
*base* of a bandit whose events are kept for a limited time only: it replaces the events before it.
"""

import json
import time
import zlib
from typing import TYPE_CHECKING

from rotting.errors import RottingError
from rotting.live.bandit_state import BanditState
from rotting.live.saved_state import restore, save
from rotting.server.keys import KEY_LIFETIME
from rotting.server.store.events import MICROSECOND, StoredSnapshot
from rotting.simulation.engines.tiers import CompileMode

if TYPE_CHECKING:
    from rotting.server.store.database import Database

SNAPSHOT_EVENTS = 10_000
"""Events between two snapshots of a bandit with a small state."""
UNREADABLE = (RottingError, zlib.error, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What is raised for a snapshot that is damaged, or that another version has made."""
_SWEEP_ROWS = 500  # that are deleted in one transaction, so that others do not wait for long
_LEAST_REMOVED = 1_000  # events; fewer are not worth a new base


def to_snapshot(number: int, digest: bytes, state: BanditState) -> StoredSnapshot:
    """Return a snapshot of the state after the event `number`."""
    return StoredSnapshot(number, digest, zlib.compress(json.dumps(save(state, timed=True)).encode(), 1))


def restore_snapshot(snapshot: StoredSnapshot, compile: CompileMode = "auto") -> BanditState:
    """Return the state in a snapshot, or raise one of `UNREADABLE`."""
    return restore(json.loads(zlib.decompress(snapshot.state)), compile)


def remove_old_events(database: "Database", name: str, now: float | None = None) -> int:
    """Replace the events of a bandit that are older than it keeps them by a base; return how many will be swept.

    Events stay if they are younger than the lifetime of idempotency keys or the reward window. Nothing waits for this: the base
    is folded without a lock, and the events are deleted by `sweep`, some at a time.
    """
    record = database.find(name)
    if record is None or record.keep is None:
        return 0
    from rotting.server.store.turns import base_of, followed  # noqa: PLC0415 - which uses this module

    folded = base_of(database, record)
    window = folded.bandit.state.window
    age = max(record.keep, KEY_LIFETIME, 0.0 if window is None else window.seconds)
    current_time = database.now() * MICROSECOND if now is None else now
    until = int((current_time - age) / MICROSECOND)
    first = folded.number
    while True:
        events = database.events(record, folded.number + 1)
        old = [event for event in events if event.time < until]
        if not old:
            break
        folded = followed(database, folded, old)
    removed = folded.number - first
    if removed < _LEAST_REMOVED:
        return 0
    snapshot = to_snapshot(folded.number, folded.digest, folded.bandit.state)
    with database.transaction() as transaction:
        current = transaction.record(name)
        if current is None or (current.id, current.base) != (record.id, record.base):
            return 0  # another process was faster
        replaced = transaction.read(current, snapshot.number, ()).events
        if not replaced or replaced[0].digest != snapshot.digest:
            return 0  # the log is another one: it was restored
        transaction.save_base(current, snapshot)
    return removed


def sweep(database: "Database", now: float | None = None) -> int:
    """Delete what is not needed any more, some rows at a time; return how many rows."""
    current_time = database.now() * MICROSECOND if now is None else now
    before = int((current_time - KEY_LIFETIME) / MICROSECOND)
    deleted = 0
    while some := database.sweep(before, _SWEEP_ROWS):
        deleted += some
        time.sleep(0.005)  # others take their turns
    return deleted
