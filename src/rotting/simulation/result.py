"""The result of a simulation: regret and pulls of every run, as tables, plots and files."""

import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.html_parts import Line, block, drawing, row
from rotting.common.rules import nonnegative_int, positive_int
from rotting.common.statistics import what_runs_can_miss
from rotting.common.version import __version__
from rotting.display.plots import plot_regret
from rotting.display.tables import Table
from rotting.engines.round_record import arm_type
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policy import Policy, check_policies, labels_of
from rotting.problems import Problem
from rotting.problems.oracle import OPTIMAL, regret_against
from rotting.simulation.merging import merged
from rotting.simulation.result_arrays import ARRAYS, FLOAT, check_shape, frozen, same_bits
from rotting.simulation.result_files import read_result, write_result
from rotting.simulation.result_plots import plot_caption, problem_of_bounds
from rotting.simulation.result_tables import difference_table, numbered, regret_frame, regret_table
from rotting.simulation.selection import chosen_labels, find_policy, find_runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from rotting.theory import Bound


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of policies playing the same runs of one problem.

    Two results are equal when their settings are equal, and their regret and pulls bit for bit; `us_per_round`
    depends on the machine and is not compared.

    Args:
        policies: the P policies.
        problem: the problem's description, JSON-able.
        horizon: rounds of a run.
        runs: the number R of runs; a run pays the same rewards to every policy.
        seed: what the rewards' noise was drawn from.
        checkpoints: the C rounds at which regret is kept, increasing up to the horizon.
        regret: cumulative pseudo-regret `[P, R, C]`.
        pulls: pulls of each arm at the horizon, `[P, R, K]`.
        us_per_round: microseconds of CPU time that a round took, `[P]`; NaN where nothing was measured.
        reference: what regret is measured against.
        played: the problem itself, as `simulate` hands it over. Its means are saved: that of a loaded result has the same ones,
            up to the horizon, whatever they were made from. A pickled result has None where the problem cannot be pickled (a
            `lambda` among its decays).
        first_run: the number of the first run; a shard of a larger result begins later than with 0.
        arms: the arm of every round, `[P, R, T]`, if `simulate(record="arms")` kept it.
        rewards: the reward of every round, `[P, R, T]`, if `simulate(record="rewards")` kept it.

    Example:
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
    problem: dict[str, Any]
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
    arms: NDArray[np.unsignedinteger[Any]] | None = field(default=None, repr=False)
    rewards: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("policies", check_policies(self.policies))
        if not isinstance(self.problem, Mapping):
            raise InvalidTypeError("problem", "be a description (a dict)", self.problem)
        try:
            # A copy as JSON returns it (lists, not tuples), so that a saved result equals the original.
            put("problem", json.loads(json.dumps(self.problem, allow_nan=False)))
        except (TypeError, ValueError) as error:
            raise InvalidValueError(
                "problem", "be a description that JSON can carry", self.problem, hint=f": {error}"
            ) from error
        if not isinstance(self.reference, str):
            raise InvalidTypeError("reference", "be a text", self.reference)
        if not self.reference:
            raise InvalidValueError("reference", "say what regret is measured against", self.reference)
        if not isinstance(self.played, Problem | None):
            raise InvalidTypeError("played", "be a Problem or None", self.played)
        put("horizon", positive_int("horizon", self.horizon))
        put("runs", positive_int("runs", self.runs))
        put("seed", nonnegative_int("seed", self.seed))
        put("first_run", nonnegative_int("first_run", self.first_run))
        for name, kind in ARRAYS.items():
            put(name, frozen(name, getattr(self, name), kind))

        P, R, C = len(self.policies), self.runs, self.checkpoints.size
        K = self.pulls.shape[-1] if self.pulls.ndim else 0
        check_shape("checkpoints", self.checkpoints, "[checkpoints]", (max(C, 1),))
        check_shape("regret", self.regret, "[policies, runs, checkpoints]", (P, R, C))
        check_shape("pulls", self.pulls, "[policies, runs, arms]", (P, R, max(K, 1)))
        check_shape("us_per_round", self.us_per_round, "[policies]", (P,))
        rounds = self.checkpoints
        if rounds[0] < 1 or rounds[-1] != self.horizon or np.any(np.diff(rounds) <= 0):
            rule = f"increase from 1 or more to the horizon {self.horizon}"
            raise InvalidValueError("checkpoints", rule, rounds, got=np.array2string(rounds, threshold=20))
        if not np.all(np.isfinite(self.regret)):
            raise InvalidValueError("regret", "be finite", self.regret, got="NaN or an infinite number")
        if not np.all(np.isnan(self.us_per_round) | (np.isfinite(self.us_per_round) & (self.us_per_round >= 0))):
            rule = "be finite, zero or more, or NaN where nothing was measured"
            raise InvalidValueError("us_per_round", rule, self.us_per_round.tolist())
        if np.any(self.pulls < 0) or np.any(self.pulls.sum(axis=2) != self.horizon):
            rule = f"be zero or more and add up to the horizon {self.horizon} in every run"
            raise InvalidValueError("pulls", rule, self.pulls, got="others")
        kinds = {"arms": arm_type(K), "rewards": FLOAT}
        for name in self.recorded:
            put(name, frozen(name, getattr(self, name), kinds[name]))
            check_shape(name, getattr(self, name), "[policies, runs, horizon]", (P, R, self.horizon))
        if self.arms is not None and self.arms.max() >= K:
            raise InvalidValueError("arms", f"be below {K}, the number of arms", int(self.arms.max()))

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

    def __reduce__(self) -> tuple[Any, ...]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        try:
            pickle.dumps(self.played)
        except (pickle.PicklingError, AttributeError, TypeError):  # which of them depends on what cannot be pickled
            values["played"] = None
        return type(self), tuple(values.values())

    def merge(self, *others: "Result") -> "Result":
        """Return one result of this one and others: more runs of the same games, more policies, or both.

        They have the same problem, horizon, seed, checkpoints and records. Those of the same policies hold runs that follow one
        another, as `simulate(first_run=...)` plays them, in any order; those of other policies hold the same runs. Several
        machines so play what one would have, bit for bit.

        Args:
            others: results to put together with this one.

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
        for each in others:
            if not isinstance(each, Result):
                raise InvalidTypeError("others", "be results, each an argument of its own", each)
        return merged([self, *others])

    @property
    def labels(self) -> tuple[str, ...]:
        """One short label per policy, such as `RAW-UCB 1.4`, with a number added when two are the same."""
        return numbered(labels_of(self.policies))

    @property
    def full_labels(self) -> tuple[str, ...]:
        """One label per policy with all of its parameters, with a number added when two are the same."""
        return numbered(list(map(repr, self.policies)))

    def _labels(self, given: "str | Sequence[str] | None") -> tuple[str, ...]:
        return numbered(chosen_labels(given, self.labels, self.full_labels))

    @property
    def is_optimal(self) -> bool:
        """Whether regret is measured against the optimal policy."""
        return self.reference == OPTIMAL

    @property
    def problem_name(self) -> str:
        """The name of the problem, or what kind it is and how many arms it has."""
        name = self.problem.get("name")
        return str(name) if name else f"{self.problem.get('kind', 'unnamed')} problem, {self.pulls.shape[2]} arms"

    @property
    def _heading(self) -> tuple[str, ...]:
        runs = f"{self.runs:,} runs" if self.runs > 1 else "1 run"
        runs += f" from run {self.first_run:,} on" if self.first_run else ""
        head = f"{self.problem_name}: horizon {self.horizon:,}, {runs}, seed {self.seed}"
        if self.is_optimal:
            head += "; regret against the optimal policy"
        if "family" in self.problem:
            return head, "Each run has a problem of its own: the mean is the Bayesian regret."
        return (head,)

    @property
    def _notes(self) -> tuple[str, ...]:
        """What stands below a table, also in a paper: a reference that is not optimal, and what the intervals rest on."""
        against = () if self.is_optimal else regret_against(self.reference)
        return (*against, *([what_runs_can_miss(self.runs)] if self.runs > 1 else []))

    def table(self, labels: "str | Sequence[str] | None" = None) -> Table:
        """Return the regret at the horizon per policy: mean, 95 % interval, 10 % and 90 % quantiles, speed.

        The rows have the keys `policy`, `mean`, `low`, `high`, `reason` (why there is no interval, or None), `q10`, `q90` and
        `us_per_round` (None where it was not measured). The intervals are corrected for skewness, as a few regrets may be much
        larger than the others. They know nothing of games that go wrong so rarely that none is among the runs: a note says how
        rarely that is. How often they hold the mean is measured in docs/intervals.md.

        Args:
            labels: "full" for policies with all of their parameters, or a text of your own for each; short ones by default.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> [row["policy"] for row in result.table().rows]
            ['UCB1', 'RAW-UCB 1.4']
            >>> result.table(labels="full").rows[1]["policy"]
            'RAWUCB(alpha=1.4, sigma=1.0)'
        """
        return regret_table(self._labels(labels), self.regret[:, :, -1], self.us_per_round, self._heading, self._notes)

    def _repr_html_(self) -> str:
        curves = [
            Line(label, self.checkpoints, runs.mean(axis=0)) for label, runs in zip(self.labels, self.regret, strict=True)
        ]
        head, *notes = self._heading
        table = replace(self.table(), lines=tuple(notes))
        return block(head, row(f"<div>{table._repr_html_()}</div>", drawing(curves, "round t", "mean regret")))

    def differences(self, baseline: "Policy | str | int", labels: "str | Sequence[str] | None" = None) -> Table:
        """Return every other policy's regret at the horizon minus the baseline's, run by run.

        Both policies play the same rewards in a run, so much of the noise cancels: compare policies by these intervals.
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
        base, named = self._find("baseline", baseline), self._labels(labels)
        if len(self.policies) < 2:
            raise InvalidValueError("policies", "be two or more to be compared", self.policies, got="a result with one")
        return difference_table(named, self.regret[:, :, -1], base, self._heading, self._notes)

    def select(
        self,
        policies: "Policy | str | int | Sequence[Policy | str | int] | None" = None,
        runs: "slice | Sequence[int] | None" = None,
        checkpoints: Iterable[int] | None = None,
    ) -> "Result":
        """Return a part of the result.

        Args:
            policies: one or several: policies of this result, their labels, or their indices; all by default.
            runs: the numbers of runs that follow one another, such as `slice(100)` or `range(50, 100)`; all by default.
            checkpoints: some of this result's; the horizon always stays one. All by default.

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
        chosen = np.array([self._find("policies", each) for each in asked], np.int64)
        which = find_runs(runs, range(self.first_run, self.first_run + self.runs))
        if checkpoints is not None and not isinstance(checkpoints, Iterable):
            raise InvalidTypeError("checkpoints", "be a list of rounds", checkpoints)
        marks = self.checkpoints.tolist() if checkpoints is None else [*checkpoints, self.horizon]
        for each in marks:
            if each not in self.checkpoints:
                raise InvalidValueError("checkpoints", "be among those of this result", each)
        places = np.searchsorted(self.checkpoints, np.unique(marks))
        own = slice(which.start - self.first_run, which.stop - self.first_run)
        kept = {name: getattr(self, name)[chosen, own] for name in self.recorded}
        return replace(
            self,
            policies=tuple(self.policies[k] for k in chosen.tolist()),
            runs=len(which),
            first_run=which.start,
            checkpoints=self.checkpoints[places],
            regret=self.regret[chosen, own][:, :, places],
            pulls=self.pulls[chosen, own],
            us_per_round=self.us_per_round[chosen],
            **kept,
        )

    def _find(self, name: str, policy: "Policy | str | int") -> int:
        return find_policy(name, policy, self.policies, self.labels, self.full_labels)

    def plot(
        self,
        ax: "Axes | None" = None,
        path: str | Path | None = None,
        log: bool = False,
        bounds: "bool | Problem" = False,
        labels: "str | Sequence[str] | None" = None,
        legend: bool | str = True,
        title: str | None = None,
        band: str | None = "quantiles",
        log_y: bool = False,
    ) -> "Axes":
        """Draw each policy's mean regret over the rounds, and the band from 10 % to 90 % of its runs.

        Needs the extra `rotting[plot]`. `rotting.display.style` has the sizes and the look for a paper.

        Args:
            ax: where to draw; None makes a figure.
            path: a new image file (.png, .pdf, .svg); an existing one is refused.
            log: rounds on a logarithmic axis, where logarithmic regret is a straight line.
            bounds: also draw every bound of `rotting.theory` that applies to a policy here, with regret on a logarithmic axis.
                A result that does not know its problem any more, as one that older versions saved, is given it.
            labels: as for `table`.
            legend: whether there is one: below the axes of a figure made here, else inside the axes. A place of Matplotlib's,
                such as "upper left", is inside, too.
            title: above the axes, instead of the problem's name and the caption that says what is drawn and what regret is
                measured against; "" for none.
            band: "quantiles", "interval" for the 95 % interval of the mean, or None.
            log_y: regret on a logarithmic axis; where a policy ends with no regret, or with less, it is linear around zero.

        Returns:
            The Axes; `.figure` is its figure.

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
        named = self._labels(labels)
        known = problem_of_bounds(bounds, self.problem, self.played, self.problem_name)
        proved: list[tuple[Bound, ...]] = [()] * len(self.policies)
        if known is not None:
            from rotting import theory  # noqa: PLC0415 - theorems are about results: see pyproject.toml

            marks = self.checkpoints.tolist()
            proved = [theory.bounds(known, policy, self.horizon, marks) for policy in self.policies]
        return plot_regret(
            named,
            self.checkpoints,
            self.regret,
            f"{self.problem_name}, horizon {self.horizon:,}" if title is None else title,
            caption=plot_caption(self.runs, self.reference, band, any(proved), known is not None) if title is None else "",
            ax=ax,
            path=path,
            log=log,
            bounds=[
                [(f"{label}: {bound.theorem}", bound.values) for bound in each]
                for label, each in zip(named, proved, strict=True)
            ],
            legend=legend,
            band=band,
            log_y=log_y,
        )

    def to_pandas(self) -> "pd.DataFrame":
        """Return a data frame with one row per policy, run and checkpoint: `policy`, `run`, `round`, `regret`, `reference`.

        The `reference` is what regret is measured against: frames of several results may have different ones. Needs the extra
        `rotting[pandas]`.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> result.to_pandas().shape
            (4000, 5)
        """
        return regret_frame(self.labels, self.first_run, self.checkpoints, self.regret, self.reference)

    def _settings(self) -> dict[str, Any]:
        return {
            "rotting": __version__,
            "problem": self.problem,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "reference": self.reference,
            **({"first_run": self.first_run} if self.first_run else {}),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the settings, the rows of `table()`, each with its policy in full, and its notes, for strict JSON.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> data = result.to_json()
            >>> data["runs"], data["policies"][1]["params"]
            (20, {'alpha': 1.4, 'sigma': 1.0})
        """
        table = self.table()
        policies = [
            {**row, **policy.to_json(), "label": row["policy"]} for row, policy in zip(table.rows, self.policies, strict=True)
        ]
        return {**self._settings(), "optimal": self.is_optimal, "policies": policies, "notes": list(table.footnotes)}

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
        names = [*ARRAYS, *self.recorded]
        write_result(
            path,
            {**self._settings(), "policies": [policy.to_json() for policy in self.policies]},
            {name: getattr(self, name) for name in names},
            self.played.means(self.horizon) if self.played is not None and self.played.is_plain else None,
        )

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
