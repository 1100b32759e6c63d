"""Claims of a paper, decided by a measured estimate, its 95 % interval and the region in which the claim holds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_lowercase
from typing import Generic, TypeVar

import numpy as np

from rotting.common.display.tables import Column, FormattedTable
from rotting.common.statistics import GROUPS, LEVEL, Interval, NoInterval, holm, t_critical, t_tail


class Verdict(StrEnum):
    """Whether a claim holds, by its interval."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"

    @property
    def mark(self) -> str:
        """The verdict as one character."""
        return {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.UNDECIDED: "?", Verdict.NOT_COMPARABLE: "≠"}[self]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what was measured.

    Args:
        id: stable name of the claim.
        source: where the paper makes it.
        words: the claim.
        quantity: what was measured to decide it.
        estimate: the measured value and its 95 % interval.
        low: the smallest value of the quantity for which the claim counts as true.
        high: the largest such value.
        synthetic: whether it was measured on synthetic data that resemble the paper's. Such a verdict says nothing about the
            paper's data.
        not_comparable: why nothing that is measured can decide the claim; empty if it can.
        remark: further measurements, shown with the verdict.
        samples: number of independent values behind the interval. The jackknife forms 20 groups, so more than 20 count as 20.

    Example:
        >>> Claim("four", "appendix", "four times better", "ratio", Interval(3.9, 3.7, 4.1), low=2.0, high=8.0).verdict
        <Verdict.HOLDS: 'holds'>
        >>> Claim("better", "appendix", "is better", "ratio", Interval(1.1, 0.9, 1.3), low=1.0).verdict
        <Verdict.UNDECIDED: 'undecided'>
        >>> Claim("better", "appendix", "is better", "ratio", NoInterval(1.1, "too few runs"), low=1.0).decision
        'undecided: too few runs'
        >>> fast = Interval(2.0, 1.9, 2.1)
        >>> Claim("fast", "appendix", "is fast", "ratio", fast, low=5.0, not_comparable="other code").decision
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
    not_comparable: str = ""
    remark: str = ""
    samples: int = GROUPS

    @property
    def verdict(self) -> Verdict:
        """`HOLDS` if the whole interval is in the region, `FAILS` if none of it is, else `UNDECIDED`."""
        _, low, high = self.estimate
        if self.not_comparable:
            return Verdict.NOT_COMPARABLE
        return Verdict.UNDECIDED if low is None or high is None else self._verdict_of(low, high)

    def _verdict_of(self, low: float, high: float) -> Verdict:
        if self.low <= low and high <= self.high:
            return Verdict.HOLDS
        return Verdict.FAILS if high < self.low or low > self.high else Verdict.UNDECIDED

    @property
    def is_decided(self) -> bool:
        """Whether the verdict is `HOLDS` or `FAILS`."""
        return self.verdict in {Verdict.HOLDS, Verdict.FAILS}

    @property
    def is_tested(self) -> bool:
        """Whether there is an interval that can decide the claim, even if it leaves it undecided."""
        return not self.not_comparable and None not in self.estimate

    @property
    def stretch(self) -> float:
        """How many times wider the interval could be with the same verdict; 0 where there is no verdict that holds or fails.

        For positive numbers it is the smaller of the factors on the linear and on the logarithmic scale.
        """
        mean, low, high = self.estimate
        if not self.is_decided or low is None or high is None:
            return 0.0
        if self.verdict == Verdict.HOLDS:
            return min(_factor(mean, low, self.low), _factor(mean, high, self.high))
        return _factor(mean, high, self.low) if high < self.low else _factor(mean, low, self.high)

    @property
    def p_value(self) -> float:
        """1 minus the level of the widest interval with the same verdict; 1 where no verdict holds or fails.

        The ends are scaled as Student's quantiles are, which is an approximation for the other intervals.
        """
        degrees = max(1, min(self.samples, GROUPS) - 1)
        return t_tail(self.stretch * t_critical(degrees), degrees)

    @property
    def reason(self) -> str:
        """Why the claim is not comparable, or has no interval; empty otherwise."""
        return self.not_comparable or (self.estimate.reason if isinstance(self.estimate, NoInterval) else "")

    @property
    def decision(self) -> str:
        """The verdict in words, with its reason if there is one."""
        return f"{self.verdict_text}: {self.reason}" if self.reason else self.verdict_text

    @property
    def verdict_text(self) -> str:
        """The verdict in words; they say if the data are synthetic."""
        return f"{self.verdict} (synthetic data)" if self.synthetic else self.verdict.value

    @property
    def region(self) -> str:
        """The values of the quantity for which we take the claim to hold, in words."""
        if math.isinf(self.high):
            return f"at least {self.low:,g}"
        if math.isinf(self.low):
            return f"at most {self.high:,g}"
        return f"between {self.low:,g} and {self.high:,g}"

    @property
    def measured(self) -> str:
        """The estimate and its interval as text, with enough digits to reach the same verdict from them."""
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
ROUNDING = 1e-12  # relative width below which an interval has none but rounding


