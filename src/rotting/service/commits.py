"""Concurrent requests share a transaction, and each is answered when it is written.

Requests change the bandits one after the other, as they come. While one batch is written in a thread, the next one gathers.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor

from rotting.errors import StoreError, StoreFailedError
from rotting.store.host import Batch, Host, Hosted

Answer = Callable[[StoreError | None], None]
"""Called when the batch is written, or with the reason why it was not."""

_TRY_AGAIN = 1.0  # seconds after which it is tried whether the store can be written to again


class Commits:
    """Writes what a host gathers, batch by batch.

    Args:
        loop: where everything but the writing happens.
        host: the bandits.
        writer: runs one thing at a time.
        written: called with every batch that is written, and how many seconds it took.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        host: Host,
        writer: Executor,
        written: Callable[[Batch, float], None],
    ) -> None:
        self._loop, self._host, self._writer, self._written = loop, host, writer, written
        self._waiting: list[Answer] = []
        self._busy = False
        self._mending: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits."""
        return not (self._busy or self._waiting)

    def hold(self, answer: Answer) -> None:
        """Call `answer` when all that was gathered so far is written."""
        self._waiting.append(answer)
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._write)  # after the other requests that have come by now

    def _write(self) -> None:
        answers, self._waiting = self._waiting, []
        batch = self._host.take()
        if batch.is_empty:
            self._busy = False
            for answer in answers:
                answer(None)
            return
        began = time.monotonic()

        def write() -> None:
            error: BaseException | None = None
            try:
                self._host.write(batch)
            except BaseException as caught:  # noqa: BLE001 - who waits must be told, whatever it is
                error = caught
            self._loop.call_soon_threadsafe(self._wrote, batch, answers, began, error)

        self._writer.submit(write)

    def _wrote(self, batch: Batch, answers: list[Answer], began: float, error: BaseException | None) -> None:
        if error is not None:
            self._fail(batch, answers, error)
            return
        for answer in answers:
            answer(None)
        self._written(batch, time.monotonic() - began)
        if self._waiting:
            self._write()
        else:
            self._busy = False

    def _fail(self, batch: Batch, answers: list[Answer], error: BaseException) -> None:
        trouble = error if isinstance(error, StoreError) else StoreFailedError(f"the store could not be written to: {error!r}")
        self._host.undo(batch, trouble)
        answers, self._waiting, self._busy = [*answers, *self._waiting], [], False
        for answer in answers:
            answer(trouble)
        self._mend_later()

    # --- When nothing can be written --------------------------------------------------------------------------------------

    def _mend_later(self) -> None:
        self._mending = self._loop.call_later(_TRY_AGAIN, self._mend)

    def _mend(self) -> None:
        def mend() -> None:
            try:
                found = self._host.mend()
            except StoreError:
                self._loop.call_soon_threadsafe(self._mend_later)
            else:
                self._loop.call_soon_threadsafe(self._mended, found)

        self._writer.submit(mend)

    def _mended(self, found: list[Hosted]) -> None:
        self._mending = None
        for hosted in found:
            self._host.adopt(hosted)

    def stop(self) -> None:
        """Try no more whether the store can be written to."""
        if self._mending is not None:
            self._mending.cancel()
