"""Metrics for Prometheus."""

import sys
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from rotting.errors import MissingExtraError, StoreError
from rotting.live.values import Outcome
from rotting.server.http.observer import watched_records
from rotting.server.store.turns import TurnReport

try:
    from prometheus_client import CollectorRegistry, Histogram, generate_latest
    from prometheus_client import Counter as TotalCounter
    from prometheus_client.core import GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ImportError as error:
    raise MissingExtraError("the service needs prometheus-client: pip install 'rotting[service]'") from error

if TYPE_CHECKING:
    from rotting.server.http.history import ArmTotals, RewardBuckets
    from rotting.server.http.service import Service

_ARMS = 100  # arms that have series of their own, of all bandits: those that were shown most
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_AGES = (60, 600, 3_600, 86_400)  # seconds
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


_OF_BANDITS = {
    "decisions": "Decisions in the log",
    "settled": "Decisions that have settled with a reward",
    "lost": "Decisions that ended without a reward: expired or cancelled",
    "pending": "Decisions that have not settled",
    "oldest_pending_seconds": "Age of the oldest decision that has not settled",
    "pending_limit": "How many decisions can be pending; each further one ends the oldest. Without a limit there is no series",
    "mean": "Mean reward of the decisions that have settled",
    "worn_arms": "Arms that wear out",
    "events": "Events that the log keeps",
    "keep_seconds": "For how long they are kept; without a limit there is no series",
}
_OF_ARMS = {
    "share": "Share of the newest decisions",
    "decisions": "Decisions in the log",
    "mean": "Mean reward of the decisions that have settled",
    "mean_low": "Lower end of its 95 % interval",
    "mean_high": "Upper end of its 95 % interval",
    "worn": "1 if the arm wears out, else 0",
}


class Metrics(Collector):
    """All metrics of a server: what it did itself, and the size of the store.

    The totals count all bandits. Only the bandits that the observer watches have series of their own.
    """

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._registry = registry = CollectorRegistry()
        self._responses = TotalCounter(
            "rotting_responses", "Responses by path and status", ("path", "status"), registry=registry
        )
        self._rewards = TotalCounter("rotting_rewards", "Rewards by outcome", ("outcome",), registry=registry)
        self._events = TotalCounter("rotting_events", "Events written, by kind", ("event",), registry=registry)
        self._latency = Histogram(
            "rotting_request_seconds", "Time to respond, by path", ("path",), registry=registry, buckets=_SECONDS
        )
        self._turns = Histogram("rotting_turn_seconds", "Length of a turn", registry=registry, buckets=_SECONDS)
        self._calls = Histogram("rotting_turn_calls", "Calls that shared a turn", registry=registry, buckets=_SIZES)
        self._waits = Histogram("rotting_turn_wait_seconds", "Wait of a call for its turn", registry=registry, buckets=_SECONDS)
        self._folded = TotalCounter("rotting_folded_events", "Events of other servers that were folded", registry=registry)
        registry.register(self)

    def responded(self, path: str, status: int, seconds: float) -> None:
        """Count a response."""
        self._responses.labels(path, str(status)).inc()
        self._latency.labels(path).observe(seconds)

    def rewarded(self, outcomes: Iterable[Outcome]) -> None:
        """Count the outcomes of rewards."""
        for outcome, number in Counter(outcomes).items():
            self._rewards.labels(outcome).inc(number)

    def count_turn(self, report: TurnReport) -> None:
        """Count a turn."""
        self._turns.observe(report.seconds)
        self._calls.observe(len(report.waits))
        for each in report.waits:
            self._waits.observe(each)
        self._folded.inc(report.folded)
        for events in report.events.values():
            # An event begins with its kind: {"event":"decided",...
            kinds = Counter(event.payload[10 : event.payload.index(b'"', 10)].decode() for event in events)
            for kind, number in kinds.items():
                self._events.labels(kind).inc(number)

    def collect(self) -> Iterator[Metric]:
        """Yield what is counted elsewhere."""
        service = self._service
        wait = service.turns.oldest_wait()
        yield GaugeMetricFamily("rotting_oldest_wait_seconds", "For how long the oldest call has waited for its turn", wait)
        with suppress(StoreError):  # the other metrics matter most when the store is away
            yield GaugeMetricFamily("rotting_bandits", "Bandits of the store", service.database.count())
            yield GaugeMetricFamily("rotting_store_bytes", "Size of the store", service.database.size())
        with suppress(StoreError):
            yield from self._from_logs()

    def _from_logs(self) -> Iterator[Metric]:
        """Yield what the observer has read in the logs: the same on every server of a store, some seconds old.

        A decision counts in a mean when it settles.
        """
        service, now = self._service, time.time()
        of_bandits = {
            name: GaugeMetricFamily(f"rotting_log_{name}", text, labels=("bandit",)) for name, text in _OF_BANDITS.items()
        }
        of_arms = {
            name: GaugeMetricFamily(f"rotting_arm_{name}", text, labels=("bandit", "arm")) for name, text in _OF_ARMS.items()
        }
        by_age = GaugeMetricFamily(
            "rotting_log_pending_older", "Pending decisions that are older than so many seconds", labels=("bandit", "seconds")
        )
        shown: list[tuple[str, ArmTotals, RewardBuckets, tuple[int, dict[Hashable, int]], bool]] = []
        for record in watched_records(service.database):
            counted, verdicts = service.histories.known(record), service.observer.verdicts(record)
            if counted is None:
                continue
            worn = {} if verdicts is None else verdicts.worn
            with counted.lock:  # it may be reading on
                sums, oldest = counted.sums(), counted.pending.oldest
                for seconds in _AGES:
                    by_age.add_metric((record.name, str(seconds)), counted.pending.older_than(now - seconds))
                present, recent = counted.present(), counted.recent()
            known = service.turns.known(record.name)
            limit = None if known is None else known.bandit.state.most_pending
            values = {
                "decisions": sums.decisions,
                "settled": sums.rewards,
                "lost": sums.lost,
                "pending": sums.pending,
                "oldest_pending_seconds": 0.0 if oldest is None else max(0.0, now - oldest),
                "pending_limit": None if limit == sys.maxsize else limit,
                "mean": sums.mean,
                "worn_arms": len(worn),
                "events": counted.last_read - record.base,
                "keep_seconds": record.keep,
            }
            for name, value in values.items():
                if value is not None:
                    of_bandits[name].add_metric((record.name,), value)
            shown += [(record.name, each, counted, recent, each.name in worn) for each in present]
        for bandit, each, counted, (all_, newest), is_worn in sorted(shown, key=lambda row: -row[1].plays)[:_ARMS]:
            low, high = each.interval(counted.binary) or (None, None)
            numbers = {
                "share": newest.get(each.name, 0) / all_ if all_ else None, "decisions": each.plays, "mean": each.mean,
                "mean_low": low, "mean_high": high, "worn": float(is_worn),
            }  # fmt: skip
            for name, number in numbers.items():
                if number is not None:
                    of_arms[name].add_metric((bandit, str(each.name)), number)
        yield from (*of_bandits.values(), by_age, *of_arms.values())

    def text(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self._registry)
