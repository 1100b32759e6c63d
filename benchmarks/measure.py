"""Races: contestants take turns, the best time of each counts, and goals are ratios of two of them."""

import os
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Literal, NamedTuple

Pulls = tuple[tuple[int, ...], ...]


class UnavailableError(Exception):
    """A peer that cannot play here; the message says what is missing."""


class Size(NamedTuple):
    """How much to measure: `QUICK` in minutes, `FULL` as long as it takes, `TINY` to test the benchmark itself."""

    name: str
    repeats: int
    rounds: int  # of our fast loops in one sample, so that a sample is long enough to time
    slow_rounds: int  # of one game of a slow peer whose time per round is steady
    stretches: int  # points of the game at which a scan of all windows is timed
    drift_rounds: int
    live_rounds: int  # of a long live game
    longest: int  # largest horizon of the scaling plot
    seconds: float  # a curve of the scaling plots ends where its next point would take longer


TINY = Size("tiny", 1, 2_000, 200, 2, 10_000, 1_000, 1_000, 0.2)
QUICK = Size("quick", 3, 1_000_000, 2_000, 10, 10_000_000, 1_000_000, 1_000_000, 4.0)
FULL = Size("full", 7, 3_000_000, 10_000, 20, 100_000_000, 1_000_000, 10_000_000, 60.0)


class Sample(NamedTuple):
    """One turn of a contestant."""

    us: float  # per round
    seconds: float  # on the clock
    game: str = ""  # what was played: contestants with the same game must give equal pulls
    pulls: Pulls = ()  # what was chosen in each run, from run 0


Contestant = Callable[[], Sample]


@dataclass(frozen=True)
class Goal:
    """The ratio `over` / `under` of two contestants' times, and what it should be."""

    what: str
    over: str
    under: str
    bound: Literal["at least", "at most"]
    limit: float
    aim: float | None = None


@dataclass
class Finding:
    """A figure and its goal."""

    what: str
    value: float | None
    bound: str
    limit: float
    aim: float | None = None
    unit: str = "x"
    detail: str = ""

    @property
    def verdict(self) -> str:
        """Whether the goal was met."""
        if self.value is None:
            return "not measured"
        for name, limit in (("aim met", self.aim), ("met", self.limit)):
            if limit is not None and (self.value >= limit if self.bound == "at least" else self.value <= limit):
                return name
        return "MISSED"


@dataclass
class Entry:
    """How one contestant did."""

    name: str
    us: list[float] = field(default_factory=list)
    skipped: str = ""
    same_pulls: str = ""

    @property
    def best(self) -> float:
        """The best time per round, in microseconds."""
        return min(self.us)


@dataclass
class Outcome:
    """The outcome of one row."""

    name: str
    what: str
    entries: list[Entry]
    findings: list[Finding]
    notes: tuple[str, ...]
    load: tuple[float, float]  # load average over a minute, before and after

    def to_json(self) -> dict[str, object]:
        """Return everything as JSON-able data."""
        return {
            **asdict(self),
            "findings": [{**asdict(found), "verdict": found.verdict} for found in self.findings],
            "entries": [{**asdict(entry), "best_us": entry.best if entry.us else None} for entry in self.entries],
        }


def compare_pulls(ours: Pulls, theirs: Pulls) -> str:
    """Return in how many of the games that both played the pulls are equal."""
    pairs = list(zip(ours, theirs, strict=False))
    if not pairs:
        return ""
    return f"{sum(a == b for a, b in pairs)} of {len(pairs)}"


@dataclass(frozen=True)
class Race:
    """A row of the benchmark: contestants in the order they play (ours first), and the ratios to judge.

    Args:
        name: its id on the command line.
        what: the problem and the size.
        contestants: sets the row up, outside the clock, and returns the contestants.
        goals: the ratios to judge.
        notes: what is and is not timed on each side.
    """

    name: str
    what: str
    contestants: Callable[[Size], dict[str, Contestant]]
    goals: tuple[Goal, ...] = ()
    notes: tuple[str, ...] = ()

    def run(self, size: Size) -> Outcome:
        """Let the contestants take turns."""
        before = os.getloadavg()[0]
        players = self.contestants(size)
        entries = {name: Entry(name) for name in players}
        first: dict[str, Pulls] = {}
        for _ in range(size.repeats):
            for name, play in players.items():
                entry = entries[name]
                if entry.skipped:
                    continue
                try:
                    sample = play()
                except UnavailableError as why:
                    entry.skipped = str(why)
                    continue
                entry.us.append(sample.us)
                if len(entry.us) > 1:
                    continue
                if sample.game in first:
                    entry.same_pulls = compare_pulls(first[sample.game], sample.pulls)
                elif sample.game:
                    first[sample.game] = sample.pulls
        findings = [self._judge(goal, entries) for goal in self.goals]
        return Outcome(self.name, self.what, list(entries.values()), findings, self.notes, (before, os.getloadavg()[0]))

    @staticmethod
    def _judge(goal: Goal, entries: dict[str, Entry]) -> Finding:
        over, under = entries[goal.over], entries[goal.under]
        found = Finding(goal.what, None, goal.bound, goal.limit, goal.aim)
        if over.us and under.us:
            ratios = [a / b for a, b in zip(over.us, under.us, strict=True)]
            found.value = over.best / under.best
            found.detail = f"turn by turn {min(ratios):.3g} to {max(ratios):.3g}, median {statistics.median(ratios):.3g}"
        else:
            found.detail = over.skipped or under.skipped
        return found


@dataclass(frozen=True)
class Check:
    """A row that is not a race: figures and their goals."""

    name: str
    what: str
    measure: Callable[[Size], list[Finding]]
    notes: tuple[str, ...] = ()

    def run(self, size: Size) -> Outcome:
        """Measure."""
        before = os.getloadavg()[0]
        findings = self.measure(size)
        return Outcome(self.name, self.what, [], findings, self.notes, (before, os.getloadavg()[0]))


Row = Race | Check
