"""One mutant against its tests, in a process forked from one that has the slow imports behind it.

This process never imports the project: a child imports it from a copy of the repository of its own, a slot, in which the
mutant's file is changed, and so do the processes its tests start.
"""

import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import hypothesis
import numba  # noqa: F401, TID251 - for the children
import pytest

OPTIONS = ("-q", "-x", "-n0", "-p", "no:cacheprovider", "--tb=no", "--no-header", "--assert=plain", "--basetemp=build/tmp")
"""Options of pytest. Failures are counted, not explained."""
MEMORY = 16 << 30
"""Bytes a child may address: a mutant that asks for more is killed by its MemoryError."""
PAUSE = 0.01
KILLED, SURVIVED, BROKEN = 1, 0, 3
SLACK, GRACE = 10.0, 5.0
"""A test hangs if it takes more than GRACE times its usual seconds plus SLACK seconds."""
IMPORTS = 60.0
"""Seconds to import a file of tests."""


class Job(NamedTuple):
    """Something to run in a slot, in a process of its own."""

    name: str
    work: Callable[[Path, "Deadline"], int]
    limit: float
    """Seconds."""
    path: str = ""
    """A file of the slot, if any, that has another text while the job runs, and which."""
    text: str = ""


class Deadline:
    """The time at which a child is killed; the child moves it forward with every test."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)  # by parent and child

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed."""
        (moment,) = struct.unpack("d", self._shared[:])
        return bool(time.monotonic() > moment)

    def set(self, seconds: float) -> None:
        """Let it be so many seconds from now."""
        self._shared[:] = struct.pack("d", time.monotonic() + seconds)


def make_slot(root: Path, files: Sequence[str], slot: Path) -> None:
    """Copy the repository, and compile it: a child may not write bytecode, which a mutant of the same second would find."""
    shutil.rmtree(slot, ignore_errors=True)
    for file in files:
        (slot / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / file, slot / file)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "src", "tests"], cwd=slot, check=True)


def _child(job: Job, slot: Path, deadline: Deadline, log: Path) -> int:
    """What a child does; returns its exit status."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, tests do not
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(slot)
    (slot / "build").mkdir(exist_ok=True)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(slot / "src"))
    os.environ.update(PYTHONPATH=str(slot / "src"), PYTHONDONTWRITEBYTECODE="1")
    # To find a smaller example of a failure would take longer than the failure.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("unshrunk", phases=phases, report_multiple_bugs=False)
    hypothesis.settings.load_profile("unshrunk")
    return job.work(slot, deadline)


def _fork(job: Job, slot: Path, deadline: Deadline, log: Path) -> int:
    child = os.fork()
    if child:
        return child
    status = BROKEN
    try:
        status = _child(job, slot, deadline, log)
    except BaseException:  # noqa: BLE001 - a child must end here, whatever happens
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _swap(slot: Path, path: str, data: bytes) -> bytes:
    """Write `data` to a file of a slot and return what was there; without a path, do nothing."""
    if not path:
        return b""
    target = slot / path
    original = target.read_bytes()
    for cached in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
        cached.unlink()
    target.write_bytes(data)
    return original


def run(jobs: Sequence[Job], slots: Sequence[Path], logs: Path) -> Iterator[tuple[Job, int | None, float]]:
    """Run the jobs, one per slot at a time; yields each with its exit status, None if it ran out of time, and its seconds."""
    logs.mkdir(parents=True, exist_ok=True)
    waiting, free = list(reversed(jobs)), list(slots)
    originals: dict[str, bytes] = {}
    running: dict[int, tuple[Job, Path, Deadline, float]] = {}
    try:
        while waiting or running:
            while waiting and free:
                job, slot = waiting.pop(), free.pop()
                originals[job.name] = _swap(slot, job.path, job.text.encode())
                deadline = Deadline()
                deadline.set(job.limit)
                running[_fork(job, slot, deadline, logs / f"{job.name}.log")] = job, slot, deadline, time.monotonic()
            time.sleep(PAUSE)
            for child, (job, slot, deadline, start) in list(running.items()):
                seconds = time.monotonic() - start
                done, status = os.waitpid(child, os.WNOHANG)
                if not done and not deadline.passed:
                    continue
                end_group(child)
                if not done:
                    os.waitpid(child, 0)
                del running[child]
                _swap(slot, job.path, originals.pop(job.name))  # here, since a child that hangs or crashes would not
                free.append(slot)
                yield job, os.waitstatus_to_exitcode(status) if done else None, seconds
    finally:
        for child in running:
            end_group(child)


def end_group(child: int) -> None:
    """End a child and what its tests started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


class _RunChosen:
    """A plugin of pytest that keeps the chosen tests, in their order, and remembers the one that fails.

    The name of the test that runs is always in the file `current`: it may hang, or end the process.
    """

    def __init__(self, seconds: Mapping[str, float], deadline: Deadline, current: Path) -> None:
        self._order = {name: k for k, name in enumerate(seconds)}
        self._seconds, self._deadline, self._current = seconds, deadline, current
        self.killer = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((each for each in items if each.nodeid in self._order), key=lambda each: self._order[each.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._deadline.set(SLACK + GRACE * self._seconds[nodeid])
        self._current.write_text(nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.killer = self.killer or f"{report.nodeid} (import)"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.killer = self.killer or report.nodeid


def attempt(slot: Path, deadline: Deadline, chosen: Sequence[tuple[str, Mapping[str, float]]], killer: Path) -> int:
    """Run tests in this process, which is in a slot, until one fails or hangs.

    Args:
        slot: the copy of the repository.
        deadline: put off test by test.
        chosen: files, each with the tests to run and how long they usually take.
        killer: where the name of the test that fails is written to.
    """
    for file, seconds in chosen:
        deadline.set(IMPORTS)
        plugin = _RunChosen(seconds, deadline, killer)
        status: int | pytest.ExitCode = pytest.ExitCode.OK
        with suppress(ExceptionGroup):  # of warnings when pytest ends, such as sockets of an earlier test that are still open
            status = pytest.main([*OPTIONS, str(slot / file)], plugins=[plugin])
        if plugin.killer:
            killer.write_text(plugin.killer)
            return KILLED
        if status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            return BROKEN
    return SURVIVED
