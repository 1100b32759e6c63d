"""Claims of a paper, decided by numbers: an estimate, its 95 % interval, the region claimed, a verdict."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from rotting.common.statistics import GROUPS, LEVEL, Interval, NoInterval, t_critical
from rotting.display.tables import Column, Table


class Verdict(StrEnum):
    """What an interval says about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"
    APART = "not comparable"

    @property
    def mark(self) -> str:
        """The verdict as one character."""
        return {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.OPEN: "?", Verdict.APART: "≠"}[self]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what was measured.

    Args:
        id: its stable name.
        source: where the paper makes it.
        words: what it says.
        quantity: what was measured to decide it.
        estimate: the measured value and its 95 % interval.
        low: the smallest value for which the claim holds, in our reading.
        high: the largest.
        synthetic: whether it was measured on synthetic data that resemble the paper's, and so decides nothing about the
            paper's.
        apart: why what was measured here cannot be compared with what the paper speaks of; empty where it can.
        remark: further measurements to read beside the verdict.
        samples: how many independent values the interval is made from; above 20, the groups of a jackknife, it does not matter.

    Example:
        >>> Claim("four", "appendix", "four times better", "ratio", Interval(3.9, 3.7, 4.1), low=2.0, high=8.0).verdict
        <Verdict.HOLDS: 'holds'>
        >>> Claim("better", "appendix", "is better", "ratio", Interval(1.1, 0.9, 1.3), low=1.0).verdict
        <Verdict.OPEN: 'undecided'>
        >>> Claim("better", "appendix", "is better", "ratio", NoInterval(1.1, "too few runs"), low=1.0).decision
        'undecided: too few runs'
        >>> Claim("fast", "appendix", "is fast", "ratio", Interval(2.0, 1.9, 2.1), low=5.0, apart="other code").decision
        'not comparable: other code'
    """

    id: str
    source: str
    words: str
    quantity: str
    estimate: Interval
    low: float = -math.inf
    high: float = math.inf
    synthetic: bool = False
    apart: str = ""
    remark: str = ""
    samples: int = GROUPS

    @property
    def verdict(self) -> Verdict:
        """`HOLDS` if the whole interval is in the claimed region, `FAILS` if none of it is, else `OPEN`; or else `APART`."""
        _, low, high = self.estimate
        if self.apart:
            return Verdict.APART
        return Verdict.OPEN if low is None or high is None else self._verdict_of(low, high)

    def _verdict_of(self, low: float, high: float) -> Verdict:
        if self.low <= low and high <= self.high:
            return Verdict.HOLDS
        return Verdict.FAILS if high < self.low or low > self.high else Verdict.OPEN

    @property
    def is_tested(self) -> bool:
        """Whether an interval decides it, or leaves it undecided."""
        return not self.apart and None not in self.estimate

    @property
    def leeway(self) -> dict[str, tuple[float, float]]:
        """How far each end of the region can move, the other staying where it is, with the same verdict.

        The keys are the ends that there are, "low" and "high"; none where no interval decides.

        Example:
            >>> Claim("four", "appendix", "four times better", "ratio", Interval(3.9, 3.7, 4.1), low=2.0, high=8.0).leeway
            {'low': (-inf, 3.7), 'high': (4.1, inf)}
        """
        _, low, high = self.estimate
        if not self.is_tested or low is None or high is None:
            return {}
        # Between these edges the verdict is the same; of an end at an edge, the value beside it says which side the edge is on.
        edges = (-math.inf, low, high, math.inf)
        within = {"low": (low, high, math.inf), "high": (-math.inf, low, high)}
        found = {}
        for end, values in within.items():
            if math.isfinite(getattr(self, end)):
                same = [k for k, value in enumerate(values) if self._moved(end, value).verdict == self.verdict]
                found[end] = edges[same[0]], edges[same[-1] + 1]
        return found

    def _moved(self, end: str, value: float) -> "Claim":
        return replace(self, low=value) if end == "low" else replace(self, high=value)

    @property
    def leeway_text(self) -> str:
        """For which thresholds the verdict is the same, in words; empty where no interval decides."""
        ends = self.leeway
        names = {"low": "a lower end", "high": "an upper end"} if len(ends) > 1 else dict.fromkeys(ends, "a bound")
        moves = [f"{names[end]} {self._range_text(*reach)}" for end, reach in ends.items() if any(map(math.isfinite, reach))]
        return f"the same with {' and '.join(moves)}" if moves else ""

    def _range_text(self, first: float, last: float) -> str:
        shown = {end: _written(end, self._shown_decimals) for end in (first, last) if math.isfinite(end)}
        if len(shown) == 2:
            return f"from {shown[first]} to {shown[last]}"
        return f"from {shown[first]} on" if first in shown else f"up to {shown[last]}"

    @property
    def stretch(self) -> float:
        """How many times wider about its estimate the interval could be with the same verdict; below 1 where it is undecided.

        It is the smaller of the factors on the linear and, of positive numbers, on the logarithmic scale.
        """
        mean, low, high = self.estimate
        if self.verdict not in {Verdict.HOLDS, Verdict.FAILS} or low is None or high is None:
            return 0.0
        if self.verdict == Verdict.HOLDS:
            return min(_factor(mean, low, self.low), _factor(mean, high, self.high))
        return _factor(mean, high, self.low) if high < self.low else _factor(mean, low, self.high)

    def stands_at(self, level: float) -> bool:
        """Return whether the verdict would be the same with an interval of this level, if the errors are Student's."""
        degrees = max(1, min(self.samples, GROUPS) - 1)
        return self.stretch * t_critical(degrees) >= t_critical(degrees, level)

    @property
    def reason(self) -> str:
        """Why it is not comparable, or has no interval, as whoever refused it says; empty otherwise."""
        return self.apart or (self.estimate.reason if isinstance(self.estimate, NoInterval) else "")

    @property
    def decision(self) -> str:
        """The verdict in words, with a remark if the data are synthetic, and the reason if it is undecided."""
        where = " (synthetic data)" if self.synthetic else ""
        return f"{self.verdict}{where}: {self.reason}" if self.reason else f"{self.verdict}{where}"

    @property
    def region(self) -> str:
        """The region of the quantity in which we take the claim to hold, in words."""
        if math.isinf(self.high):
            return f"at least {self.low:,g}"
        if math.isinf(self.low):
            return f"at most {self.high:,g}"
        return f"between {self.low:,g} and {self.high:,g}"

    @property
    def measured(self) -> str:
        """The estimate and its interval as text, with digits from which anyone would reach the same verdict."""
        return estimate_text(self.estimate, self._shown_decimals)

    @property
    def _shown_decimals(self) -> int | None:
        mean, low, high = self.estimate
        if low is None or high is None or not math.isfinite(high - low):
            return None
        for decimals in range(_decimals(mean, (high - low) / 2), MOST_DECIMALS):
            if self._verdict_of(round(low, decimals), round(high, decimals)) == self._verdict_of(low, high):
                return decimals
        return MOST_DECIMALS


