"""Loads the bandits of a store when they are used, and lets one request at a time use each of them."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, NamedTuple, TypeVar

from rotting.errors import RottingError, StoreError
from rotting.live.saved_state import StateParts
from rotting.service.compile_report import CompileReport
from rotting.service.problem_documents import broken_rule
from rotting.service.workers import Workers
from rotting.store.host import Host
from rotting.store.hosted import Hosted
from rotting.store.protocol import Payload

T = TypeVar("T")

_log = logging.getLogger("rotting.service")
_UNLOAD_AT_ONCE = 100  # bandits: those with a snapshot to save take a few milliseconds each
_SLICE = 0.005  # seconds for which queued changes are made before the event loop runs again


def _retrieve(future: asyncio.Future[T]) -> None:
    """Retrieve the error of a future, so that asyncio does not warn about it if no request waits for it."""
    if not future.cancelled():
        future.exception()


class _Change(NamedTuple, Generic[T]):
    """A change of a bandit; the fields are the arguments of `Bandits.change`."""

    hosted: Hosted
    work: Callable[[], T]
    archived: bool
    before: Callable[[], T | None] | None
    note: Callable[[T], Payload] | None


_Queue = deque[tuple[_Change[Any], bool, asyncio.Future[Any]]]
"""Changes that wait for earlier ones: each with whether it is heavy, and its future result."""


class Bandits:
    """The bandits of a host, for handlers on the event loop.

    Slow work runs in a worker thread; only requests for the same bandit wait for it.
    """

    def __init__(self, host: Host, compiling: CompileReport) -> None:
        self.host = host
        self.commit: Callable[[], asyncio.Future[None]]
        """Set when the service starts: returns a future that is done when everything collected so far is written."""
        self._compiling = compiling
        self._workers = Workers("rotting-worker", 4)
        self._loaders = Workers("rotting-loader", 2)  # separate, so that loading does not wait for changes of other bandits
        self._saver = Workers("rotting-snapshots", 1)
        self._loading: dict[str, asyncio.Task[Hosted]] = {}
        self._queues: dict[str, _Queue] = {}  # changes that wait for a worker thread, by bandit
        self._running: set[asyncio.Task[object]] = set()
        self._unloading: asyncio.Task[None] | None = None

    def check_known(self, name: str) -> None:
        """Refuse the name of a bandit that does not exist."""
        if name not in self.host.descriptions:
            raise broken_rule("not-found", "bandit", "exist", name)

    async def get(self, name: str) -> Hosted:
        """Return a bandit, and load it first if it is not in memory."""
        hosted = self.host.find(name)
        if hosted is not None:
            return hosted
        self.check_known(name)
        task = self._loading.get(name)
        if task is None:  # one load for all requests that wait for it
            task = self._loading[name] = asyncio.ensure_future(self._load(name))
            task.add_done_callback(lambda _: self._loading.pop(name, None))
        return await asyncio.shield(task)

    async def get_active(self, name: str) -> Hosted:
        """Return a bandit as `get` does, or refuse an archived one."""
        hosted = self.host.find(name) or await self.get(name)
        self._check_usable(hosted, archived=False)
        return hosted

    async def _load(self, name: str) -> Hosted:
        hosted = self.host.adopt(await self._loaders.run(lambda: self.host.load(name)))
        self._start(self._learn_notes(hosted))
        return hosted

    async def _learn_notes(self, hosted: Hosted) -> None:
        try:
            hosted.learn_notes(await self._saver.run(lambda: self.host.note_names(hosted.name)))
        except StoreError as error:  # without them, every key is looked up in the store
            _log.warning("the idempotency keys of bandit %s were not loaded: %s", hosted.name, error)

    async def make(self, make: Callable[[], Hosted]) -> bool:
        """Create a bandit in a worker thread, unless another request was faster; return whether it was created."""

        def timed() -> Hosted:
            began = time.perf_counter()
            hosted = make()
            self._compiling.report(hosted.bandit, time.perf_counter() - began)
            return hosted

        made = await self._loaders.run(timed)
        return self.host.adopt(made) is made

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run a function that changes no bandit in a worker thread."""
        return await self._workers.run(work)

    async def change(
        self,
        hosted: Hosted,
        work: Callable[[], T],
        *,
        heavy: bool = False,
        archived: bool = False,
        before: Callable[[], T | None] | None = None,
        note: Callable[[T], Payload] | None = None,
    ) -> T:
        """Use a bandit while no other request does, and collect its events.

        Args:
            hosted: the bandit.
            work: the change, as a function.
            heavy: whether to run `work` in a worker thread.
            archived: whether an archived bandit may be used.
            before: called first, on the event loop; if it returns a result, `work` is not called.
            note: returns the note to attach to the last event, given the result.
        """
        change = _Change(hosted, work, archived, before, note)
        if heavy or hosted.name in self._queues:
            return await asyncio.shield(self._enqueue(change, heavy))
        found = self._begin(change)
        return self._finish(change, work) if found is None else found

    def _begin(self, change: _Change[T]) -> T | None:
        """Check that the bandit can be used; return the result if there is nothing to do."""
        self._check_usable(change.hosted, change.archived)
        return None if change.before is None else change.before()

    def _finish(self, change: _Change[T], work: Callable[[], T]) -> T:
        """Call `work`, and collect the events of the bandit even if it fails."""
        try:
            result = work()
        except BaseException:
            self.host.collect(change.hosted)
            raise
        self.host.collect(change.hosted, None if change.note is None else change.note(result))
        return result

    def _enqueue(self, change: _Change[T], heavy: bool) -> asyncio.Future[T]:
        """Queue a change and return its future result. The change is made even if its request is cancelled."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_retrieve)
        name = change.hosted.name
        if name not in self._queues:
            self._queues[name] = deque()
            self._start(self._make_queued_changes(name, self._queues[name]))
        self._queues[name].append((change, heavy, done))
        return done

    async def _make_queued_changes(self, name: str, queue: _Queue) -> None:
        """Make the queued changes of a bandit in order of arrival, until the queue is empty.

        As many as possible are made before the event loop runs again. If it accepted new requests after each change, the queue
        of a busy service would never become empty, and every later request would have to wait in it.
        """
        until = time.monotonic() + _SLICE
        while queue:
            change, heavy, done = queue.popleft()
            try:
                result = self._begin(change)
                if result is None and heavy:
                    job = asyncio.ensure_future(self.in_thread(change.work))
                    await asyncio.wait([job])
                    result = self._finish(change, job.result)
                elif result is None:
                    result = self._finish(change, change.work)
            except Exception as error:  # noqa: BLE001 - the request reports it
                done.set_exception(error)
            else:
                done.set_result(result)
            self.commit().add_done_callback(_retrieve)  # even if the request was cancelled
            if time.monotonic() > until:
                await asyncio.sleep(0)
                until = time.monotonic() + _SLICE
        del self._queues[name]

    def _check_usable(self, hosted: Hosted, archived: bool) -> None:
        """Refuse a bandit that was unloaded or archived while the request waited."""
        self.host.check_current(hosted)
        if hosted.archived and not archived:
            raise broken_rule("archived", "bandit", "be active", hosted.name, hint=", which is archived")

    def _start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Start a task that continues if the request that waits for it is cancelled."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        _retrieve(task)

    def save(self, hosted: Hosted) -> None:
        """Save a snapshot of a bandit in the background."""
        self._start(self._save(hosted))

    async def _save(self, hosted: Hosted) -> None:
        try:
            number, parts = await self.change(
                hosted, lambda: (hosted.last_number, StateParts.of(hosted.state)), heavy=True, archived=True
            )
            await self.commit()  # a state must not be saved before its events
            await self._saver.run(lambda: self.host.save_snapshot(hosted, number, parts))
        except RottingError as error:  # nothing is lost: the log has all events
            _log.warning("the snapshot of bandit %s was not saved: %s", hosted.name, error)
        finally:
            hosted.is_saving = False

    def unload_idle(self) -> None:
        """Unload bandits that were not used for a while in the background, if too many are in memory."""
        if self._unloading is None or self._unloading.done():
            idle = [each for each in self.host.find_idle(time.monotonic()) if each.name not in self._queues]
            if idle:
                self._unloading = self._start(self._unload(idle[:_UNLOAD_AT_ONCE]))

    async def _unload(self, idle: list[Hosted]) -> None:
        for hosted in idle:
            if hosted.needs_snapshot and not hosted.is_saving:
                hosted.unsaved, hosted.is_saving = 0, True
                await self._save(hosted)
            if hosted.name not in self._queues:
                self.host.unload(hosted)

    async def finish(self) -> None:
        """Wait until no worker thread changes a bandit."""
        while self._running:
            await asyncio.wait(self._running)

    async def close(self) -> None:
        """End the worker threads."""
        for workers in (self._workers, self._loaders, self._saver):
            await workers.close()
