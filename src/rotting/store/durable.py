"""Durable bandits: every change is in a store before the caller gets the response."""

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from os import PathLike
from typing import Any, Literal, Self, Unpack

from rotting.engines.tiers import CompileMode
from rotting.errors import InvalidValueError, RottingError, StoreFailedError
from rotting.live.arms import Arm, check_iterable, restore_arm
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditOptions, BanditState
from rotting.live.bandit_view import BanditView
from rotting.live.durations import Duration
from rotting.live.locks import Guard
from rotting.live.saved_state import StateParts
from rotting.policy import Policy
from rotting.store.descriptions import describe, window_in, with_current_words
from rotting.store.protocol import Durability, Payload, Store
from rotting.store.records import check_name
from rotting.store.restoring import Resumed, resume, snapshot_is_due
from rotting.store.writers import Writer, last_writer


class DurableBandit(Bandit[Arm]):
    """A bandit in a store; `rotting.open` returns one.

    Use it as a `Bandit`, in a `with` block or with a `close` at the end. When a method returns, its changes are in the store,
    as durable as requested. If a change cannot be written, the method and every later call raise an error: open the bandit
    again. A copy, even one in another process, is an independent bandit without a store.

    Args:
        resumed: the state that the store's events make.
        store: the store, which `close` closes.
        name: the name of the bandit in the store.
        description: the description of the bandit.
    """

    def __init__(self, resumed: Resumed, store: Store, name: str, description: Payload) -> None:
        state, self._unsaved = resumed.state, resumed.replayed  # events since the last snapshot
        self._store, self._name = store, name
        self._snapshot: threading.Thread | None = None  # writes a snapshot
        writer = Writer.of(state.policy)
        self._writer_note = None if writer == last_writer(store, name, description) else writer.to_note()
        BanditView.__init__(self, Guard(state, self._append_events))

    def _append_events(self, events: list[Payload]) -> None:
        """Append the events of a change to the store; called before the bandit's lock is released."""
        if self._writer_note is not None:
            events, self._writer_note = [self._writer_note, *events], None
        number = self._store.append((self._name, event) for event in events)
        self._unsaved += len(events)
        is_saving = self._snapshot is not None and self._snapshot.is_alive()
        if not is_saving and snapshot_is_due(self._guard.state, self._unsaved):
            # In a thread, so that the next decisions do not wait for the disk.
            arguments = (number, StateParts.of(self._guard.state))
            self._snapshot = threading.Thread(target=self._save_snapshot, args=arguments, name="rotting-snapshot")
            self._unsaved = 0
            self._snapshot.start()

    def _save_snapshot(self, number: int, parts: StateParts) -> None:
        with suppress(RottingError):  # no room, or closed: the log has every event, so nothing is lost
            self._store.save_snapshot(self._name, number, parts.to_json())

    def flush(self) -> None:
        """Write what was held back with durability "memory", without waiting for the disk."""
        with self._guard.lock:
            self._store.flush()

    def close(self) -> None:
        """Save the state and close the store. A second call does nothing."""
        parts = None
        try:
            with self._guard.lock:
                parts = StateParts.of(self._guard.state) if self._unsaved else None
                number = self._store.last
                self._guard.shut("the bandit is closed: open it again")
        except StoreFailedError:
            pass  # it was closed before
        finally:
            if self._snapshot is not None:
                self._snapshot.join()
            if parts is not None:
                self._save_snapshot(number, parts)
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open(  # noqa: A001 - `rotting.open`, as `gzip.open`
    path: str | PathLike[str],
    policy: Policy | None = None,
    arms: Iterable[Arm] | None = None,
    seed: int | None = None,
    pending: Literal["shrink", "ignore"] | None = None,
    max_pending: int | None = None,
    name: str = "bandit",
    durability: Durability = "disk",
    reward_window: Duration | None = None,
    missing: float | None = 0.0,
    probe: float | None = None,
    compile: CompileMode = "auto",
) -> DurableBandit[Arm]:
    """Create a durable bandit, or resume the one that the file holds.

    The same call does both. For a bandit that exists, arguments may be left out. Arguments that are passed must equal those
    that the bandit was created with; otherwise an error is raised, so that a program with changed arguments does not resume a
    bandit that does not match them. Add new arms with `add_arm`.

    Resuming applies the recorded decisions and rewards; it does not decide again. So a store also opens after an upgrade that
    changes decisions. `rotting log --verify` says which decisions would differ, and which version made them.

    Args:
        path: the file, which is created if it does not exist.
        policy: as for `Bandit`; required for a new one.
        arms: as for `Bandit`; required for a new one. For an existing one: the arms that it was created with, or those that it
            has now.
        seed: as for `Bandit`; 0 for a new one by default.
        pending: as for `Bandit`.
        max_pending: as for `Bandit`.
        name: the name of the bandit in the store.
        durability: what is safe when a method returns. "disk": its changes survive a power cut; "os": they survive a crash of
            the process; "memory": they are written together with later changes, and a crash of the process may lose the last
            ones.
        reward_window: as for `Bandit`. Times are saved with the decisions, so that windows also close after a restart.
        missing: as for `Bandit`, with a `reward_window`.
        probe: as for `Bandit`. The events say which arms were paused.
        compile: as for `Bandit`.

    Example:
        >>> import tempfile
        >>> import rotting
        >>> folder = tempfile.TemporaryDirectory()
        >>> for _ in range(3):
        ...     with rotting.open(f"{folder.name}/songs.rot", rotting.UCB1(), arms=["jazz", "rock"]) as bandit:
        ...         decision = bandit.decide()
        ...         print(decision.round, decision.arm, bandit.reward(decision.id, 1.0 if decision.arm == "jazz" else 0.0))
        1 jazz applied
        2 rock applied
        3 jazz applied
        >>> folder.cleanup()
    """
    from rotting.store.sqlite import SQLiteStore  # noqa: PLC0415 - needs an extra

    store = SQLiteStore(path, durability=durability)
    try:
        given = {"seed": seed, "pending": pending, "max_pending": max_pending, "probe": probe}
        options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        if reward_window is not None or missing != 0.0:
            options |= {"reward_window": reward_window, "missing": missing}
        return open_in(store, name, policy, arms, compile, **options)
    except BaseException:
        store.close()
        raise


