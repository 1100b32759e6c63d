"""Events that are on the disk when the call returns: the store, and SQLite itself with one row a transaction."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rotting
from benchmarks import ROOT
from benchmarks.measure import Finding, Size

PAYLOAD = {
    "event": "decided",
    "id": "0123456789abcdef" * 2,
    "round": 123_456,
    "arm": "song-17",
    "arms": None,
    "propensity": 0.25,
}
_GOALS = (
    ("one event a transaction: SQLite itself over rotting", "store", 1, 0.6),
    ("rotting.open, a decision of EffRAWUCB, K = 10: SQLite itself over rotting", "bandit", 1, 0.6),
    ("batches of 1,000 events, each: SQLite itself, one row a transaction, over rotting", "batch", 1_000, 10.0),
)


def _calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """What is timed, each in a file of its own."""
    import apsw  # noqa: PLC0415 - an extra

    from rotting.store.records import encode  # noqa: PLC0415
    from rotting.store.sqlite import SQLiteStore  # noqa: PLC0415 - needs the extra

    raw = apsw.Connection(str(folder / "raw.db"))
    raw.pragma("journal_mode", "wal")
    raw.pragma("synchronous", "full")
    raw.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, payload BLOB)")
    row = (encode("payload", PAYLOAD),)
    store, batches = SQLiteStore(folder / "store.rot"), SQLiteStore(folder / "batches.rot")
    for each in (store, batches):
        each.add_bandit("songs", {})
    bandit = rotting.open(folder / "bandit.rot", rotting.EffRAWUCB(), arms=list(range(10)))
    return {
        "sqlite": lambda: raw.execute("INSERT INTO events (payload) VALUES (?)", row),
        "store": lambda: store.append([("songs", PAYLOAD)]),
        "bandit": bandit.decide,
        "batch": lambda: batches.append([("songs", PAYLOAD)] * 1_000),
    }


def measure(size: Size) -> list[Finding]:
    """Let all take turns call by call, since a disk is fast now and slow then, and compare the medians."""
    try:
        import apsw  # noqa: F401, PLC0415 - an extra
    except ImportError:
        why = "apsw is not installed: pip install 'rotting[store]'"
        return [Finding(what, None, "at least", limit, detail=why) for what, _, _, limit in _GOALS]
    build = ROOT / "build"  # on the disk of the project: a temporary folder may be in memory
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        calls = _calls(Path(folder))
        spent: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(100 * size.repeats if size.repeats > 1 else 3):
            for name, call in calls.items():
                began = time.perf_counter()
                call()
                spent[name].append((time.perf_counter() - began) * 1e6)
    median = {name: statistics.median(times) for name, times in spent.items()}
    return [
        Finding(what, median["sqlite"] / (median[name] / events), "at least", limit, detail=_detail(median, name))
        for what, name, events, limit in _GOALS
    ]


def _detail(median: dict[str, float], name: str) -> str:
    return f"medians {median['sqlite']:.4g} and {median[name]:.4g} us a call"
