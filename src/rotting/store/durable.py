"""A bandit that outlives its process: every change is in a store before the caller has the reply."""

import logging
import threading
from collections.abc import Hashable, Iterable
from contextlib import suppress
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from rotting.errors import InvalidValueError, RottingError, StoreError, StoreFailedError, brief
from rotting.live.arms import check_iterable, restore_arm
from rotting.live.bandit import Bandit
from rotting.live.saved_state import Parts
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.store.protocol import Durability, Event, Payload, Snapshot, Store
from rotting.store.records import check_name, event_in

_log = logging.getLogger("rotting.store")
_UNREADABLE = (RottingError, ValueError, TypeError, LookupError, AttributeError)  # what reading a foreign state may raise
AnyBandit = TypeVar("AnyBandit", bound=Bandit)

_SNAPSHOT_EVERY = 100_000  # events: a second or two to play again when a store is opened; a snapshot takes time too


class DurableBandit(Bandit):
    """A bandit in a store; `rotting.open` makes one.

    It is used as a `Bandit` is, in a `with` block or with a `close` in the end. A reply means that what it tells is in the
    store, as durable as was asked for. When the store refuses a change, so does the bandit, and every later call fails:
    open it again. A copy, also in another process, is a bandit of its own, without a store.
    """

    def _live_in(self, store: Store, name: str) -> None:
        """From now on, keep every event in a store that holds all events so far."""
        self._store, self._name, self._unsaved = store, name, 0
        self._snapshot: threading.Thread | None = None  # the one that is being written
        self._listen(self._keep)

    def _keep(self, events: list[Payload]) -> None:
        """Called under the lock, when the bandit has changed and before it replies."""
        number = self._store.append((self._name, event) for event in events)
        self._unsaved += len(events)
        if self._unsaved >= _SNAPSHOT_EVERY and (self._snapshot is None or not self._snapshot.is_alive()):
            # Beside the decisions that follow: they would wait for the disk.
            self._snapshot = threading.Thread(target=self._save, args=(number, self._parts()), name="rotting-snapshot")
            self._unsaved = 0
            self._snapshot.start()

    def _save(self, number: int, parts: Parts) -> None:
        with suppress(RottingError):  # no room, or closed: the log has all that was told, which is what counts
            self._store.save_snapshot(self._name, number, parts.to_json())

    def flush(self) -> None:
        """Hand over to the operating system what was held back with durability "memory"."""
        with self._lock:
            self._store.flush()

    def close(self) -> None:
        """Save the state and close the store. A second call does nothing."""
        gate, parts = self._lock, None
        try:
            with gate:
                parts, number = self._parts() if self._unsaved else None, self._store.last
                gate.shut("the bandit is closed: open it again")
        except StoreFailedError:
            pass  # it was shut before
        finally:
            if self._snapshot is not None:
                self._snapshot.join()
            if parts is not None:
                self._save(number, parts)
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Bandit.from_state, (self.get_state(),)