MOST_DECIMALS = 6
ROUNDING = 1e-12  # of a number: an interval so narrow has no width


def _factor(mean: float, end: float, bound: float) -> float:
    """Return how many times as far from the mean as an end of its interval a bound is; infinite where the end is the mean.

    Example:
        >>> _factor(4.0, 2.0, 1.0), _factor(4.0, 3.0, -2.0), _factor(4.0, 4.0, 1.0)
        (1.5, 6.0, inf)
    """
    if math.isinf(bound) or end == mean:
        return math.inf
    linear = (bound - mean) / (end - mean)
    if min(mean, end, bound) <= 0 or math.isinf(end):
        return linear
    return min(linear, math.log(bound / mean) / math.log(end / mean))


def standing(claims: Sequence[Claim]) -> frozenset[str]:
    """Return the ids of the claims whose verdicts stand if all of them are to be right together at 95 %.

    This is Holm's procedure: of m claims that have an interval, the surest must be sure at a level of 1 - 0.05 / m, the next at
    1 - 0.05 / (m - 1), and so on, until one is not.

    Example:
        >>> sure, bare = (Claim(id, "s", "w", "q", Interval(3.0, low, 4.0), low=1.0) for id, low in (("a", 2.9), ("b", 1.1)))
        >>> sorted(standing([sure, bare])), sorted(standing([bare]))
        (['a', 'b'], ['b'])

    Reference:
        Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    tested = [claim for claim in claims if claim.is_tested]
    found: list[Claim] = []
    while len(found) < len(tested):
        level = 1 - (1 - LEVEL) / (len(tested) - len(found))
        more = [claim for claim in tested if claim.stands_at(level)]
        if len(more) == len(found):
            break
        found = more
    return frozenset(claim.id for claim in found)


def _decimals(mean: float, half: float) -> int:
    """Return so many decimals that half an interval is 5 to 50 in units of the last; of one without width, four digits.

    Example:
        >>> _decimals(2.7, 0.09), _decimals(270.8, 22.0), _decimals(0.0161, 0.0009), _decimals(1.66, 0.0)
        (2, 0, 4, 3)
    """
    if half > ROUNDING * abs(mean):
        wanted = math.ceil(-math.log10(half / 5))
    else:
        wanted = 3 - math.floor(math.log10(abs(mean))) if mean else 2
    return max(0, min(wanted, MOST_DECIMALS))


def estimate_text(estimate: Interval, decimals: int | None = None) -> str:
    """Write an estimate and its interval, by default with the digits that the interval supports.

    Example:
        >>> estimate_text(Interval(2.72, 2.63, 2.82)), estimate_text(Interval(270.78, 249.5, 293.8))
        ('2.72 [2.63, 2.82]', '271 [250, 294]')
        >>> estimate_text(NoInterval(1.234, "too few runs"))
        '1.23'
    """
    mean, low, high = estimate
    if not math.isfinite(mean):
        return "unknown"
    if low is None or high is None or not math.isfinite(high - low):
        digits = max(0, 2 - math.floor(math.log10(abs(mean)))) if mean else 2
        return _written(mean, min(digits, MOST_DECIMALS))
    if decimals is None:
        decimals = _decimals(mean, (high - low) / 2)
    return f"{_written(mean, decimals)} [{_written(low, decimals)}, {_written(high, decimals)}]"


def _written(value: float, decimals: int | None) -> str:
    decimals = MOST_DECIMALS if decimals is None else decimals
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"  # + 0.0: no minus sign before a zero


Data = TypeVar("Data")


@dataclass(frozen=True)
class Statement(Generic[Data]):
    """A claim before it is measured: a row in an experiment's list.

    Args:
        id: this and the fields that are not listed here are those of `Claim`.
        measure: returns the quantity's estimate from an experiment's results.
        compare: returns the remark.
    """

    id: str
    source: str
    words: str
    quantity: str
    measure: Callable[[Data], Interval]
    low: float = -math.inf
    high: float = math.inf
    apart: str = ""
    compare: Callable[[Data], str] = lambda _: ""

    def decide(self, data: Data, synthetic: bool = False, samples: int = GROUPS) -> Claim:
        """Return the claim, measured."""
        found, remark = self.measure(data), self.compare(data)
        words = (self.id, self.source, self.words, self.quantity)
        return Claim(*words, found, self.low, self.high, synthetic, self.apart, remark, samples)


# What a table of claims can show; the HTML page adds markup to some cells.
COLUMNS = {
    "id": Column("claim", lambda row: str(row["claim"].id)),
    "words": Column("claim", lambda row: str(row["claim"].words)),
    "source": Column("source", lambda row: str(row["claim"].source)),
    "quantity": Column("quantity", lambda row: str(row["claim"].quantity)),
    "measured": Column("measured", lambda row: str(row["claim"].measured)),
    "region": Column("our reading", lambda row: str(row["claim"].region)),
    "decision": Column("verdict", lambda row: str(row["claim"].decision)),
    "marked decision": Column("verdict", lambda row: f"{row['claim'].verdict.mark} {row['claim'].decision}"),
    "remark": Column("beside it", lambda row: str(row["claim"].remark)),
    "leeway": Column("if our reading were another", lambda row: str(row["claim"].leeway_text)),
    "together": Column("all together", lambda row: str(row["together"])),
}
IN_SHORT = ("id", "measured", "region", "decision")
IN_FULL = ("words", "source", "quantity", "measured", "region", "leeway", "marked decision", "together", "remark")
TOGETHER = {True: "stands", False: "does not stand", None: ""}
"""What `standing` says of a verdict, in words; None of one that is not decided."""


def stands(claim: Claim, surely: frozenset[str]) -> bool | None:
    """Return whether the verdict of a claim is among those that stand; None where there is nothing that could."""
    return claim.id in surely if claim.verdict in {Verdict.HOLDS, Verdict.FAILS} else None


def claims_table(claims: Sequence[Claim], shown: tuple[str, ...] = IN_FULL) -> Table:
    """Return claims as a table for people.

    Args:
        claims: in the order of the rows.
        shown: the columns, `IN_FULL` or `IN_SHORT`.

    Example:
        >>> print(claims_table([Claim("four", "appendix", "is better", "ratio", Interval(3.9, 3.7, 4.1), low=1.0)], IN_SHORT))
        Claims of the paper: what was measured, with its 95 % interval
        <BLANKLINE>
        claim           measured  our reading  verdict
        ----------------------------------------------
        four   3.90 [3.70, 4.10]   at least 1    holds
    """
    lines = ("Claims of the paper: what was measured, with its 95 % interval",)
    surely = standing(claims)
    rows = [{"claim": claim, "together": TOGETHER[stands(claim, surely)]} for claim in claims]
    return Table(lines, tuple(COLUMNS[name] for name in shown), rows)
