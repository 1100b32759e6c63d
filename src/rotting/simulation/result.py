"""The result of a simulation: regret and pulls of every run, as tables, plots and files."""

import hashlib
import json
import os
import pickle
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from rotting import registry
from rotting.common.arrays import AnyArray, ArmNumbers, Floats, Ints
from rotting.common.display.figures import BANDS, Band, Curve, Panel
from rotting.common.display.html_parts import block, drawing, row
from rotting.common.display.plots import Colours, plot_regret
from rotting.common.display.tables import FormattedTable
from rotting.common.files import new_folder
from rotting.common.json_data import JsonDict
from rotting.common.rules import nonnegative_int, positive_int, suggest
from rotting.common.short_numbers import plural
from rotting.common.statistics import what_runs_can_miss
from rotting.common.version import __version__
from rotting.errors import InvalidTypeError, InvalidValueError, PathMissingError
from rotting.policies.parts.plain import UnknownPolicy, plain_notes
from rotting.policy import Policy, check_policies, labels_of
from rotting.problems import Problem, delays
from rotting.problems.families import DRAWN_DIGEST
from rotting.problems.mean_table import Means
from rotting.problems.noise import from_json, known_kinds
from rotting.problems.oracle import OPTIMAL, regret_against
from rotting.problems.problem import CODE_DIGEST
from rotting.simulation.engines.extensions import arm_type
from rotting.simulation.ranking import Correction, ranking_table
from rotting.simulation.regret_tables import regret_frame, regret_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ArrayType = np.dtype[np.generic]
INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
ARRAYS: dict[str, ArrayType] = {"checkpoints": INT, "regret": FLOAT, "pulls": INT, "us_per_round": FLOAT}
"""The types of the arrays that every result has."""
MOST_CURVES = 8  # of a plot, unless more are asked for: there are eight colours
FORMAT_VERSION = 1  # of saved results and studies
SETTINGS_FILE = "result.json"
ARRAYS_FILE = "arrays.npz"
_MEANS = "means_"  # before the names of the arrays of the problem's table


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The regret and the pulls of policies that played the same runs of one problem.

    Two results are equal if their settings are equal and their regret and pulls are equal bit for bit. `us_per_round` depends
    on the machine and is not compared.

    Args:
        policies: the P policies.
        problem: the problem's description, JSON-able.
        horizon: rounds of a run.
        runs: the number R of runs; a run pays the same rewards to every policy.
        seed: the seed of the noise.
        checkpoints: the C rounds at which regret is recorded, increasing up to the horizon.
        regret: cumulative pseudo-regret `[P, R, C]`.
        pulls: pulls of each arm at the horizon, `[P, R, K]`.
        us_per_round: microseconds of CPU time per round, `[P]`; NaN if it was not measured.
        reference: what regret is measured against.
        played: the problem itself, if it is known. A saved result has its means up to the horizon, so that a loaded result has
            a problem with the same means. A pickled result has None if the problem cannot be pickled, for example because a
            decay is a `lambda`.
        first_run: the number of the first run, which is above 0 for a shard of a larger result.
        arms: the arm of every round, `[P, R, T]`, if `simulate(record="arms")` recorded it.
        rewards: the reward of every round, `[P, R, T]`, if `simulate(record="rewards")` recorded it.
        provenance: how the result was made, JSON-able: the versions of rotting, Python, NumPy and Numba, the commit of the
            repository in which the program was started, digests of the code of each policy, the machine, the date of the last
            game, and the call. A merged result has lists of the entries in which its parts differ; a selection has those of
            the whole. It is not compared.

    Example:
        >>> import numpy as np
        >>> import rotting
        >>> ucb1, raw_ucb = rotting.UCB1(), rotting.RAWUCB(alpha=1.4)
        >>> problem = {"name": "two-arms", "kind": "rested", "n_arms": 2}
        >>> regret = np.array([[[3.0, 9.0], [4.0, 11.0]], [[2.0, 4.0], [3.0, 5.0]]])
        >>> pulls = np.array([[[50, 50], [40, 60]], [[20, 80], [25, 75]]])
        >>> result = Result((ucb1, raw_ucb), problem, 100, 2, 0, np.array([50, 100]), regret, pulls,
        ...                 np.array([0.1, 0.2]), "optimal")
        >>> result
        Result(two-arms, horizon=100, runs=2, seed=0, policies=2)
        >>> [row["mean"] for row in result.table().rows]
        [10.0, 4.5]
        >>> [row["difference"] for row in result.compare(against=ucb1).rows]
        [0.0, -5.5]
    """

    policies: tuple[Policy, ...]
    problem: JsonDict
    horizon: int
    runs: int
    seed: int
    checkpoints: Ints
    regret: Floats
    pulls: Ints
    us_per_round: Floats
    reference: str
    played: Problem | None = field(default=None, repr=False)
    first_run: int = 0
    arms: ArmNumbers | None = field(default=None, repr=False)
    rewards: Floats | None = field(default=None, repr=False)
    provenance: JsonDict | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, value in checked_fields(self).items():
            object.__setattr__(self, name, value)

    @property
    def recorded(self) -> tuple[str, ...]:
        """What was recorded of every round: "arms", "rewards", both or nothing."""
        return tuple(name for name in ("arms", "rewards") if getattr(self, name) is not None)

    def __repr__(self) -> str:
        settings = f"horizon={self.horizon}, runs={self.runs}, seed={self.seed}"
        return f"Result({self.problem_name}, {settings}, policies={len(self.policies)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        same = ("policies", "problem", "horizon", "runs", "seed", "reference", "first_run")
        bits = ("checkpoints", "regret", "pulls", "arms", "rewards")
        return all(getattr(self, name) == getattr(other, name) for name in same) and all(
            same_bits(getattr(self, name), getattr(other, name)) for name in bits
        )

    __hash__ = None  # type: ignore[assignment]  # the arrays are too large to hash

    def __reduce__(self) -> tuple[object, ...]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        try:
            pickle.dumps(self.played)
        except (pickle.PicklingError, AttributeError, TypeError):  # which of them depends on what cannot be pickled
            values["played"] = None
        return type(self), tuple(values.values())

    def merge(self, *others: "Result") -> "Result":
        """Return this result merged with others, which have more runs of the same games, more policies, or both.

        All must have the same problem, horizon, seed, checkpoints and records. Results of the same policies must hold
        consecutive runs, as `simulate(first_run=...)` plays them; their order does not matter. Results of different policies
        must hold the same runs. The merged result equals that of one simulation bit for bit, so several machines can share the
        work.

        Args:
            others: the results to merge with this one.

        Example:
            >>> import rotting
            >>> one, two, problem = rotting.UCB1(), rotting.Uniform(), rotting.problems.two_arms(horizon=50)
            >>> shards = [rotting.simulate(one, problem, runs=4, first_run=first) for first in (0, 4)]
            >>> Result.merge(*shards) == rotting.simulate(one, problem, runs=8)
            True
            >>> other = rotting.simulate(two, problem, runs=8)
            >>> Result.merge(*shards, other) == rotting.simulate([one, two], problem, runs=8)
            True
        """
        for other in others:
            if not isinstance(other, Result):
                raise InvalidTypeError("others", "be results, passed one by one", other)
            _check_same_games(self, other)
        results = [self, *others]
        groups = [[each for each in results if each.policies == some] for some in dict.fromkeys(r.policies for r in results)]
        return _join_policies([_join_runs(group) for group in groups])

    @property
    def labels(self) -> tuple[str, ...]:
        """One short label per policy, such as `RAW-UCB 1.4`, with a number added when two are the same."""
        return numbered(labels_of(self.policies))

    def _chosen_labels(self, given: Sequence[str] | None) -> tuple[str, ...]:
        """Return the short labels for None, or the given texts, one per policy."""
        if given is None:
            return self.labels
        if isinstance(given, str) or not all(isinstance(each, str) for each in given):
            raise InvalidTypeError("labels", "be one text per policy", given)
        if len(given) != len(self.policies):
            raise InvalidValueError("labels", f"be one text per policy, {len(self.policies)}", len(given))
        return numbered(given)

    @property
    def is_optimal(self) -> bool:
        """Whether regret is measured against the optimal policy."""
        return self.reference == OPTIMAL

    @property
    def problem_name(self) -> str:
        """The name of the problem, or what kind it is and how many arms it has."""
        name = self.problem.get("name")
        return str(name) if name else f"{self.problem.get('kind', 'unnamed')} problem, {self.pulls.shape[2]} arms"

    def table(self, labels: Sequence[str] | None = None) -> FormattedTable:
        """Return the regret at the horizon per policy: mean, 95 % interval, 10 % and 90 % quantiles, speed.

        The rows have the keys `policy`, `mean`, `low`, `high`, `reason` (why there is no interval, or None), `q10`, `q90` and
        `us_per_round` (None where it was not measured). The intervals are corrected for skewness, as a few regrets may be much
        larger than the others. They cannot account for failures so rare that none is among the runs: a note says how rare these
        would be. docs/intervals.md measures how often the intervals contain the mean.

        Args:
            labels: one text per policy; short labels by default.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> [row["policy"] for row in result.table().rows]
            ['UCB1', 'RAW-UCB 1.4']
            >>> [row["policy"] for row in result.table(labels=["theirs", "ours"]).rows]
            ['theirs', 'ours']
        """
        return regret_table(self._chosen_labels(labels), self.regret[:, :, -1], self.us_per_round, self._heading, self._notes)

    @property
    def _heading(self) -> tuple[str, ...]:
        """The lines above a table."""
        runs = plural(self.runs, "run") + (f" from run {self.first_run:,} on" if self.first_run else "")
        head = f"{self.problem_name}: horizon {self.horizon:,}, {runs}, seed {self.seed}"
        if self.is_optimal:
            head += "; regret against the optimal policy"
        if "family" in self.problem:
            return head, "Each run has its own problem: the mean is the Bayesian regret."
        return (head,)

    @property
    def _notes(self) -> tuple[str, ...]:
        """The lines below a table: a reference that is not optimal, and how many runs the intervals come from."""
        against = () if self.is_optimal else regret_against(self.reference)
        return (*against, *plain_notes(self.policies), *([what_runs_can_miss(self.runs)] if self.runs > 1 else []))

    def _repr_html_(self) -> str:
        means = zip(self.labels, self.regret.mean(axis=1), strict=True)
        curves = tuple(Curve(label, self.checkpoints, mean) for label, mean in means)
        picture = drawing(Panel("", "round t", "mean regret", curves))
        table = self.table()
        head, *notes = table.lines
        return block(head, row(f"<div>{replace(table, lines=tuple(notes))._repr_html_()}</div>", picture))

    def compare(
        self,
        against: "Policy | str | int | None" = None,
        correction: Correction = "holm",
        labels: Sequence[str] | None = None,
    ) -> FormattedTable:
        """Return which policies are better than others at the horizon: paired tests, ties, and ranks with intervals.

        The test flips the signs of the differences of runs, which is a permutation test: in each run, the labels of the two
        policies are exchanged or not. It was chosen over the bootstrap because it is exact if the policies are equally good in
        every respect, with any number of runs and any tails; the bootstrap is right for many runs only. If two policies have
        equal means but other shapes, it is approximate: its statistic is corrected for skewness, and docs/intervals.md has
        measurements. Failures too rare to be among the runs, no test can see.

        The rows have the keys of `table` up to `reason`, and `rank_low` and `rank_high`, `difference` to the best policy with
        `difference_low` and `difference_high` (95 % each), `p` (corrected; None for the best itself) and `verdict`: "best",
        "tied" or "worse".

        Args:
            against: a policy of this result, its label or its index, to compare all others with it instead of all pairs. There
                are no ranks then, and the verdicts are "better", "tied" or "worse".
            correction: "holm" corrects the p-values for the number of tests in the table, so that a table about equal policies
                finds a difference in at most 5 % of all cases; None does not.
            labels: as for `table`.

        Example:
            >>> import rotting
            >>> three = [rotting.RAWUCB(), rotting.EffRAWUCB(), rotting.Uniform()]
            >>> result = rotting.simulate(three, rotting.problems.two_arms(L=1.0, horizon=200), runs=20)
            >>> [(row["policy"], row["rank_low"], row["rank_high"], row["verdict"]) for row in result.compare().rows]
            [('RAW-UCB 1.4', 1, 2, 'best'), ('EFF-RAW-UCB 1.4', 1, 2, 'tied'), ('uniform', 3, 3, 'worse')]
        """
        base = None if against is None else self._index_of("against", against)
        named = self._chosen_labels(labels)
        return ranking_table([({}, self.regret[:, :, -1])], named, base, correction, self._heading, self._notes)

    def _index_of(self, name: str, given: Policy | str | int) -> int:
        """Return the index of a policy, given as a policy, a label or an index; `name` is that of the argument, for errors."""
        if isinstance(given, str):
            if given in self.labels:
                return self.labels.index(given)
            hint = suggest(given, self.labels) or f"; known: {', '.join(self.labels)}"
            raise InvalidValueError(name, "be a policy of this result", given, hint=hint)
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            if not 0 <= given < len(self.policies):
                last = len(self.policies) - 1
                raise InvalidValueError(name, f"be an index from 0 to {last}, a label or a policy", int(given))
            return int(given)
        if given not in self.policies:
            raise InvalidValueError(name, "be a policy of this result", given)
        # Plain classes that were loaded may be equal to others: the policy itself comes first.
        return next((k for k, each in enumerate(self.policies) if each is given), self.policies.index(given))

    def select(
        self,
        policies: "Policy | str | int | Sequence[Policy | str | int] | None" = None,
        runs: "slice | Sequence[int] | None" = None,
        checkpoints: Iterable[int] | None = None,
    ) -> "Result":
        """Return a part of the result.

        Args:
            policies: one or several: policies of this result, their labels, or their indices; all by default.
            runs: the numbers of consecutive runs, such as `slice(100)` or `range(50, 100)`; all by default.
            checkpoints: some of the checkpoints of this result, all by default; the horizon is always kept.

        Example:
            >>> import rotting
            >>> problem = rotting.problems.two_arms(horizon=100)
            >>> result = rotting.simulate([rotting.UCB1(), rotting.RAWUCB()], problem, runs=20)
            >>> part = result.select(policies="UCB1", runs=slice(5), checkpoints=[50])
            >>> part, part.regret.shape
            (Result(two-arms(L=0.3), horizon=100, runs=5, seed=0, policies=1), (1, 5, 2))
        """
        if policies is None:
            policies = range(len(self.policies))
        asked = [policies] if isinstance(policies, Policy | str | int | np.integer) else policies
        chosen = np.array([self._index_of("policies", each) for each in asked], np.int64)
        which = _find_runs(runs, range(self.first_run, self.first_run + self.runs))
        if checkpoints is not None and not isinstance(checkpoints, Iterable):
            raise InvalidTypeError("checkpoints", "be a list of rounds", checkpoints)
        marks = self.checkpoints.tolist() if checkpoints is None else [*checkpoints, self.horizon]
        for mark in marks:
            if mark not in self.checkpoints:
                raise InvalidValueError("checkpoints", "be among those of this result", mark)
        places = np.searchsorted(self.checkpoints, np.unique(marks))
        own = slice(which.start - self.first_run, which.stop - self.first_run)
        return replace(
            self,
            policies=tuple(self.policies[k] for k in chosen.tolist()),
            runs=len(which),
            first_run=which.start,
            checkpoints=self.checkpoints[places],
            regret=self.regret[chosen, own][:, :, places],
            us_per_round=self.us_per_round[chosen],
            **{name: getattr(self, name)[chosen, own] for name in ("pulls", *self.recorded)},
        )

    def plot(
        self,
        ax: "Axes | None" = None,
        path: str | Path | None = None,
        log: bool = False,
        bounds: bool = False,
        labels: Sequence[str] | None = None,
        legend: bool | str = True,
        title: str | None = None,
        band: Band | None = "quantiles",
        log_y: bool = False,
        colors: Colours = None,
        order: "Sequence[Policy | str | int] | None" = None,
    ) -> "Axes":
        """Draw each policy's mean regret over the rounds, and the band from 10 % to 90 % of its runs.

        Needs the extra `rotting[plot]`. `rotting.display.style` has the sizes and the look for a paper.

        Args:
            ax: the axes to draw into; None makes a figure.
            path: a new image file (.png, .pdf, .svg); an existing one is refused.
            log: whether the axis of the rounds is logarithmic, on which logarithmic regret is a straight line.
            bounds: whether to draw every bound of `rotting.theory` that applies to a policy, with a logarithmic regret axis.
            labels: as for `table`.
            legend: True draws it below the axes of a new figure, else inside the given axes; False draws none; a location of
                Matplotlib, such as "upper left", draws it inside the axes.
            title: replaces the name of the problem and the caption, which says what is drawn and what regret is measured
                against; "" for none.
            band: "quantiles", "interval" for the 95 % interval of the mean, or None.
            log_y: whether the regret axis is logarithmic; it is linear around zero if a policy ends with no regret or less.
            colors: one for each policy, or a dict by labels.
            order: the policies to draw, as for `select`, in this order. By default all; of more than eight, the eight with the
                least regret, and the caption says so.

        Returns:
            The axes; `.figure` is their figure.

        Example:
            >>> import rotting
            >>> import matplotlib.pyplot as plt
            >>> result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=50), runs=5)
            >>> figure, (left, right) = plt.subplots(1, 2)
            >>> ax = result.plot(ax=left, title="rested", band="interval")
            >>> ax = result.plot(ax=right, title="the same", legend=False, log_y=True)
            >>> left.get_title(loc="left"), right.get_yscale()
            ('rested', 'log')
            >>> plt.close(figure)
        """
        part, left_out = self, ""
        if order is not None:
            part = self.select(order)
        elif len(self.policies) > MOST_CURVES:
            least = sorted(np.argsort(self.regret[:, :, -1].mean(axis=1), kind="stable")[:MOST_CURVES].tolist())
            part, labels = self.select(least), [self._chosen_labels(labels)[k] for k in least]
            left_out = f"The {MOST_CURVES} of {len(self.policies)} policies with the least regret."
        named = part._chosen_labels(labels)
        drawn: list[list[tuple[str, Floats]]] = [[] for _ in named]
        if bounds:
            problem = self._problem_of_bounds()
            from rotting.paper import theory  # noqa: PLC0415 - theorems are about results, and users should not have to pass them

            for label, policy, lines in zip(named, part.policies, drawn, strict=True):
                proved = theory.bounds(problem, policy, self.horizon, self.checkpoints.tolist())
                lines += [(f"{label}: {bound.theorem}", bound.values) for bound in proved]
        caption = ""
        if title is None:
            title = f"{self.problem_name}, horizon {self.horizon:,}"
            no_bounds = "No bound applies (see `rotting theory`)." if bounds else ""
            caption = self._caption(band, "Thin: proved bounds." if any(drawn) else no_bounds)
        return plot_regret(
            named,
            self.checkpoints,
            part.regret,
            title,
            " ".join(filter(None, [left_out, caption])),
            bounds=drawn,
            band=band,
            ax=ax,
            path=path,
            log=log,
            legend=legend,
            log_y=log_y,
            colors=colors,
        )

    def _caption(self, band: Band | None, about_bounds: str) -> str:
        """Return what the plot shows, and what its regret is measured against."""
        drawn = "A single run"
        if self.runs > 1:
            drawn = ", ".join(filter(None, [f"Mean of {self.runs:,} runs", BANDS.get(band)]))
        missed = what_runs_can_miss(self.runs) if band == "interval" and self.runs > 1 else ""
        return " ".join(filter(None, [f"{drawn}.", *regret_against(self.reference), about_bounds, missed]))

    def _problem_of_bounds(self) -> Problem:
        """Return the problem whose bounds are to be drawn."""
        if "family" in self.problem:
            raise InvalidValueError("bounds", "be False for a family, which has a problem for each run", True)
        if self.played is None:
            raise InvalidValueError("bounds", "be False, as this result does not know its problem", True)
        return self.played

    def to_pandas(self) -> "pd.DataFrame":
        """Return a data frame with one row per policy, run and checkpoint: `policy`, `run`, `round`, `regret`, `reference`.

        `reference` is what regret is measured against, which may differ between results. Needs the extra `rotting[pandas]`.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> result.to_pandas().shape
            (4000, 5)
        """
        return regret_frame(self.labels, self.first_run, self.checkpoints, self.regret, self.reference)

    def to_json(self) -> JsonDict:
        """Return the settings, the rows of `table()` with the policies in full, and its notes, as strict JSON.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> data = result.to_json()
            >>> data["runs"], data["policies"][1]["params"]
            (20, {'alpha': 1.4, 'sigma': 1.0})
        """
        table = self.table()
        rows = zip(table.rows, self.policies, strict=True)
        policies = [{**row, **policy.to_json(), "label": row["policy"]} for row, policy in rows]
        return {**self._settings, "optimal": self.is_optimal, "policies": policies, "notes": list(table.footnotes)}

    @property
    def _settings(self) -> JsonDict:
        """Everything but the policies and the arrays, as JSON-able data."""
        names = ("problem", "horizon", "runs", "seed", "reference", *(["first_run"] if self.first_run else []))
        return {"rotting": __version__, **{name: getattr(self, name) for name in names}}

    def save(self, path: str | Path) -> None:
        """Write a new folder with `result.json` (settings, checksums) and `arrays.npz`.

        The folder appears complete or not at all: it is written under a temporary name and then renamed.

        Args:
            path: the folder; it must not exist. Missing parents are created.

        Example:
            >>> import tempfile
            >>> import rotting
            >>> result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=100), runs=20)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     result.save(Path(folder) / "result")
            ...     Result.load(Path(folder) / "result") == result
            True
        """
        arrays: dict[str, Any] = {name: getattr(self, name) for name in (*ARRAYS, *self.recorded)}
        if self.played is not None and self.played.is_plain:
            arrays |= {f"{_MEANS}{name}": array for name, array in self.played.means(self.horizon)._asdict().items()}
        with new_folder(path) as partial:
            with (partial / ARRAYS_FILE).open("wb") as file:
                np.savez(file, **arrays)
                _to_disk(file)
            written = {
                **format_of("result"),
                **self._settings,
                "policies": [policy.to_json() for policy in self.policies],
                "labels": list(self.labels),
                **({} if self.provenance is None else {"provenance": self.provenance}),
                "arrays_sha256": _file_digest(partial / ARRAYS_FILE),
            }
            written["settings_sha256"] = _settings_digest(written)
            with (partial / SETTINGS_FILE).open("w", encoding="utf-8") as text:
                json.dump(written, text, indent=2, allow_nan=False)
                text.write("\n")
                _to_disk(text)

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Read what `save` wrote.

        Args:
            path: the folder.

        Raises:
            FileNotFoundError: there is nothing at `path`.
            rotting.errors.InvalidValueError: it is not a result, one of another version, or its files were truncated or edited.

        Example:
            >>> Result.load("no-such-folder")
            Traceback (most recent call last):
            ...
            rotting.errors.PathMissingError: path must be a saved result, but 'no-such-folder' does not exist
        """
        path = Path(path)
        for name in (SETTINGS_FILE, ARRAYS_FILE):
            if path.exists() and not (path / name).is_file():
                raise not_saved("result", path, f"has no {name}")
        settings = read_settings("result", path)
        if settings.pop("settings_sha256", None) != _settings_digest(settings):
            raise not_saved("result", path / SETTINGS_FILE, "is truncated or edited: its checksum differs")
        if settings["arrays_sha256"] != _file_digest(path / ARRAYS_FILE):
            raise not_saved("result", path / ARRAYS_FILE, "is truncated or edited: its checksum differs")
        try:
            with np.load(path / ARRAYS_FILE, allow_pickle=False) as file:
                arrays = {name: file[name] for name in [*ARRAYS, *({"arms", "rewards"} & {*file.files})]}
                tables = {name: file[f"{_MEANS}{name}"] for name in Means._fields if f"{_MEANS}{name}" in file.files}
            labels = settings.get("labels") or [each["policy"] for each in settings["policies"]]
            return cls(
                policies=tuple(map(_restored_policy, settings["policies"], labels)),
                **{name: settings[name] for name in ("problem", "horizon", "runs", "seed", "reference")},
                first_run=settings.get("first_run", 0),
                provenance=settings.get("provenance"),
                **arrays,
                played=_restored_problem(settings["problem"], settings["horizon"], tables),
            )
        except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise not_saved("result", path, f"cannot be read: {error}") from error


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels that differ: of equal ones, all but the first get a number."""
    taken: list[str] = []
    for wanted in labels:
        label, copy = wanted, 1
        while label in taken:
            copy += 1
            label = f"{wanted} ({copy})"
        taken.append(label)
    return tuple(taken)


def _find_runs(runs: object, own: range) -> range:
    """Return the numbers of the selected runs, among those of a result.

    Example:
        >>> _find_runs(slice(5), range(2, 20))
        range(2, 5)
    """
    if runs is None:
        return own
    if isinstance(runs, slice):
        which = [run for run in range(own.stop)[runs] if run in own]  # a slice may begin before the first run
    elif isinstance(runs, Iterable) and not isinstance(runs, str):
        which = [nonnegative_int("runs", each) for each in runs]
    else:
        raise InvalidTypeError("runs", "be a slice or run numbers such as range(10)", runs)
    if not which or which[0] not in own or which[-1] not in own or which != [*range(which[0], which[-1] + 1)]:
        rule = f"be one or more consecutive numbers from {own.start} to {own.stop - 1}"
        raise InvalidValueError("runs", rule, runs)
    return range(which[0], which[-1] + 1)


def record_types(n_arms: int) -> dict[str, ArrayType]:
    """Return the types of the arrays that `simulate(record=...)` adds."""
    return {"arms": arm_type(n_arms), "rewards": FLOAT}


def mean_time(total: Floats, count: Floats) -> Floats:
    """Return totals divided by counts; NaN where the count is 0.

    Example:
        >>> mean_time(np.array([6.0, 0.0]), np.array([3.0, 0.0]))
        array([ 2., nan])
    """
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def same_bits(one: AnyArray | None, other: AnyArray | None) -> bool:
    """Return whether two arrays are equal bit for bit, or both are missing."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and np.array_equal(one.view(np.uint8), other.view(np.uint8))


