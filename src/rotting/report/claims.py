"""Claims of a paper, decided by numbers: an estimate, its 95 % interval, the region claimed, a verdict."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from rotting.common.statistics import Interval, NoInterval
from rotting.display.tables import Column, Table


class Verdict(StrEnum):
    """What an interval says about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"

    @property
    def mark(self) -> str:
        """The verdict as one character."""
        return {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.OPEN: "?"}[self]


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
        decimals: of the numbers in text.
        synthetic: whether it was measured on synthetic data that resemble the paper's, and so decides nothing about the
            paper's.

    Example:
        >>> Claim("four", "appendix", "four times better", "ratio", Interval(3.9, 3.7, 4.1), low=2.0, high=8.0).verdict
        <Verdict.HOLDS: 'holds'>
        >>> Claim("better", "appendix", "is better", "ratio", Interval(1.1, 0.9, 1.3), low=1.0).verdict
        <Verdict.OPEN: 'undecided'>
        >>> Claim("better", "appendix", "is better", "ratio", NoInterval(1.1, "too few runs"), low=1.0).decision
        'undecided: too few runs'
    """

    id: str
    source: str
    words: str
    quantity: str
    estimate: Interval
    low: float = -math.inf
    high: float = math.inf
    decimals: int = 2
    synthetic: bool = False

    @property
    def verdict(self) -> Verdict:
        """`HOLDS` if the whole interval is in the claimed region, `FAILS` if none of it is, else `OPEN`."""
        _, low, high = self.estimate
        if low is None or high is None:
            return Verdict.OPEN
        if self.low <= low and high <= self.high:
            return Verdict.HOLDS
        return Verdict.FAILS if high < self.low or low > self.high else Verdict.OPEN

    @property
    def reason(self) -> str:
        """Why there is no interval, as whoever refused it says; empty where there is one."""
        return self.estimate.reason if isinstance(self.estimate, NoInterval) else ""

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
        """The estimate and its interval, as text."""
        mean, low, high = (None if end is None else self._written(end) for end in self.estimate)
        return f"{mean}" if low is None or high is None else f"{mean} [{low}, {high}]"

    def _written(self, value: float) -> str:
        return f"{round(value, self.decimals) + 0.0:,.{self.decimals}f}"  # + 0.0: no minus sign before a zero


Data = TypeVar("Data")


@dataclass(frozen=True)
class Statement(Generic[Data]):
    """A claim before it is measured: a row in an experiment's list.

    Args:
        id: this and the fields that are not listed here are those of `Claim`.
        measure: returns the quantity's estimate from an experiment's results.
    """

    id: str
    source: str
    words: str
    quantity: str
    measure: Callable[[Data], Interval]
    low: float = -math.inf
    high: float = math.inf
    decimals: int = 2

    def decide(self, data: Data, synthetic: bool = False) -> Claim:
        """Return the claim, measured."""
        estimate = self.measure(data)
        return Claim(self.id, self.source, self.words, self.quantity, estimate, self.low, self.high, self.decimals, synthetic)


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
}
IN_SHORT = ("id", "measured", "region", "decision")
IN_FULL = ("words", "source", "quantity", "measured", "region", "marked decision")


def claims_table(claims: Iterable[Claim], shown: tuple[str, ...] = IN_FULL) -> Table:
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
    return Table(lines, tuple(COLUMNS[name] for name in shown), [{"claim": claim} for claim in claims])
