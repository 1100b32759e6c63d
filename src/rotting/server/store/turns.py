"""Changes of bandits, which many processes and threads make at the same time.

The log of a bandit is the only truth. What a process has in memory, a `FoldedBandit`, is a cache of its fold. Every change is
made in a *turn*: one transaction that locks the bandit, folds the events that others have written since, makes the calls that
wait, appends their events, and commits. Only then do the callers get their results. If anything fails, the transaction is
rolled back and the cache is dropped. So nobody owns a bandit, and nobody has to be replaced when a process dies.

Calls that arrive during a turn share the next one. The first caller that finds no turn under way starts one in a worker thread;
callers only wait, so that a caller who gives up takes nobody down.
"""

import logging
import math
import os
import random
import sys
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from rotting.errors import (
    InvalidArgumentError,
    InvalidValueError,
    OutcomeUnknownError,
    RottingError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFailedError,
    StoreFormatError,
)
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.events import Event
from rotting.live.locks import Guard
from rotting.live.policy_state import arrays
from rotting.live.values import Decision, RewardRule
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.server.store.database import MAX_BYTES, MAX_EVENTS, POLICY_CHANGED, Database, Reading, Transaction
from rotting.server.store.events import (
    MICROSECOND,
    BanditRecord,
    StoredEvent,
    StoredKey,
    StoredSnapshot,
    chained,
    decode_event,
    encode_event,
    event_digest,
    initial_state,
)
from rotting.server.store.snapshots import SNAPSHOT_EVENTS, UNREADABLE, restore_snapshot, to_snapshot
from rotting.simulation.engines.tiers import CompileMode

T = TypeVar("T")

MAX_WAITING = 10_000
"""How many calls of a lane may wait for a turn."""
_MAX_CALLS = 256  # calls that share a turn
_MAX_SECONDS = 0.1  # of computing in a turn; the calls that are left wait for the next one
_PATIENCE = 0.05  # seconds that a turn waits for a read of its bandit
_MAX_FOLDED = 10_000  # bandits in memory; the one that was used longest ago is dropped
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5)  # seconds between two attempts, while the database cannot be reached
_NEVER = sys.maxsize  # a time in microseconds
_LEAST_WAIT = 1_000_000  # microseconds between two due times of a bandit, so that not every turn writes one
_SETTLE_AGAIN = 60.0  # seconds after which a bandit that could not be settled is tried again
_PASSING = (StoreFailedError, StoreBusyError, OutcomeUnknownError)
"""Errors of a database that may come back: calls are made again until their deadline."""
_log = logging.getLogger("rotting.server")


class RecordedBandit(Bandit[Any]):
    """A bandit that a `FoldedBandit` uses: it keeps its events for the turn, and its warnings for the callers."""

    def __init__(self, state: BanditState, clock: Callable[[], float], warn: Callable[[str], object]) -> None:
        state.events = []
        self._hold(Guard(state, clock=clock), warn)

    def take_events(self) -> list[dict[str, Any]]:
        """Return the events since the last call."""
        events, self._state.events = self._state.events or [], []
        return events

    def settle(self) -> None:
        """Settle the decisions whose reward window has closed."""
        self._guard.settle()

    @property
    def state(self) -> BanditState:
        """The state."""
        return self._state


class PolicyChanged(Exception):  # noqa: N818 - not an error
    """A log has an event with which the policy has changed: what is before it must be learned anew."""

    def __init__(self, event: StoredEvent) -> None:
        super().__init__(event.number)
        self.event = event


