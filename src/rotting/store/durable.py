"""Durable bandits: every change is in a store before the caller gets the response."""

import logging
import threading
from collections import Counter
from collections.abc import Hashable, Iterable
from contextlib import suppress
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self

from rotting.errors import InvalidValueError, RottingError, StoreError, StoreFailedError, brief
from rotting.live.arms import check_iterable, restore_arm
from rotting.live.bandit import Bandit
from rotting.live.processes import Guard
from rotting.live.saved_state import Parts, current_rule, restore
from rotting.live.state import BanditState
from rotting.live.view import BanditView
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.store.protocol import Durability, Event, Payload, Snapshot, Store
from rotting.store.records import check_name, event_in
from rotting.store.writers import Writer, last_writer

_log = logging.getLogger("rotting.store")
_UNREADABLE = (RottingError, ValueError, TypeError, LookupError, AttributeError)  # what reading a foreign state may raise

_SNAPSHOT_EVERY = 100_000  # events: replaying them takes a second or two when a store is opened


class DurableBandit(Bandit):
    """A bandit in a store; `rotting.open` makes one.

    Use it as a `Bandit`, in a `with` block or with a `close` at the end. When a method returns, its changes are in the store,
    as durable as was asked for. If the store refuses a change, the method raises, and every later call fails: open the bandit
    again. A copy, also in another process, is an independent bandit without a store.

    Args:
        state: the state that the store's events make.
        store: the store, which `close` closes.
        name: the name of the bandit in the store.
    """

    def __init__(self, state: BanditState, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._unsaved = 0  # events since the last snapshot
        self._snapshot: threading.Thread | None = None  # writes a snapshot
        writer = Writer.of(state.policy)
        self._writer_note = None if writer == last_writer(store, name) else writer.to_note()
        self._recorder = Guard(state, self._append_events)
        BanditView.__init__(self, self._recorder)

    def _append_events(self, events: list[Payload]) -> None:
        """Append the events of a change to the store; called before the bandit's lock is released."""
        if self._writer_note is not None:
            events, self._writer_note = [self._writer_note, *events], None
        number = self._store.append((self._name, event) for event in events)
        self._unsaved += len(events)
        if self._unsaved >= _SNAPSHOT_EVERY and (self._snapshot is None or not self._snapshot.is_alive()):
            # In a thread, so that the next decisions do not wait for the disk.
            arguments = (number, Parts.of(self._recorder.state))
            self._snapshot = threading.Thread(target=self._save_snapshot, args=arguments, name="rotting-snapshot")
            self._unsaved = 0
            self._snapshot.start()

    def _save_snapshot(self, number: int, parts: Parts) -> None:
        with suppress(RottingError):  # no room, or closed: the log has every event, so nothing is lost
            self._store.save_snapshot(self._name, number, parts.to_json())

    def flush(self) -> None:
        """Hand over to the operating system what was held back with durability "memory"."""
        with self._recorder.lock:
            self._store.flush()

    def close(self) -> None:
        """Save the state and close the store. A second call does nothing."""
        parts = None
        try:
            with self._recorder.lock:
                parts, number = Parts.of(self._recorder.state) if self._unsaved else None, self._store.last
                self._recorder.shut("the bandit is closed: open it again")
        except StoreFailedError:
            pass  # it was shut before
        finally:
            if self._snapshot is not None:
                self._snapshot.join()
            if parts is not None:
                self._save_snapshot(number, parts)
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open(  # noqa: A001 - `rotting.open`, as `gzip.open`
    path: str | PathLike[str],
    policy: Policy | None = None,
    arms: Iterable[Hashable] | None = None,
    seed: int | None = None,
    pending: Literal["shrink", "ignore"] | None = None,
    max_pending: int | None = None,
    name: str = "bandit",
    durability: Durability = "disk",
) -> DurableBandit:
    """Create a durable bandit, or resume the one that the file holds.

    The same line does both. For a bandit that exists, arguments may be left out. Arguments that are passed must be those that
    it was created with, so that a changed program does not go on with another bandit than it says. Add new arms with `add_arm`.

    Resuming applies the recorded decisions and rewards; it does not decide again. So a store also opens after an upgrade that
    changes decisions. `rotting log --verify` says which decisions would differ, and which version made them.

    Args:
        path: the file, which is created if it does not exist.
        policy: as for `Bandit`; required for a new one.
        arms: as for `Bandit`; required for a new one. Later: those it was created with, or those it has now.
        seed: as for `Bandit`; 0 for a new one by default.
        pending: as for `Bandit`.
        max_pending: as for `Bandit`.
        name: which bandit of the store.
        durability: what is safe when a method returns. "disk": its changes survive a power cut; "os": they survive the process;
            "memory": they are written with later changes, and the last ones may be lost with the process.

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
        state = BanditState.new(policy, listed, **options)
        store.add_bandit(name, describe(state, options.get("seed", 0)))
    else:
        meta = with_current_words(known[name])
        state = resume(store, name, meta)
        _check_same(meta, state, policy, listed, options)
    return DurableBandit(state, store, name)


def describe(state: BanditState, seed: int) -> Payload:
    """Return the description of a new bandit, from which `resume` makes its first state."""
    return {
        "policy": state.policy.to_json(),
        "arms": [state.arms.names[slot] for slot in state.arms.slots],
        "seed": seed,
        "pending": state.pending_rule,
        "max_pending": state.ledger.max_pending,
        **Writer.of(state.policy).to_json(),
    }


def with_current_words(meta: Payload) -> Payload:
    """Return a description that a store holds, perhaps from an earlier version, in the words of this one."""
    return {**meta, "pending": current_rule(meta["pending"])} if "pending" in meta else meta


def _new(meta: Payload) -> BanditState:
    """Return the state before the first event."""
    arms = [restore_arm(arm) for arm in meta["arms"]]
    pending = current_rule(meta["pending"])
    return BanditState.new(policy_from_json(meta["policy"]), arms, meta["seed"], pending, meta["max_pending"])


def resume(store: Store, name: str, meta: Payload) -> BanditState:
    """Return the state of a bandit: its newest usable snapshot, and the events after it (see `BanditState.apply`).

    The log is trusted: decisions are not made again, so that a store also opens with another version of its policy. A snapshot
    that cannot be read, or that the events after it contradict, is skipped: the log has every event.
    """
    for snapshot in store.snapshots(name):
        try:
            return _apply_events(restore(snapshot.state), store, name, snapshot.number)
        except StoreError:
            raise
        except _UNREADABLE as error:
            _log.warning("bandit %s: the snapshot at event %d is skipped: %s", name, snapshot.number, error)
    return _apply_events(_new(meta), store, name, 0)


def _apply_events(state: BanditState, store: Store, name: str, after: int) -> BanditState:
    for event in store.read(name, after):
        change = event_in(event.payload)
        if change is not None:
            state.apply(change)
    return state


def _check_same(
    meta: Payload, state: BanditState, policy: Policy | None, arms: list[Hashable] | None, options: dict[str, Any]
) -> None:
    if policy is not None and policy != state.policy:
        raise InvalidValueError("policy", f"be that of the store, {state.policy!r}", policy)
    present = [state.arms.names[slot] for slot in state.arms.slots]
    if arms is not None and arms not in ([restore_arm(arm) for arm in meta["arms"]], present):
        raise InvalidValueError("arms", "be those that the bandit was made with, or has now", arms, hint="; see add_arm")
    for key, value in options.items():
        if value != meta[key]:
            raise InvalidValueError(key, f"be that of the store, {meta[key]!r}", value)


def replaying(store: Store) -> "LogReplay":
    """Return the replay for `verify`, which compares every decision and every snapshot."""
    return LogReplay(store)


class LogReplay:
    """Replays the bandits of a store beside the log, and compares decisions and snapshots with what the present code makes.

    A difference is a problem if the present code wrote it, from a state that the present code made. Otherwise, it is a note:
    after an upgrade of the library or of a policy, decisions may differ. Of each bandit, only the first problem is reported,
    since what follows it follows from another state. A snapshot is compared when the log has passed its number, whichever
    bandit the next event belongs to.

    Args:
        store: the store, also one that is being written to.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        metas = store.bandits()
        self._twins = {name: _new(meta) for name, meta in metas.items()}
        self._present = {name: Writer.of(twin.policy) for name, twin in self._twins.items()}
        self._writers = {name: Writer.from_json(meta) for name, meta in metas.items()}
        self._epochs: dict[tuple[str, Writer | None], set[int]] = {}  # by name of the policy and writer
        self._inherited: set[str] = set()  # bandits whose state may be that of other code
        self._decisions: Counter[tuple[str, Writer | None]] = Counter()  # by bandit and writer
        self._different: Counter[tuple[str, Writer | None]] = Counter()  # those of them that differ, and need not be the same
        self._first_difference: dict[tuple[str, Writer | None], str] = {}
        self.notes: list[str] = []
        # Only their numbers: the states of many bandits may need more memory than there is.
        self._due = [(snapshot.number, name) for name in self._twins for snapshot in store.snapshots(name)]
        self._due.sort(reverse=True)

    def play(self, event: Event) -> list[str]:
        """Replay an event; return a sentence for each problem."""
        problems = self._compare_snapshots(before=event.number)
        name, change = event.bandit, event_in(event.payload)
        if event.payload.get("note") == Writer.NOTE:
            self._writers[name] = Writer.from_json(event.payload)
        twin = self._twins.get(name)
        if twin is None or change is None:
            return problems
        writer = self._writers.get(name)
        self._epochs.setdefault((twin.policy.name, writer), set()).add(event.epoch)
        if writer != self._present[name]:
            self._inherited.add(name)
        try:
            decision = twin.apply(change)
        except RottingError as error:
            del self._twins[name]
            return [*problems, f"event {event.number}: {error}"]
        if decision is not None:
            self._decisions[name, writer] += 1
            if decision.differs:
                what = f"the decision of round {change['round']} was {decision.recorded!r}, and is {decision.chosen!r} now"
                if name in self._inherited:
                    self._different[name, writer] += 1
                    self._first_difference.setdefault((name, writer), what)
                else:
                    del self._twins[name]
                    problems.append(f"event {event.number}: {what}; epoch {event.epoch} was written by {writer}, as this is")
        return problems

    def finish(self) -> list[str]:
        """Compare the snapshots at the end of the log, and complete the notes."""
        problems = self._compare_snapshots()
        present = set(self._present.values())
        if any(writer not in present for _, writer in self._epochs):
            writers = []
            for (policy, writer), epochs in self._epochs.items():
                by = "an unknown version" if writer is None else f"{writer}{', as this is' if writer in present else ''}"
                writers.append(f"{policy}: {_ranges(epochs)} written by {by}")
            self.notes[:0] = writers
        for (name, writer), first in self._first_difference.items():
            whose = "this code in a state that other code left" if writer == self._present[name] else "other code"
            share = f"{self._different[name, writer]} of {self._decisions[name, writer]} decisions of {whose} would differ"
            self.notes.append(f"bandit {brief(name)}: {share} today; first, {first}")
        return problems

    def _compare_snapshots(self, before: int | None = None) -> list[str]:
        problems = []
        while self._due and (before is None or self._due[-1][0] < before):
            number, name = self._due.pop()
            twin = self._twins.get(name)
            for snapshot in self._store.snapshots(name) if twin is not None else ():
                if snapshot.number == number and twin is not None:
                    problems += self._compare_snapshot(name, snapshot, twin)
        return problems

    def _compare_snapshot(self, name: str, snapshot: Snapshot, twin: BanditState) -> list[str]:
        """Compare a snapshot with the state that the events up to its number make.

        If other code wrote some of the events, the replay goes on from the snapshot, as the bandit itself did: what the present
        code decides after it is the same again.
        """
        found: list[str] = []
        what = f"event {snapshot.number}: the snapshot of bandit {brief(name)}"
        try:
            if not _is_same(snapshot.state, twin):
                found.append(f"{what} is not the state that the events up to it make")
                if name in self._inherited:
                    self._twins[name] = restore(snapshot.state)
        except _UNREADABLE as error:
            found.append(f"{what} cannot be read back: {error}")
        if name not in self._inherited:
            return found
        self.notes += [f"{each}; other code wrote some of them" for each in found]
        if not found or self._twins[name] is not twin:
            self._inherited.discard(name)
        return []


def _is_same(saved: Payload, state: BanditState) -> bool:
    """Return whether a saved state is a state, also if an earlier version wrote it in other words."""
    made = Parts.of(state)
    if saved == made.to_json():
        return True
    parts = Parts.of(restore(saved))
    if parts.learner.updates >= made.learner.updates:  # an earlier version made other room for the same content
        parts.learner.match_room(made.learner)
    return parts.to_json() == made.to_json()


def _ranges(epochs: set[int]) -> str:
    """Return the numbers of epochs in a few words.

    Example:
        >>> _ranges({4}), _ranges({1, 2, 3, 5})
        ('epoch 4 was', 'epochs 1-3, 5 were')
    """
    firsts = sorted(epochs - {each + 1 for each in epochs})
    lasts = sorted(epochs - {each - 1 for each in epochs})
    listed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True))
    return f"epoch {listed} was" if len(epochs) == 1 else f"epochs {listed} were"