def _factor(mean: float, end: float, bound: float) -> float:
    """Return how many times as far from the mean as the interval's end the bound is; infinite if the end is the mean.

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
    """Return the ids of the claims whose verdicts stand with Holm's correction for testing all of these claims.

    It is the correction of `Result.compare`. All verdicts that stand are right with a probability of at least 95 %.

    Example:
        >>> clear, close = (Claim(id, "s", "w", "q", Interval(3.0, low, 4.0), low=1.0) for id, low in (("a", 2.9), ("b", 1.1)))
        >>> sorted(standing([clear, close])), sorted(standing([close]))
        (['a', 'b'], ['b'])
    """
    tested = [claim for claim in claims if claim.is_tested]
    corrected = holm(np.array([claim.p_value for claim in tested]))
    return frozenset(claim.id for claim, p in zip(tested, corrected, strict=True) if p <= 1 - LEVEL)


def _decimals(mean: float, half: float) -> int:
    """Return how many decimals to write.

    Half the width of the interval is then 5 to 50 units of the last decimal. Without a width, four digits are written.

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
    """A claim that is not measured yet: an entry in the list of an experiment.

    Args:
        id: as in `Claim`, and so are the fields that are not listed here.
        quantity: what is measured; a function of the results if it depends on the size of the experiment.
        measure: returns the estimate of the quantity from the results of an experiment.
        compare: returns the remark from the same results.
        needs_its_data: why only the paper's own data can decide the claim; empty if others can.
    """

    id: str
    source: str
    words: str
    quantity: str | Callable[[Data], str]
    measure: Callable[[Data], Interval]
    low: float = -math.inf
    high: float = math.inf
    not_comparable: str = ""
    compare: Callable[[Data], str] = lambda _: ""
    needs_its_data: str = ""

    def decide(self, data: Data, synthetic: bool = False, samples: int = GROUPS) -> Claim:
        """Return the claim, measured."""
        return Claim(
            self.id,
            self.source,
            self.words,
            self.quantity(data) if callable(self.quantity) else self.quantity,
            self.measure(data),
            self.low,
            self.high,
            synthetic,
            self.not_comparable or (self.needs_its_data if synthetic else ""),
            self.compare(data),
            samples,
        )


HOLM_WORDS = {True: "yes", False: "no", None: ""}
"""The values of `stands`, in words."""

# The columns of tables of claims; the HTML page adds markup to some cells.
COLUMNS = {
    "id": Column("claim", lambda row: str(row["claim"].id)),
    "words": Column("claim", lambda row: str(row["claim"].words)),
    "source": Column("source", lambda row: str(row["claim"].source)),
    "quantity": Column("quantity", lambda row: str(row["claim"].quantity)),
    "measured": Column("measured", lambda row: str(row["claim"].measured)),
    "region": Column("holds if", lambda row: str(row["claim"].region)),
    "verdict": Column("verdict", lambda row: f"{row['claim'].verdict_text}{row['letter']}"),
    "marked verdict": Column("verdict", lambda row: f"{row['claim'].verdict.mark} {row['claim'].verdict_text}{row['letter']}"),
    "remark": Column("remark", lambda row: str(row["claim"].remark)),
    "holm": Column("stands with Holm's correction", lambda row: HOLM_WORDS[row["stands"]]),
}
IN_SHORT = ("id", "measured", "region", "verdict")
IN_FULL = ("words", "source", "quantity", "measured", "region", "marked verdict", "holm", "remark")


def stands(claim: Claim, standing_ids: frozenset[str]) -> bool | None:
    """Return whether the verdict of a claim is among those that stand; None where the claim neither holds nor fails."""
    return claim.id in standing_ids if claim.is_decided else None


def claims_table(claims: Sequence[Claim], shown: tuple[str, ...] = IN_FULL) -> FormattedTable:
    """Return claims as a table. Letters after the verdicts refer to the reasons below the table.

    Args:
        claims: in the order of the rows.
        shown: the columns, `IN_FULL` or `IN_SHORT`.

    Example:
        >>> few = Claim("four", "appendix", "is better", "ratio", NoInterval(3.9, "a single run has no interval"), low=1.0)
        >>> print(claims_table([few], IN_SHORT))
        Claims of the paper: what was measured, with its 95 % interval
        <BLANKLINE>
        claim  measured  holds if    verdict
        ------------------------------------------
        four   3.90      at least 1  undecided (a)
        <BLANKLINE>
        (a) a single run has no interval
    """
    lines = ("Claims of the paper: what was measured, with its 95 % interval",)
    standing_ids = standing(claims)
    reasons = dict.fromkeys(claim.reason for claim in claims if claim.reason)
    letters = {reason: ascii_lowercase[k % 26] * (k // 26 + 1) for k, reason in enumerate(reasons)}
    rows = [
        {
            "claim": claim,
            "letter": f" ({letters[claim.reason]})" if claim.reason else "",
            "stands": stands(claim, standing_ids),
        }
        for claim in claims
    ]
    notes = tuple(f"({letter}) {reason}" for reason, letter in letters.items())
    return FormattedTable(lines, tuple(COLUMNS[name] for name in shown), rows, left=len(shown), notes=notes)
