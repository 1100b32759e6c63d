"""Which policies are better than others: paired tests, corrected for their number, ties, and ranks with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats
from rotting.common.display.tables import (
    Column,
    FormattedTable,
    Row,
    ends_text,
    half_widths,
    mean_cells,
    number_format,
    value_column,
)
from rotting.common.short_numbers import plural
from rotting.common.statistics import LEVEL, holm, mean_interval, sign_flip_test
from rotting.errors import InvalidValueError
from rotting.simulation.regret_tables import TIE

Correction = Literal["holm"] | None
FLIPS, FLIPS_PER_TEST = 9_999, 40  # the smallest p-value is then at most 2.5 % after the correction, too
BETTER, TIED, WORSE = "better", "tied", "worse"


@dataclass(frozen=True, eq=False)
class Ranking:
    """How policies compare on one problem.

    Args:
        means: of the regret of each policy.
        p_values: of each policy against each other one, corrected, `[policy, policy]`; 1 where two were not compared.
    """

    means: Floats
    p_values: Floats

    @property
    def best(self) -> int:
        """The policy with the smallest mean; the first one if there are several."""
        return int(self.means.argmin())

    @property
    def beats(self) -> NDArray[np.bool_]:
        """Whether the regret of each policy is significantly smaller than that of each other one."""
        smaller = self.means[:, None] < self.means
        return np.asarray(smaller & (self.p_values <= 1 - LEVEL), np.bool_)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The first and the last rank that each policy may have, `[policy, 2]`: it is behind those that beat it.

        If the tests are corrected for their number, all true ranks are within these ends in at least 95 % of all cases.
        """
        return np.stack([1 + self.beats.sum(axis=0), len(self.means) - self.beats.sum(axis=1)], axis=1)

    def verdict(self, policy: int, other: int) -> str:
        """Return whether a policy is better or worse than another one, or tied with it."""
        return BETTER if self.beats[policy, other] else WORSE if self.beats[other, policy] else TIED


def rank(finals: Sequence[Floats], against: int | None = None, correction: Correction = "holm") -> list[Ranking]:
    """Compare policies by paired tests (`sign_flip_test`), which are corrected for the number of all tests together.

    Args:
        finals: the regret at the horizon on each problem, `[policy, run]`.
        against: the policy with which all others are compared; None for all pairs of policies.
        correction: "holm", or None for none.

    Example:
        >>> runs = np.arange(8.0)
        >>> (ranking,) = rank([np.array([runs, runs + 1 + 0.1 * runs, runs[::-1]])])
        >>> ranking.ranks.tolist(), ranking.verdict(1, 0)
        ([[1, 2], [2, 3], [1, 3]], 'worse')
    """
    if correction not in {"holm", None}:
        known = get_args(get_args(Correction)[0])
        raise InvalidValueError("correction", f"be {' or '.join(map(repr, known))}, or None", correction)
    count = len(finals[0])
    if count < 2:
        raise InvalidValueError("policies", "be two or more to be compared", count)
    pairs = np.array([(i, j) for i in range(count) for j in range(i) if against is None or against in (i, j)]).T
    flips = max(FLIPS, FLIPS_PER_TEST * len(finals) * pairs.shape[1] - 1)
    differences = []
    for final in finals:
        found = final[pairs[0]] - final[pairs[1]]
        differences.append(np.where(np.abs(found) <= TIE * np.abs(final).max(), 0.0, found))
    p_values = sign_flip_test(np.concatenate(differences), flips)
    corrected = (holm(p_values) if correction else p_values).reshape(len(finals), -1)
    rankings = []
    for final, own in zip(finals, corrected, strict=True):
        square = np.ones((count, count))
        square[pairs[0], pairs[1]] = square[pairs[1], pairs[0]] = own
        rankings.append(Ranking(final.mean(axis=1), square))
    return rankings


def ranking_rows(labels: Sequence[str], final: Floats, ranking: Ranking, against: int | None) -> list[Row]:
    """Return the rows of `Result.compare` about one problem."""
    other = ranking.best if against is None else against
    rows: list[Row] = []
    for k, label in enumerate(labels):
        row: Row = {"policy": label, **mean_cells(mean_interval(final[k]))}
        if against is None:
            low, high = ranking.ranks[k].tolist()
            row |= {"rank_low": low, "rank_high": high}
        difference = mean_interval(final[k] - final[other])
        ends = {f"difference_{end}": getattr(difference, end) for end in ("low", "high")}
        p_value = None if k == other else float(ranking.p_values[k, other])
        row |= {"difference": difference.mean, **ends, "p": p_value}
        row["verdict"] = ranking.verdict(k, other) if k != other else "best" if against is None else "-"
        rows.append(row)
    return rows


def ranking_columns(rows: Sequence[Row], against: str | None) -> tuple[Column, ...]:
    """Return the columns of the rows of `ranking_rows`; `against` is the label of the policy to compare with, if given."""
    style = number_format([row["mean"] for row in rows], half_widths(rows))
    signed = f"+{style}"

    def difference(row: Row) -> str:
        if row["p"] is None:
            return "-"
        return f"{row['difference']:{signed}} {ends_text(row['difference_low'], row['difference_high'], signed)}"

    def ranks(row: Row) -> str:
        return "-".join(dict.fromkeys([str(row["rank_low"]), str(row["rank_high"])]))

    return (
        value_column("policy"),
        value_column("mean regret", style, "mean"),
        Column("95 % interval", lambda row: ends_text(row["low"], row["high"], style)),
        *([Column("rank", ranks)] if against is None else []),
        Column(f"minus {against or 'the best'}", difference),
        Column("p", lambda row: "-" if row["p"] is None else f"{row['p']:.2g}"),
        value_column("verdict"),
    )


def ranking_notes(problems: int, policies: int, runs: int, against: str | None, correction: Correction) -> tuple[str, ...]:
    """Return what the rows of `ranking_rows` say, in words."""
    tests = problems * (policies - 1 if against is not None else policies * (policies - 1) // 2)
    corrected = f", with Holm's correction for {plural(tests, 'comparison')}" if correction else ", not corrected"
    tied = "the best" if against is None else against
    notes = [f"p: sign-flip test of the paired runs{corrected}.", f"Tied: not significantly different from {tied} at 5 %."]
    if against is None:
        notes.append("rank: the ranks that the tests leave possible.")
    if (tests if correction else 1) / 2 ** min(runs - 1, 60) > 1 - LEVEL:
        notes.append(f"{plural(runs, 'run')} cannot show a difference: play more.")
    return tuple(notes)


def ranking_table(
    problems: Sequence[tuple[Row, Floats]],
    labels: Sequence[str],
    against: int | None,
    correction: Correction,
    heading: tuple[str, ...],
    notes: tuple[str, ...],
) -> FormattedTable:
    """Return the table of `Result.compare`, without columns for the problems.

    Args:
        problems: for each problem, cells that begin its rows, and the regret at the horizon `[policy, run]`.
        labels: one per policy.
        against: as for `rank`.
        correction: as for `rank`.
        heading: the lines above the table.
        notes: the last lines below it.
    """
    rankings = rank([final for _, final in problems], against, correction)
    rows: list[Row] = [
        {**cells, **row}
        for (cells, final), ranking in zip(problems, rankings, strict=True)
        for row in ranking_rows(labels, final, ranking, against)
    ]
    named = None if against is None else labels[against]
    about = ranking_notes(len(problems), len(labels), problems[0][1].shape[1], named, correction)
    return FormattedTable(heading, ranking_columns(rows, named), rows, notes=(*about, *notes))
