"""WorkClaims: one process at a time, taken over from the dead, renewed by the living."""

import ctypes
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from rotting.engines import work_claims as claims
from rotting.engines.work_claims import WorkClaims


def test_one_at_a_time(tmp_path: Path) -> None:
    mine, others, path = WorkClaims(), WorkClaims(), tmp_path / "a" / "work.claim"
    assert mine.take(path)
    assert not others.take(path)
    mine.drop(path)
    assert not path.exists()
    assert others.take(path)
    mine.drop(path)  # it is no longer its own
    assert path.exists()
    others.close()
    mine.close()
    assert not path.exists()


def test_a_claim_of_a_dead_process_of_this_machine_is_taken_over_at_once(tmp_path: Path) -> None:
    path = tmp_path / "work.claim"
    imports = "import os; from pathlib import Path; from rotting.engines.work_claims import WorkClaims"
    code = f"{imports}; WorkClaims().take(Path({str(path)!r})); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert path.exists()
    mine = WorkClaims()
    assert mine.take(path)
    assert path.read_text().endswith(f" {os.getpid()}")
    mine.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limits of files")
def test_a_full_disk_leaves_no_claim(tmp_path: Path) -> None:
    """A file can be created there, but not written. Others would wait half a minute for a claim that names no process."""
    path = tmp_path / "work.claim"
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
    take = "from pathlib import Path; from rotting.engines.work_claims import WorkClaims"
    code = f"{full}; {take}; assert WorkClaims().take(Path({str(path)!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert not path.exists()


class Kernel32:
    """The functions of Windows that look for a process: 3 is alive, 4 has ended and is kept, 5 is another user's."""

    def __init__(self) -> None:
        self.opened: set[int] = set()

        def open_process(access: int, _inherit: bool, process: int) -> int | None:
            assert access == 0x0010_0000  # SYNCHRONIZE
            if process not in {3, 4}:
                return None
            self.opened.add(2**40 + process)  # handles have 64 bits
            return 2**40 + process

        self.OpenProcess = open_process

    def WaitForSingleObject(self, handle: ctypes.c_void_p, milliseconds: int) -> int:
        assert handle.value in self.opened
        assert milliseconds == 0
        return 258 if handle.value == 2**40 + 3 else 0

    def CloseHandle(self, handle: ctypes.c_void_p) -> None:
        assert handle.value is not None
        self.opened.remove(handle.value)


@pytest.mark.parametrize(("process", "error", "is_taken"), [(3, 0, False), (4, 0, True), (5, 5, False), (6, 87, True)])
def test_on_windows_no_signal_is_sent_to_look_for_a_process(
    process: int, error: int, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signal 0 is Ctrl-C there."""
    kernel, path = Kernel32(), tmp_path / "work.claim"
    monkeypatch.setattr(ctypes, "WinDLL", lambda _, use_last_error: kernel, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: error, raising=False)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("a signal was sent"))
    path.write_text(f"{socket.gethostname()} {process}")
    with monkeypatch.context() as here:
        here.setattr(sys, "platform", "win32")
        mine = WorkClaims()
        assert mine.take(path) == is_taken
    mine.close()
    assert not kernel.opened


def test_a_claim_of_another_machine_is_taken_over_when_it_falls_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "work.claim", [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    path.write_text("elsewhere 1")
    mine = WorkClaims()
    assert not mine.take(path)
    now[0] += 29.9
    assert not mine.take(path)
    os.utime(path, ns=(1, 1))  # it was renewed
    now[0] += 2
    assert not mine.take(path)
    now[0] += 30.1
    assert mine.take(path)
    assert list(tmp_path.iterdir()) == [path]  # the old claim is gone
    mine.close()


def test_claims_are_given_back_when_control_c_interrupts_the_start_of_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    mine, path = WorkClaims(), tmp_path / "work.claim"
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mine.take(path)
    assert path.exists()
    mine.close()
    assert not path.exists()


@pytest.mark.parametrize("stale", [False, True])
def test_control_c_in_any_line_leaves_no_claim_behind(tmp_path: Path, stale: bool) -> None:
    path = tmp_path / "work.claim"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    old = f"{socket.gethostname()} {dead.pid}"
    for lines in itertools.count():
        if stale:
            path.write_text(old)
        if not is_interrupted(WorkClaims(), path, lines):
            break
        assert not path.exists() or path.read_text() == old, lines
    assert lines >= 20


def is_interrupted(mine: WorkClaims, path: Path, lines: int) -> bool:
    """Take and drop a claim, and close; return whether Ctrl-C interrupted that after so many lines."""
    seen: set[tuple[FrameType, int]] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != claims.__file__:
            return None
        here = frame, frame.f_lineno
        if event == "line" and here not in seen:  # `with` comes twice: raised before its end, an exception would skip the end
            seen.add(here)
            if len(seen) > lines:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        mine.take(path)
        mine.drop(path)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        mine.close()
    return False


def test_a_claim_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_RENEWAL_SECONDS", 0.01)
    path, mine = tmp_path / "work.claim", WorkClaims()
    mine.take(path)
    os.utime(path, ns=(1, 1))
    for _ in range(500):
        if path.stat().st_mtime_ns > 1:
            break
        time.sleep(0.01)
    assert path.stat().st_mtime_ns > 1
    mine.close()


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert WorkClaims().take(tmp_path / "file" / "work.claim")


def renewing() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "rotting-claims"]


class LeftSlowly:
    """A lock after which the thread that renews takes its time."""

    def __init__(self, lock: Any) -> None:
        self.lock, self.left = lock, threading.Event()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()
        if threading.current_thread().name == "rotting-claims":
            self.left.set()
            time.sleep(0.2)


def test_no_thread_is_left_behind_a_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one that had nothing left to renew, and was at its end just then."""
    monkeypatch.setattr(claims, "_RENEWAL_SECONDS", 0.01)
    before, mine, path = renewing(), WorkClaims(), tmp_path / "work.claim"
    slow = LeftSlowly(mine._lock)
    monkeypatch.setattr(mine, "_lock", slow)
    mine.take(path)
    mine.drop(path)
    assert slow.left.wait(30)
    mine.close()
    assert renewing() == before


def test_what_is_taken_after_a_close_leaves_nothing_behind(tmp_path: Path) -> None:
    before, mine, path = renewing(), WorkClaims(), tmp_path / "work.claim"
    mine.close()
    assert mine.take(path)
    assert not path.exists()
    assert renewing() == before


def test_claims_that_nobody_holds_any_more_are_not_renewed(tmp_path: Path) -> None:
    before, mine = renewing(), WorkClaims()
    mine.take(tmp_path / "work.claim")
    (thread,) = [each for each in renewing() if each not in before]
    del mine
    thread.join(30)
    assert not thread.is_alive()
