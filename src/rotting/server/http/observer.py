"""Looks after the bandits behind the scenes: counts their new events, and finds the arms that wear out.

Nothing here is part of a turn or of a request. `rotting.diagnose` judges a sample of a bandit's decisions every few minutes, so
that the dashboard, the metrics and a log that is analysed by hand agree on what wears out.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting.errors import RottingError, StoreFailedError
from rotting.server.http.history import Histories
from rotting.server.store.database import Database, all_records
from rotting.server.store.events import BanditRecord
from rotting.server.store.rows import DecisionRow, decision_rows

if TYPE_CHECKING:
    from rotting.common.arrays import AnyArray
    from rotting.logs.diagnosis import Diagnosis

PAUSE = 10.0
"""Seconds between two looks at all bandits."""
_BANDITS = 100  # that are looked at: the first by name
_READ_SECONDS = 2.0  # for which one look reads new events
_ROWS = 100_000  # decisions that are judged
_JUDGE_AGAIN = 300.0  # seconds
_KINDS = np.int64, np.int64, np.float64, np.float64, object  # of the round, the arm, the reward, the time and the unit
_log = logging.getLogger("rotting.server")


class Verdicts(NamedTuple):
    """What `rotting.diagnose` says about a sample of the decisions of a bandit."""

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
        tell: called with a bandit, "worn", "silent" or "starved", and the arms that newly are so.
    """

    def __init__(
        self,
        database: Database,
        histories: Histories,
        tell: Callable[[BanditRecord, str, frozenset[Hashable]], object] | None = None,
    ) -> None:
        self._database, self._histories, self._tell = database, histories, tell
        self._verdicts: dict[str, Verdicts] = {}
        self._samples: dict[str, Sample] = {}
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
                try:
                    self._look_at(record, at_once)
                except StoreFailedError:
                    raise
                except RottingError as error:  # such as a damaged log, which must not keep the others from being looked at
                    _log.warning("bandit %s was not looked at: %s", record.name, error)
        except RottingError as error:  # the next look may succeed
            _log.warning("the bandits were not looked at: %s", error)

    def _look_at(self, record: BanditRecord, at_once: bool) -> None:
        with self._histories.read_on(record) as (counted, behind):
            number, windowed = counted.last_read, counted.pending.windowed
            found = counted.silent(), counted.starved()
        if not behind and (at_once or time.monotonic() >= self._judged.get(record.id, 0.0)):
            self._judged[record.id] = time.monotonic() + _JUDGE_AGAIN
            self._judge(record, number, windowed, *found)

    def _judge(
        self, record: BanditRecord, number: int, windowed: bool, silent: frozenset[Hashable], starved: frozenset[Hashable]
    ) -> None:
        before = self._verdicts.get(record.id)
        if before is not None and before.number == number:
            return
        sample = self._samples.setdefault(record.id, Sample())
        sample.read(self._database, record, windowed)
        worn = sample.wearing_out()
        self._verdicts[record.id] = Verdicts(number, worn, silent, starved)
        if self._tell is not None and before is not None:  # what was known before a start is not told again
            self._tell(record, "worn", frozenset(worn.keys() - before.worn.keys()))
            self._tell(record, "silent", silent - before.silent)
            self._tell(record, "starved", starved - before.starved)


class Sample:
    """The settled decisions of a bandit that are judged: the first ones of each arm, the newest ones, and some between.

    An arm that fell long ago would look steady without the decisions from before it fell.

    Args:
        size: the largest number of decisions.
    """

    def __init__(self, size: int = _ROWS) -> None:
        self._size = size
        self._arms: list[Hashable] = []
        self._columns: tuple[AnyArray, ...] = tuple(np.zeros(0, kind) for kind in _KINDS)

    def __len__(self) -> int:
        return int(self._columns[0].size)

    def read(self, database: Database, record: BanditRecord, windowed: bool) -> None:
        """Read the newest decisions; the first time, also the oldest ones."""
        last = database.last(record)
        number = 0 if last is None else last.number
        events = 3 * self._size // 2  # two or three for a decision
        if not len(self) and number - events > record.base + events:
            oldest = list(decision_rows(database, record, until=record.base + events))
            self.add(oldest[: len(oldest) * 9 // 10])  # the rewards of others may come later
        self.add(list(decision_rows(database, record, number - events, windowed)))

    def add(self, rows: Sequence[DecisionRow]) -> None:
        """Add decisions, instead of those that are not older."""
        places = {arm: place for place, arm in enumerate(self._arms)}
        settled = [row for row in rows if row.id and row.reward is not None and not row.forgotten]
        for row in settled:
            places.setdefault(row.arm, len(places))
        self._arms = list(places)
        gone = [places[arm] for arm in {row.arm for row in rows if row.forgotten} if arm in places]
        new = [(row.round, places[row.arm], row.reward, row.time, row.unit or "") for row in settled]
        columns = zip(*new, strict=True) if new else [()] * len(_KINDS)
        older = self._columns[0] < (rows[0].round if rows else math.inf)
        older &= ~np.isin(self._columns[1], gone)
        self._columns = tuple(
            np.concatenate([old[older], np.array(each, kind)])
            for old, each, kind in zip(self._columns, columns, _KINDS, strict=True)
        )
        self._thin()

    def _thin(self) -> None:
        """Leave out every second decision between the first ones of each arm and the newest ones, until there are few enough.

        Which ones are left out does not depend on their rewards.
        """
        from rotting.logs.log import positions  # noqa: PLC0415

        kept = np.ones(len(self), bool)
        early = positions(self._columns[1]) < self._size // 4 // max(len(self._arms), 1)
        between = np.flatnonzero(~early[: -self._size // 2])
        while kept.sum() > self._size:
            kept[between[::2]] = False
            between = between[1::2]
        self._columns = tuple(each[kept] for each in self._columns)

    def wearing_out(self) -> dict[Hashable, str]:
        """Return the arms that wear out, with how long they last."""
        found = self.diagnosis()
        if found is None:
            return {}
        worn = [each for each in found.arms if each.verdict == "wears out"]
        return {self._arms[int(str(each.name))]: found.lifetime(each) for each in worn}

    def diagnosis(self) -> "Diagnosis | None":
        """Return what `rotting.diagnose` says; its arms are positions in `arms`. None if nothing has settled."""
        if not len(self):
            return None
        from rotting.logs.diagnosis import diagnose  # noqa: PLC0415 - as soon as there is something to judge
        from rotting.logs.log import Log  # noqa: PLC0415

        _, arm, reward, time, unit = self._columns
        columns = {"arm": arm, "reward": reward, "time": (time * 1e6).astype("datetime64[us]"), "unit": unit}
        return diagnose(Log(columns, time="time", unit="unit" if (unit != "").any() else None))
