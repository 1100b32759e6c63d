"""Events that are on the disk when the call returns: the store, and SQLite itself with one row a transaction."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.measure import Contestant, Sample, UnavailableError

PAYLOAD = {
    "event": "decided",
    "id": "0123456789abcdef" * 2,
    "round": 123_456,
    "arm": "song-17",
    "arms": None,
    "propensity": 0.25,
}


def _timed(name: str, count: int, begin: Callable[[Path], tuple[Callable[[], Any], int]]) -> Contestant:
    """Time calls that write events, in a new file each turn; `begin` returns the call, and how many events it writes."""

    def turn() -> Sample:
        build = ROOT / "build"  # on the disk of the project: a temporary folder may be in memory
        build.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=build) as folder:
            call, events = begin(Path(folder, name))
            began = time.perf_counter()
            for _ in range(count):
                call()
            spent = time.perf_counter() - began
        return Sample(spent * 1e6 / (count * events), spent)

    return turn


def sqlite(count: int) -> Contestant:
    """Return SQLite itself: one row with the same bytes a transaction, in the same mode, and nothing else."""

    def begin(path: Path) -> tuple[Callable[[], Any], int]:
        try:
            import apsw  # noqa: PLC0415 - an extra
        except ImportError:
            raise UnavailableError("apsw is not installed: pip install 'rotting[store]'") from None
        from rotting.store.records import encode  # noqa: PLC0415

        database = apsw.Connection(str(path))
        database.pragma("journal_mode", "wal")
        database.pragma("synchronous", "full")
        database.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, payload BLOB)")
        row = (encode("payload", PAYLOAD),)
        return lambda: database.execute("INSERT INTO events (payload) VALUES (?)", row), 1

    return _timed("raw.db", count, begin)


def store(count: int, batch: int, durability: Any = "disk") -> Contestant:
    """Return the store, with so many events a call."""

    def begin(path: Path) -> tuple[Callable[[], Any], int]:
        try:
            from rotting.store.sqlite import SQLiteStore  # noqa: PLC0415 - needs an extra
        except ImportError as error:
            raise UnavailableError(str(error)) from None
        kept = SQLiteStore(path, durability=durability)
        kept.add_bandit("songs", {})
        events = [("songs", PAYLOAD)] * batch
        return lambda: kept.append(events), batch

    return _timed("songs.rot", count, begin)