def open_in(
    store: Store,
    name: str,
    policy: Policy | None,
    arms: Iterable[Arm] | None,
    compile: CompileMode = "auto",
    **options: Unpack[BanditOptions],
) -> DurableBandit[Arm]:
    """Create or resume a bandit in an open store; closing the bandit closes the store."""
    check_name(name)
    if arms is not None:
        check_iterable(arms)
    listed = None if arms is None else list(arms)
    known = store.bandits()
    if name not in known:
        if policy is None or listed is None:
            missing = "policy" if policy is None else "arms"
            raise InvalidValueError(missing, "be given for a bandit that is new to its store", None)
        state = BanditState.new(policy, listed, **options, compile=compile)
        description, resumed = describe(state, options.get("seed", 0)), Resumed(state)
        store.add_bandit(name, description)
    else:
        description = with_current_words(known[name])
        resumed = resume(store, name, description, compile)
        _check_same(description, resumed.state, policy, listed, options)
    return DurableBandit(resumed, store, name, description)


def _check_same(
    description: Payload, state: BanditState[Arm], policy: Policy | None, arms: list[Arm] | None, options: Mapping[str, object]
) -> None:
    if policy is not None and policy != state.policy:
        raise InvalidValueError("policy", f"be that of the store, {state.policy!r}", policy)
    present = [state.arms.names[slot] for slot in state.arms.slots]
    if arms is not None and arms not in ([restore_arm(arm) for arm in description["arms"]], present):
        raise InvalidValueError("arms", "be those that the bandit was made with, or has now", arms, hint="; see add_arm")
    window = window_in(options, state.policy)
    if window is not None and window != state.window:
        rule = "be those of the store, " + ("none" if state.window is None else repr(tuple(state.window)))
        raise InvalidValueError("reward_window and missing", rule, tuple(window))
    for key in ("seed", "pending", "max_pending", "probe"):
        if key in options and options[key] != description.get(key):
            raise InvalidValueError(key, f"be that of the store, {description.get(key)!r}", options[key])