class FoldedBandit:
    """A bandit in memory: the fold of its log up to an event.

    Args:
        record: the bandit.
        state: the state after the event `number`.
        number: the number of the last event that is folded.
        digest: its digest.
        time: its time, in microseconds since 1970.
    """

    def __init__(self, record: BanditRecord, state: BanditState, number: int, digest: bytes, time: int = 0) -> None:
        self.record, self.number, self.digest, self.time = record, number, digest, time
        self.learned_until = number
        """The number of an event: the policy after it has learned what is before it."""
        self.warnings: list[str] = []
        """The warnings of the call that is being made."""
        self.lock = threading.RLock()
        """Held while the bandit is changed, until the change is committed."""
        self.bandit = RecordedBandit(state, lambda: self.time * MICROSECOND, self.warnings.append)
        self.has_new_policy = False
        """Whether the policy was changed in this turn, so that the state must be saved with the event."""
        self.keys: dict[str, StoredKey] = {}
        """The idempotency keys that the calls of this turn ask for, and those that they store."""
        self.changes: dict[str, Any] = {}
        """The changes of the record in this turn: `archived`, `keep` or `deleted`."""
        self.latest: Decision | None = None
        """The latest decision, with its reason."""
        self.due = _NEVER if state.window is None else 0
        """Until when the table of due times has a time for the bandit, as far as is known here."""
        self._due_window = state.window
        self._events: list[StoredEvent] = []
        self._new_keys: dict[str, StoredKey] = {}

    def matches(self, record: BanditRecord, events: list[StoredEvent]) -> bool:
        """Return whether the log, read from event `number` on, continues what is folded, with the same policy.

        After the database was restored or has failed over, it may not begin with the event that was folded last.
        """
        if record.id != self.record.id or self.number < record.base:
            return False
        if any(changes_policy(event) and event.number > self.number for event in events):
            return False
        if self.number == record.base:
            return self.digest == record.first_digest
        return bool(events) and events[0].number == self.number and events[0].digest == self.digest

    def follow(self, events: Sequence[StoredEvent], rule: RewardRule | None = None) -> None:
        """Fold events; those that are folded already are passed over.

        Raises a `StoreError` if the chain is broken, and `PolicyChanged` before an event after which the policy is another one,
        unless the state has learned with that policy from the beginning. Rewards must keep the `rule`, if one is given.
        """
        state, decided = self.bandit.state, b'{"event":"decided"'
        last = max((k for k, each in enumerate(events) if each.payload.startswith(decided)), default=-1)
        state.events = None  # what others have written is not written again
        try:
            for k, event in enumerate(events):
                if event.number <= self.number:
                    self.time = max(self.time, event.time)
                    continue
                if changes_policy(event) and event.number > self.learned_until:
                    raise PolicyChanged(event)
                number, when, caller, payload, digest = event
                if number != self.number + 1 or event_digest(self.digest, number, when, caller, payload) != digest:
                    name = self.record.name
                    raise StoreDamagedError(f"is damaged: event {self.number + 1} of bandit {name!r} is not what was written")
                content = decode_event(event)
                if rule is not None:
                    for reward in content.get("rewards") or (content.get("reward"),):
                        if reward is not None:
                            rule.check(reward)
                try:
                    made = state.apply(content, explained=k == last)
                except InvalidArgumentError as error:
                    reason = f"is damaged: event {number} of bandit {self.record.name!r} does not fit those before it: {error}"
                    raise StoreDamagedError(reason) from error
                self.number, self.digest, self.time = number, digest, when
                if made is not None and made.reason is not None:
                    entry = made.entry
                    propensity = math.nan if entry.propensity is None else entry.propensity
                    self.latest = Decision(str(entry.key), made.recorded, entry.round, propensity, made.reason)
        finally:
            state.events = []

    def take_over(self, twin: "FoldedBandit", event: Event) -> None:
        """Go on with the state of a twin that has learned the same events with another policy, and record the change."""
        state = twin.bandit.state
        self.bandit = RecordedBandit(state, lambda: self.time * MICROSECOND, self.warnings.append)
        self.bandit.settle()
        state.change(event)
        self.has_new_policy = True

    def settle(self) -> None:
        """Settle the decisions whose reward window has closed; the time in the table of due times has come."""
        self.due = 0
        self.bandit.settle()

    def store_key(self, key: str, request: bytes, answer: bytes) -> None:
        """Store an idempotency key with the change that is being made; an empty answer cancels it."""
        stored = StoredKey(key, request, self.time, answer)
        self.keys[key] = stored
        self._new_keys[key] = stored

    def record_events(self, caller: str) -> None:
        """Add the events of the call that was just made to the log."""
        payloads = [encode_event(event) for event in self.bandit.take_events()]
        if payloads:
            new = chained(self.digest, self.number, self.time, caller, payloads)
            self.number, self.digest = new[-1].number, new[-1].digest
            self._events += new

    def show_changes(self) -> None:
        """Let the later calls of the turn see that the bandit was archived or deleted."""
        if self.changes.get("archived") or self.changes.get("deleted"):
            self.record = self.record._replace(archived=True)

    def write(self, transaction: Transaction) -> list[StoredEvent]:
        """Write what the calls of this turn have changed, and return their events."""
        events, keys, changes = self._events, self._new_keys, self.changes
        self._events, self._new_keys, self.changes, self.keys = [], {}, {}, {}
        if events or keys:
            transaction.append(self.record, events, keys.values())
        if self.has_new_policy:
            transaction.save_snapshot(self.record, to_snapshot(self.number, self.digest, self.bandit.state))
            self.has_new_policy = False
        self._write_due(transaction)
        if changes.pop("deleted", False):
            transaction.delete(self.record)
        elif changes:
            self.record = self.record._replace(**changes)
            transaction.update(self.record)
        return events

    def _write_due(self, transaction: Transaction) -> None:
        """Write when the next reward window closes, unless a time that has not come yet is written.

        Rewards that come only move the next closing away, so that a written time may be early, but is never late. Since others
        rely on it, it stays until it has come, even if nothing is pending meanwhile.
        """
        state = self.bandit.state
        if state.window != self._due_window:  # a shorter one may close earlier, and without one nothing is due
            self._due_window, self.due = state.window, 0
        if self.due > self.time:
            return
        oldest = state.ledger.oldest()
        if oldest is None or state.window is None:
            self.due = _NEVER if state.window is None else 0
            transaction.drop_due(self.record, self.time)
        else:
            closing = int((oldest.time + state.window.seconds) / MICROSECOND)
            self.due = max(closing, self.time + _LEAST_WAIT)
            transaction.set_due(self.record, self.due)


