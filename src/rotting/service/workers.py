"""Worker threads with a bounded queue."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rotting.service.problem_documents import ProblemError

T = TypeVar("T")

_QUEUE = 64  # jobs of one kind that run or wait


class Workers:
    """Threads for slow work. Jobs above a limit are refused; a job that is cancelled before it starts is dropped."""

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._jobs = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Run a function in a thread and return its result."""
        if self._jobs >= _QUEUE:
            raise ProblemError("overloaded", f"{_QUEUE} slow requests are waiting already", retry_after="1")
        self._jobs += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._jobs -= 1

    async def close(self) -> None:
        """End the threads when their jobs are done."""
        await asyncio.get_running_loop().run_in_executor(None, self._pool.shutdown)
