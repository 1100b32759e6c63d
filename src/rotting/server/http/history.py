"""Choices and rewards of a bandit over time, for the dashboard, in at most 200 buckets of rounds.

The buckets are filled from the log when they are requested; each request reads on from where the last one stopped. When there
are too many buckets, or too many arms in them, each pair of neighbouring buckets becomes one, so that the size of a response
does not grow with the number of arms and decisions.
"""

import math
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from rotting.errors import StoreDamagedError
from rotting.live.arms import restore_arm
from rotting.live.values import ArmExplanation, Decision
from rotting.server.http import messages as m
from rotting.server.http.sample import Sample, Taken
from rotting.server.store.database import Database
from rotting.server.store.events import MICROSECOND, BanditRecord
from rotting.server.store.settling import CountedEvent, Pending, counted_events, state_at_the_base

MAX_BUCKETS = 200
_MAX_CELLS = 100_000  # arms in buckets, over all buckets
_RECENT = 10  # buckets that count as "now"
_ENOUGH, _ENOUGH_EACH = 1_000, 20  # decisions, in all and for each arm, without which an arm is starved
_CACHED = 100  # bandits whose buckets stay in memory
_READ_SECONDS = 0.2  # one request reads the log for this long; the client asks again for the rest
_CHUNK = 500  # events that are read at once

_Z = 1.96  # for 95 %
_STEPS = 40  # of the sparkline of each arm
_NOTHING_KNOWN = ArmExplanation(math.nan, math.nan, 0, math.nan, 0)


class Tally:
    """Counts of some decisions."""

    __slots__ = ("lost", "plays", "rewards", "squares", "total")

    def __init__(self) -> None:
        self.plays, self.lost = 0, 0
        self.rewards, self.total, self.squares = 0, 0.0, 0.0  # number, sum, sum of squared differences from the mean

    def add_reward(self, reward: float) -> None:
        """Count a reward."""
        before = self.total / self.rewards if self.rewards else reward
        self.rewards += 1
        self.total += reward
        if reward != before:
            self.squares += (reward - before) * (reward - self.total / self.rewards)

    def merge(self, other: "Tally") -> None:
        """Add the counts of others."""
        if self.mean is not None and other.mean is not None:
            self.squares += (other.mean - self.mean) ** 2 * self.rewards * other.rewards / (self.rewards + other.rewards)
        for name in Tally.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def mean(self) -> float | None:
        """The mean reward."""
        return self.total / self.rewards if self.rewards else None

    def interval(self, binary: bool) -> tuple[float, float] | None:
        """Return a 95 % interval of the mean, that of Wilson for rewards of 0 or 1; None for fewer than two rewards."""
        n, mean = self.rewards, self.mean
        if n < 2 or mean is None:
            return None
        if binary:
            shrink, centre = 1.0 + _Z**2 / n, mean + _Z**2 / (2.0 * n)
            half = _Z * math.sqrt(mean * (1.0 - mean) / n + (_Z / (2.0 * n)) ** 2)
            return (centre - half) / shrink, (centre + half) / shrink
        half = _Z * math.sqrt(self.squares / (n - 1) / n)
        return mean - half, mean + half


class Bucket(Tally):
    """Counts of the decisions of some rounds."""

    __slots__ = ("cells",)

    def __init__(self) -> None:
        super().__init__()
        self.cells: defaultdict[int, Tally] = defaultdict(Tally)
        """The counts of each arm."""


class ArmTotals(Tally):
    """Counts of one arm over all rounds; its number is -1 if it was never chosen."""

    __slots__ = ("name", "number")

    def __init__(self, name: Hashable, number: int = -1) -> None:
        super().__init__()
        self.name, self.number = name, number


class Made(NamedTuple):
    """A decision that is pending."""

    round: int
    arm: int
    time: float
    unit: str | None