class Call(Generic[T]):
    """A change of a bandit that waits for its turn.

    Args:
        name: the bandit.
        work: makes the change and returns the result. It is called in a worker thread, and may be called again if the turn
            failed, on a bandit without the change. If it raises a `RottingError`, the change was refused.
        caller: the name of the caller's token, for the log.
        keys: the idempotency keys that `work` looks up in `FoldedBandit.keys`.
        new: returns the record and the state of a bandit to create if there is none of this name.
        seconds: how long to wait for the result.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[FoldedBandit], T],
        *,
        caller: str = "",
        keys: tuple[str, ...] = (),
        new: Callable[[], tuple[BanditRecord, BanditState]] | None = None,
        seconds: float = 30.0,
    ) -> None:
        self.name, self.work, self.caller, self.keys, self.new = name, work, caller, keys, new
        self.began = time.monotonic()
        self.until = self.began + seconds
        self.seconds = seconds
        self.future: Future[T] = Future()
        self.warnings: list[str] = []
        """The warnings of the change; complete when the future is done."""
        self.alone = False
        """Whether the call gets a turn of its own, since one that it shared has failed."""

    def result(self) -> T:
        """Wait for the result."""
        try:
            return self.future.result(max(0.0, self.until - time.monotonic()) + 0.05)
        except TimeoutError as error:
            if isinstance(error, StoreError):
                raise
            if self.future.done():
                return self.future.result()
            if self.future.cancel():
                raise StoreBusyError(f"is busy: a call has waited for {self.seconds:g} s; nothing was changed") from None
            raise OutcomeUnknownError(f"has not answered within {self.seconds:g} s: the change may be written or not") from None

    def finish(self, result: "T | BaseException") -> None:
        """Set the result, or the exception; nobody may wait for it any more."""
        with suppress(InvalidStateError):
            if isinstance(result, BaseException):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


class _Lane:
    """The calls that share turns: those of one bandit, or of all."""

    def __init__(self) -> None:
        self.waiting: deque[Call[Any]] = deque()
        self.led = False
        """Whether a thread makes the turns of this lane."""
        self.attempts = 0
        """How many turns have failed since the last that did not."""


class _Turn:
    """What a turn has done so far."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.calls: list[Call[Any]] = []
        """The calls that are made in it."""
        self.taken_at = math.inf
        """When the calls were taken, after the lock."""
        self.done: list[tuple[Call[Any], Any]] = []
        """The calls that were made, and what they returned or raised."""
        self.touched: list[FoldedBandit] = []
        """The bandits that it changed in memory."""
        self.written: dict[str, list[StoredEvent]] = {}
        self.folded = 0


