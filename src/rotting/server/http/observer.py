"""Looks after the bandits behind the scenes: counts their new events, and finds the arms that wear out.

Nothing here is part of a turn or of a request. Every few minutes a sample of a bandit's decisions is judged, and the dashboard,
the metrics and the webhook tell what wears out.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from rotting.errors import RottingError, StoreFailedError
from rotting.server.http.history import Histories
from rotting.server.store.database import Database, all_records
from rotting.server.store.events import BanditRecord

PAUSE = 10.0
"""Seconds between two looks at the watched bandits."""
_BANDITS = 100  # that are watched
_NEARLY = 1_000  # events that may be unread when a bandit is judged: a busy one always has new ones
_READ_SECONDS = 2.0  # for which one look reads new events
_JUDGE_AGAIN = 300.0  # seconds
_log = logging.getLogger("rotting.server")


class Verdicts(NamedTuple):
    """What a sample of the decisions of a bandit says about its arms."""

    number: int
    """The last event that was read for it."""
    worn: Mapping[Hashable, str] = MappingProxyType({})
    """The arms that wear out, and how long each of them lasts, or why that is not known."""
    silent: frozenset[Hashable] = frozenset()
    """The arms that used to pay and pay nothing any more."""
    starved: frozenset[Hashable] = frozenset()
    """The arms that could be chosen and are not."""


def watched_records(database: Database) -> list[BanditRecord]:
    """Return the bandits that are watched: the first hundred by name that are not archived."""
    return list(islice((each for each in all_records(database) if not each.archived), _BANDITS))


class Observer:
    """Looks at the watched bandits regularly, in a thread of its own that `look` starts.

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
        self._judged: dict[str, float] = {}
        self._last = ""  # the name of the bandit that was looked at last
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
        """Count new events and judge the bandits whose turn it is, as long as there is time; or all of them at once."""
        until = time.monotonic() + _READ_SECONDS
        try:
            records = watched_records(self._database)
            for id in self._verdicts.keys() - {each.id for each in records}:  # deleted, archived, or not of the first any more
                self._verdicts.pop(id, None)
                self._judged.pop(id, None)
            records.sort(key=lambda each: each.name <= self._last)  # where the look before had no time left
            for record in records:
                if not at_once and time.monotonic() > until:
                    return
                self._last = record.name
                try:
                    self._look_at(record, at_once)
                except StoreFailedError:
                    raise
                except RottingError as error:  # such as a damaged log, which must not keep the others from being looked at
                    _log.warning("bandit %s was not looked at: %s", record.name, error)
        except RottingError as error:  # the next look may succeed
            _log.warning("the bandits were not looked at: %s", error)

    def _look_at(self, record: BanditRecord, at_once: bool) -> None:
        before, is_due = self._verdicts.get(record.id), at_once or time.monotonic() >= self._judged.get(record.id, 0.0)
        with self._histories.read_on(record) as (counted, behind):
            number = counted.last_read
            if not is_due or behind > _NEARLY or (before is not None and before.number == number):
                return
            sample, silent, starved = counted.sampled(), counted.silent(), counted.starved()
        self._judged[record.id] = time.monotonic() + _JUDGE_AGAIN
        self._judge(record, Verdicts(number, sample.wearing_out(), silent, starved), before)

    def _judge(self, record: BanditRecord, found: Verdicts, before: Verdicts | None) -> None:
        """Keep new verdicts, and tell what is new in them."""
        self._verdicts[record.id] = found
        if self._tell is not None and before is not None:  # what was known before a start is not told again
            self._tell(record, "worn", frozenset(found.worn.keys() - before.worn.keys()))
            self._tell(record, "silent", found.silent - before.silent)
            self._tell(record, "starved", found.starved - before.starved)