def checked_fields(given: Result) -> dict[str, object]:
    """Return the fields of a result after a check; arrays are read-only, and of the types of `ARRAYS`."""
    if not isinstance(given.problem, Mapping):
        raise InvalidTypeError("problem", "be a description (a dict)", given.problem)
    try:
        # A copy as JSON returns it (lists, not tuples), so that a saved result equals the original.
        problem = json.loads(json.dumps(given.problem, allow_nan=False))
    except (TypeError, ValueError) as error:
        rule = "be a description that JSON can represent"
        raise InvalidValueError("problem", rule, given.problem, hint=f": {error}") from error
    if not isinstance(given.reference, str):
        raise InvalidTypeError("reference", "be a text", given.reference)
    if not given.reference:
        raise InvalidValueError("reference", "say what regret is measured against", given.reference)
    if not isinstance(given.played, Problem | None):
        raise InvalidTypeError("played", "be a Problem or None", given.played)
    policies = check_policies(given.policies)
    horizon, runs = positive_int("horizon", given.horizon), positive_int("runs", given.runs)
    numbers = {"seed": nonnegative_int("seed", given.seed), "first_run": nonnegative_int("first_run", given.first_run)}
    arrays = {name: _read_only(name, getattr(given, name), kind) for name, kind in ARRAYS.items()}
    rounds, regret, pulls, times = arrays.values()

    P, C, K = len(policies), rounds.size, pulls.shape[-1] if pulls.ndim else 0
    _check_shape("checkpoints", rounds, "[checkpoints]", (max(C, 1),))
    _check_shape("regret", regret, "[policies, runs, checkpoints]", (P, runs, C))
    _check_shape("pulls", pulls, "[policies, runs, arms]", (P, runs, max(K, 1)))
    _check_shape("us_per_round", times, "[policies]", (P,))
    if rounds[0] < 1 or rounds[-1] != horizon or np.any(np.diff(rounds) <= 0):
        rule = f"increase from 1 or more to the horizon {horizon}"
        raise InvalidValueError("checkpoints", rule, rounds, got=np.array2string(rounds, threshold=20))
    if not np.all(np.isfinite(regret)):
        raise InvalidValueError("regret", "be finite", regret, got="NaN or an infinite number")
    if not np.all(np.isnan(times) | (np.isfinite(times) & (times >= 0))):
        rule = "be finite, zero or more, or NaN where nothing was measured"
        raise InvalidValueError("us_per_round", rule, times.tolist())
    if np.any(pulls < 0) or np.any(pulls.sum(axis=2) != horizon):
        rule = f"be zero or more and add up to the horizon {horizon} in every run"
        raise InvalidValueError("pulls", rule, pulls, got="others")
    kinds = record_types(K)
    for name in given.recorded:
        arrays[name] = _read_only(name, getattr(given, name), kinds[name])
        _check_shape(name, arrays[name], "[policies, runs, horizon]", (P, runs, horizon))
    if "arms" in arrays and arrays["arms"].max() >= K:
        raise InvalidValueError("arms", f"be below {K}, the number of arms", int(arrays["arms"].max()))
    return {"policies": policies, "problem": problem, "horizon": horizon, "runs": runs, **numbers, **arrays}


