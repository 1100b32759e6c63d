"""Writes the changes of concurrent requests in one transaction, before any of them gets its response.

Requests are applied to the bandits in order of arrival. While one batch is being written by the worker thread, the next one
collects.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from rotting.errors import StoreError, StoreFailedError
from rotting.store.host import Host
from rotting.store.hosted import Batch, Hosted

_log = logging.getLogger("rotting.service")
_RETRY = 1.0  # seconds between two attempts to recover, and between two checks of the file


class Committer:
    """Writes the batches of a host, one at a time, in a worker thread.

    If a request that waits for a batch is cancelled, the batch is written nevertheless.

    Args:
        host: the bandits.
        on_written: called after each batch with the batch, the seconds it took, and the bandits whose snapshot is due.
    """

    def __init__(self, host: Host, on_written: Callable[[Batch, float, list[Hosted]], None]) -> None:
        self._host, self._on_written = host, on_written
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, "rotting-writer")
        self._waiting: list[asyncio.Future[None]] = []
        self._busy_since: float | None = None
        self._recovering: asyncio.Task[None] | None = None
        self._watching = asyncio.ensure_future(self._watch_file())

    @property
    def write_seconds(self) -> float:
        """How many seconds the current write has taken so far; 0.0 if there is none."""
        return 0.0 if self._busy_since is None else time.monotonic() - self._busy_since

    def commit(self) -> asyncio.Future[None]:
        """Return a future that is done when everything collected so far is written; it raises a `StoreError` if that failed."""
        future = self._loop.create_future()
        self._waiting.append(future)
        if self._busy_since is None:
            self._busy_since = time.monotonic()
            self._loop.call_soon(self._write_next)  # after the other requests that have arrived by now
        return future

    def _write_next(self) -> None:
        """Write the batch that has collected, or become idle."""
        waiting, self._waiting = self._waiting, []
        batch = self._host.take()
        if batch.is_empty:
            _resolve(waiting, self._host.trouble)
            if self._waiting:
                self._loop.call_soon(self._write_next)
            else:
                self._busy_since = None
            return
        self._busy_since = time.monotonic()
        generation = self._host.generation
        writing = self._loop.run_in_executor(self._writer, self._host.write, batch)
        writing.add_done_callback(lambda done: self._finish(batch, waiting, generation, done))

    def _finish(self, batch: Batch, waiting: list[asyncio.Future[None]], generation: int, done: asyncio.Future[None]) -> None:
        error = done.exception()
        if error is None and generation != self._host.generation:  # the file was found to be missing meanwhile
            self._busy_since = None
            _resolve(waiting + self._waiting, self._host.trouble or StoreFailedError("was opened again meanwhile: try again"))
            self._waiting = []
        elif error is None:
            _resolve(waiting, None)
            self._report(batch)
            self._write_next()
        else:
            self._busy_since = None
            waiting, self._waiting = waiting + self._waiting, []
            trouble = self._fail(error)
            _resolve(waiting, trouble)

    def _report(self, batch: Batch) -> None:
        try:
            self._on_written(batch, self.write_seconds, self._host.finish(batch))
        except Exception:  # noqa: BLE001 - the batch is written; a failed report must not stop the next one
            _log.exception("the report of a batch failed")

    def _fail(self, error: BaseException) -> StoreError:
        trouble = (
            error if isinstance(error, StoreError) else StoreFailedError(f"could not be written to: {type(error).__name__}")
        )
        _log.error("a batch was not written: %s", trouble)
        self._host.fail(trouble)
        if self._recovering is None or self._recovering.done():
            self._recovering = asyncio.ensure_future(self._recover())
        return trouble

    async def _recover(self) -> None:
        """Reopen the store every second until it can be written to."""
        while True:
            await asyncio.sleep(_RETRY)
            try:
                await self._loop.run_in_executor(self._writer, self._host.recover)
                self._host.resume_writing()
            except Exception as error:  # noqa: BLE001 - whatever it is, the next attempt may succeed
                _log.error("the store still cannot be written to: %s", error)
                if isinstance(error, StoreError):
                    self._host.trouble = error
            else:
                _log.warning("the store can be written to again")
                return

    async def _watch_file(self) -> None:
        """Check every second whether the file of the store was deleted, replaced or truncated."""
        while True:
            await asyncio.sleep(_RETRY)
            if self._host.trouble is not None:
                continue
            generation = self._host.generation
            try:
                await self._loop.run_in_executor(None, self._host.check_file)
            except Exception as error:  # noqa: BLE001 - whatever it is, the store is in doubt
                if generation == self._host.generation and self._host.trouble is None:
                    self._fail(error)

    async def close(self) -> None:
        """Write the last batch, end the worker thread, and stop watching the file."""
        self._watching.cancel()
        if self._recovering is not None:
            self._recovering.cancel()
        with suppress(StoreError):  # which `Host.close` reports
            await self.commit()
        await self._loop.run_in_executor(None, self._writer.shutdown)


def _resolve(futures: list[asyncio.Future[None]], trouble: StoreError | None) -> None:
    for future in futures:
        if future.done():  # its request was cancelled
            continue
        if trouble is None:
            future.set_result(None)
        else:
            future.set_exception(trouble)