class RewardBuckets:
    """Choices and rewards of one bandit, counted from its events in order.

    Example:
        >>> counted = RewardBuckets(Pending(windowed=False))
        >>> counted.add(b'{"event": "decided", "id": "x", "round": 1, "arm": "jazz", "propensity": 1.0}')
        >>> counted.add(b'{"event": "rewarded", "id": "x", "reward": 0.5}')
        >>> [(each.name, each.plays, each.mean) for each in counted.arms], counted.buckets[0].mean
        ([('jazz', 1, 0.5)], 0.5)
    """

    def __init__(self, pending: Pending[Made], last_read: int = 0, offered: Iterable[Hashable] = ()) -> None:
        self.pending = pending
        self.sample = Sample(is_whole=last_read == 0)
        self.last_read = last_read
        """The number of the last event that was read."""
        self._offered = dict.fromkeys(offered, 0)  # the active arms, and since which round they can be chosen
        self.paused = set[Hashable]()
        self.rounds, self.width = 0, 1
        self.buckets: list[Bucket] = []
        self.arms: list[ArmTotals] = []
        self.lowest, self.highest = math.inf, -math.inf
        """The smallest and the largest reward."""
        self.binary = True
        """Whether every reward is 0 or 1."""
        self.lock = threading.Lock()
        self.last: CountedEvent | None = None
        """The latest decision."""
        self._numbers: dict[Hashable, int] = {}  # positions of arms in `arms`
        self._cells = 0
        self._minutes: deque[list[int]] = deque(maxlen=60)  # with the decisions of each, as far as there were any

    def totals(self, arm: Hashable) -> ArmTotals:
        """Return the counts of an arm."""
        number = self._numbers.get(arm)
        return ArmTotals(arm) if number is None else self.arms[number]

    def add(self, content: bytes, time: float = 0.0) -> None:
        """Count an event, as it is in the log, and its time."""
        for event in counted_events(content):
            made = None
            if event.event == "decided":
                self.last = event
                made = Made(event.round, self._add_decision(event.arm, event.round), time, event.unit)
                self._count_minute(time)
            elif event.event == "learned":  # without a decision
                arm = self._add_decision(event.arm, self.rounds + 1)
                self._add_reward(arm, self.rounds, float(event.reward or 0.0))
            elif event.event in {"added", "forgotten"}:
                self._numbers.pop(restore_arm(event.arm), None)
            if event.event in {"added", "revived"}:
                self._offered[restore_arm(event.arm)] = self.rounds
            elif event.event in {"retired", "forgotten"}:
                self._offered.pop(restore_arm(event.arm), None)
            elif event.paused is not None:
                before, self.paused = self.paused, {restore_arm(arm) for arm in event.paused}
                self._offered |= dict.fromkeys((before - self.paused) & self._offered.keys(), self.rounds)
            for (round, arm, when, unit), reward in self.pending.take(event, made, time):
                if reward is not None:
                    self._add_reward(arm, round, reward)
                    if self.sample.add(round, arm, reward, when, unit):
                        self.sample.collect(self._offered_numbers())
                else:
                    for tally in self._tallies(arm, round):
                        tally.lost += 1

    def _count_minute(self, time: float) -> None:
        minute = int(time // 60)
        if not self._minutes or self._minutes[-1][0] < minute:
            self._minutes.append([minute, 0])
        self._minutes[-1][1] += 1

    def last_hour(self, now: float) -> int:
        """Return how many decisions the last 60 minutes have."""
        return sum(number for minute, number in tuple(self._minutes) if minute > now // 60 - 60)

    def _add_decision(self, name: Hashable, round: int) -> int:
        arm = name if type(name) is str else restore_arm(name)
        number = self._numbers.get(arm)
        if number is None:
            number = self._numbers[arm] = len(self.arms)
            self.arms.append(ArmTotals(arm, number))
        self.rounds = round
        while round > self.width * MAX_BUCKETS or (self._cells > _MAX_CELLS and len(self.buckets) > 1):
            self._merge_neighbours()
        while len(self.buckets) * self.width < round:
            self.buckets.append(Bucket())
        self._cells += number not in self.buckets[(round - 1) // self.width].cells
        for tally in self._tallies(number, round):
            tally.plays += 1
        return number

    def _tallies(self, arm: int, round: int) -> tuple[Tally, Tally, Tally]:
        """Return where a decision is counted."""
        bucket = self.buckets[(round - 1) // self.width]
        return bucket, bucket.cells[arm], self.arms[arm]

    def _merge_neighbours(self) -> None:
        for first, second in zip(self.buckets[::2], self.buckets[1::2], strict=False):
            first.merge(second)
            for arm, cell in second.cells.items():
                first.cells[arm].merge(cell)
        self.buckets, self.width = self.buckets[::2], 2 * self.width
        self._cells = sum(len(each.cells) for each in self.buckets)

    def _add_reward(self, arm: int, round: int, reward: float) -> None:
        for tally in self._tallies(arm, round):
            tally.add_reward(reward)
        self.lowest, self.highest = min(self.lowest, reward), max(self.highest, reward)
        self.binary = self.binary and reward in {0.0, 1.0}

    # --- Results --------------------------------------------------------------------------------------------------------------

    def sampled(self) -> Taken:
        """Return a sample of the decisions of the arms that were not forgotten."""
        names = {number: name for name, number in self._numbers.items()}
        return self.sample.taken(names, self._offered_numbers())

    def _offered_numbers(self) -> list[int]:
        return [self._numbers[arm] for arm in self._offered if arm in self._numbers]

    def present(self) -> list[ArmTotals]:
        """Return the counts of the arms that were chosen and not forgotten."""
        return [self.arms[number] for number in self._numbers.values()]

    def silent(self) -> frozenset[Hashable]:
        """Return the arms that paid nothing in the latest buckets, although at least ten clicks were to be expected."""
        found: set[Hashable] = set()
        for name, number in self._numbers.items():
            cells = [each for each in self.cells_of(number)[-_RECENT:] if each is not None]
            rewards, paid, mean = sum(each.rewards for each in cells), sum(each.total for each in cells), self.arms[number].mean
            if self.binary and mean is not None and paid == 0.0 and rewards * mean >= _RECENT:
                found.add(name)
        return frozenset(found)

    def starved(self) -> frozenset[Hashable]:
        """Return the arms that could be chosen in the newest decisions, 20 for each arm or more, and were not."""
        plays, chosen, enough = 0, set[int](), max(_ENOUGH, _ENOUGH_EACH * len(self._offered))
        for bucket in reversed(self.buckets):
            plays += bucket.plays
            chosen |= bucket.cells.keys()
            if plays >= enough:
                break
        known = {arm for arm, t in self._offered.items() if t <= self.rounds - max(enough, plays)}
        return frozenset(arm for arm in known - self.paused if self._numbers.get(arm) not in chosen)

    def most_chosen(self, count: int) -> list[int]:
        """Return the numbers of the arms that were chosen most, the most frequent first."""
        return sorted(range(len(self.arms)), key=lambda arm: (-self.arms[arm].plays, arm))[:count]

    def cells_of(self, arm: int) -> list[Tally | None]:
        """Return the counts of an arm, for each bucket."""
        return [each.cells.get(arm) for each in self.buckets]

    def plays_of(self, arm: int) -> list[int]:
        """Return how often an arm was chosen, for each bucket."""
        return [0 if cell is None else cell.plays for cell in self.cells_of(arm)]

    def sums(self) -> m.Totals:
        """Return the counts over all rounds and arms."""
        rewards, total = sum(each.rewards for each in self.arms), sum(each.total for each in self.arms)
        plays, lost = sum(each.plays for each in self.arms), sum(each.lost for each in self.arms)
        return m.Totals(plays, rewards, total / rewards if rewards else None, len(self.pending), lost)

    def newest(self) -> float | None:
        """Return the mean reward of the latest buckets that have settled."""
        newest = [each for each in self.buckets if each.rewards][-_RECENT:]
        rewards = sum(each.rewards for each in newest)
        return sum(each.total for each in newest) / rewards if rewards else None

    def recent(self) -> tuple[int, dict[Hashable, int]]:
        """Return how many decisions the latest buckets hold, and how often each arm was chosen in them."""
        newest, counts = self.buckets[-_RECENT:], dict[Hashable, int]()
        for name, number in self._numbers.items():
            found = sum(each.cells[number].plays for each in newest if number in each.cells)
            if found:
                counts[name] = found
        return sum(each.plays for each in newest), counts


class Histories:
    """The `RewardBuckets` of the bandits that were requested last.

    Args:
        database: has the logs.
        read_seconds: how long one call may read a log.
    """

    def __init__(self, database: Database, read_seconds: float = _READ_SECONDS) -> None:
        self._database, self._read_seconds = database, read_seconds
        self._cached: OrderedDict[str, RewardBuckets] = OrderedDict()
        self._lock = threading.Lock()

    def _get(self, record: BanditRecord) -> RewardBuckets:
        with self._lock:
            found = self._cached.get(record.id)
            if found is None or found.last_read < record.base:  # what it has not read is gone
                state = state_at_the_base(self._database, record)
                offered = [state.arms.names[slot] for slot in state.arms.slots]
                found = self._cached[record.id] = RewardBuckets(Pending.of(state), record.base, offered)
                if state.limits is not None:
                    found.paused |= {state.arms.names[slot] for slot in state.limits.paused}
            self._cached.move_to_end(record.id)
            if len(self._cached) > _CACHED:
                self._cached.popitem(last=False)
            return found

    def known(self, record: BanditRecord) -> RewardBuckets | None:
        """Return what was counted so far of a bandit, without reading on; None if nothing was."""
        with self._lock:
            return self._cached.get(record.id)

    @contextmanager
    def read_on(self, record: BanditRecord) -> Iterator[tuple[RewardBuckets, int]]:
        """Read new events of a bandit, and lend its buckets with the number of events that were not read yet."""
        counted = self._get(record)
        until = time.monotonic() + self._read_seconds
        with counted.lock:
            while events := self._database.events(record, counted.last_read + 1, _CHUNK):
                if events[0].number > counted.last_read + 1:
                    break  # they were replaced by a base: the next call begins anew
                try:
                    for event in events:
                        counted.add(event.payload, event.time * MICROSECOND)
                except (msgspec.MsgspecError, KeyError) as error:
                    reason = (
                        f"is damaged: the events of {record.name!r} up to {events[-1].number} do not fit together: {error!r}"
                    )
                    raise StoreDamagedError(reason) from error
                counted.last_read = events[-1].number
                if time.monotonic() > until:
                    break
            last = self._database.last(record)
            yield counted, 0 if last is None else max(0, last.number - counted.last_read)


# --- Responses ----------------------------------------------------------------------------------------------------------------


def numbers_of(reason: ArmExplanation) -> tuple[float, float, int, float, int, int, str]:
    """Return the fields of `messages.ArmNumbers`, in their order; in JSON, numbers that are not finite become null."""
    index, mean, window, width, pulls, pending, rule = reason
    # Interpreted policies return NumPy numbers, which cannot be encoded.
    return float(index), float(mean), int(window), float(width), pulls, pending, rule


def history_response(
    counted: RewardBuckets,
    behind: int,
    top: int,
    last: Decision | None,
    declared_range: tuple[float, float] | None = None,
) -> m.HistoryResponse:
    """Return choices and rewards over time.

    Args:
        counted: the events that were read.
        behind: how many events were not read yet.
        top: how many of the most chosen arms are listed one by one.
        last: the latest decision that this server made, if it made one.
        declared_range: the range of rewards that the policy declares, if any.
    """
    buckets, shown = counted.buckets, counted.most_chosen(top)
    plays = [each.plays for each in buckets]
    arms = []
    for arm in shown:
        cells = [Tally() if each is None else each for each in counted.cells_of(arm)]
        of_cells = [each.plays for each in cells], [each.rewards for each in cells], [each.mean for each in cells]
        arms.append(m.ArmHistory(counted.arms[arm].name, *of_cells))
    low, high = _reward_range(counted, declared_range)
    return m.HistoryResponse(
        rounds=counted.rounds,
        width=counted.width,
        behind=behind,
        totals=counted.sums(),
        last=_last(counted, last),
        plays=plays,
        rewards=[each.rewards for each in buckets],
        lost=[each.lost for each in buckets],
        mean=[each.mean for each in buckets],
        squares=[each.squares for each in buckets],
        lowest_reward=low,
        highest_reward=high,
        binary=counted.binary and (low, high) == (0.0, 1.0),
        arms=arms,
        others=len(counted.arms) - len(shown),
        other_plays=[all_ - sum(each) for all_, *each in zip(plays, *(arm.plays for arm in arms), strict=True)],
    )


def _last(counted: RewardBuckets, last: Decision | None) -> m.LastDecision | None:
    logged = counted.last
    if logged is None:
        return None
    known = last is not None and last.id == logged.id
    reason = m.ArmNumbers(*numbers_of(last.reason)) if last is not None and known else None
    return m.LastDecision(logged.arm, logged.round, logged.propensity, reason, logged.restricted)


def _reward_range(counted: RewardBuckets, declared: tuple[float, float] | None) -> tuple[float | None, float | None]:
    """Return the smallest and the largest possible reward; None if unknown.

    If all rewards were in [0, 1], that is taken as their range. If none was negative, they are taken as amounts, and the
    dashboard draws no interval below 0.
    """
    if declared is not None:
        return declared
    if counted.highest < counted.lowest or counted.lowest < 0.0:  # no reward yet, or a negative one
        return None, None
    return 0.0, 1.0 if counted.highest <= 1.0 else None


def _spark(plays: Sequence[int], of: Sequence[int]) -> list[float]:
    """Return a share over time in at most `_STEPS` steps.

    Example:
        >>> _spark([1] * 99, [2] * 99) == [0.5] * 33
        True
    """
    size = -(-len(plays) // _STEPS) or 1
    steps = [slice(k, k + size) for k in range(0, len(plays), size)]
    return [round(sum(plays[step]) / max(1, sum(of[step])), 4) for step in steps]


def arm_list_response(
    counted: RewardBuckets,
    reasons: Mapping[Hashable, ArmExplanation],
    retired: Sequence[Hashable],
    query: m.ArmsQuery,
    wearing_out: Mapping[Hashable, str],
) -> m.ArmListResponse:
    """Return a page of the list of arms."""
    newest, recent = counted.recent()
    all_plays = [each.plays for each in counted.buckets]
    arms = [*reasons, *retired]
    worn = {arm for arm in arms if arm in wearing_out}
    searched = query.search.casefold()
    found = [arm for arm in arms if searched in str(arm).casefold()]

    def order(arm: Hashable) -> tuple[float, ...]:
        return _order(query.order, counted.totals(arm), reasons.get(arm, _NOTHING_KNOWN), recent.get(arm, 0), arm in worn)

    def row(arm: Hashable) -> m.ArmRow:
        totals = counted.totals(arm)
        return m.ArmRow(
            *numbers_of(reasons.get(arm, _NOTHING_KNOWN)),
            arm=arm,
            retired=arm not in reasons,
            plays=totals.plays,
            share=recent.get(arm, 0) / newest if newest else None,
            rewards=totals.rewards,
            overall=totals.mean,
            lost=totals.lost,
            worn=arm in worn,
            lasts=wearing_out.get(arm),
            spark=_spark(counted.plays_of(totals.number), all_plays),
        )

    found.sort(key=str if query.order == "name" else order)
    rows = [row(arm) for arm in found[query.offset : query.offset + query.limit]]
    low, high = _estimate_range(counted, reasons)
    return m.ArmListResponse(rows, len(arms), len(found), len(worn), newest, low, high)


def _order(order: str, totals: ArmTotals, reason: ArmExplanation, recent: int, is_worn: bool) -> tuple[float, ...]:
    """Return the sort key of an arm. Unknown numbers come last, and an infinite index (an arm without rewards) first."""
    largest_first = {
        "plays": totals.plays,
        "share": recent,
        "index": -math.inf if math.isnan(reason.index) else reason.index,
        "overall": -math.inf if totals.mean is None else totals.mean,
        "worn": is_worn,
    }
    return -largest_first[order], -totals.plays


def _estimate_range(counted: RewardBuckets, reasons: Mapping[Hashable, ArmExplanation]) -> tuple[float | None, float | None]:
    """Return the smallest and the largest mean or index of all arms."""
    estimates = [each for arm, reason in reasons.items() for each in (reason.mean, reason.index, counted.totals(arm).mean)]
    finite = [float(each) for each in estimates if each is not None and math.isfinite(each)]
    return (min(finite), max(finite)) if finite else (None, None)
