"""Markers of cached machine code, and the one process that compiles."""

import threading
import time
from pathlib import Path

import pytest

from rotting.engines.code_cache import compiling, is_cached, mark_cached


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    return folder


def test_code_is_kept_as_long_as_the_file_of_numba_is_there(tmp_path: Path) -> None:
    index = tmp_path / "play.nbi"
    mark_cached("abcd", index)
    assert not is_cached("abcd")
    index.write_bytes(b"")
    mark_cached("abcd", index)
    assert is_cached("abcd")
    assert not is_cached("abce")
    index.unlink()
    assert not is_cached("abcd")


def test_a_cache_can_be_copied_to_another_folder(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an image that is built in stages does."""
    index = cache / "policies" / "play.nbi"
    index.parent.mkdir(parents=True)
    index.write_bytes(b"")
    mark_cached("abcd", index)
    cache.rename(tmp_path / "copied")
    assert not is_cached("abcd")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "copied"))
    assert is_cached("abcd")
    (tmp_path / "copied" / "policies" / "play.nbi").unlink()
    assert not is_cached("abcd")


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    index = tmp_path / "play.nbi"
    index.write_bytes(b"")
    mark_cached("abcd", index)
    assert not is_cached("abcd")
    with compiling("abcd"):
        pass


def test_of_two_that_need_the_same_code_one_waits_for_the_other(tmp_path: Path) -> None:
    index, events = tmp_path / "play.nbi", []
    index.write_bytes(b"")
    compiles = threading.Event()

    def second() -> None:
        assert compiles.wait(60)
        with compiling("abcd"):
            events.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with compiling("abcd"):
        compiles.set()
        time.sleep(0.2)
        events.append("first")
        mark_cached("abcd", index)
    thread.join()
    assert events == ["first", "second"]


def test_after_one_that_fails_the_next_one_compiles() -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), compiling("abcd"):
            raise ZeroDivisionError
