"""Compiling in the background: a child process fills the cache on disk while this process goes on.

One thread of this process starts the child when there is work for it, sends it one job after the other, and stops it when there
is none. The child is a new process, not a fork, and has a session of its own (on Windows, a console), so that Ctrl-C does not
reach it. It ends with this process, however that ends.
"""

import atexit
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from rotting.engines.compiler_process import DONE, FAILED, framed

_CHILDREN = 2  # a job is sent to this many children, one after the other, if they are killed
_IDLE_SECONDS = 2.0  # the child waits this long for more work
_LAST_SECONDS = 10.0  # at exit, the process waits this long for the thread, which may be loading machine code
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # on Windows: a console of its own, without a window
JobOutcome = Literal["", "done", "failed", "killed", "cancelled"]


class Job:
    """Something to compile.

    Args:
        work: a pickled callable without arguments, which compiles.
    """

    def __init__(self, work: bytes) -> None:
        self.work = work
        self.outcome: JobOutcome = ""
        """The empty string until the job is over, then "done": the child has compiled; "failed": it could not, or could not be
        started; "killed": something ended it, and the next child, too; or "cancelled": nobody needs the job any more."""
        self._then: list[Callable[[Job], None]] = []

    def then(self, call: Callable[["Job"], None]) -> None:
        """Call a function with the job when it is over, in another thread; at once if it is over already.

        If the job is cancelled later, the function is never called.
        """
        with _lock:
            if not self.outcome:
                self._then.append(call)
                return
        call(self)

    def end(self, outcome: JobOutcome) -> None:
        """Set the outcome, and call what waits for it."""
        with _lock:
            self.outcome, waiting, self._then = outcome, self._then, []
        for call in waiting:
            call(self)


class BackgroundCompiler:
    """The jobs of this process, the thread that sends them, and the child that compiles."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()  # the first is being compiled
        self._changed = threading.Condition(_lock)
        self._thread: threading.Thread | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def submit(self, work: bytes) -> Job:
        """Return a job that will be compiled, or the one that compiles the same already."""
        with self._changed:
            known = next((each for each in self._jobs if each.work == work and not each.outcome), None)
            job = known or Job(work)
            if known is None:
                self._jobs.append(job)
                if self._thread is None and not self._stopped:
                    self._thread = threading.Thread(target=self._work, name="rotting-compiling", daemon=True)
                    self._thread.start()
                self._changed.notify_all()
        return job

    def cancel(self, job: Job) -> None:
        """Give up a job that nobody needs any more."""
        with self._changed:
            if job.outcome or job not in self._jobs:
                return
            job.outcome = "cancelled"
            if self._jobs[0] is job and self._child is not None:
                self._child.kill()

    def stop(self) -> None:
        """End the child and the thread."""
        with self._changed:
            self._stopped = True
            for job in self._jobs:
                job.outcome = job.outcome or "cancelled"
            if self._child is not None:
                self._child.kill()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LAST_SECONDS)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._jobs and not self._stopped:
                    self._changed.wait(_IDLE_SECONDS)
                if not self._jobs or self._stopped:
                    self._thread = None
                    child, self._child = self._child, None
                    _end(child)
                    return
                job = self._jobs[0]
            outcome = job.outcome or self._compile(job)
            with self._changed:
                self._jobs.popleft()
            if job.outcome != "cancelled":
                job.end(outcome)

    def _compile(self, job: Job) -> JobOutcome:
        """Have the child compile a job, or another child if that one is killed."""
        for _ in range(_CHILDREN):
            try:
                child = self._running_child()
            except OSError:
                return "failed"
            answer = b""
            with suppress(OSError, ValueError):
                answer = _send(child, job.work)
            if answer in {DONE, FAILED}:
                return "done" if answer == DONE else "failed"
            with self._changed:
                self._child = None
            _end(child)
            if job.outcome or self._stopped:  # this process has killed it
                break
        return "killed"

    def _running_child(self) -> subprocess.Popen[bytes]:
        """Return the child, which is started if there is none."""
        child = self._child
        if child is None or child.poll() is not None:  # an earlier job may have been cancelled at its very end
            child = _start()
            with self._changed:
                self._child = child
                if self._stopped:  # meanwhile, so that nobody has ended this child
                    child.kill()
        return child


def _start() -> subprocess.Popen[bytes]:
    """Start a child."""
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("there is no Python to start")
    root = str(Path(__file__).parents[2])  # the folder that has the package
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "rotting.engines.compiler_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,
        creationflags=_NO_WINDOW,
    )


def _send(child: subprocess.Popen[bytes], work: bytes) -> bytes:
    """Send a piece of work, and return the answer; an empty one if the child has ended."""
    assert child.stdin is not None and child.stdout is not None, "`_start` opens both pipes"  # noqa: PT018
    child.stdin.write(framed(work))
    child.stdin.flush()
    return child.stdout.read(1)


def _end(child: subprocess.Popen[bytes] | None) -> None:
    if child is not None:
        child.kill()
        with suppress(OSError):
            child.communicate()


_lock = threading.RLock()
_background = BackgroundCompiler()


def submit(work: bytes) -> Job:
    """Compile something in the background, as `BackgroundCompiler.submit` describes."""
    return _background.submit(work)


def cancel(job: Job) -> None:
    """Give up a job that nobody needs any more."""
    _background.cancel(job)


def _after_fork_in_child() -> None:
    """Forget the thread and the child, which belong to the parent, and its jobs."""
    global _background, _lock  # noqa: PLW0603 (the process decides)
    _lock = threading.RLock()
    _background = BackgroundCompiler()


atexit.register(lambda: _background.stop())  # noqa: PLW0108 - a fork replaces `_background`
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork_in_child)
