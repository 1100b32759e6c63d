"""Results over problems whose parameters vary: one table, pictures over a parameter, and which policy parameter is best."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.common.atomic_files import new_folder
from rotting.common.html_parts import Line, block, drawing, row
from rotting.common.short_numbers import short_texts
from rotting.common.statistics import mean_interval, quantiles, what_runs_can_miss
from rotting.display.figures import Figure, Panel
from rotting.display.plots import plot_figure
from rotting.display.tables import (
    Column,
    Table,
    ends_text,
    half_widths,
    interval_column,
    mean_cells,
    number_format,
    quantile_column,
)
from rotting.errors import InvalidTypeError, InvalidValueError, MissingExtraError, PathMissingError
from rotting.policy import Policy
from rotting.problems.oracle import kind_of, regret_against
from rotting.simulation.comparisons import geometric_mean, mean_ratio
from rotting.simulation.result import Result
from rotting.simulation.study_parameters import Value, checked_parameters
from rotting.simulation.study_plots import mean_curves, plot_heat_map
from rotting.simulation.study_points import StudyPoints

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

FORMAT = "rotting-study"
FORMAT_VERSION = 1
STUDY_FILE = "study.json"


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The same policies on several problems, of which one parameter or two vary. `rotting.sweep` makes it.

    Regret is measured against the optimal policy, or against the greedy oracle where the optimum is too expensive to compute:
    see `Result.reference`. Tables and pictures say which. Where a study has both, `table` and `best` have a column
    `reference`, and no curve of a plot joins the two.

    Args:
        parameters: for each parameter of the problems its values, one for each result. One that has the name of a column of
            the tables, such as `low`, is known as `problem.low`.
        results: of the same policies, with the same number of runs.

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
        for k, each in enumerate(self.results):
            if not isinstance(each, Result):
                raise InvalidTypeError(f"results[{k}]", "be a Result", each)
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
        for k, each in enumerate(self.results):
            if each.policies != first.policies:
                raise InvalidValueError(
                    "results", "be of the same policies", each.policies, got=f"others in results[{k}] than in results[0]"
                )
            if each.runs != first.runs:
                raise InvalidValueError("results", "have the same number of runs", each.runs, hint=f" in results[{k}]")

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies, which all problems share."""
        return self.results[0].policies

    @property
    def varying(self) -> tuple[str, ...]:
        """The parameters that have more than one value: of the problems, then of the policies.

        Those of a policy are written with its name, as `raw-ucb.alpha`.
        """
        return self._points.varying

    @property
    def _points(self) -> StudyPoints:
        return StudyPoints(self.parameters, self.results)

    @property
    def _problems_text(self) -> str:
        """The name that the problems share, without their parameters, or how many they are."""
        names = {each.problem_name.partition("(")[0] for each in self.results}
        return names.pop() if len(names) == 1 else f"{len(self.results)} problems"

    def _heading(self, what: str = "") -> tuple[str]:
        """Return the line above a table: the problems, their horizon, runs and seed, and what is shown of them."""
        first = self.results[0]
        varying = [name for name, values in self.parameters.items() if len({*values}) > 1 and name != "problem"]
        over = f" over {', '.join(varying)}" if varying else ""
        ends = dict.fromkeys(f"{pick(each.horizon for each in self.results):,}" for pick in (min, max))
        horizon = "" if "horizon" in varying else f", horizon {' to '.join(ends)}"
        runs = f"{first.runs:,} run{'s' * (first.runs > 1)}"
        seeds = f", seed {first.seed}" if len({each.seed for each in self.results}) == 1 else ""
        return (f"{self._problems_text}{over}{horizon}, {runs}{seeds}{what}",)

    def _notes(self) -> tuple[str, ...]:
        """Return what stands below a table and in the caption of a plot."""
        runs = self.results[0].runs
        references = (each.reference for each in self.results)
        return (*regret_against(*references), *([what_runs_can_miss(runs)] if runs > 1 else []))

    def _place_columns(self) -> list[Column]:
        """Return the columns that tell problems apart: their parameters, and the reference if there are several."""
        columns = [_value_column(name, values) for name, values in self.parameters.items()]
        if self._points.has_both_references:
            columns.append(Column("reference", lambda row: kind_of(row["reference"])))
        return columns

    def __repr__(self) -> str:
        problems, policies = len(self.results), len(self.policies)
        counts = f"{problems} problem{'s' * (problems > 1)} over {', '.join(self.parameters)}"
        runs = self.results[0].runs
        return f"Study({counts}, {policies} polic{'ies' if policies > 1 else 'y'}, {runs} run{'s' * (runs > 1)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        return self.parameters == other.parameters and self.results == other.results

    __hash__ = None  # type: ignore[assignment]  # the arrays are too large to hash

    def _repr_html_(self) -> str:
        table = replace(self.table(), lines=())._repr_html_()  # the notes below it say what regret is measured against
        axis = self._points.first_numbers()
        curves = [] if axis is None else mean_curves(self._points, axis)
        picture = drawing([Line(each.label, each.x, each.y) for each in curves], axis or "", "mean regret")
        return block(*self._heading(), row(f"<div>{table}</div>", picture))

    def table(self) -> Table:
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
        rows: list[dict[str, Any]] = []
        labels = self.results[0].labels * len(self.results)
        for label, point in zip(labels, self._points, strict=True):
            q10, q90 = map(float, quantiles(point.regret, 0.1, 0.9))
            interval = mean_cells(mean_interval(point.regret))
            rows.append({**point.problem, "reference": point.reference, "policy": label, **interval, "q10": q10, "q90": q90})
        style = number_format([row[key] for row in rows for key in ("mean", "q10", "q90")], half_widths(rows))
        places = self._place_columns()
        columns = [
            *places,
            Column("policy", lambda row: row["policy"]),
            Column("mean regret", lambda row: format(row["mean"], style)),
            Column("95 % interval", lambda row: ends_text(row["low"], row["high"], style)),
            quantile_column("10 %", "q10", style),
            quantile_column("90 %", "q90", style),
        ]
        return Table(self._heading(), tuple(columns), rows, left=len(places) + 1, notes=self._notes())

    def best(self) -> Table:
        """Return on each problem the best of the policies that differ in their parameters only.

        The rows have the parameters' names as keys, and `reference`, as in `table`, `kind`, `policy`, `regret` (its mean, with
        its interval), `next`, the second best, and `behind`: the mean of its regret minus the best one's, run by run, as both
        play the same rewards. Where that interval holds zero, the runs do not tell which of the two is better. The least of
        several noisy means is too small, on average: play the best again with another seed before quoting its regret.

        Example:
            >>> import rotting
            >>> policies = rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4, 4.0])
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 2.0], horizon=100)
            >>> rows = rotting.sweep(policies, problems, runs=10).best().rows
            >>> [(row["L"], row["policy"]) for row in rows]
            [(0.5, 'RAW-UCB 1.4'), (2.0, 'RAW-UCB 1.4')]
        """
        rows: list[dict[str, Any]] = []
        for k, result in enumerate(self.results):
            for kind, members in self._kinds().items():
                final = result.regret[members, :, -1]
                first, second = (members[place] for place in np.argsort(final.mean(axis=1), kind="stable")[:2])
                regret, after = result.regret[first, :, -1], result.regret[second, :, -1]
                row: dict[str, Any] = {name: values[k] for name, values in self.parameters.items()}
                row |= {
                    "reference": result.reference,
                    "kind": kind,
                    "policy": result.labels[first],
                    "regret": mean_interval(regret),
                }
                rows.append({**row, "next": result.labels[second], "behind": mean_interval(after - regret)})
        places = self._place_columns()
        columns = [*places, Column("best", lambda row: row["policy"]), interval_column("regret")]
        columns += [Column("next", lambda row: row["next"]), interval_column("behind")]
        return Table(
            self._heading(": the best on each problem"), tuple(columns), rows, left=len(places) + 1, notes=self._notes()
        )

    def best_overall(self) -> Table:
        """Return how policies that differ in their parameters only compare over all problems, the best first.

        A policy's regret is the geometric mean over the problems of its mean regret, in which a problem of large regrets counts
        as much as one of small regrets. The rows have the keys `kind`, `policy` and `ratio`: that regret over the best one's,
        with its 95 % interval, from runs that all policies share (docs/intervals.md says how).

        Example:
            >>> import rotting
            >>> policies = rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4, 4.0])
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 2.0], horizon=100)
            >>> [row["policy"] for row in rotting.sweep(policies, problems, runs=10).best_overall().rows]
            ['RAW-UCB 1.4', 'RAW-UCB 4', 'RAW-UCB 0.5']
        """
        rows: list[dict[str, Any]] = []
        for kind, members in self._kinds().items():
            final = np.stack([result.regret[members, :, -1] for result in self.results], axis=1)  # [policy, problem, run]
            least = float(final.mean(axis=2).min())
            if least <= 0:  # a geometric mean, or a ratio, of such numbers says nothing
                rule = "be above zero on every problem for best_overall"
                raise InvalidValueError("mean regrets", rule, least, got=f"{least:g} of {kind}")
            order = np.argsort([geometric_mean(each) for each in final.mean(axis=2)], kind="stable")
            for place in order:
                ratio = mean_ratio(final[place], final[order[0]])
                rows.append({"kind": kind, "policy": self.results[0].labels[members[place]], "ratio": ratio})
        columns = (
            Column("policy", lambda row: row["policy"]),
            Column("times the best", lambda row: format(row["ratio"].mean, ",.3f")),
            Column("95 % interval", lambda row: ends_text(row["ratio"].low, row["ratio"].high, ",.3f")),
        )
        return Table(self._heading(": regret over that of the best, over all problems"), columns, rows, notes=self._notes())

    def _kinds(self) -> dict[str, list[int]]:
        """Return the places of the policies by their names, where there are several of a name."""
        kinds: dict[str, list[int]] = {}
        for k, policy in enumerate(self.policies):
            kinds.setdefault(policy.name, []).append(k)
        several = {kind: members for kind, members in kinds.items() if len(members) > 1}
        if not several:
            rule = "be several of one kind to compare their parameters"
            raise InvalidValueError("policies", rule, self.policies, got="all different ones: use table()")
        return several

    def plot(
        self,
        x: str | None = None,
        path: str | Path | None = None,
        log: bool = False,
        log_y: bool = False,
        title: str | None = None,
    ) -> "Picture":
        """Draw the mean regret at the horizon over a parameter, with 95 % intervals.

        There is a curve for every combination of the others, and for each reference where there are several. Needs the extra
        `rotting[plot]`.

        Args:
            x: a parameter that varies, such as "L" of the problems or "raw-ucb.alpha" of policies; by default the
                first that has numbers.
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.
            log: the parameter on a logarithmic axis.
            log_y: regret on a logarithmic axis.
            title: above the picture; by default what is drawn.

        Returns:
            The Matplotlib figure.

        Example:
            >>> import rotting
            >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=100)
            >>> study = rotting.sweep([rotting.UCB1(), rotting.RAWUCB()], problems, runs=9)
            >>> study.plot().axes[0].get_xlabel()
            'L'
            >>> import matplotlib.pyplot
            >>> matplotlib.pyplot.close("all")
        """
        axis = self._points.axis("x", x, self._points.first_numbers() or next(iter(self.varying), None))
        panel = Panel("", axis, "regret at the horizon", tuple(mean_curves(self._points, axis)), x_log=log, y_log=log_y)
        horizons = sorted({each.horizon for each in self.results})
        rounds = " to ".join(f"{each:,}" for each in dict.fromkeys([horizons[0], horizons[-1]]))
        runs = self.results[0].runs
        drawn = f"Mean of {runs:,} runs of {rounds} rounds and its 95 % interval." if runs > 1 else f"A run of {rounds} rounds."
        caption = " ".join([drawn, *self._notes()])
        named = title if title is not None else f"{self._problems_text}: regret over {axis}"
        return plot_figure(Figure("study", named, caption, (panel,), columns=1), path)

    def heat_map(
        self,
        x: str | None = None,
        y: str | None = None,
        policy: str | None = None,
        path: str | Path | None = None,
        title: str | None = None,
    ) -> "Picture":
        """Draw the mean regret over two parameters as colours.

        If one of the two is a parameter of the policy, regret is divided by the smallest of the same problem, so that every
        problem has a best, which is framed. Where further parameters vary, it is the mean over their values. Regrets that are
        not measured against the optimal policy are hatched. Needs the extra `rotting[plot]`.

        Args:
            x: the parameter from left to right; by default the first that varies.
            y: the one from below; by default the next that varies, a policy's if there is one.
            policy: the name of the policy, such as "raw-ucb", if there are several.
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.
            title: above the picture; by default what is drawn.

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
        return plot_heat_map(self._points, x, y, policy, path, title)

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
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("to_pandas needs pandas: pip install 'rotting[pandas]'") from error
        frames = []
        for k, result in enumerate(self.results):
            frame = result.to_pandas()
            for place, (name, values) in enumerate(self.parameters.items()):
                frame.insert(place, name, values[k])
            frames.append(frame)
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
            about = {"format": FORMAT, "format_version": FORMAT_VERSION, "parameters": self.parameters}
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
        if not path.exists():
            raise PathMissingError(f"path must be a saved study, but '{path}' does not exist")
        try:
            about = json.loads((path / STUDY_FILE).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise _not_a_study(path / STUDY_FILE, f"cannot be read: {error}") from error
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise _not_a_study(path / STUDY_FILE, f"is of another format than {FORMAT!r}")
        if about.get("format_version") != FORMAT_VERSION:
            version = about.get("format_version")
            raise _not_a_study(path, f"has format version {version!r}, but this rotting reads {FORMAT_VERSION}")
        parameters = about.get("parameters")
        listed = isinstance(parameters, dict) and all(isinstance(each, list) for each in parameters.values())
        if not parameters or not listed:
            raise _not_a_study(path / STUDY_FILE, "is edited: its parameters are not lists of values")
        count = len(next(iter(parameters.values())))
        return cls(parameters, [Result.load(path / str(k)) for k in range(count)])


def _not_a_study(path: Path, why: str) -> InvalidValueError:
    return InvalidValueError("path", "be a saved study", path, hint=f", which {why}")


def _value_column(name: str, values: Sequence[Value]) -> Column:
    texts = short_texts(values)
    return Column(name, lambda row: texts[row[name]])
