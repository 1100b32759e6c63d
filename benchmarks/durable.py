"""Events that are on the disk when the call returns: the store, and SQLite itself with one row a transaction."""

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

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
NO_STORE = "" if find_spec("apsw") else "apsw is not installed: pip install 'rotting[store]'"
_BATCH = 1_000
_THREADS = 4
_GOALS = (
    ("one event a transaction: SQLite itself over rotting", "append", 1, 0.6),
    ("rotting.open, a decision of EffRAWUCB, K = 10: SQLite itself over rotting", "decide", 1, 0.6),
    ("rotting.open, a reward: SQLite itself over rotting", "reward", 1, 0.6),
    ("rotting.open, decide(count=10), each decision: SQLite itself, one row a transaction, over rotting", "page", 10, 1.0),
    ("reward_many of 10, each reward: SQLite itself, one row a transaction, over rotting", "rewards", 10, 3.0),
    ("batches of 1,000 events, each: SQLite itself, one row a transaction, over rotting", "batch", _BATCH, 10.0),
    ("4 threads decide and reward at once, each of both: SQLite itself over rotting", "threads", 16 * _THREADS, 0.5),
)


class _Race:
    """What is timed, each in a file of its own; what a call needs or leaves to be done is not timed."""

    def __init__(self, folder: Path) -> None:
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
        names = ("decide", "reward", "page", "rewards", "threads")
        bandits = {name: rotting.open(folder / f"{name}.rot", rotting.EffRAWUCB(), arms=list(range(10))) for name in names}
        self._bandits = bandits
        self._owed: dict[str, list[rotting.Decision]] = {name: [] for name in names}
        self.calls: dict[str, Callable[[], object]] = {
            "sqlite": lambda: raw.execute("INSERT INTO events (payload) VALUES (?)", row),
            "append": lambda: store.append([("songs", PAYLOAD)]),
            "decide": lambda: self._owed["decide"].append(bandits["decide"].decide()),
            "reward": lambda: bandits["reward"].reward(self._owed["reward"][0].id, 0.5),
            "page": lambda: self._owed["page"].extend(bandits["page"].decide(count=10)),
            "rewards": lambda: bandits["rewards"].reward_many([(each.id, 0.5) for each in self._owed["rewards"]]),
            "batch": lambda: batches.append([("songs", PAYLOAD)] * _BATCH),
            "threads": lambda: _at_once(lambda: bandits["threads"].reward(bandits["threads"].decide().id, 0.5)),
        }

    def settle(self) -> None:
        """Reward what was decided in this round, and decide what will be rewarded in the next."""
        for name, count in (("decide", 0), ("page", 0), ("reward", 1), ("rewards", 10)):
            if count == 0:
                self._bandits[name].reward_many([(each.id, 0.5) for each in self._owed[name]])
            self._owed[name] = [*self._bandits[name].decide(count=count)] if count else []


def _at_once(call: Callable[[], object]) -> None:
    def often() -> None:
        for _ in range(8):
            call()

    threads = [threading.Thread(target=often) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def project_folder() -> Iterator[Path]:
    """Give a folder on the disk of the project, and remove it: a temporary one may be in memory."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        yield Path(folder)


def measure(size: Size) -> list[Finding]:
    """Let all take turns call by call, since a disk is fast now and slow then, and compare the medians."""
    if NO_STORE:
        return [Finding(what, None, "at least", limit, detail=NO_STORE) for what, _, _, limit in _GOALS]
    with project_folder() as folder:
        race = _Race(folder)
        spent: dict[str, list[float]] = {name: [] for name in race.calls}
        order = random.Random(0)  # noqa: S311 - no secret
        for _ in range(100 * size.repeats if size.repeats > 1 else 3):
            race.settle()
            for name, call in order.sample([*race.calls.items()], len(race.calls)):  # what was written before matters
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