class _NotReadyError(Exception):
    """A bandit is not in memory, is far behind its log, or is being read: the turn waits for it without the lock."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _PoisonedError(Exception):
    """A call has failed in an unexpected way: the turn is rolled back, and its calls are made one by one."""


class TurnReport(NamedTuple):
    """What a turn has done, for metrics and listeners."""

    seconds: float
    waits: list[float]
    """For how many seconds each of its calls has waited for it."""
    folded: int
    """How many events of others were folded."""
    events: dict[str, list[StoredEvent]]
    """The events that were written, by the name of their bandit."""


class Turns:
    """Makes the changes of the bandits of a database, from any number of threads.

    Args:
        database: the database, which `close` closes.
        compile: when policies are compiled, as for `Bandit`.
        report: called after each turn, in a worker thread.
        clock: the time in seconds; that of the database by default.
    """

    def __init__(
        self,
        database: Database,
        compile: CompileMode = "auto",
        report: Callable[[TurnReport], object] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.database, self.compile, self._report, self._clock = database, compile, report, clock
        self._closed = False
        self._start()
        _all_turns.add(self)

    def _start(self) -> None:
        self._mutex = threading.Lock()
        self._lanes: dict[str, _Lane] = {}
        self._folded: OrderedDict[str, FoldedBandit] = OrderedDict()
        self._loading: dict[str, Future[FoldedBandit]] = {}
        self._leaders = ThreadPoolExecutor(1 if self.database.one_lane else 12, "rotting-turn")
        self._loaders = ThreadPoolExecutor(2, "rotting-load")
        self._settling: dict[str, float] = {}  # bandits whose windows are being settled, and when to try again if that fails

    # --- Calls ----------------------------------------------------------------------------------------------------------------

    def submit(self, call: Call[T]) -> Call[T]:
        """Queue a call for the next turn; its `future` gets the result. Its bandit is loaded first if it is not in memory."""
        with self._mutex:
            if self._closed:
                raise StoreFailedError("is closed: open it again", self.database.place)
            loading = self._loading.get(call.name)
            if loading is None and call.new is None and call.name not in self._folded:
                loading = self._loading[call.name] = self._loaders.submit(self._load, call.name)
        if loading is None:
            self._queue(call)
        else:
            loading.add_done_callback(partial(self._queue_after, call))
        return call

    def _queue(self, call: Call[Any]) -> None:
        with self._mutex:
            lane = self._lane(call.name)
            if len(lane.waiting) >= MAX_WAITING:
                raise StoreBusyError(f"is busy: {MAX_WAITING} calls wait already", self.database.place)
            lane.waiting.append(call)
            self._lead(lane)

    def _queue_after(self, call: Call[Any], loading: "Future[FoldedBandit]") -> None:
        with self._mutex:
            self._loading.pop(call.name, None)
        error = loading.exception()
        if error is not None and not isinstance(error, _PASSING):  # for those, the lane waits for the database
            call.finish(error)
            return
        try:
            self._queue(call)
        except StoreError as refusal:
            call.finish(refusal)

    def change(self, name: str, work: Callable[[FoldedBandit], T], **options: Any) -> T:
        """Make a change and wait for its result; the options are those of `Call`."""
        return self.submit(Call(name, work, **options)).result()

    def read(self, name: str, work: Callable[[FoldedBandit], T], seconds: float = 30.0) -> T:
        """Return what `work` returns for a bandit with all events that are in the log now; it must not change the bandit.

        It waits at most so many seconds for a turn that is under way.
        """
        until = time.monotonic() + seconds
        while True:
            with self._mutex:
                folded = self._folded.get(name)
            if folded is None:
                folded = self._load(name)
            if not folded.lock.acquire(timeout=max(0.0, until - time.monotonic())):
                reason = f"is busy: a turn of bandit {name!r} has not ended within {seconds:g} s"
                raise StoreBusyError(reason, self.database.place)
            try:
                if self._catch_up(folded):
                    return work(folded)
            finally:
                folded.lock.release()
            self._drop(folded)
            if time.monotonic() > until:
                raise StoreBusyError(f"is busy: bandit {name!r} was not read within {seconds:g} s", self.database.place)

    def known(self, name: str) -> FoldedBandit | None:
        """Return a bandit as it is in memory, if it is; it may be behind its log."""
        return self._folded.get(name)

    def oldest_wait(self) -> float:
        """Return for how many seconds the oldest call has been waiting for a turn."""
        with self._mutex:
            oldest = min((lane.waiting[0].began for lane in self._lanes.values() if lane.waiting), default=None)
        return 0.0 if oldest is None else time.monotonic() - oldest

    def settle_windows(self) -> None:
        """Settle the decisions whose reward window has closed, of all bandits of the store, in turns of their own."""
        now = self.database.now() if self._clock is None else round(self._clock() / MICROSECOND)
        for name in self.database.due(now):
            if self._settling.get(name, 0.0) > time.monotonic():  # a damaged log is not folded twice a second
                continue
            self._settling[name] = time.monotonic() + _SETTLE_AGAIN
            with suppress(StoreError):
                call = self.submit(Call(name, FoldedBandit.settle))
                call.future.add_done_callback(partial(self._settled, name))

    def _settled(self, name: str, future: Future[None]) -> None:
        if future.cancelled() or future.exception() is None:
            self._settling.pop(name, None)

    def close(self) -> None:
        """Wait for the calls that are being made, and close the database. A second call does nothing."""
        with self._mutex:
            self._closed = True
        self._loaders.shutdown()
        self._leaders.shutdown()
        self.database.close()

    def _lane(self, name: str) -> _Lane:
        return self._lanes.setdefault("" if self.database.one_lane else name, _Lane())

    def _lead(self, lane: _Lane) -> None:
        """Start making turns, unless a thread does so already. The mutex must be held."""
        if not lane.led and lane.waiting:
            lane.led = True
            self._leaders.submit(self._make_turns, lane)

    def _make_turns(self, lane: _Lane) -> None:
        while True:
            with self._mutex:
                if not lane.waiting:
                    lane.led = False
                    for name in [name for name, each in self._lanes.items() if each is lane]:
                        del self._lanes[name]
                    return
            self._make_turn(lane)
            if not self.database.one_lane:  # to the end of the queue, so that busy bandits do not keep others waiting
                with suppress(RuntimeError):  # closing: go on here
                    self._leaders.submit(self._make_turns, lane)
                    return

    def _take(self, lane: _Lane, most: int = _MAX_CALLS) -> list[Call[Any]]:
        """Return the calls for a turn, without those that nobody waits for any more."""
        taken: list[Call[Any]] = []
        now = time.monotonic()
        with self._mutex:
            while lane.waiting and len(taken) < most:
                call = lane.waiting[0]
                if call.alone and taken:
                    break
                lane.waiting.popleft()
                if call.future.cancelled() or call.until < now:
                    call.finish(StoreBusyError(f"is busy: a call has waited for {call.seconds:g} s; nothing was changed"))
                elif call.future.running() or call.future.set_running_or_notify_cancel():
                    taken.append(call)
                if call.alone:
                    break
        return taken

    # --- Turns ----------------------------------------------------------------------------------------------------------------

    def _make_turn(self, lane: _Lane) -> None:
        """Make a turn. If it fails, its calls are made again later, or get the error."""
        turn = _Turn()
        try:
            self._commit_turn(lane, turn)
        except _NotReadyError as error:
            self._make_ready(lane, turn, error.name)
        except _PoisonedError as error:
            if len(turn.calls) == 1:
                turn.calls[0].finish(error.__cause__ or error)
            self._make_alone(lane, turn.calls)
        except OutcomeUnknownError as error:
            self._find_out(lane, turn, error)
        except StoreError as error:
            if len(turn.calls) > 1 and not isinstance(error, _PASSING):  # of one bandit: the others go on without it
                self._make_alone(lane, turn.calls)
            else:
                self._wait_for_database(lane, turn.calls, error)
        except BaseException as error:  # noqa: BLE001 - a fault of ours: the callers get it, and later ones a new try
            _log.exception("a turn failed")
            for call in turn.calls or self._take(lane, 1):
                call.finish(error)
        else:
            lane.attempts = 0
            self._finish(turn)

    def _commit_turn(self, lane: _Lane, turn: "_Turn") -> None:
        with ExitStack() as locks:
            try:
                with self.database.transaction() as transaction:
                    self._fill_turn(lane, turn, transaction, locks)
            except BaseException:
                for folded in turn.touched:  # matches no log any more: a read that waits must not see the changes
                    folded.digest = b""
                self._drop(*turn.touched)
                raise

    def _fill_turn(self, lane: _Lane, turn: "_Turn", transaction: Transaction, locks: ExitStack) -> None:
        # A lane of one bandit has only one name, which is locked before the calls are taken.
        locked = None if self.database.one_lane else transaction.record(lane.waiting[0].name)
        turn.calls = self._take(lane)
        turn.taken_at = time.monotonic()  # others may have held the lock for long
        groups: dict[str, list[Call[Any]]] = {}
        for call in turn.calls:
            groups.setdefault(call.name, []).append(call)
        prepared: list[tuple[FoldedBandit, Reading, list[Call[Any]]]] = []
        for name, calls in groups.items():
            record = transaction.record(name) if self.database.one_lane else locked
            if record is None:
                record = self._create(transaction, name, calls, turn)
            if record is not None:
                prepared.append((*self._prepare(transaction, record, calls, locks), calls))
        for folded, reading, calls in prepared:
            turn.touched.append(folded)
            turn.folded += self._follow(folded, reading)
            left = self._make_calls(folded, calls, turn)
            turn.written[folded.record.name] = folded.write(transaction)
            if left:
                turn.calls = [call for call in turn.calls if call not in left]
                self._put_back(lane, left)

    def _prepare(
        self, transaction: Transaction, record: BanditRecord, calls: list[Call[Any]], locks: ExitStack
    ) -> tuple[FoldedBandit, Reading]:
        """Return the locked bandit of some calls, and what is new in its log."""
        name = record.name
        with self._mutex:
            folded = self._folded.get(name)
            if folded is not None:
                self._folded.move_to_end(name)
        # A read that takes long must not keep the lock of the database waiting.
        if folded is None or not folded.lock.acquire(timeout=_PATIENCE):
            raise _NotReadyError(name)
        locks.callback(folded.lock.release)
        keys = {key for call in calls for key in call.keys}
        reading = transaction.read(record, max(1, folded.number), keys)
        is_far_behind = len(reading.events) > MAX_EVENTS or sum(len(each.payload) for each in reading.events[1:]) > MAX_BYTES
        if is_far_behind or not folded.matches(record, reading.events):
            raise _NotReadyError(name)
        folded.record = record
        return folded, reading

    def _create(self, transaction: Transaction, name: str, calls: list[Call[Any]], turn: "_Turn") -> BanditRecord | None:
        """Create a bandit if one of the calls wants to; otherwise it does not exist."""
        new = next((call.new for call in calls if call.new is not None), None)
        if new is None:
            error = InvalidValueError("bandit", "exist", name)
            turn.done += [(call, error) for call in calls]
            return None
        record, state = new()
        created = transaction.create(record)
        if created is None:
            raise StoreFailedError(f"had bandit {name!r} created by another process: try again", self.database.place)
        folded = FoldedBandit(created, state, 0, created.first_digest)
        turn.touched.append(folded)
        with self._mutex:
            self._folded[name] = folded
        return created

    def _follow(self, folded: FoldedBandit, reading: Reading) -> int:
        """Fold what others have written, and take over time and keys; return how many events were folded."""
        before = folded.number
        folded.follow(reading.events)
        now = reading.now if self._clock is None else round(self._clock() / MICROSECOND)
        folded.time = max(folded.time, now)
        folded.keys = dict(reading.keys)
        return folded.number - before

    def _make_calls(self, folded: FoldedBandit, calls: list[Call[Any]], turn: "_Turn") -> list[Call[Any]]:
        """Make the calls one after the other; return those that are left when the time is used up."""
        for place, call in enumerate(calls):
            if place and time.monotonic() > turn.taken_at + _MAX_SECONDS:
                return calls[place:]
            folded.warnings.clear()
            try:
                result = call.work(folded)
            except RottingError as error:  # refused, before anything was changed
                result = error
            except Exception as error:
                raise _PoisonedError from error
            try:
                folded.record_events(call.caller)
            except Exception as error:  # an event that cannot be written
                raise _PoisonedError from error
            folded.show_changes()
            call.warnings = folded.warnings.copy()
            turn.done.append((call, result))
        return []

    def _finish(self, turn: "_Turn") -> None:
        """Give the callers their results; the turn is committed."""
        if self._report is not None and turn.done:
            try:
                waits = [turn.taken_at - call.began for call, _ in turn.done]
                self._report(TurnReport(time.monotonic() - turn.began, waits, turn.folded, turn.written))
            except Exception:  # noqa: BLE001 - the turn is committed, and its callers must get their results
                _log.exception("the report of a turn failed")
        for call, result in turn.done:
            call.finish(result)
        for folded in turn.touched:
            events = turn.written.get(folded.record.name, ())
            if events and is_due(folded.bandit.state, events[0].number, events[-1].number):
                self._save(folded)
        with self._mutex:
            while len(self._folded) > _MAX_FOLDED:
                self._folded.popitem(last=False)

    def _put_back(self, lane: _Lane, calls: list[Call[Any]]) -> None:
        with self._mutex:
            waiting = {id(call) for call in lane.waiting}
            lane.waiting.extendleft(reversed([each for each in calls if id(each) not in waiting and not each.future.done()]))

    def _make_alone(self, lane: _Lane, calls: list[Call[Any]]) -> None:
        """Give each call a turn of its own."""
        for call in calls:
            call.alone = True
        self._put_back(lane, calls)

    def _make_ready(self, lane: _Lane, turn: "_Turn", name: str) -> None:
        """Load a bandit, or fold what is new in its log, without the lock."""
        try:
            self.read(name, lambda folded: None)
        except _PASSING as error:
            self._wait_for_database(lane, turn.calls, error)
            return
        except RottingError as error:
            for call in turn.calls:
                if call.name == name:
                    call.finish(error)
        self._put_back(lane, turn.calls)

    def _wait_for_database(self, lane: _Lane, taken: list[Call[Any]], error: StoreError) -> None:
        """Try again in a moment if the database may come back, or give the callers the error."""
        if not isinstance(error, _PASSING) or self._closed:
            for call in taken or self._take(lane, 1):
                call.finish(error)
            return
        self._put_back(lane, taken)
        self._pause(lane)
        now = time.monotonic()
        with self._mutex:
            late = [call for call in lane.waiting if call.until < now]
            for call in late:
                lane.waiting.remove(call)
        for call in late:
            call.finish(error)

    def _pause(self, lane: _Lane) -> None:
        lane.attempts += 1
        time.sleep(_PAUSES[min(lane.attempts, len(_PAUSES)) - 1] * (0.5 + random.random()))  # noqa: S311 - only a pause

    def _find_out(self, lane: _Lane, turn: "_Turn", error: StoreError) -> None:
        """Look under the lock whether a turn whose commit was interrupted is in the log; its calls wait for that.

        They get their results after this transaction has ended, too: only then it is sure that a standby has them.
        """
        first = next(((name, events[0]) for name, events in turn.written.items() if events), None)
        if first is None:  # nothing was written that could be there or not
            self._wait_for_database(lane, turn.calls, error)
            return
        (name, event), failure, until = first, error, max(call.until for call, _ in turn.done)
        while isinstance(failure, _PASSING) and not self._closed and time.monotonic() < until:
            self._pause(lane)
            try:
                with self.database.transaction() as transaction:
                    record = transaction.record(name)
                    events = [] if record is None else transaction.read(record, event.number, ()).events
            except StoreError as again:
                failure = again
                continue
            if events and events[0].digest == event.digest:
                for call, result in turn.done:
                    call.finish(result)
            self._put_back(lane, turn.calls)
            return
        for call, _ in turn.done:
            call.finish(OutcomeUnknownError("was lost while a change was committed", self.database.place))
        self._put_back(lane, turn.calls)

    # --- Bandits in memory ----------------------------------------------------------------------------------------------------

    def _drop(self, *folded: FoldedBandit) -> None:
        with self._mutex:
            for each in folded:
                if self._folded.get(each.record.name) is each:
                    del self._folded[each.record.name]

    def _load(self, name: str) -> FoldedBandit:
        """Fold the log of a bandit, from its newest snapshot on."""
        record = self.database.find(name)
        if record is None:
            raise InvalidValueError("bandit", "exist", name)
        try:
            folded = load(self.database, record, self.compile)
        except StoreDamagedError:
            now = self.database.find(name)
            if now is None or (now.id, now.base) == (record.id, record.base):
                raise
            return self._load(name)  # events were replaced by a base meanwhile
        with self._mutex:
            return self._folded.setdefault(name, folded)

    def _catch_up(self, folded: FoldedBandit) -> bool:
        """Fold what is new in the log; return whether the log is still the one that was folded."""
        record = self.database.find(folded.record.name)
        if record is None:
            return False
        while True:
            events = self.database.events(record, max(1, folded.number))
            if not folded.matches(record, events):
                return False
            folded.record, before = record, folded.number
            folded.follow(events)
            if folded.number == before:
                return True

    def _save(self, folded: FoldedBandit) -> None:
        """Save a snapshot in another thread."""

        def save() -> None:
            try:
                with folded.lock:  # otherwise a read may be folding what others have written
                    record, number, digest, state = folded.record, folded.number, folded.digest, folded.bandit.state.copy()
                self.database.save_snapshot(record, to_snapshot(number, digest, state))
            except StoreError as error:  # nothing is lost: the log has every event
                _log.warning("the snapshot of bandit %s was not saved: %s", folded.record.name, error)

        with suppress(RuntimeError):  # closing
            self._loaders.submit(save)

    def after_fork(self) -> None:
        """Begin anew in a forked process, which has none of its parent's threads and may not use its connections."""
        self.database.after_fork()
        self._start()


