"""The tables of a study."""

import numpy as np

from rotting.common.short_numbers import short_texts
from rotting.common.statistics import mean_interval
from rotting.display.tables import Column, FormattedTable, Row, ends_text, interval_column, value_column
from rotting.errors import InvalidValueError
from rotting.problems.oracle import reference_kind
from rotting.simulation.comparisons import geometric_mean, mean_ratio
from rotting.simulation.result_tables import regret_cells, regret_columns
from rotting.simulation.study_parameters import Value
from rotting.simulation.study_points import StudyPoints


def regret_table(points: StudyPoints) -> FormattedTable:
    """Return the regret at the horizon of every policy on every problem; `Study.table` documents the columns."""
    labels = points.results[0].labels * len(points.results)
    rows: list[Row] = [
        {**point.problem, "reference": point.reference, "policy": label, **regret_cells(point.regret)}
        for label, point in zip(labels, points, strict=True)
    ]
    return _with_problems(points, points.heading(), regret_columns(rows), rows)


def best_table(points: StudyPoints) -> FormattedTable:
    """Return the best policy of each kind on each problem; `Study.best` documents the columns."""
    rows: list[Row] = []
    for k, result in enumerate(points.results):
        for kind, members in _kinds(points).items():
            final = result.regret[members, :, -1]
            first, second = (members[place] for place in np.argsort(final.mean(axis=1), kind="stable")[:2])
            best, after = result.regret[first, :, -1], result.regret[second, :, -1]
            rows.append(
                {
                    **{name: values[k] for name, values in points.parameters.items()},
                    "reference": result.reference,
                    "kind": kind,
                    "policy": result.labels[first],
                    "regret": mean_interval(best),
                    "next": result.labels[second],
                    "behind": mean_interval(after - best),
                }
            )
    columns = value_column("best", key="policy"), interval_column("regret"), value_column("next"), interval_column("behind")
    return _with_problems(points, points.heading(": the best on each problem"), columns, rows)


def overall_table(points: StudyPoints) -> FormattedTable:
    """Return the policies of each kind, compared over all problems; `Study.best_overall` documents the columns."""
    rows: list[Row] = []
    for kind, members in _kinds(points).items():
        final = np.stack([result.regret[members, :, -1] for result in points.results], axis=1)  # [policy, problem, run]
        least = float(final.mean(axis=2).min())
        if least <= 0:  # such numbers have no geometric mean
            rule = "be above zero on every problem for best_overall"
            raise InvalidValueError("mean regrets", rule, least, got=f"{least:g} of {kind}")
        order = np.argsort([geometric_mean(each) for each in final.mean(axis=2)], kind="stable")
        for place in order:
            ratio = mean_ratio(final[place], final[order[0]])
            rows.append({"kind": kind, "policy": points.results[0].labels[members[place]], "ratio": ratio})
    columns = (
        value_column("policy"),
        Column("times the best", lambda row: format(row["ratio"].mean, ",.3f")),
        Column("95 % interval", lambda row: ends_text(row["ratio"].low, row["ratio"].high, ",.3f")),
    )
    return FormattedTable(
        points.heading(": regret over that of the best, over all problems"), columns, rows, notes=points.notes()
    )


def _with_problems(points: StudyPoints, heading: tuple[str], columns: tuple[Column, ...], rows: list[Row]) -> FormattedTable:
    """Return a table whose first columns are the parameters of the problems, and the reference if there are several."""

    def column(name: str, texts: dict[Value, str]) -> Column:
        return Column(name, lambda row: texts[row[name]])

    first = [column(name, short_texts(values)) for name, values in points.parameters.items()]
    if points.has_both_references:
        first.append(Column("reference", lambda row: reference_kind(row["reference"])))
    return FormattedTable(heading, (*first, *columns), rows, left=len(first) + 1, notes=points.notes())


def _kinds(points: StudyPoints) -> dict[str, list[int]]:
    """Return the indices of the policies by their names, for names that several policies have."""
    kinds: dict[str, list[int]] = {}
    for k, policy in enumerate(points.policies):
        kinds.setdefault(policy.name, []).append(k)
    several = {kind: members for kind, members in kinds.items() if len(members) > 1}
    if not several:
        rule = "be several of one kind to compare their parameters"
        raise InvalidValueError("policies", rule, points.policies, got="all different ones: use table()")
    return several
