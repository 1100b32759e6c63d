"""Results on problems whose parameters vary: tables, plots over a parameter, and the best parameters of policies."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rotting.common.atomic_files import new_folder
from rotting.common.html_parts import Line, block, drawing, row
from rotting.common.short_numbers import plural
from rotting.display.tables import FormattedTable
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policy import Policy
from rotting.simulation.result import Result
from rotting.simulation.result_files import format_of, not_saved, read_settings
from rotting.simulation.study_parameters import Value, checked_parameters
from rotting.simulation.study_plots import mean_curves, plot_curves, plot_heat_map
from rotting.simulation.study_points import StudyPoints
from rotting.simulation.study_tables import best_table, overall_table, regret_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

STUDY_FILE = "study.json"


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The results of the same policies on several problems whose parameters vary. `rotting.sweep` makes it.

    Regret is measured against the optimal policy, or against the greedy oracle if the optimum is too expensive to compute:
    see `Result.reference`. Tables and plots say which. If a study has both, `table` and `best` have a column `reference`, and
    plots have separate curves.

    Args:
        parameters: the values of each parameter of the problems, one for each result. A parameter with the name of a column of
            the tables, such as `low`, is renamed to `problem.low`.
        results: one for each problem, all with the same policies and the same number of runs.

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
            if result.policies != first.policies:
                raise InvalidValueError(
                    "results", "be of the same policies", result.policies, got=f"others in results[{k}] than in results[0]"
                )
            if result.runs != first.runs:
                raise InvalidValueError("results", "have the same number of runs", result.runs, hint=f" in results[{k}]")

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies, which all problems share."""
        return self.results[0].policies

    @property
    def varying(self) -> tuple[str, ...]:
        """The parameters that have several values: those of the problems, then those of the policies, as `raw-ucb.alpha`."""
        return self._points.varying

    @property
    def _points(self) -> StudyPoints:
        return StudyPoints(self.parameters, self.results)

    def __repr__(self) -> str:
        problems, policies = plural(len(self.results), "problem"), plural(len(self.policies), "policy", "policies")
        return f"Study({problems} over {', '.join(self.parameters)}, {policies}, {plural(self.results[0].runs, 'run')})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        return self.parameters == other.parameters and self.results == other.results

    __hash__ = None  # type: ignore[assignment]  # the arrays are too large to hash

    def _repr_html_(self) -> str:
        table, axis = self.table(), self._points.first_numeric()
        curves = [] if axis is None else mean_curves(self._points, axis)
        picture = drawing([Line(each.label, each.x, each.y) for each in curves], axis or "", "mean regret")
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
        return regret_table(self._points)

    def best(self) -> FormattedTable:
        """Return the best policy on each problem, among policies that differ only in their parameters.

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
        return best_table(self._points)

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
        return overall_table(self._points)

    def plot(
        self,
        x: str | None = None,
        path: str | Path | None = None,
        log: bool = False,
        log_y: bool = False,
        title: str | None = None,
    ) -> "Picture":
        """Draw the mean regret at the horizon over a parameter, with 95 % intervals.

        There is a curve for every combination of the other parameters, and for each reference. Needs the extra `rotting[plot]`.

        Args:
            x: a parameter that varies, such as "L" of the problems or "raw-ucb.alpha" of policies; by default the first one
                whose values are numbers.
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.
            log: whether the axis of the parameter is logarithmic.
            log_y: whether the axis of the regret is logarithmic.
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
        return plot_curves(self._points, x, path, log, log_y, title)

    def heat_map(
        self,
        x: str | None = None,
        y: str | None = None,
        policy: str | None = None,
        path: str | Path | None = None,
        title: str | None = None,
    ) -> "Picture":
        """Draw the mean regret over two parameters as colours.

        If one of the two is a parameter of the policy, regret is divided by the smallest regret on the same problem, and the
        best value of each problem is framed. If further parameters vary, regret is averaged over their values. Regrets that are
        not measured against the optimal policy are hatched. Needs the extra `rotting[plot]`.

        Args:
            x: the parameter of the horizontal axis; by default the first that varies.
            y: the parameter of the vertical axis; by default the next that varies, of a policy if there is one.
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
        frames = []
        for k, result in enumerate(self.results):
            frame = result.to_pandas()
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
