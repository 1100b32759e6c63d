"""Gives handlers the bandits of a store: loads them when they are used, and lets one request at a time use each of them."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, NamedTuple, TypeVar

from rotting.errors import InvalidValueError, RottingError, StoreError
from rotting.live.saved_state import Parts
from rotting.policy import Policy
from rotting.service.compiling import CompileReport
from rotting.service.problems import ProblemError
from rotting.service.workers import Workers
from rotting.store.host import Host, Hosted
from rotting.store.protocol import Payload

T = TypeVar("T")

_log = logging.getLogger("rotting.service")
_SLICE = 0.005  # seconds for which queued changes are made before the event loop runs again


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Take note of the error of a future that nobody waits for."""
    if not future.cancelled():
        future.exception()


class _Change(NamedTuple, Generic[T]):
    """What a request does with a bandit; the fields are those of `Bandits.change`."""

    hosted: Hosted
    work: Callable[[], T]
    archived: bool
    before: Callable[[], T | None] | None
    note: Callable[[T], Payload] | None


class _QueuedChange(NamedTuple):
    """A change that waits for those before it."""

    change: _Change[Any]
    heavy: bool
    done: asyncio.Future[Any]


class Bandits:
    """The bandits of a host, for handlers on the event loop.

    What takes long runs in a worker thread; only requests for the same bandit wait for it.

    Args:
        host: the bandits.
        compiling: reports what was compiled.
    """

    def __init__(self, host: Host, compiling: CompileReport) -> None:
        self.host = host
        self.commit: Callable[[], asyncio.Future[None]]
        """Set when the service starts: returns a future that is done when everything collected so far is written."""
        self._compiling = compiling
        self._workers = Workers("rotting-worker", 4)
        self._loaders = Workers("rotting-loader", 2)  # so that no bandit waits for work on another one
        self._saver = Workers("rotting-snapshots", 1)
        self._loading: dict[str, asyncio.Task[Hosted]] = {}
        self._queues: dict[str, deque[_QueuedChange]] = {}  # changes that wait for a worker thread, by bandit
        self._running: set[asyncio.Task[Any]] = set()

    def check_known(self, name: str) -> None:
        """Refuse the name of a bandit that was never made."""
        if name not in self.host.metas:
            raise ProblemError("not-found", InvalidValueError("bandit", "be one that was made", name))

    async def get(self, name: str) -> Hosted:
        """Return a bandit, which is loaded first if need be."""
        hosted = self.host.live.get(name)
        if hosted is not None:
            return hosted
        self.check_known(name)
        task = self._loading.get(name)
        if task is None:  # one load for all requests that wait for it
            task = self._loading[name] = asyncio.ensure_future(self._load(name))
            task.add_done_callback(lambda _: self._loading.pop(name, None))
        return await asyncio.shield(task)

    async def active(self, name: str) -> Hosted:
        """Return a bandit that is not archived."""
        hosted = self.host.live.get(name) or await self.get(name)
        self._check_usable(hosted, archived=False)
        return hosted

    async def _load(self, name: str) -> Hosted:
        hosted = self.host.adopt(await self._loaders.run(lambda: self.host.load(name)))
        self._start(self._saver.run(lambda: self._learn_notes(hosted)))
        return hosted

    def _learn_notes(self, hosted: Hosted) -> None:
        try:
            self.host.learn_notes(hosted)
        except StoreError as error:  # every key is looked up in the store then
            _log.warning("the keys of bandit %s were not read: %s", hosted.name, error)

    async def make(self, policy: Policy, make: Callable[[], Hosted]) -> bool:
        """Make a bandit in a worker thread and put it to use, unless another request was quicker; return whether it is new."""

        def compiled() -> Hosted:
            with self._compiling.timing(policy):
                return make()

        made = await self._loaders.run(compiled)
        return self.host.adopt(made) is made

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run work that changes nothing in a worker thread."""
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
        """Use a bandit while no other request does, and collect what happened to it.

        Args:
            hosted: the bandit.
            work: what to do with it.
            heavy: do it in a worker thread.
            archived: do it also if the bandit is archived.
            before: called first, on the event loop; if it returns a result, nothing else is done.
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
        """Do the work, and collect what happened to the bandit even if it fails."""
        try:
            result = work()
        except BaseException:
            self.host.collect(change.hosted)
            raise
        self.host.collect(change.hosted, None if change.note is None else change.note(result))
        return result

    def _enqueue(self, change: _Change[T], heavy: bool) -> asyncio.Future[T]:
        """Return the future result of a change that must wait for its turn. It is made even if nobody waits for it."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_retrieve)
        name = change.hosted.name
        if name not in self._queues:
            self._queues[name] = deque()
            self._start(self._make_queued_changes(name, self._queues[name]))
        self._queues[name].append(_QueuedChange(change, heavy, done))
        return done

    async def _make_queued_changes(self, name: str, queue: deque[_QueuedChange]) -> None:
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
            self.commit().add_done_callback(_retrieve)  # also if the request that waits for it was cancelled
            if time.monotonic() > until:
                await asyncio.sleep(0)
                until = time.monotonic() + _SLICE
        del self._queues[name]

    def _check_usable(self, hosted: Hosted, archived: bool) -> None:
        """Refuse a bandit that was dropped, or archived, while the request waited."""
        self.host.check_current(hosted)
        if hosted.archived and not archived:
            raise ProblemError("archived", InvalidValueError("bandit", "be active", hosted.name, hint=", which is archived"))

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start work that goes on when the request that waits for it is cancelled."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # the request that waits for it reports it, if there still is one

    def save(self, hosted: Hosted) -> None:
        """Save the state of a bandit, while others are used."""
        self._start(self._save(hosted))

    async def _save(self, hosted: Hosted) -> None:
        try:
            number, parts = await self.change(
                hosted, lambda: (hosted.last_number, Parts.of(hosted.state)), heavy=True, archived=True
            )
            await self.commit()  # a state must not be saved before its events
            await self._saver.run(lambda: self.host.save_snapshot(hosted, number, parts))
        except RottingError as error:  # the log has all events, which is what counts
            _log.warning("no snapshot of bandit %s was saved: %s", hosted.name, error)
        finally:
            hosted.is_saving = False

    async def finish(self) -> None:
        """Wait until the worker threads change no bandit any more."""
        while self._running:
            await asyncio.wait(self._running)

    async def close(self) -> None:
        """End the worker threads."""
        for workers in (self._workers, self._loaders, self._saver):
            await workers.close()
