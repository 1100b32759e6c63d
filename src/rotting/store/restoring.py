"""Restores the state of a bandit from its description, its snapshots and its events."""

import logging
from typing import NamedTuple

from rotting.engines.tiers import CompileMode
from rotting.errors import RottingError, StoreError
from rotting.live.bandit_state import BanditState
from rotting.live.policy_state import arrays
from rotting.live.saved_state import restore
from rotting.store import limits
from rotting.store.descriptions import initial_state
from rotting.store.protocol import Payload, Store
from rotting.store.records import event_in

UNREADABLE = (RottingError, ValueError, TypeError, LookupError, AttributeError)
"""What reading a snapshot may raise if another version wrote it."""

_log = logging.getLogger("rotting.store")


class Resumed(NamedTuple):
    """A bandit that was read from a store."""

    state: BanditState
    last: int = 0
    """The number of its last event."""
    replayed: int = 0
    """How many events were applied after the snapshot."""


def resume(store: Store, name: str, description: Payload, compile: CompileMode = "auto") -> Resumed:
    """Return the state of a bandit: its newest usable snapshot, with the events after it applied.

    The log is trusted: decisions are not made again, so that a store also opens with another version of its policy. A snapshot
    that cannot be read, or that the events after it contradict, is skipped: the log has every event.
    """
    for snapshot in store.snapshots(name):
        try:
            return _apply_events(restore(snapshot.state, compile), store, name, snapshot.number)
        except StoreError:
            raise
        except UNREADABLE as error:
            _log.warning("bandit %s: the snapshot at event %d is skipped: %s", name, snapshot.number, error)
    return _apply_events(initial_state(description, compile), store, name, 0)


def snapshot_is_due(state: BanditState, unsaved: int) -> bool:
    """Return whether a bandit should be saved, given the number of events since its last snapshot.

    Loading replays the events after the last snapshot, so their number is bounded. A large state is saved less often: writing
    snapshots must take little time compared with writing events.
    """
    if unsaved < limits.SNAPSHOT_EVENTS:
        return False
    size: int = sum(array.nbytes for array in arrays(state.learner.state))
    events = limits.SNAPSHOT_EVENTS * min(limits.MAX_SNAPSHOT_FACTOR, max(1.0, size / limits.SNAPSHOT_BYTES))
    return unsaved >= max(events, state.ledger.size)


def _apply_events(state: BanditState, store: Store, name: str, after: int) -> Resumed:
    last, replayed = after, 0
    for event in store.read(name, after):
        last, replayed = event.number, replayed + 1
        change = event_in(event.payload)
        if change is not None:
            state.apply(change)
    return Resumed(state, last, replayed)
