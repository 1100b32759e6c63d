"""Metrics for Prometheus. Times are measured with a monotonic clock."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest
from typing import get_args

from rotting.errors import MissingExtraError
from rotting.live.decisions import Outcome
from rotting.store.host import Host

try:
    from prometheus_client import CollectorRegistry, Histogram, generate_latest
except ImportError as error:
    raise MissingExtraError("the service needs prometheus-client: pip install 'rotting[service]'") from error

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_HOUR, _MINUTE = 60, 60.0  # in minutes, in seconds
_SAMPLES = 1_000  # rounds whose time is kept, to estimate the age of a decision
_COUNTED = 1_000  # bandits that are counted one by one: those that were used last
_SHOWN = 100  # of these, the busiest have series of their own
_SLICE = 50  # bandits whose lines are written before the event loop serves other requests
_FAMILIES = {
    "rotting_responses_total": ("counter", "Responses by status"),
    "rotting_all_decisions_total": ("counter", "Decisions made by all bandits"),
    "rotting_all_rewards_total": ("counter", "Rewards of all bandits by outcome"),
    "rotting_bandits": ("gauge", "Bandits of the store"),
    "rotting_bandits_loaded": ("gauge", "Bandits in memory"),
    "rotting_decisions_total": ("counter", "Decisions made"),
    "rotting_rewards_total": ("counter", "Rewards by outcome"),
    "rotting_pending": ("gauge", "Decisions without a reward"),
    "rotting_pending_oldest_seconds": ("gauge", "Age of the oldest decision without a reward"),
    "rotting_reward_mean": ("gauge", "Mean reward of an hour"),
    "rotting_reward_change": ("gauge", "Mean reward of the last hour minus that of the hour before: a proxy of regret"),
}


class Tally:
    """Counts of one bandit since the service started."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.decisions = 0
        self.rewards: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
        self._minutes: deque[tuple[int, float, int]] = deque()  # each minute, the sum and the count of its rewards
        self._rounds: deque[tuple[int, float]] = deque()  # some rounds, and when they were played
        self._gap = 1.0  # seconds between two rounds that are kept

    def decided(self, first: int, count: int) -> None:
        """Count decisions."""
        self.decisions += count
        now = self._clock()
        if not self._rounds or now - self._rounds[-1][1] >= self._gap:
            self._rounds.append((first, now))
            if len(self._rounds) > _SAMPLES:
                self._rounds, self._gap = deque(list(self._rounds)[::2]), 2.0 * self._gap

    def rewarded(self, outcome: Outcome, reward: float) -> None:
        """Count a reward."""
        self.rewards[outcome] += 1
        if outcome != "applied":
            return
        minute = int(self._clock() // _MINUTE)
        if self._minutes and self._minutes[-1][0] == minute:
            _, total, number = self._minutes[-1]
            self._minutes[-1] = (minute, total + reward, number + 1)
        else:
            self._minutes.append((minute, reward, 1))
            while self._minutes[0][0] <= minute - 2 * _HOUR:
                self._minutes.popleft()

    def mean_rewards(self) -> tuple[float | None, float | None]:
        """Return the mean reward of the last hour and of the hour before."""
        now = int(self._clock() // _MINUTE)

        def mean(first: int, last: int) -> float | None:
            rows = [row for row in self._minutes if first < row[0] <= last]
            number = sum(row[2] for row in rows)
            return sum(row[1] for row in rows) / number if number else None

        return mean(now - _HOUR, now), mean(now - 2 * _HOUR, now - _HOUR)

    def age(self, oldest: int | None) -> float:
        """Return the age of the oldest pending round in seconds; 0.0 if there is none.

        Rounds of earlier processes count as old as the first round of this one.
        """
        if oldest is None:
            self._rounds.clear()
            self._gap = 1.0
            return 0.0
        while len(self._rounds) > 1 and self._rounds[1][0] <= oldest:
            self._rounds.popleft()
        return self._clock() - self._rounds[0][1] if self._rounds else 0.0


class Metrics:
    """All metrics of the service, as text for Prometheus.

    The totals count all bandits. Only a hundred bandits have series of their own, the busiest of the thousand that were used
    last, so that the text, the time and the memory do not grow with the number of bandits.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.tallies: OrderedDict[str, Tally] = OrderedDict()
        """Counts of the bandits that were used last, in order of their last use."""
        self._decisions = 0
        self._rewards: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
        self._registry = CollectorRegistry()
        self.responses: dict[int, int] = {}
        """The number of responses with each status."""
        buckets = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
        what = "From the moment a batch is taken until it is written"
        self.commit_seconds = Histogram("rotting_commit_seconds", what, registry=self._registry, buckets=buckets)
        sizes = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
        self.commit_events = Histogram("rotting_commit_events", "Events in one batch", registry=self._registry, buckets=sizes)

    def decided(self, name: str, first: int, count: int) -> None:
        """Count decisions of a bandit; `first` is the round of the first of them."""
        self._decisions += count
        self._tally(name).decided(first, count)

    def rewarded(self, name: str, outcomes: Iterable[tuple[Outcome, float]]) -> None:
        """Count rewards of a bandit."""
        tally = self._tally(name)
        for outcome, reward in outcomes:
            self._rewards[outcome] += 1
            tally.rewarded(outcome, reward)

    def _tally(self, name: str) -> Tally:
        """Return the counts of a bandit; those of a bandit that was not used for long start again at 0."""
        found = self.tallies.get(name)
        if found is None:
            found = self.tallies[name] = Tally()
            if len(self.tallies) > _COUNTED:
                self.tallies.popitem(last=False)
        else:
            self.tallies.move_to_end(name)
        return found

    async def text(self, gauges: Mapping[str, float]) -> bytes:
        """Return the metrics, and gauges of the server, for Prometheus. The event loop serves other requests in between."""
        families = {name: [f"# HELP {name} {what}\n# TYPE {name} {kind}\n"] for name, (kind, what) in _FAMILIES.items()}
        shown = sorted(nlargest(_SHOWN, self.tallies.items(), key=lambda each: each[1].decisions), key=lambda each: each[0])
        for number, (name, tally) in enumerate(shown):
            self._add_bandit(families, name, tally)
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
        families["rotting_all_decisions_total"].append(f"rotting_all_decisions_total {float(self._decisions)}\n")
        for outcome, count in self._rewards.items():
            families["rotting_all_rewards_total"].append(f'rotting_all_rewards_total{{outcome="{outcome}"}} {float(count)}\n')
        families["rotting_bandits"].append(f"rotting_bandits {float(len(self._host.descriptions))}\n")
        families["rotting_bandits_loaded"].append(f"rotting_bandits_loaded {float(len(self._host.loaded))}\n")
        for status, count in sorted(self.responses.items()):
            families["rotting_responses_total"].append(f'rotting_responses_total{{status="{status}"}} {float(count)}\n')
        own = [f"# TYPE rotting_{name} gauge\nrotting_{name} {float(value)}\n" for name, value in gauges.items()]
        lines = (line for family in families.values() for line in family)
        return "".join([*lines, *own]).encode() + generate_latest(self._registry)

    def _add_bandit(self, families: dict[str, list[str]], name: str, tally: Tally) -> None:
        """Add the lines of one bandit; names of bandits need no escapes."""
        label = f'bandit="{name}"'

        def add(family: str, value: float, more: str = "") -> None:
            families[family].append(f"{family}{{{label}{more}}} {float(value)}\n")

        add("rotting_decisions_total", tally.decisions)
        for outcome, count in tally.rewards.items():
            add("rotting_rewards_total", count, f',outcome="{outcome}"')
        hosted = self._host.loaded.get(name)
        if hosted is not None:
            add("rotting_pending", hosted.bandit.pending)
            add("rotting_pending_oldest_seconds", tally.age(hosted.oldest_round))
        last, before = tally.mean_rewards()
        if last is not None:
            add("rotting_reward_mean", last, ',hour="last"')
        if before is not None:
            add("rotting_reward_mean", before, ',hour="before"')
        if last is not None and before is not None:
            add("rotting_reward_change", last - before)
