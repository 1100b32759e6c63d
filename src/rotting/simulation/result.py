"""The result of a simulation: regret and pulls of every run, as tables, plots and files."""

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rotting.common.arrays import ArmNumbers, Floats, Ints
from rotting.common.html_parts import Line, block, drawing, row
from rotting.common.json_types import JsonDict
from rotting.display.figures import Band
from rotting.display.tables import FormattedTable
from rotting.errors import InvalidTypeError
from rotting.policy import Policy, labels_of
from rotting.problems import Problem
from rotting.problems.oracle import OPTIMAL
from rotting.simulation.merging import merged
from rotting.simulation.result_arrays import checked_fields, same_bits
from rotting.simulation.result_files import read_result, settings_of, write_result
from rotting.simulation.result_plots import plot_result
from rotting.simulation.result_tables import difference_table, regret_frame, regret_table
from rotting.simulation.selection import Labels, numbered, select

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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
        >>> [row["mean"] for row in result.differences(ucb1).rows]
        [-5.5]
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
        return merged([self, *others])

    @property
    def labels(self) -> tuple[str, ...]:
        """One short label per policy, such as `RAW-UCB 1.4`, with a number added when two are the same."""
        return numbered(labels_of(self.policies))

    @property
    def full_labels(self) -> tuple[str, ...]:
        """One label per policy with all of its parameters, with a number added when two are the same."""
        return numbered(list(map(repr, self.policies)))

    @property
    def is_optimal(self) -> bool:
        """Whether regret is measured against the optimal policy."""
        return self.reference == OPTIMAL

    @property
    def problem_name(self) -> str:
        """The name of the problem, or what kind it is and how many arms it has."""
        name = self.problem.get("name")
        return str(name) if name else f"{self.problem.get('kind', 'unnamed')} problem, {self.pulls.shape[2]} arms"

    def table(self, labels: Labels = None) -> FormattedTable:
        """Return the regret at the horizon per policy: mean, 95 % interval, 10 % and 90 % quantiles, speed.

        The rows have the keys `policy`, `mean`, `low`, `high`, `reason` (why there is no interval, or None), `q10`, `q90` and
        `us_per_round` (None where it was not measured). The intervals are corrected for skewness, as a few regrets may be much
        larger than the others. They cannot account for failures so rare that none is among the runs: a note says how rare these
        would be. docs/intervals.md measures how often the intervals contain the mean.

        Args:
            labels: "full" for labels with all parameters, or one text per policy; short labels by default.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> [row["policy"] for row in result.table().rows]
            ['UCB1', 'RAW-UCB 1.4']
            >>> result.table(labels="full").rows[1]["policy"]
            'RAWUCB(alpha=1.4, sigma=1.0)'
        """
        return regret_table(self, labels)

    def _repr_html_(self) -> str:
        means = zip(self.labels, self.regret.mean(axis=1), strict=True)
        picture = drawing([Line(label, self.checkpoints, mean) for label, mean in means], "round t", "mean regret")
        table = self.table()
        head, *notes = table.lines
        return block(head, row(f"<div>{replace(table, lines=tuple(notes))._repr_html_()}</div>", picture))

    def differences(self, baseline: "Policy | str | int", labels: Labels = None) -> FormattedTable:
        """Return the regret of every other policy at the horizon minus that of the baseline, run by run.

        In a run both policies get the same rewards, so much of the noise cancels: compare policies by these intervals.
        The rows have the keys `policy`, `mean`, `low`, `high`, `reason` (as in `table`), `won` (the share of runs with less
        regret than the baseline) and `tied` (with the same).

        Args:
            baseline: a policy of this result, its label, or its index.
            labels: as for `table`.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> [(row["policy"], row["won"]) for row in result.differences("UCB1").rows]
            [('RAW-UCB 1.4', 0.6)]
        """
        return difference_table(self, baseline, labels)

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
        return select(self, policies, runs, checkpoints)

    def plot(
        self,
        ax: "Axes | None" = None,
        path: str | Path | None = None,
        log: bool = False,
        bounds: "bool | Problem" = False,
        labels: Labels = None,
        legend: bool | str = True,
        title: str | None = None,
        band: Band | None = "quantiles",
        log_y: bool = False,
    ) -> "Axes":
        """Draw each policy's mean regret over the rounds, and the band from 10 % to 90 % of its runs.

        Needs the extra `rotting[plot]`. `rotting.display.style` has the sizes and the look for a paper.

        Args:
            ax: the axes to draw into; None makes a figure.
            path: a new image file (.png, .pdf, .svg); an existing one is refused.
            log: whether the axis of the rounds is logarithmic, on which logarithmic regret is a straight line.
            bounds: whether to draw every bound of `rotting.theory` that applies to a policy, with a logarithmic regret axis. A
                result that does not know its problem, such as one saved by an older version, needs the `Problem` here.
            labels: as for `table`.
            legend: True draws it below the axes of a new figure, else inside the given axes; False draws none; a location of
                Matplotlib, such as "upper left", draws it inside the axes.
            title: replaces the name of the problem and the caption, which says what is drawn and what regret is measured
                against; "" for none.
            band: "quantiles", "interval" for the 95 % interval of the mean, or None.
            log_y: whether the regret axis is logarithmic; it is linear around zero if a policy ends with no regret or less.

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
        return plot_result(self, bounds, labels, title, band, ax=ax, path=path, log=log, legend=legend, log_y=log_y)

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
        return regret_frame(self)

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
        return {**settings_of(self), "optimal": self.is_optimal, "policies": policies, "notes": list(table.footnotes)}

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
        write_result(self, path)

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
        return read_result(Path(path), cls)