def changes_policy(event: StoredEvent) -> bool:
    """Return whether the policy is another one after an event."""
    return event.payload.startswith(POLICY_CHANGED)


def learn_anew(
    database: Database, record: BanditRecord, policy: Policy, compile: CompileMode, until: int | None = None
) -> FoldedBandit:
    """Return a bandit as if it had had another policy from the first event on that the log still has, up to an event.

    Its settings change with the events. What was learned from events that are not kept any longer is lost.
    """
    base = base_of(database, record, compile)
    folded = FoldedBandit(record, base.bandit.state.with_policy(policy, compile), base.number, base.digest)
    folded.learned_until = sys.maxsize
    while events := [each for each in database.events(record, folded.number + 1) if until is None or each.number <= until]:
        folded.follow(events, RewardRule(policy))
    folded.learned_until = folded.number
    return folded


def followed(
    database: Database, folded: FoldedBandit, events: list[StoredEvent], compile: CompileMode = "auto"
) -> FoldedBandit:
    """Fold events, up to the next one with which the policy changes; return the bandit, which may be another one then."""
    try:
        folded.follow(events)
    except PolicyChanged as change:
        folded = after_change(database, folded.record, change.event, compile)
    return folded


def after_change(database: Database, record: BanditRecord, event: StoredEvent, compile: CompileMode = "auto") -> FoldedBandit:
    """Return a bandit after an event with which its policy changed.

    The state was saved with the event. If that is lost, it is learned anew, without what the log does not keep any longer.
    """
    for snapshot in database.snapshots(record):
        if (snapshot.number, snapshot.digest) == (event.number, event.digest):
            with suppress(*UNREADABLE):
                return FoldedBandit(record, restore_snapshot(snapshot, compile), snapshot.number, snapshot.digest, event.time)
    return learn_anew(database, record, policy_from_json(decode_event(event)["policy"]), compile, event.number)


