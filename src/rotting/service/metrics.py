"""What is counted, for Prometheus. Times are those of a clock that is never set back."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import get_args

from rotting.errors import MissingExtraError
from rotting.live.decisions import Outcome
from rotting.store.host import Host

try:
    from prometheus_client import CollectorRegistry, Histogram, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ImportError as error:
    raise MissingExtraError("the service needs prometheus-client: pip install 'rotting[service]'") from error

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_HOUR, _MINUTE = 60, 60.0
_SAMPLES = 1_000  # of rounds and times, to tell how old a decision is


class Tally:
    """What is counted of one bandit since the service started."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.decisions = 0
        self.rewards: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
        self._minutes: deque[tuple[int, float, int]] = deque()  # which minute, the sum and the number of its rewards
        self._rounds: deque[tuple[int, float]] = deque()  # rounds, and when they were
        self._gap = 1.0  # seconds between two of them

    def decided(self, first: int, count: int) -> None:
        """Count decisions."""
        self.decisions += count
        now = self._clock()
        if not self._rounds or now - self._rounds[-1][1] >= self._gap:
            self._rounds.append((first, now))
            if len(self._rounds) > _SAMPLES:
                self._rounds, self._gap = deque(list(self._rounds)[::2]), 2.0 * self._gap

    def rewarded(self, outcome: Outcome, value: float) -> None:
        """Count a reward."""
        self.rewards[outcome] += 1
        if outcome != "applied":
            return
        minute = int(self._clock() // _MINUTE)
        if self._minutes and self._minutes[-1][0] == minute:
            _, total, number = self._minutes[-1]
            self._minutes[-1] = (minute, total + value, number + 1)
        else:
            self._minutes.append((minute, value, 1))
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
        """Return how many seconds ago a round was; the rounds before this process count from its first one.

        Args:
            oldest: its number, or None if nothing is waited for.
        """
        if oldest is None:
            self._rounds.clear()
            self._gap = 1.0
            return 0.0
        while len(self._rounds) > 1 and self._rounds[1][0] <= oldest:
            self._rounds.popleft()
        return self._clock() - self._rounds[0][1] if self._rounds else 0.0


class Metrics(Collector):
    """Everything that is counted."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.tallies: dict[str, Tally] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self.answers: dict[int, int] = {}
        buckets = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
        what = "From the moment a batch is taken until it is written"
        self.commit_seconds = Histogram("rotting_commit_seconds", what, registry=self._registry, buckets=buckets)
        sizes = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
        self.commit_events = Histogram("rotting_commit_events", "Events in one batch", registry=self._registry, buckets=sizes)

    def tally(self, name: str) -> Tally:
        """Return what is counted of a bandit."""
        found = self.tallies.get(name)
        if found is None:
            found = self.tallies[name] = Tally()
        return found

    def text(self) -> bytes:
        """Return all in the format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield what is counted of the bandits."""
        answers = CounterMetricFamily("rotting_answers", "Answers by status", labels=["status"])
        for status, number in sorted(self.answers.items()):
            answers.add_metric([str(status)], number)
        decisions = CounterMetricFamily("rotting_decisions", "Decisions made", labels=["bandit"])
        rewards = CounterMetricFamily("rotting_rewards", "Rewards by outcome", labels=["bandit", "outcome"])
        pending = GaugeMetricFamily("rotting_pending", "Decisions without a reward", labels=["bandit"])
        age = GaugeMetricFamily("rotting_pending_oldest_seconds", "Age of the oldest of them", labels=["bandit"])
        reward = GaugeMetricFamily("rotting_reward_mean", "Mean reward of an hour", labels=["bandit", "hour"])
        change = GaugeMetricFamily(
            "rotting_reward_change",
            "Mean reward of the last hour less that of the hour before: a proxy of regret",
            labels=["bandit"],
        )
        for name, tally in sorted(self.tallies.items()):
            decisions.add_metric([name], tally.decisions)
            for outcome in OUTCOMES:
                rewards.add_metric([name, outcome], tally.rewards[outcome])
            means = tally.mean_rewards()
            for hour, mean in zip(("last", "before"), means, strict=True):
                if mean is not None:
                    reward.add_metric([name, hour], mean)
            if means[0] is not None and means[1] is not None:
                change.add_metric([name], means[0] - means[1])
        for name, hosted in sorted(self._host.live.items()):
            pending.add_metric([name], hosted.bandit.pending)
            age.add_metric([name], self.tally(name).age(hosted.oldest_round))
        yield from (answers, decisions, rewards, pending, age, reward, change)