def open(  # noqa: A001 - `rotting.open`, as `gzip.open`
    path: str | PathLike[str],
    policy: Policy | None = None,
    arms: Iterable[Hashable] | None = None,
    seed: int | None = None,
    pending: Literal["young", "ignore"] | None = None,
    max_pending: int | None = None,
    name: str = "bandit",
    durability: Durability = "disk",
) -> DurableBandit:
    """Make a durable bandit, or resume the one that is there.

    The same line does both. What is left out is as it was; what is given must be as it was, so that a changed program does not
    go on with another bandit than it says. Arms that came later are added with `add_arm`.

    Args:
        path: the file, which is made if it is not there.
        policy: as for `Bandit`; needed for a new one.
        arms: as for `Bandit`; needed for a new one. Later: those it was made with, or those it has now.
        seed: as for `Bandit`; 0 for a new one by default.
        pending: as for `Bandit`.
        max_pending: as for `Bandit`.
        name: which bandit of the store.
        durability: what a reply means. "disk": what it tells outlives a power cut; "os": it outlives the process; "memory": it
            is written with what follows, and the last of it may be lost with the process.

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
        given = {"seed": seed, "pending": pending, "max_pending": max_pending}
        return open_in(store, name, policy, arms, **{key: value for key, value in given.items() if value is not None})
    except BaseException:
        store.close()
        raise


def open_in(store: Store, name: str, policy: Policy | None, arms: Iterable[Hashable] | None, **options: Any) -> DurableBandit:
    """Make or resume a bandit in a store that is open; closing the bandit closes the store."""
    check_name(name)
    if arms is not None:
        check_iterable(arms)
    listed = None if arms is None else list(arms)
    known = store.bandits()
    if name not in known:
        if policy is None or listed is None:
            missing = "policy" if policy is None else "arms"
            raise InvalidValueError(missing, "be given for a bandit that is new to its store", None)
        bandit = DurableBandit(policy, listed, **options)
        store.add_bandit(name, describe(bandit, options.get("seed", 0)))
    else:
        bandit = resume(store, name, known[name], DurableBandit)
        _check_same(known[name], bandit, policy, listed, options)
    bandit._live_in(store, name)
    return bandit


def describe(bandit: Bandit, seed: int) -> Payload:
    """Return what makes a bandit again that has seen nothing yet."""
    return {
        "policy": bandit.policy.to_json(),
        "arms": list(bandit.arms),
        "seed": seed,
        "pending": bandit._pending,
        "max_pending": bandit._ledger.max_pending,
    }


def _new(meta: Payload, kind: type[AnyBandit]) -> AnyBandit:
    """Return the bandit as it was before its first event."""
    arms = [restore_arm(arm) for arm in meta["arms"]]
    return kind(policy_from_json(meta["policy"]), arms, meta["seed"], meta["pending"], meta["max_pending"])


def resume(store: Store, name: str, meta: Payload, kind: type[AnyBandit]) -> AnyBandit:
    """Return the bandit that its events make, from the newest snapshot on that they can be applied to.

    A snapshot that cannot be read back, or that the events after it contradict, is passed over: the log has everything.
    """
    for snapshot in store.snapshots(name):
        try:
            bandit = kind.from_state(snapshot.state)
            assert isinstance(bandit, kind)
            return _apply_events(bandit, store, name, snapshot.number)
        except StoreError:
            raise
        except _UNREADABLE as error:
            _log.warning("bandit %s: the snapshot at event %d is passed over: %s", name, snapshot.number, error)
    return _apply_events(_new(meta, kind), store, name, 0)


def _apply_events(bandit: AnyBandit, store: Store, name: str, after: int) -> AnyBandit:
    for event in store.read(name, after):
        change = event_in(event.payload)
        if change is not None:
            bandit._apply(change)
    return bandit


def _check_same(
    meta: Payload, bandit: Bandit, policy: Policy | None, arms: list[Hashable] | None, options: dict[str, Any]
) -> None:
    if policy is not None and policy != bandit.policy:
        raise InvalidValueError("policy", f"be that of the store, {bandit.policy!r}", policy)
    if arms is not None and arms not in ([restore_arm(arm) for arm in meta["arms"]], list(bandit.arms)):
        raise InvalidValueError("arms", "be those that the bandit was made with, or has now", arms, hint="; see add_arm")
    for key, value in options.items():
        if value != meta[key]:
            raise InvalidValueError(key, f"be that of the store, {meta[key]!r}", value)


def replaying(store: Store) -> "LogReplay":
    """Return what `verify` needs to play every event again, and to compare every choice and every snapshot that is kept."""
    return LogReplay(store)


class LogReplay:
    """Plays the bandits of a store again beside the log.

    What follows a difference follows from another state, so only the first one of each bandit is reported. A snapshot is
    compared when the log has passed its number, whichever bandit the next event belongs to.

    Args:
        store: the store, also one that is being written to.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._twins: dict[str, Bandit] = {name: _new(meta, DurableBandit) for name, meta in store.bandits().items()}
        # Only their numbers: the states of many bandits may need more memory than there is.
        self._due = [(snapshot.number, name) for name in self._twins for snapshot in store.snapshots(name)]
        self._due.sort(reverse=True)

    def play(self, event: Event) -> list[str]:
        """Play an event again; return a sentence for each difference."""
        problems = self._compare_snapshots(before=event.number)
        twin, change = self._twins.get(event.bandit), event_in(event.payload)
        if twin is not None and change is not None:
            try:
                twin._apply(change)
            except RottingError as error:
                del self._twins[event.bandit]
                problems.append(f"event {event.number}: {error}")
        return problems

    def finish(self) -> list[str]:
        """Compare the snapshots at the end of the log."""
        return self._compare_snapshots()

    def _compare_snapshots(self, before: int | None = None) -> list[str]:
        problems = []
        while self._due and (before is None or self._due[-1][0] < before):
            number, name = self._due.pop()
            twin = self._twins.get(name)
            for snapshot in self._store.snapshots(name) if twin is not None else ():
                if snapshot.number == number and twin is not None:
                    problems += _difference(name, snapshot, twin)
        return problems


def _difference(name: str, snapshot: Snapshot, twin: Bandit) -> list[str]:
    """Compare a snapshot with the bandit that the events up to its number make."""
    if snapshot.state == twin.get_state():
        return []
    what = f"event {snapshot.number}: the snapshot of bandit {brief(name)}"
    try:
        Bandit.from_state(snapshot.state)
    except _UNREADABLE as error:
        return [f"{what} cannot be read back: {error}"]
    return [f"{what} is not the state that the events up to it make"]
