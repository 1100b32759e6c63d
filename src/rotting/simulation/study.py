"""Results on problems whose parameters vary: tables, plots over a parameter, and the best parameters of policies."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import BANDS, Curve, Figure, Panel, join_panels, least_curves, mean_points, regret_panel
from rotting.common.display.html_parts import block, drawing, row
from rotting.common.display.plots import Colours, check_colours, plot_figure, plot_heat
from rotting.common.display.tables import Column, FormattedTable, Row, ends_text, interval_column, value_column
from rotting.common.files import new_folder
from rotting.common.rules import FINITE, suggest
from rotting.common.short_numbers import plural, short_texts
from rotting.common.statistics import mean_interval, what_runs_can_miss
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.parts.plain import plain_notes
from rotting.policy import Policy, labels_of
from rotting.problems.oracle import OPTIMAL, reference_kind, regret_against
from rotting.simulation.comparisons import geometric_mean, mean_ratio
from rotting.simulation.ranking import Correction, ranking_table
from rotting.simulation.regret_tables import regret_cells, regret_columns, regret_frame
from rotting.simulation.result import MOST_CURVES, Result, format_of, not_saved, numbered, read_settings
from rotting.simulation.summary import SummaryCell, summary_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

STUDY_FILE = "study.json"
ROUND, PROBLEM, HORIZON, REFERENCE = "round", "problem", "horizon", "reference"
Value = float | str
"""The value of a parameter."""

# The keys of the rows of all tables, and the columns of data frames.
_COLUMNS = {"policy", "kind", "mean", "low", "high", "reason", "q10", "q90", "p", "verdict"}
_COLUMNS |= {"rank_low", "rank_high", "difference", "difference_low", "difference_high"}
_COLUMNS |= {"regret", "next", "behind", "run", "round", "reference"}


def horizon_suffix(horizon: int) -> str:
    """Return what distinguishes the name of a problem from those with other horizons.

    Example:
        >>> horizon_suffix(5_000)
        ', T = 5,000'
    """
    return f", T = {horizon:,}"


def checked_parameters(parameters: Mapping[str, Sequence[Value]]) -> dict[str, tuple[Value, ...]]:
    """Return the values of parameters as plain numbers and texts, under names that no column of a table has.

    Example:
        >>> checked_parameters({"low": [0.0, np.float64(0.5)]})
        {'problem.low': (0.0, 0.5)}
    """
    for name, values in parameters.items():
        if not isinstance(name, str):
            raise InvalidTypeError("parameters", "have names", name)
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidTypeError(name, "be a sequence with one value for each result", values)
    return {
        f"problem.{name}" if name in _COLUMNS else name: tuple(_plain(name, each) for each in values)
        for name, values in parameters.items()
    }


def number_or_text(value: object) -> Value | None:
    """Return a value as a study keeps it; None if it is neither a number nor a text.

    Example:
        >>> number_or_text(np.float64(0.5)), number_or_text(True)
        (0.5, None)
    """
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def _plain(name: str, value: object) -> Value:
    kept = number_or_text(value)
    if kept is None:
        raise InvalidTypeError(name, "have numbers or texts", value)
    if not isinstance(kept, str):
        FINITE.check(name, kept)  # JSON has no others, nor has an axis
    return kept


class _Point(NamedTuple):
    """The runs of one policy on one problem."""

    place: int  # of the problem
    policy: int
    values: dict[str, Value]  # of the parameters of the problem, and of those of the policy that vary
    regret: Floats  # [runs] at the horizon
    reference: str  # what it is measured against


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The results of the same policies on several problems whose parameters vary. `rotting.sweep` makes it.

    Regret is measured against the optimal policy, or against the greedy oracle if the optimum is too expensive to compute:
    see `Result.reference`. Tables and plots say which. If a study has both, `table` and `best` have a column `reference`, and
    plots have separate curves.

    Args:
        parameters: the values of each parameter of the problems, one for each result. A parameter with the name of a column of
            the tables, such as `low`, is renamed to `problem.low`.
        results: one for each problem, all with the same policies and the same number of runs. Policies may have other
            parameters at another horizon, as `rotting.tuned` makes them.

    Example:
        >>> import rotting
        >>> sizes = [0.1, 1.0]
        >>> results = [rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(L=L, horizon=200), runs=9) for L in sizes]
        >>> study = Study({"L": sizes}, results)
        >>> study
        Study(2 problems over L, 1 policy, 9 runs)
        >>> [row["L"] for row in study.table().rows]
        [0.1, 1.0]
    """

    parameters: Mapping[str, Sequence[Value]]
    results: Sequence[Result]

    def __post_init__(self) -> None:
        if isinstance(self.results, Result) or not isinstance(self.results, Iterable):
            raise InvalidTypeError("results", "be a sequence of results", self.results)
        object.__setattr__(self, "results", tuple(self.results))
        for k, result in enumerate(self.results):
            if not isinstance(result, Result):
                raise InvalidTypeError(f"results[{k}]", "be a Result", result)
        if not self.results:
            raise InvalidValueError("results", "hold at least one result", self.results, got="none")
        if not self.parameters:
            raise InvalidValueError("parameters", "name at least one parameter of the problems", self.parameters, got="none")
        checked = checked_parameters(self.parameters)
        object.__setattr__(self, "parameters", checked)
        for name, values in checked.items():
            if len(values) != len(self.results):
                raise InvalidValueError(name, f"have one value for each result, {len(self.results)}", len(values))
        first = self.results[0]
        for k, result in enumerate(self.results):
            same = next((each for each in self.results[:k] if each.horizon == result.horizon), None)
            kinds = [[each.name for each in one.policies] for one in (first, result)]
            if kinds[0] != kinds[1] or (same is not None and same.policies != result.policies):
                raise InvalidValueError(
                    "results", "be of the same policies", result.policies, got=f"others in results[{k}] than in results[0]"
                )
            if result.runs != first.runs:
                raise InvalidValueError("results", "have the same number of runs", result.runs, hint=f" in results[{k}]")

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies, which all problems share; of those that are tuned to the horizon, the ones of the first problem."""
        return self.results[0].policies

    @property
    def _tuned(self) -> list[frozenset[str]]:
        """For each policy, the parameters that differ between horizons."""
        found = []
        for same in zip(*(each.policies for each in self.results), strict=True):
            shown = [each.shown_params() for each in same]
            names = dict.fromkeys(name for each in shown for name in each)
            found.append(frozenset(name for name in names if any(each.get(name) != shown[0].get(name) for each in shown)))
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """One short label per policy, as `Result.labels`; a policy that differs between horizons is called tuned.

        Example:
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, horizon=[100, 200])
            >>> rotting.sweep([rotting.tuned(rotting.GLRUCB), rotting.UCB1()], problems, runs=2).labels
            ('GLR-UCB, tuned', 'UCB1')
        """
        return numbered(labels_of(self.policies, self._tuned))

    @property
    def varying(self) -> tuple[str, ...]:
        """The parameters that have several values: those of the problems, then those of the policies, as `raw-ucb.alpha`.

        If the problems have several horizons, `horizon` is one of them.
        """
        problems = [name for name, values in self._axes.items() if len({*values}) > 1]
        return (*problems, *self._policy_parameters)

    @cached_property
    def _axes(self) -> dict[str, tuple[Value, ...]]:
        """The parameters of figures: those of the problems, and the horizon if it varies, which is then in no name."""
        horizons = tuple(each.horizon for each in self.results)
        axes = {name: tuple(values) for name, values in self.parameters.items()}
        if "horizon" not in axes and len({*horizons}) > 1:
            names = zip(axes.pop("problem", ()), horizons, strict=False)
            bare = tuple(str(name).removesuffix(horizon_suffix(T)) for name, T in names)
            axes = {**({"problem": bare} if bare else {}), **axes, "horizon": horizons}
        return axes

    def _points(self) -> Iterator[_Point]:
        """Yield the points, problem by problem."""
        for k, result in enumerate(self.results):
            problem = {name: values[k] for name, values in self._axes.items()}
            for policy, regret in enumerate(result.regret[:, :, -1]):
                own = {name: values[policy] for name, values in self._policy_parameters.items() if policy in values}
                yield _Point(k, policy, problem | own, regret, result.reference)

    @cached_property
    def _policy_parameters(self) -> dict[str, dict[int, Value]]:
        """The parameters of policies that vary, as `raw-ucb.alpha`, each with the value of each policy that has it."""
        found: dict[str, dict[int, Value]] = {}
        for k, (policy, tuned) in enumerate(zip(self.policies, self._tuned, strict=True)):
            for name, value in policy.shown_params().items():
                if name not in tuned:
                    found.setdefault(f"{policy.name}.{name}", {})[k] = value
        return {name: values for name, values in found.items() if len({*values.values()}) > 1}

    @property
    def _has_both_references(self) -> bool:
        """Whether some regrets are measured against the optimal policy, and others against the greedy oracle."""
        return len({reference_kind(each.reference) for each in self.results}) > 1

    @property
    def _problems_text(self) -> str:
        """The common name of the problems, without their parameters, or their number."""
        names = {each.problem_name.partition("(")[0] for each in self.results}
        return names.pop() if len(names) == 1 else f"{len(self.results)} problems"

    @property
    def _horizons_text(self) -> str:
        """The smallest and the largest horizon."""
        return " to ".join(dict.fromkeys(f"{pick(each.horizon for each in self.results):,}" for pick in (min, max)))

    def _heading(self, what: str = "") -> tuple[str]:
        """Return the line above a table: the problems, their horizon, runs and seed, and what the table shows."""
        first = self.results[0]
        varying = [name for name, values in self.parameters.items() if len({*values}) > 1 and name != "problem"]
        over = f" over {', '.join(varying)}" if varying else ""
        horizon = "" if "horizon" in varying else f", horizon {self._horizons_text}"
        runs = plural(first.runs, "run")
        seeds = f", seed {first.seed}" if len({each.seed for each in self.results}) == 1 else ""
        return (f"{self._problems_text}{over}{horizon}, {runs}{seeds}{what}",)

    def _notes(self, intervals: bool = True) -> tuple[str, ...]:
        """Return the lines below a table, which are also in the caption of a plot; one is about its intervals."""
        runs = self.results[0].runs if intervals else 1
        references = (each.reference for each in self.results)
        return (*regret_against(*references), *plain_notes(self.policies), *([what_runs_can_miss(runs)] if runs > 1 else []))

    def _axis(self, name: str, given: str | None, default: str | None) -> str:
        """Return the given parameter after a check, by default `default`; `name` is the name of the argument, for errors."""
        chosen = default if given is None else given
        if chosen is None or chosen not in self.varying:
            known = ", ".join(self.varying) or "none"
            hint = suggest(str(chosen), self.varying) if chosen is not None else ""
            hint += "" if self.varying else ": use table()"
            raise InvalidValueError(name, f"be a parameter that varies ({known})", given, hint=hint)
        return chosen

    def _first_numeric(self) -> str | None:
        """Return the first parameter that varies over numbers."""
        words = {name for point in self._points() for name, value in point.values.items() if isinstance(value, str)}
        return next((name for name in self.varying if name not in words), None)

    def _texts(self) -> dict[str, dict[Value, str]]:
        """Return the texts of the values of each parameter, for labels."""
        values = self._axes | {name: tuple(own.values()) for name, own in self._policy_parameters.items()}
        return {name: short_texts(each) for name, each in values.items()}

    def __repr__(self) -> str:
        problems, policies = plural(len(self.results), "problem"), plural(len(self.policies), "policy", "policies")
        return f"Study({problems} over {', '.join(self.parameters)}, {policies}, {plural(self.results[0].runs, 'run')})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        return self.parameters == other.parameters and self.results == other.results

    __hash__ = None  # type: ignore[assignment]  # the arrays are too large to hash

    def _repr_html_(self) -> str:
        table, axis = self.table(), self._first_numeric()
        curves = () if axis is None else tuple(self._mean_curves(axis, self._points(), self._shown(None, None)))
        picture = "" if axis is None else drawing(Panel("", axis, "mean regret", curves))
        return block(*table.lines, row(f"<div>{replace(table, lines=())._repr_html_()}</div>", picture))

    def table(self) -> FormattedTable:
        """Return the regret at the horizon of every policy on every problem: mean, 95 % interval, 10 % and 90 % quantiles.

        The rows have the parameters' names as keys, and `reference` (what regret is measured against), `policy`, `mean`, `low`,
        `high`, `reason` (why there is no interval, or None), `q10` and `q90`.

        Example:
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
            >>> study = rotting.sweep([rotting.UCB1(), rotting.RAWUCB()], problems, runs=9)
            >>> [(row["L"], row["policy"]) for row in study.table().rows]
            [(0.1, 'UCB1'), (0.1, 'RAW-UCB 1.4'), (1.0, 'UCB1'), (1.0, 'RAW-UCB 1.4')]
        """
        labels = self.labels * len(self.results)
        cells = [row for row in self._problem_cells() for _ in self.policies]
        rows: list[Row] = [
            {**row, "policy": label, **regret_cells(point.regret)}
            for row, label, point in zip(cells, labels, self._points(), strict=True)
        ]
        return self._with_problems(self._heading(), regret_columns(rows), rows)

    def compare(self, against: Policy | str | int | None = None, correction: Correction = "holm") -> FormattedTable:
        """Return which policies are better than others on each problem: paired tests, ties, and ranks with intervals.

        This is `Result.compare` for every problem, with one correction for all tests of the table. The rows also have the names
        of the parameters as keys, and `reference` (as in `table`).

        Args:
            against: a policy of this study, its label or its index, to compare all others with it instead of all pairs.
            correction: "holm", or None for none.

        Example:
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=200)
            >>> study = rotting.sweep([rotting.Uniform(), rotting.RAWUCB()], problems, runs=20)
            >>> [(row["L"], row["policy"], row["verdict"]) for row in study.compare(against="uniform").rows]
            [(0.1, 'uniform', '-'), (0.1, 'RAW-UCB 1.4', 'tied'), (1.0, 'uniform', '-'), (1.0, 'RAW-UCB 1.4', 'better')]
        """
        base = None if against is None else self._index_of("against", against)
        problems = list(zip(self._problem_cells(), self._finals(), strict=True))
        table = ranking_table(problems, self.labels, base, correction, self._heading(), self._notes())
        return self._with_problems(table.lines, table.columns, table.rows, table.notes)

    def best(self) -> FormattedTable:
        """Return the best policy on each problem, among policies that differ only in their parameters.

        If no two policies do, it is the best of all, whose `kind` is "any".

        The rows have the names of the parameters as keys, and `reference` (as in `table`), `kind` (the name of the policies),
        `policy` (the best), `regret` (its mean with its interval), `next` (the second best), and `behind`: the mean regret of
        the second best minus that of the best, run by run. If that interval contains zero, the runs do not tell which of the
        two is better. The smallest of several noisy means is too small on average: play the best again with another seed before
        you quote its regret.

        Example:
            >>> import rotting
            >>> policies = rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4, 4.0])
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 2.0], horizon=100)
            >>> rows = rotting.sweep(policies, problems, runs=10).best().rows
            >>> [(row["L"], row["policy"]) for row in rows]
            [(0.5, 'RAW-UCB 1.4'), (2.0, 'RAW-UCB 1.4')]
        """
        kinds = self._kinds() or {"any": [*range(len(self.policies))]}
        if len(self.policies) == 1:
            raise InvalidValueError("policies", "be two or more to find the best", self.policies, got="one")
        rows: list[Row] = []
        for k, result in enumerate(self.results):
            for kind, members in kinds.items():
                final = result.regret[members, :, -1]
                first, second = (members[place] for place in np.argsort(final.mean(axis=1), kind="stable")[:2])
                best, after = result.regret[first, :, -1], result.regret[second, :, -1]
                rows.append(
                    {
                        **{name: values[k] for name, values in self.parameters.items()},
                        "reference": result.reference,
                        "kind": kind,
                        "policy": self.labels[first],
                        "regret": mean_interval(best),
                        "next": self.labels[second],
                        "behind": mean_interval(after - best),
                    }
                )
        columns = value_column("best", key="policy"), interval_column("regret"), value_column("next"), interval_column("behind")
        return self._with_problems(self._heading(": the best on each problem"), columns, rows)

    def best_overall(self) -> FormattedTable:
        """Return policies that differ only in their parameters, compared over all problems, the best first.

        They are compared by the geometric mean over the problems of their mean regret, in which problems with small regrets
        count as much as those with large ones. The rows have the keys `kind`, `policy` and `ratio`: that regret divided by the
        regret of the best policy, with its 95 % interval from paired runs (docs/intervals.md).

        Example:
            >>> import rotting
            >>> policies = rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4, 4.0])
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 2.0], horizon=100)
            >>> [row["policy"] for row in rotting.sweep(policies, problems, runs=10).best_overall().rows]
            ['RAW-UCB 1.4', 'RAW-UCB 4', 'RAW-UCB 0.5']
        """
        rows: list[Row] = []
        kinds = self._kinds()
        if not kinds:
            rule = "be several of one kind to compare their parameters"
            raise InvalidValueError("policies", rule, self.policies, got="all different ones: use table()")
        for kind, members in kinds.items():
            final = np.stack([result.regret[members, :, -1] for result in self.results], axis=1)  # [policy, problem, run]
            least = float(final.mean(axis=2).min())
            if least <= 0:  # such numbers have no geometric mean
                rule = "be above zero on every problem for best_overall"
                raise InvalidValueError("mean regrets", rule, least, got=f"{least:g} of {kind}")
            order = np.argsort([geometric_mean(each) for each in final.mean(axis=2)], kind="stable")
            for place in order:
                ratio = mean_ratio(final[place], final[order[0]])
                rows.append({"kind": kind, "policy": self.labels[members[place]], "ratio": ratio})
        columns = (
            value_column("policy"),
            Column("times the best", lambda row: format(row["ratio"].mean, ",.3f")),
            Column("95 % interval", lambda row: ends_text(row["ratio"].low, row["ratio"].high, ",.3f")),
        )
        return FormattedTable(
            self._heading(": regret over that of the best, over all problems"), columns, rows, notes=self._notes()
        )

    def summary(
        self,
        columns: str | None = None,
        decimals: int | None = None,
        labels: Sequence[str] | None = None,
        order: Sequence[Policy | str | int] | None = None,
    ) -> FormattedTable:
        """Return the mean regrets at the horizon as a table of policies by problems, for a paper.

        The smallest mean of each problem is in bold, and `=` marks the policies that `compare` ties with it. `to_latex`,
        `to_markdown` and `to_pandas` of the table write it; in the data frame, each column has its interval and its verdict
        beside it.

        Args:
            columns: the parameter with a column for each value: "problem" for the problems without their horizons, "horizon",
                or another one. Other parameters that vary are in the first columns. By default "problem", unless only the
                horizon varies.
            decimals: of the means; by default as many as their intervals support.
            labels: one text for each policy that is shown; short labels by default.
            order: the policies to show and to compare, in this order: policies of this study, their labels or indices. By
                default all.

        Example:
            >>> import rotting
            >>> problems = [rotting.problems.two_arms(L=1.0, horizon=T) for T in (100, 400)]
            >>> study = rotting.sweep([rotting.Uniform(), rotting.RAWUCB()], problems, runs=40)
            >>> [column.head for column in study.summary().columns]
            ['policy', 'T = 100', 'T = 400']
            >>> [row["T = 400 verdict"] for row in study.summary().rows]
            ['worse', 'best']
        """
        others = any(name != HORIZON for name in self._axes if name in self.varying)
        facets, used = self._facets(columns or (PROBLEM if others or len(self.results) == 1 else HORIZON))
        heads = facets if used else [each.problem_name for each in self.results]
        rest = [name for name in self._axes if name in self.varying and name not in used]
        texts, shown = self._texts(), self._shown(order, labels)
        marked = [each.reference if self._has_both_references else OPTIMAL for each in self.results]
        cells = [
            SummaryCell(
                head,
                {name: texts[name][self._axes[name][k]] for name in rest},
                final[[*shown]],
                reference_kind(reference),
            )
            for k, (head, final, reference) in enumerate(zip(heads, self._finals(), marked, strict=True))
        ]
        return summary_table(cells, [*shown.values()], decimals, self._heading(": mean regret"), self._notes())

    def latex(
        self,
        columns: str | None = None,
        decimals: int | None = None,
        labels: Sequence[str] | None = None,
        order: Sequence[Policy | str | int] | None = None,
    ) -> str:
        r"""Return `summary` in LaTeX, with the rules of the package `booktabs`; the arguments are the same.

        Example:
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
            >>> study = rotting.sweep([rotting.UCB1(), rotting.RAWUCB()], problems, runs=9)
            >>> print("\n".join(study.latex(decimals=1).splitlines()[:4]))
            \begin{tabular}{lrr}
            \toprule
            policy & L = 0.1 & L = 1 \\
            \midrule
        """
        return self.summary(columns, decimals, labels, order).to_latex()

    def _problem_cells(self) -> list[Row]:
        """Return the cells that begin the rows about each problem."""
        rows = zip(*self.parameters.values(), strict=True)
        return [
            {**dict(zip(self.parameters, row, strict=True)), "reference": result.reference}
            for row, result in zip(rows, self.results, strict=True)
        ]

    def _finals(self) -> list[Floats]:
        """Return the regret at the horizon on each problem, `[policy, run]`."""
        return [result.regret[:, :, -1] for result in self.results]

    def _with_problems(
        self, heading: tuple[str, ...], columns: tuple[Column, ...], rows: list[Row], notes: tuple[str, ...] | None = None
    ) -> FormattedTable:
        """Return a table whose first columns are the parameters of the problems, and the reference if there are several."""

        def column(name: str, texts: dict[Value, str]) -> Column:
            return Column(name, lambda row: texts[row[name]])

        first = [column(name, short_texts(values)) for name, values in self.parameters.items()]
        if self._has_both_references:
            first.append(Column("reference", lambda row: reference_kind(row["reference"])))
        below = self._notes() if notes is None else notes
        return FormattedTable(heading, (*first, *columns), rows, left=len(first) + 1, notes=below)

    def _kinds(self) -> dict[str, list[int]]:
        """Return the indices of the policies by their names, for names that several policies have."""
        kinds: dict[str, list[int]] = {}
        for k, policy in enumerate(self.policies):
            kinds.setdefault(policy.name, []).append(k)
        return {kind: members for kind, members in kinds.items() if len(members) > 1}

    def plot(
        self,
        x: str | None = None,
        path: str | Path | None = None,
        log: bool = False,
        log_y: bool = False,
        title: str | None = None,
        by: str | None = None,
        ax: "Axes | Sequence[Axes] | None" = None,
        labels: Sequence[str] | None = None,
        colors: Colours = None,
        order: Sequence[Policy | str | int] | None = None,
    ) -> "Picture":
        """Draw the mean regret at the horizon over a parameter, with 95 % intervals, or the regret over the rounds.

        There is a curve for every combination of the other parameters, and for each reference; of more than eight curves, the
        eight with the least regret are drawn, and the caption says so. Needs the extra `rotting[plot]`.

        Args:
            x: a parameter that varies, such as "L" of the problems or "raw-ucb.alpha" of policies; "horizon" if the problems
                have several; or "round". By default the first parameter whose values are numbers.
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.
            log: whether the axis of the parameter is logarithmic.
            log_y: whether the axis of the regret is logarithmic.
            title: above the picture; by default what is drawn.
            by: the parameter of the problems for whose values there is a panel each: "problem" for the problems without their
                horizons, "horizon", or another one. By default, there is one panel; over the rounds, one for each problem.
            ax: the axes to draw into, one for each panel; None makes a figure. With a title of your own, they have no caption.
            labels: one text for each policy that is drawn; short labels by default.
            colors: one for each curve, or a dict by their labels.
            order: the policies to draw, in this order: policies of this study, their labels or indices. By default all.

        Returns:
            The Matplotlib figure.

        Example:
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
            >>> study = rotting.sweep([rotting.UCB1(), rotting.RAWUCB()], problems, runs=9)
            >>> study.plot().axes[0].get_xlabel()
            'L'
            >>> [ax.get_title(loc="left") for ax in study.plot("round", by="L").axes]
            ['L = 0.1', 'L = 1']
            >>> import matplotlib.pyplot
            >>> matplotlib.pyplot.close("all")
        """
        axis = x if x == ROUND else self._axis("x", x, self._first_numeric() or next(iter(self.varying), None))
        facets, used = self._facets(by, axis)
        chosen = self._shown(order, labels)
        panels = []
        for facet in dict.fromkeys(facets):
            points = [point for point in self._points() if facets[point.place] == facet and point.policy in chosen]
            if order is not None:
                points.sort(key=lambda point: [*chosen].index(point.policy))
            named, told = facet, used
            kinds = {reference_kind(point.reference) for point in points}
            if (
                facet and self._has_both_references and len(kinds) == 1
            ):  # in the title, so that a policy has one curve in all panels
                named, told = f"{facet}, against {kinds.pop()}", [*used, REFERENCE]
            if axis == ROUND:
                panels.append(replace(self._panel_of_rounds(named, points, chosen, told), x_log=log, y_log=log_y))
            else:
                curves = tuple(self._mean_curves(axis, points, chosen, told))
                panels.append(Panel(named, axis, "regret at the horizon", curves, x_log=log, y_log=log_y))
        drawn, left_out = least_curves(panels, MOST_CURVES) if order is None else (tuple(panels), "")
        runs, rounds = self.results[0].runs, self._horizons_text
        drawn_as = f"; {BANDS['quantiles']}" if axis == ROUND else " and its 95 % interval"
        shown = f"Mean of {runs:,} runs of {rounds} rounds{drawn_as}." if runs > 1 else f"A run of {rounds} rounds."
        caption = " ".join(filter(None, [left_out, shown, *self._notes(axis != ROUND)]))
        over = "the rounds" if axis == ROUND else axis
        heading = title if title is not None else f"{self._problems_text}: regret over {over}"
        figure = Figure("study", heading, caption, drawn, columns=2 if len(drawn) == 4 else min(3, len(drawn)))
        figure = replace(figure, colours=check_colours(figure.labels, colors))
        return plot_figure(figure, path, ax, captioned=title is None)

    def _shown(self, order: Sequence[Policy | str | int] | None, labels: Sequence[str] | None) -> dict[int, str]:
        """Return the labels of the policies to show, by their indices."""
        places = range(len(self.policies)) if order is None else [self._index_of("order", each) for each in order]
        if labels is not None and (isinstance(labels, str) or len(labels) != len(places)):
            raise InvalidValueError("labels", f"be one text for each of {plural(len(places), 'policy', 'policies')}", labels)
        return dict(zip(places, [self.labels[k] for k in places] if labels is None else numbered(labels), strict=True))

    def _index_of(self, name: str, given: Policy | str | int) -> int:
        """Return the index of a policy, given as a policy, a label or an index; `name` is that of the argument, for errors."""
        if isinstance(given, str) and given in self.labels:
            return self.labels.index(given)
        return self.results[0]._index_of(name, given)  # noqa: SLF001 - all have the same policies

    def _facets(self, by: str | None, axis: str = "") -> tuple[list[str], list[str]]:
        """Return the text of each problem by which panels or columns are formed, and the parameters in these texts."""
        names = [name for name in self._axes if name in self.varying and name != axis]
        if by == PROBLEM and PROBLEM not in names:
            used = [name for name in names if name != HORIZON]
        elif by is None:
            used = names if axis == ROUND else []
        else:
            used = [self._axis("by", by, None)]
            if used[0] not in self._axes:
                raise InvalidValueError("by", "be a parameter of the problems", by)
        texts, signs = self._texts(), {PROBLEM: "", HORIZON: "T = "}

        def text(name: str, value: Value) -> str:
            written = f"{value:,}" if name == HORIZON else texts[name][value]
            return f"{signs.get(name, f'{name} = ')}{written}"

        found = [", ".join(text(name, self._axes[name][k]) for name in used) for k in range(len(self.results))]
        return found, used

    def _mean_curves(
        self, axis: str, points: Iterable[_Point], labels: Mapping[int, str], used: Sequence[str] = ()
    ) -> list[Curve]:
        """Return the mean regret over a parameter, a curve for every combination of the others."""
        curves: dict[str, list[tuple[float, Floats]]] = {}
        texts = self._texts()
        for point in points:
            value = point.values.get(axis)
            if isinstance(value, str):
                raise InvalidValueError("x", "be a parameter with numbers", axis, hint=f", which has {value!r}: use table()")
            if value is not None:
                label = self._curve_label(point, axis, labels[point.policy], texts, used)
                curves.setdefault(label, []).append((value, point.regret))
        drawn: list[Curve] = []
        for label, samples in curves.items():
            places, runs = zip(*sorted(samples, key=lambda each: each[0]), strict=True)
            drawn.append(mean_points(label, places, runs))
        return drawn

    def _panel_of_rounds(self, title: str, points: Sequence[_Point], labels: Mapping[int, str], used: Sequence[str]) -> Panel:
        """Return the regret over the rounds, a curve for each point."""
        texts, panels = self._texts(), []
        for place in dict.fromkeys(point.place for point in points):
            own, result = [point for point in points if point.place == place], self.results[place]
            named = [self._curve_label(point, ROUND, labels[point.policy], texts, used) for point in own]
            panels.append(regret_panel(title, named, result.checkpoints, result.regret[[point.policy for point in own]]))
        return panels[0] if len(panels) == 1 else join_panels(panels)

    def _curve_label(
        self, point: _Point, axis: str, label: str, texts: dict[str, dict[Value, str]], used: Sequence[str] = ()
    ) -> str:
        """Return the label of a point's curve: its policy, what else varies, and its reference if there are several."""
        shown = {name: texts[name][each] for name, each in point.values.items() if name in self.varying and name != axis}
        words = [label]
        if axis in self._policy_parameters:
            own = (name for name in shown if name in self._policy_parameters)
            words = [self.policies[point.policy].title, *(f"{name.rpartition('.')[2]}={shown[name]}" for name in own)]
        words += [f"{name}={text}" for name, text in shown.items() if name in self._axes and name not in used]
        if self._has_both_references and REFERENCE not in used:
            words.append(f"against {reference_kind(point.reference)}")
        return ", ".join(words)

    def heat_map(
        self,
        x: str | None = None,
        y: str | None = None,
        policy: str | None = None,
        path: str | Path | None = None,
        title: str | None = None,
        ax: "Axes | None" = None,
    ) -> "Picture":
        """Draw the mean regret over two parameters as colours.

        If one of the two is a parameter of the policy, regret is divided by the smallest regret on the same problem, and the
        best value of each problem is framed. If further parameters vary, regret is averaged over their values. All regrets must
        be measured against one reference. Needs the extra `rotting[plot]`.

        Args:
            x: the parameter of the horizontal axis; by default the first that varies.
            y: the parameter of the vertical axis; by default the next that varies, of a policy if there is one.
            policy: the name of the policy, such as "raw-ucb", if there are several.
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.
            title: above the picture; by default what is drawn.
            ax: the axes to draw into; None makes a figure.

        Returns:
            The Matplotlib figure.

        Example:
            >>> import rotting
            >>> policies = rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4])
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
            >>> picture = rotting.sweep(policies, problems, runs=9).heat_map()
            >>> picture.axes[0].get_xlabel(), picture.axes[0].get_ylabel()
            ('L', 'raw-ucb.alpha')
            >>> import matplotlib.pyplot
            >>> matplotlib.pyplot.close("all")
        """
        if self._has_both_references:
            got = " and ".join(dict.fromkeys(each.reference for each in self.results))
            raise InvalidValueError("regrets", "be against one reference, which simulate(reference=) sets", self, got=got)
        across, up = self._heat_axes(x, y)
        chosen = self._points_of_policy(policy, across, up)
        relative = across in self._policy_parameters or up in self._policy_parameters
        cells = self._heat_cells(chosen, across, up, relative)
        columns, lines = (sorted({place[k] for place in cells}, key=_words_last) for k in (0, 1))
        values = np.array([[np.mean(cells.get((column, line), np.nan)) for column in columns] for line in lines])
        first = self.policies[chosen[0].policy]
        shown = first.label if len({point.policy for point in chosen}) == 1 else first.title
        what = "regret over the best of the problem" if relative else "mean regret"
        runs = self.results[0].runs
        note = " ".join(
            [
                f"Mean of {runs:,} runs." if runs > 1 else "A single run.",
                *(["Framed: the smallest mean of each problem."] if relative else []),
                *regret_against(*(each.reference for each in self.results)),
            ]
        )
        return plot_heat(
            (across, columns),
            (up, lines),
            values,
            what,
            title if title is not None else f"{shown}: {what}",
            best_along=None if not relative else 1 if across in self._policy_parameters else 0,
            path=path,
            note=note,
            ax=ax,
        )

    def _heat_axes(self, x: str | None, y: str | None) -> tuple[str, str]:
        """Return the parameters of the two axes; by default the first that varies, and then one of a policy if there is one."""
        across = self._axis("x", x, next(iter(self.varying), None))
        rest = [name for name in self.varying if name != across]
        up = self._axis("y", y, next((name for name in rest if name in self._policy_parameters), next(iter(rest), None)))
        if up == across:
            raise InvalidValueError("y", "be another parameter than x", up, hint=" for both")
        return across, up

    def _points_of_policy(self, policy: str | None, across: str, up: str) -> list[_Point]:
        """Return the points of the policy that is asked for; by default, of the one whose parameter is on an axis."""
        on_axes = [name.rpartition(".")[0] for name in (across, up) if name in self._policy_parameters]
        kind = policy or next(iter(on_axes), self.policies[0].name)
        chosen = [point for point in self._points() if self.policies[point.policy].name == kind]
        if not chosen or (policy is None and not on_axes and len({*self.policies}) > 1):
            known = ", ".join(dict.fromkeys(each.name for each in self.policies))
            raise InvalidValueError("policy", f"be one of {known}", policy)
        return chosen

    def _heat_cells(
        self, chosen: list[_Point], across: str, up: str, relative: bool
    ) -> dict[tuple[Value | None, Value | None], list[float]]:
        """Return mean regrets by their places; if `relative`, divided by the smallest mean regret of the problem."""
        cells: dict[tuple[Value | None, Value | None], list[float]] = {}
        for point in chosen:
            least = 1.0
            if relative:
                least = min(float(other.regret.mean()) for other in chosen if other.place == point.place)
                if least <= 0:
                    raise InvalidValueError("mean regrets", "be above zero for heat_map to divide by", least, got=f"{least:g}")
            place = point.values.get(across), point.values.get(up)
            cells.setdefault(place, []).append(float(point.regret.mean()) / least)
        return cells

    def to_pandas(self) -> "pd.DataFrame":
        """Return a data frame with one row per problem, policy, run and checkpoint.

        Its columns are those of `Result.to_pandas`, and before them the parameters. Select one `reference` before comparing
        regrets. Needs the extra `rotting[pandas]`.

        Example:
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
            >>> study = rotting.sweep([rotting.UCB1(), rotting.RAWUCB()], problems, runs=9)
            >>> frame = study.to_pandas()
            >>> list(frame.columns), len(frame)
            (['L', 'policy', 'run', 'round', 'regret', 'reference'], 3600)
        """
        frames = []
        for k, result in enumerate(self.results):
            frame = regret_frame(self.labels, result.first_run, result.checkpoints, result.regret, result.reference)
            for place, (name, values) in enumerate(self.parameters.items()):
                frame.insert(place, name, values[k])
            frames.append(frame)
        import pandas as pd  # noqa: PLC0415 - an extra, which `Result.to_pandas` has found

        return pd.concat(frames, ignore_index=True).astype({"reference": "category"})

    def save(self, path: str | Path) -> None:
        """Write a new folder with `study.json` and a saved result for each problem; it appears complete or not at all.

        Args:
            path: the folder; it must not exist. Missing parents are created.

        Example:
            >>> import tempfile
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
            >>> study = rotting.sweep([rotting.UCB1(), rotting.RAWUCB()], problems, runs=9)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     study.save(Path(folder) / "study")
            ...     Study.load(Path(folder) / "study") == study
            True
        """
        with new_folder(path) as partial:
            for k, result in enumerate(self.results):
                result.save(partial / str(k))
            about = {**format_of("study"), "parameters": self.parameters}
            (partial / STUDY_FILE).write_text(json.dumps(about, indent=2, allow_nan=False) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """Read what `save` wrote.

        Args:
            path: the folder.

        Raises:
            FileNotFoundError: there is nothing at `path`.
            rotting.errors.InvalidValueError: it is not a study, one of another version, or its files were truncated or edited.

        Example:
            >>> Study.load("no-such-folder")
            Traceback (most recent call last):
            ...
            rotting.errors.PathMissingError: path must be a saved study, but 'no-such-folder' does not exist
        """
        path = Path(path)
        parameters = read_settings("study", path).get("parameters")
        listed = isinstance(parameters, dict) and all(isinstance(each, list) for each in parameters.values())
        if not parameters or not listed:
            raise not_saved("study", path / STUDY_FILE, "is edited: its parameters are not lists of values")
        count = len(next(iter(parameters.values())))
        return cls(parameters, [Result.load(path / str(k)) for k in range(count)])


def _words_last(value: Value | None) -> tuple[bool, Value]:
    """Return a sort key: numbers come first, then words, as a sigma may be "estimate"."""
    return isinstance(value, str), 0.0 if value is None else value
