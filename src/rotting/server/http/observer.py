"""Looks after the bandits behind the scenes: counts their new events, and finds the arms that wear out.

Nothing here is part of a turn or of a request. `rotting.diagnose` judges the newest decisions of a bandit every few minutes, so
that the dashboard, the metrics and a log that is analysed by hand agree on what wears out.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rotting.errors import RottingError
from rotting.server.http.history import Histories
from rotting.server.store.database import Database, all_records
from rotting.server.store.events import BanditRecord
from rotting.server.store.rows import decision_rows

if TYPE_CHECKING:
    from rotting.logs.diagnosis import ArmTrend
    from rotting.logs.log import Log

PAUSE = 10.0
"""Seconds between two looks at all bandits."""
_BANDITS = 100  # that are looked at: the first by name
_READ_SECONDS = 2.0  # for which one look reads new events
_ROWS = 100_000  # the newest decisions that are judged
_JUDGE_AGAIN = 300.0  # seconds
_log = logging.getLogger("rotting.server")


class Verdicts(NamedTuple):
    """What `rotting.diagnose` says about the newest decisions of a bandit."""

    number: int
    """The last event that was read for it."""
    worn: Mapping[Hashable, str] = MappingProxyType({})
    """The arms that wear out, and how long each of them lasts, or why that is not known."""
    silent: frozenset[Hashable] = frozenset()
    """The arms that used to pay and pay nothing any more."""
    starved: frozenset[Hashable] = frozenset()
    """The arms that could be chosen and are not."""


class Observer:
    """Looks at all bandits regularly, in a thread of its own that `look` starts.

    Args:
        database: has the logs.
        histories: what is counted.
        tell: called with a bandit, "worn", "silent" or "starved", and the arms of which that is new.
    """

    def __init__(
        self,
        database: Database,
        histories: Histories,
        tell: Callable[[BanditRecord, str, frozenset[Hashable]], object] | None = None,
    ) -> None:
        self._database, self._histories, self._tell = database, histories, tell
        self._verdicts: dict[str, Verdicts] = {}
        self._judged: dict[str, float] = {}
        self._next = 0.0
        self._thread: threading.Thread | None = None

    def verdicts(self, record: BanditRecord) -> Verdicts | None:
        """Return the newest verdicts on the arms of a bandit; None if there are none yet."""
        return self._verdicts.get(record.id)

    def look_regularly(self) -> None:
        """Start a look if one is due and none is under way."""
        if time.monotonic() > self._next and (self._thread is None or not self._thread.is_alive()):
            self._next = time.monotonic() + PAUSE
            self._thread = threading.Thread(target=self.look, name="rotting-observer", daemon=True)
            self._thread.start()

    def look(self, at_once: bool = False) -> None:
        """Count new events of all bandits, and judge those whose turn it is, or all of them."""
        until = time.monotonic() + _READ_SECONDS
        try:
            for k, record in enumerate(all_records(self._database)):
                if k == _BANDITS or time.monotonic() > until:
                    return
                if record.archived:
                    continue
                with self._histories.read_on(record) as (counted, behind):
                    number, windowed = counted.last_read, counted.pending.windowed
                    found = counted.silent(), counted.starved()
                if not behind and (at_once or time.monotonic() >= self._judged.get(record.id, 0.0)):
                    self._judged[record.id] = time.monotonic() + _JUDGE_AGAIN
                    self._judge(record, number, windowed, *found)
        except RottingError as error:  # the next look may succeed
            _log.warning("the bandits were not looked at: %s", error)

    def _judge(
        self, record: BanditRecord, number: int, windowed: bool, silent: frozenset[Hashable], starved: frozenset[Hashable]
    ) -> None:
        before = self._verdicts.get(record.id)
        if before is not None and before.number == number:
            return
        log = newest_log(self._database, record, windowed)
        worn = {} if log is None else wearing_out(log)
        self._verdicts[record.id] = Verdicts(number, worn, silent, starved)
        if self._tell is not None and before is not None:  # what was known before a start is not told again
            self._tell(record, "worn", frozenset(worn.keys() - before.worn.keys()))
            self._tell(record, "silent", silent - before.silent)
            self._tell(record, "starved", starved - before.starved)


def wearing_out(log: "tuple[Log, list[Hashable]]") -> dict[Hashable, str]:
    """Return the arms of a log that wear out, with how long they last; the log has their positions in a list as names."""
    from rotting.logs.diagnosis import diagnose  # noqa: PLC0415 - as soon as there is something to judge

    table, arms = log
    found = diagnose(table)
    worn = [each for each in found.arms if each.verdict == "wears out"]
    return {arms[int(str(each.name))]: _lifetime(each, found.decay, len(table.units) > 1) for each in worn}


def _lifetime(arm: "ArmTrend", decay: str, has_units: bool) -> str:
    """Return how long an arm lasts, or why that is not known."""
    if arm.half_life_reason:
        return f"how long it lasts is not known: {arm.half_life_reason}"
    size, clock = (86_400.0, "days since its launch") if decay == "time" else (1.0, "decisions for it")
    clock += " in one unit" if has_units and decay != "time" else ""
    half, low, high = (f"{float(f'{x / size:.1e}'):,.10g}" for x in (arm.half_life, arm.half_life_low, arm.half_life_high))
    return f"earns half of what it did after about {half} {clock} [{low}, {high}]"


def newest_log(
    database: Database, record: BanditRecord, windowed: bool, rows: int = _ROWS
) -> "tuple[Log, list[Hashable]] | None":
    """Return the newest decisions of a bandit that have settled, and its arms; None if there are none.

    The arms of the log are positions in the list.
    """
    last = database.last(record)
    after = 0 if last is None else last.number - 3 * rows  # two or three events for a decision
    made = decision_rows(database, record, after, windowed)
    settled = [row for row in made if row.id and row.reward is not None and not row.forgotten][-rows:]
    if not settled:
        return None
    arms = list(dict.fromkeys(row.arm for row in settled))
    places = {arm: str(place) for place, arm in enumerate(arms)}
    columns = {
        "arm": [places[row.arm] for row in settled],
        "reward": [row.reward for row in settled],
        "time": [row.time for row in settled],
        "unit": [row.unit or "" for row in settled],
    }
    from rotting.logs.log import Log  # noqa: PLC0415

    has_units = any(row.unit for row in settled)
    return Log(columns, time="time", unit="unit" if has_units else None), arms
