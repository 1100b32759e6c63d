"""What became of a bandit, in few numbers: which arms it chose over time, what they paid, what was lost.

The log has it all, and no clock on the wall: time is the number of the decision. A history reads the log once, on from where it
stopped, when somebody asks: two million events take some ten seconds, in small turns. It holds few buckets of rounds, however
many rounds there were: when there are too many buckets, or too many arms in them, two become one.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import msgspec

from rotting.common.pieces import Pauses
from rotting.errors import InvalidValueError, StoreDamagedError
from rotting.live.arms import restore_arm
from rotting.live.decisions import Key
from rotting.live.events import one_by_one
from rotting.live.explanations import ArmExplanation
from rotting.store.host import Host

MAX_BUCKETS = 200
_MAX_CELLS = 300_000  # arms in buckets, over all buckets
_RECENT = 10  # buckets that are "now"
_KEPT = 16  # histories in memory
_PATIENCE = 0.2  # seconds to read on; the caller gets what was read so far, and asks again
_CHUNK = 256  # events that are read at once
_WORK, _REST = 0.0005, 0.0002  # seconds to read, and to let decisions be made


_NULL = msgspec.Raw(b"null")


class _Told(msgspec.Struct, gc=False):
    """What a history wants to know of an event; a note has none of it."""

    event: str = ""
    id: Key = ""
    round: int = 0
    arm: Any = None
    reward: float | None = None
    propensity: float | None = None
    arms: msgspec.Raw = _NULL  # not decoded: of these two it only matters whether they are null
    without: msgspec.Raw = _NULL


_decode = msgspec.json.Decoder(_Told).decode


class Bucket:
    """What happened to the decisions of some rounds."""

    __slots__ = ("cells", "lost", "mean", "plays", "rewards", "squares")

    def __init__(self) -> None:
        self.plays, self.lost = 0, 0
        self.rewards, self.mean, self.squares = 0, 0.0, 0.0  # how many, their mean, squared differences to it
        self.cells: dict[int, list[float]] = {}  # of each arm: how often it was chosen, its rewards, and their sum

    def cell(self, arm: int) -> list[float]:
        """Return what is counted of an arm."""
        found = self.cells.get(arm)
        if found is None:
            found = self.cells[arm] = [0, 0, 0.0]
        return found

    def pay(self, arm: int, reward: float) -> None:
        """Count a reward."""
        self.rewards += 1
        before = reward - self.mean
        self.mean += before / self.rewards
        self.squares += before * (reward - self.mean)
        cell = self.cell(arm)
        cell[1] += 1
        cell[2] += reward

    def absorb(self, other: "Bucket") -> None:
        """Count what another bucket has counted."""
        self.plays += other.plays
        self.lost += other.lost
        number, apart = self.rewards + other.rewards, other.mean - self.mean
        if number:
            self.squares += other.squares + apart * apart * self.rewards * other.rewards / number
            self.mean += apart * other.rewards / number
            self.rewards = number
        for arm, theirs in other.cells.items():
            mine = self.cell(arm)
            for k, value in enumerate(theirs):
                mine[k] += value


class ArmTotals:
    """What is counted of one arm over all rounds."""

    __slots__ = ("lost", "name", "number", "plays", "rewards", "total")

    def __init__(self, name: Hashable, number: int = -1) -> None:
        self.name, self.number = name, number  # -1: it was never chosen
        self.plays, self.rewards, self.lost, self.total = 0, 0, 0, 0.0

    @property
    def mean(self) -> float | None:
        """Its mean reward."""
        return self.total / self.rewards if self.rewards else None


class LastDecision(NamedTuple):
    """The newest decision."""

    arm: Hashable
    round: int
    propensity: float | None
    restricted: bool
    """Whether only some of the arms could be chosen."""


class History:
    """The history of one bandit, fed with its events in their order.

    Example:
        >>> history = History()
        >>> history.add(b'{"event": "decided", "id": "x", "round": 1, "arm": "jazz", "propensity": 1.0}')
        >>> history.add(b'{"event": "rewarded", "id": "x", "reward": 0.5}')
        >>> [(each.name, each.plays, each.mean) for each in history.arms], history.buckets[0].mean
        ([('jazz', 1, 0.5)], 0.5)
    """

    def __init__(self) -> None:
        self.read = 0
        """The number of the last event that was read."""
        self.rounds, self.width = 0, 1
        self.buckets: list[Bucket] = []
        self.arms: list[ArmTotals] = []
        self.lowest, self.highest = math.inf, -math.inf
        """The smallest and the largest reward."""
        self.binary = True
        """Whether every reward is 0 or 1."""
        self.lock = threading.Lock()
        self._last: _Told | None = None
        self._numbers: dict[Hashable, int] = {}  # of arms, in `arms`
        self._open: dict[Key, tuple[int, int]] = {}  # decisions without an answer: arm and round
        self._cells = 0

    @property
    def waiting(self) -> int:
        """Decisions without an answer."""
        return len(self._open)

    @property
    def last(self) -> LastDecision | None:
        """The newest decision."""
        told = self._last
        if told is None:
            return None
        return LastDecision(told.arm, told.round, told.propensity, told.arms != _NULL or told.without != _NULL)

    def totals(self, arm: Hashable) -> ArmTotals:
        """Return what is counted of an arm."""
        number = self._numbers.get(arm)
        return ArmTotals(arm) if number is None else self.arms[number]

    def add(self, content: bytes) -> None:
        """Count an event, as it is in the log; what it does not know, such as a note, changes nothing."""
        told = _decode(content)
        kind = told.event
        if kind == "decided":
            self._last = told
            self._open[told.id] = self._play(told.arm, told.round), told.round
        elif kind in {"rewarded", "expired"} and told.reward is not None:
            self._pay(*self._open.pop(told.id), told.reward)
        elif kind in {"cancelled", "expired"}:
            self._lose(*self._open.pop(told.id))
        elif kind == "learned" and told.reward is not None:
            self._learn(told.arm, told.reward)
        elif kind == "learned_many":
            for row in one_by_one(msgspec.json.decode(content)):
                self._learn(row["arm"], row["reward"])
        elif kind in {"added", "forgotten"}:  # an arm that comes is a new one, whoever had its name
            number = self._numbers.pop(restore_arm(told.arm), None)
            for key in [key for key, (arm, _) in self._open.items() if arm == number]:
                self._lose(*self._open.pop(key))

    def _learn(self, arm: Hashable, reward: float) -> None:
        """Count a reward that was learned without a decision."""
        self._pay(self._play(arm, self.rounds + 1), self.rounds, reward)

    def _play(self, name: Hashable, round: int) -> int:  # noqa: A002 - the name that decisions have for it
        arm = restore_arm(name)
        number = self._numbers.get(arm)
        if number is None:
            number = self._numbers[arm] = len(self.arms)
            self.arms.append(ArmTotals(arm, number))
        self.rounds = round
        while round > self.width * MAX_BUCKETS or (self._cells > _MAX_CELLS and len(self.buckets) > 1):
            self._halve()
        while len(self.buckets) * self.width < round:
            self.buckets.append(Bucket())
        bucket = self._bucket(round)
        before = len(bucket.cells)
        bucket.cell(number)[0] += 1
        bucket.plays += 1
        self._cells += len(bucket.cells) - before
        self.arms[number].plays += 1
        return number

    def _bucket(self, round: int) -> Bucket:  # noqa: A002
        return self.buckets[(round - 1) // self.width]

    def _halve(self) -> None:
        for first, second in zip(self.buckets[::2], self.buckets[1::2], strict=False):
            first.absorb(second)
        self.buckets, self.width = self.buckets[::2], 2 * self.width
        self._cells = sum(len(each.cells) for each in self.buckets)

    def _pay(self, arm: int, round: int, reward: float) -> None:  # noqa: A002
        self._bucket(round).pay(arm, reward)
        totals = self.arms[arm]
        totals.rewards += 1
        totals.total += reward
        self.lowest, self.highest = min(self.lowest, reward), max(self.highest, reward)
        self.binary = self.binary and reward in {0.0, 1.0}

    def _lose(self, arm: int, round: int) -> None:  # noqa: A002
        self._bucket(round).lost += 1
        self.arms[arm].lost += 1

    # --- What is shown ----------------------------------------------------------------------------------------------------

    def most_chosen(self, count: int) -> list[int]:
        """Return the numbers of the arms that were chosen most, the first of all first."""
        return sorted(range(len(self.arms)), key=lambda arm: (-self.arms[arm].plays, arm))[:count]

    def plays_of(self, arm: int) -> list[int]:
        """Return how often an arm was chosen, for each bucket."""
        return [int(each.cells[arm][0]) if arm in each.cells else 0 for each in self.buckets]

    def means_of(self, arm: int) -> list[float | None]:
        """Return the mean reward of an arm, for each bucket in which it has one."""
        cells = [each.cells.get(arm) for each in self.buckets]
        return [cell[2] / cell[1] if cell is not None and cell[1] else None for cell in cells]

    def recent(self) -> tuple[int, dict[Hashable, int]]:
        """Return how many rounds are "now", and how often each arm was chosen in them."""
        newest, counts = self.buckets[-_RECENT:], dict[Hashable, int]()
        for name, number in self._numbers.items():
            found = sum(each.cells[number][0] for each in newest if number in each.cells)
            if found:
                counts[name] = int(found)
        return sum(each.plays for each in newest), counts


def is_worn(reason: ArmExplanation, overall: float | None) -> bool:
    """Tell whether an arm wears out: its newest rewards pay less than all of them, and chance does not explain it.

    The newest are those of the window that the policy looks at. Their mean must be below the mean of all by more than the
    widths of both together. A width shrinks with the root of the number of rewards.

    Example:
        >>> is_worn(ArmExplanation(0.3, 0.2, 100, 0.1, 400), overall=0.5)
        True
        >>> is_worn(ArmExplanation(0.3, 0.2, 100, 0.1, 400), overall=0.34)
        False
    """
    _, mean, window, width, pulls, _ = reason
    if overall is None or not 0 < window < pulls or not math.isfinite(mean + width):
        return False
    return overall - mean > width * (1.0 + math.sqrt(window / pulls))


class Histories:
    """The histories of the bandits that somebody looked at, the latest of them.

    Args:
        host: the bandits, and their log.
        patience: how many seconds a call may read.
    """

    def __init__(self, host: Host, patience: float = _PATIENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._host, self._patience, self._clock = host, patience, clock
        self._kept: OrderedDict[str, History] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, name: str) -> History:
        """Return the history of a bandit, as far as it was read."""
        with self._lock:
            found = self._kept.setdefault(name, History())
            self._kept.move_to_end(name)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return found

    def read_on(self, name: str) -> tuple[History, int]:
        """Read what has come, and return the history with the number of events that are left; it runs in a thread."""
        history = self.of(name)
        until, pause = self._clock() + self._patience, Pauses(_WORK, _REST)
        with history.lock, self._host.reader() as reader:
            while True:
                try:
                    rows, last, left = reader.contents(name, history.read, _CHUNK)
                except InvalidValueError:  # its row is under way
                    return history, 0
                try:
                    for _, _, content in rows:
                        history.add(content)
                        pause()
                except (msgspec.MsgspecError, KeyError) as error:
                    raise StoreDamagedError(f"the events of {name!r} up to {last} do not fit together: {error!r}") from error
                history.read = last
                if not left or self._clock() > until:
                    return history, left