def base_of(database: Database, record: BanditRecord, compile: CompileMode = "auto") -> FoldedBandit:
    """Return a bandit before the first event that its log still has."""
    snapshots = [each for each in database.snapshots(record) if each.number == record.base]
    return _from_snapshots(record, snapshots, compile)


def load(database: Database, record: BanditRecord, compile: CompileMode = "auto") -> FoldedBandit:
    """Return a bandit as the fold of its log, from its newest usable snapshot on."""
    folded = _from_snapshots(record, database.snapshots(record), compile)
    while True:
        events = database.events(record, folded.number + 1)
        if not events:
            return folded
        folded = followed(database, folded, events, compile)


def _from_snapshots(record: BanditRecord, snapshots: list[StoredSnapshot], compile: CompileMode) -> FoldedBandit:
    for snapshot in snapshots:
        try:
            return FoldedBandit(record, restore_snapshot(snapshot, compile), snapshot.number, snapshot.digest)
        except UNREADABLE as error:
            if snapshot.number == record.base:
                raise StoreFormatError(f"cannot read the base of bandit {record.name!r}: {error}") from error
            _log.warning("bandit %s: the snapshot at event %d is skipped: %s", record.name, snapshot.number, error)
    if record.base:
        raise StoreDamagedError(f"is damaged: the base of bandit {record.name!r} is missing")
    return FoldedBandit(record, initial_state(record, compile), 0, record.first_digest)


def is_due(state: BanditState, first: int, last: int) -> bool:
    """Return whether a snapshot is due after the events `first` to `last`: a large state is saved less often.

    Of several processes, the one whose turn reaches the next multiple saves it.
    """
    if last // SNAPSHOT_EVENTS == (first - 1) // SNAPSHOT_EVENTS:  # as in most turns
        return False
    size = sum(array.nbytes for array in arrays(state.chooser.learner.state))
    events = SNAPSHOT_EVENTS * min(100, max(1, size // 200_000))
    return last // events > (first - 1) // events


_all_turns: "weakref.WeakSet[Turns]" = weakref.WeakSet()


def _before_fork() -> None:
    for turns in list(_all_turns):
        turns.database.before_fork()


def _after_fork_in_parent() -> None:
    for turns in list(_all_turns):
        turns.database.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for turns in list(_all_turns):
        turns.after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
