"""Describes a bandit when it is added to a store, and restores its state from that description, snapshots and events."""

import logging

from rotting.errors import RottingError, StoreError
from rotting.live.arms import restore_arm
from rotting.live.saved_state import current_rule, restore
from rotting.live.state import BanditState
from rotting.registry import from_json as policy_from_json
from rotting.store import limits
from rotting.store.protocol import Payload, Store
from rotting.store.records import event_in
from rotting.store.writers import Writer

UNREADABLE = (RottingError, ValueError, TypeError, LookupError, AttributeError)
"""What reading a snapshot may raise if another version wrote it."""

_log = logging.getLogger("rotting.store")


def describe(state: BanditState, seed: int) -> Payload:
    """Return the description of a new bandit, from which `initial_state` makes its state."""
    window = {} if state.window is None else {"reward_window": state.window.seconds, "missing": state.window.missing}
    return {
        "policy": state.policy.to_json(),
        "arms": [state.arms.names[slot] for slot in state.arms.slots],
        "seed": seed,
        "pending": state.pending_rule,
        "max_pending": state.ledger.max_pending,
        **window,
        **Writer.of(state.policy).to_json(),
    }


def with_current_words(meta: Payload) -> Payload:
    """Return a description from a store with the words that an earlier version used replaced by the present ones."""
    return {**meta, "pending": current_rule(meta["pending"])} if "pending" in meta else meta


def initial_state(meta: Payload) -> BanditState:
    """Return the state of a bandit before its first event."""
    arms = [restore_arm(arm) for arm in meta["arms"]]
    pending = current_rule(meta["pending"])
    window = {key: meta[key] for key in ("reward_window", "missing") if key in meta}
    return BanditState.new(policy_from_json(meta["policy"]), arms, meta["seed"], pending, meta["max_pending"], **window)


def is_snapshot_due(unsaved: int, state: BanditState) -> bool:
    """Return whether to save a snapshot after `unsaved` events without one.

    A state with many decisions is saved less often, so that saving adds a constant time to each event.
    """
    return unsaved >= max(limits.SNAPSHOT_EVENTS, state.ledger.size)


def resume(store: Store, name: str, meta: Payload) -> BanditState:
    """Return the state of a bandit: its newest usable snapshot, with the events after it applied.

    The log is trusted: decisions are not made again, so that a store also opens with another version of its policy. A snapshot
    that cannot be read, or that the events after it contradict, is skipped: the log has every event.
    """
    for snapshot in store.snapshots(name):
        try:
            return _apply_events(restore(snapshot.state), store, name, snapshot.number)
        except StoreError:
            raise
        except UNREADABLE as error:
            _log.warning("bandit %s: the snapshot at event %d is skipped: %s", name, snapshot.number, error)
    return _apply_events(initial_state(meta), store, name, 0)


def _apply_events(state: BanditState, store: Store, name: str, after: int) -> BanditState:
    for event in store.read(name, after):
        change = event_in(event.payload)
        if change is not None:
            state.apply(change)
    return state