def _read_only(name: str, value: object, kind: ArrayType) -> AnyArray:
    """Return a read-only array of type `kind`; only casts that keep every value are allowed.

    A read-only array is not copied, since a record of every round may fill half of the memory.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise InvalidTypeError(name, f"be an array of {kind}", value) from None
    if array.dtype == kind and array.flags.c_contiguous and array.base is None and not array.flags.writeable:
        return array
    if not np.can_cast(array.dtype, kind, casting="safe"):
        raise InvalidTypeError(name, f"be an array of {kind}", value, got=f"one of {array.dtype}")
    copy = np.array(array, dtype=kind, order="C")
    copy.flags.writeable = False
    return copy


def _check_shape(name: str, array: AnyArray, axes: str, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != shape:
        raise InvalidValueError(name, f"have the shape {axes} = {list(shape)}", list(array.shape))


def _check_same_games(first: Result, other: Result) -> None:
    """Refuse a result of other games than the first."""
    for name in sorted({*first.problem, *other.problem} - {DRAWN_DIGEST, CODE_DIGEST}):
        one, two = first.problem.get(name), other.problem.get(name)
        if one != two:
            raise InvalidValueError("results", "have the same problem", two, got=f"one of {name} {one} and one of {name} {two}")
    for name in ("horizon", "seed", "reference"):
        one, two = getattr(first, name), getattr(other, name)
        if one != two:
            raise InvalidValueError("results", f"have the same {name}", two, got=f"{one} and {two}")
    if not _same_means(first, other):  # two functions may have the same name
        raise InvalidValueError("results", "have the same problem", other.problem, got=f"other means of {first.problem_name}")
    if not np.array_equal(first.checkpoints, other.checkpoints):
        raise InvalidValueError("results", "have the same checkpoints", other.checkpoints, got="others")
    kept, also = (" and ".join(each.recorded) or "nothing" for each in (first, other))
    if kept != also:
        raise InvalidValueError("results", "have the same records", also, got=f"{kept} and {also}")


def _same_means(one: Result, two: Result) -> bool:
    """Return whether two results have the same means, as far as that is known."""
    if any(one.problem.get(name) != two.problem.get(name) for name in (DRAWN_DIGEST, CODE_DIGEST)):
        return False
    a, b = one.played, two.played
    return a is None or b is None or a == b or all(map(same_bits, a.tables(one.horizon), b.tables(two.horizon)))


def _joined(results: Sequence[Result], axis: int) -> dict[str, Any]:
    """Return the arrays of results, joined along an axis: policies (0) or runs (1)."""
    names = ("regret", "pulls", *results[0].recorded)
    return {name: np.concatenate([getattr(each, name) for each in results], axis=axis) for name in names}


def _runs_text(result: Result) -> str:
    return f"runs {result.first_run} to {result.first_run + result.runs - 1}"


def _join_runs(results: Sequence[Result]) -> Result:
    """Return one result of several with the same policies."""
    shards = sorted(results, key=lambda each: each.first_run)
    for before, after in pairwise(shards):
        if before.first_run + before.runs != after.first_run:
            got = f"{_runs_text(before)} and {_runs_text(after)}"
            raise InvalidValueError("results", "hold consecutive runs", after.first_run, got=got)
    runs = np.array([each.runs for each in shards])
    times = np.array([each.us_per_round for each in shards])
    weights = np.where(np.isnan(times), 0, runs[:, None])
    time = mean_time((np.nan_to_num(times) * weights).sum(axis=0), weights.sum(axis=0))
    made = _joined_provenance(shards)
    return replace(shards[0], runs=int(runs.sum()), us_per_round=time, provenance=made, **_joined(shards, axis=1))


def _join_policies(results: Sequence[Result]) -> Result:
    """Return one result of several with the same runs."""
    first, *others = results
    policies = [policy for each in results for policy in each.policies]
    for other in others:
        if _runs_text(other) != _runs_text(first):
            got = f"{_runs_text(first)} and {_runs_text(other)}"
            raise InvalidValueError("results of different policies", "hold the same runs", other.first_run, got=got)
    for policy in policies:
        if others and policies.count(policy) > 1:
            raise InvalidValueError("results", "have equal policies or none in common", policy, hint=" in two of them")
    time = np.concatenate([each.us_per_round for each in results])
    made = _joined_provenance(results)
    return replace(first, policies=tuple(policies), us_per_round=time, provenance=made, **_joined(results, axis=0))


def _joined_provenance(results: Sequence[Result]) -> JsonDict | None:
    """Return how a merged result was made: the code of all policies, and lists of the entries in which results differ."""
    known = [each.provenance for each in results if each.provenance is not None]
    joined: JsonDict = {}
    for name in known[0] if known else ():
        entries = [entry for made in known for entry in (made[name] if isinstance(made[name], list) else [made[name]])]
        different = [entry for k, entry in enumerate(entries) if entry not in entries[:k]]
        joined[name] = different[0] if len(different) == 1 else different
    if known:
        joined["code"] = {policy: code for made in known for policy, code in made["code"].items()}
    return joined or None


def format_of(what: str) -> JsonDict:
    """Return the entries that name the format of a saved "result" or "study"."""
    return {"format": f"rotting-{what}", "format_version": FORMAT_VERSION}


def not_saved(what: str, path: Path, why: str) -> InvalidValueError:
    """Return the error for a path that is not a saved "result" or "study"."""
    return InvalidValueError("path", f"be a saved {what}", path, hint=f", which {why}")


def read_settings(what: str, path: Path) -> JsonDict:
    """Return the content of `result.json` or `study.json` in a folder, after a check of its format."""
    if not path.exists():
        raise PathMissingError(f"path must be a saved {what}, but '{path}' does not exist")
    file = path / f"{what}.json"
    try:
        settings = json.loads(file.read_text("utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise not_saved(what, file, f"cannot be read: {error}") from error
    except ValueError as error:
        raise not_saved(what, file, f"is truncated or edited: {error}") from error
    expected = format_of(what)
    if not isinstance(settings, dict) or settings.get("format") != expected["format"]:
        raise not_saved(what, file, f"is of another format than {expected['format']!r}")
    version = settings.get("format_version")
    if version != FORMAT_VERSION:
        raise not_saved(what, path, f"has format version {version!r}, but this rotting reads {FORMAT_VERSION}")
    return settings


def _restored_policy(data: JsonDict, label: str) -> Policy:
    """Return a saved policy; only its label and parameters if this process has no such class."""
    try:
        return registry.from_json(data)
    except (InvalidTypeError, InvalidValueError):
        if not isinstance(data.get("params"), dict):
            raise
        return UnknownPolicy(data, label)


def _restored_problem(description: JsonDict, horizon: int, tables: dict[str, AnyArray]) -> Problem | None:
    """Return the problem with the saved means; None if they were not saved, or if the class of the noise is not known."""
    if not tables or description["noise"]["noise"] not in known_kinds():
        return None
    for array in tables.values():
        array.setflags(write=False)
    problem = Problem.from_means(Means(**tables), horizon, from_json(description["noise"]), description["name"])
    return problem.delayed(delays.from_json(description["delay"])) if "delay" in description else problem


def _settings_digest(settings: JsonDict) -> str:
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_disk(file: IO[bytes] | IO[str]) -> None:
    """Wait until the content of a file is on disk, before the folder is renamed."""
    file.flush()
    os.fsync(file.fileno())


def _refuse(constant: str) -> NoReturn:
    raise InvalidValueError("numbers", "be finite", float(constant), got=constant)
