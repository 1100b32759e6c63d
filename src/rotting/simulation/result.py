"""The result of a simulation: regret and pulls of every run, as tables, plots and files."""

import hashlib
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rotting import registry
from rotting.common.arrays import Floats, Ints
from rotting.common.atomic_files import new_folder
from rotting.common.html_parts import Line, block, drawing, row
from rotting.common.rules import nonnegative_int, positive_int, suggest
from rotting.common.statistics import mean_interval, quantiles, what_runs_can_miss
from rotting.common.version import __version__
from rotting.display.figures import BANDS
from rotting.display.plots import plot_regret
from rotting.display.tables import Column, Table, ends_text, half_widths, mean_cells, number_format, quantile_column
from rotting.engines.round_record import arm_type
from rotting.errors import InvalidTypeError, InvalidValueError, MissingExtraError, PathMissingError
from rotting.policy import Policy, check_policies, labels_of
from rotting.problems import Problem, delays
from rotting.problems.families import DRAWN
from rotting.problems.mean_table import Means
from rotting.problems.noise import from_json, known_kinds
from rotting.problems.oracle import OPTIMAL, regret_against
from rotting.problems.problem import CODE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from rotting.theory import Bound

FORMAT = "rotting-result"
FORMAT_VERSION = 1
SETTINGS_FILE = "result.json"
ARRAYS_FILE = "arrays.npz"
INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
ARRAYS: dict[str, np.dtype[Any]] = {"checkpoints": INT, "regret": FLOAT, "pulls": INT, "us_per_round": FLOAT}
_MEANS = "means_"  # before the name of each array of the problem's table
# Two policies can collect the same rewards in another order; their regrets then differ by rounding only.
TIE = 1e-9


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
        >>> ucb1, raw_ucb = registry.make("ucb1"), registry.make("raw-ucb", alpha=1.4)
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
            put(name, _frozen(name, getattr(self, name), kind))

        P, R, C = len(self.policies), self.runs, self.checkpoints.size
        K = self.pulls.shape[-1] if self.pulls.ndim else 0
        _check_shape("checkpoints", self.checkpoints, "[checkpoints]", (max(C, 1),))
        _check_shape("regret", self.regret, "[policies, runs, checkpoints]", (P, R, C))
        _check_shape("pulls", self.pulls, "[policies, runs, arms]", (P, R, max(K, 1)))
        _check_shape("us_per_round", self.us_per_round, "[policies]", (P,))
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
        for name, kind in self._recorded(K).items():
            put(name, _frozen(name, getattr(self, name), kind))
            _check_shape(name, getattr(self, name), "[policies, runs, horizon]", (P, R, self.horizon))
        if self.arms is not None and self.arms.max() >= K:
            raise InvalidValueError("arms", f"be below {K}, the number of arms", int(self.arms.max()))

    def _recorded(self, n_arms: int) -> dict[str, np.dtype[Any]]:
        """Return the names and types of the arrays that are kept of every round."""
        kinds = {"arms": arm_type(n_arms), "rewards": FLOAT}
        return {name: kind for name, kind in kinds.items() if getattr(self, name) is not None}

    def __repr__(self) -> str:
        settings = f"horizon={self.horizon}, runs={self.runs}, seed={self.seed}"
        return f"Result({self.problem_name}, {settings}, policies={len(self.policies)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        same = ("policies", "problem", "horizon", "runs", "seed", "reference", "first_run")
        bits = ("checkpoints", "regret", "pulls", "arms", "rewards")
        return all(getattr(self, name) == getattr(other, name) for name in same) and all(
            _same_bits(getattr(self, name), getattr(other, name)) for name in bits
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
            >>> from rotting.problems import two_arms
            >>> from rotting.simulation.simulate import simulate
            >>> one, two, problem = registry.make("ucb1"), registry.make("uniform"), two_arms(horizon=50)
            >>> shards = [simulate(one, problem, runs=4, first_run=first) for first in (0, 4)]
            >>> Result.merge(*shards) == simulate(one, problem, runs=8)
            True
            >>> Result.merge(*shards, simulate(two, problem, runs=8)) == simulate([one, two], problem, runs=8)
            True
        """
        results = (self, *others)
        for each in results:
            self._check_same_games(each)
        by_policies = [
            [each for each in results if each.policies == some] for some in dict.fromkeys(r.policies for r in results)
        ]
        return _beside([_one_after_another(group) for group in by_policies])

    def _check_same_games(self, other: "Result") -> None:
        """Refuse a result whose runs and policies cannot stand together with these."""
        for name in sorted({*self.problem, *other.problem} - {DRAWN, CODE}):
            one, two = self.problem.get(name), other.problem.get(name)
            if one != two:
                raise InvalidValueError(
                    "results", "have the same problem", two, got=f"one of {name} {one} and one of {name} {two}"
                )
        for name in ("horizon", "seed", "reference"):
            one, two = getattr(self, name), getattr(other, name)
            if one != two:
                raise InvalidValueError("results", f"have the same {name}", two, got=f"{one} and {two}")
        if not _same_means(self, other):  # which a function's name does not tell
            raise InvalidValueError(
                "results", "have the same problem", other.problem, got=f"other means of {self.problem_name}"
            )
        if not np.array_equal(self.checkpoints, other.checkpoints):
            raise InvalidValueError("results", "have the same checkpoints", other.checkpoints, got="others")
        kept, also = (" and ".join(each._recorded(each.pulls.shape[2])) or "nothing" for each in (self, other))
        if kept != also:
            raise InvalidValueError("results", "have recorded the same of every round", also, got=f"{kept} and {also}")

    def _joined(self, others: "Sequence[Result]", axis: int) -> dict[str, Any]:
        """Return the arrays of this result and of others, joined over policies or over runs."""
        names = ("regret", "pulls", *self._recorded(self.pulls.shape[2]))
        return {name: np.concatenate([getattr(each, name) for each in (self, *others)], axis=axis) for name in names}

    @property
    def _runs_text(self) -> str:
        return f"runs {self.first_run} to {self.first_run + self.runs - 1}"

    @property
    def labels(self) -> tuple[str, ...]:
        """One short label per policy, such as `RAW-UCB 1.4`, with a number added when two are the same."""
        return numbered(labels_of(self.policies))

    @property
    def full_labels(self) -> tuple[str, ...]:
        """One label per policy with all of its parameters, with a number added when two are the same."""
        return numbered(list(map(repr, self.policies)))

    def _labels(self, given: "str | Sequence[str] | None") -> tuple[str, ...]:
        """Return the labels that are asked for."""
        if given is None:
            return self.labels
        if isinstance(given, str) and given == "full":
            return self.full_labels
        if isinstance(given, str) or not all(isinstance(each, str) for each in given):
            raise InvalidTypeError("labels", "be 'full' or one text per policy", given)
        if len(given) != len(self.policies):
            raise InvalidValueError("labels", f"be one text per policy, {len(self.policies)}", len(given))
        return numbered(list(given))

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
        rows = []
        for label, regret, speed in zip(self._labels(labels), self.regret[:, :, -1], self.us_per_round, strict=True):
            interval = mean_interval(regret)
            q10, q90 = map(float, quantiles(regret, 0.1, 0.9))
            us = None if np.isnan(speed) else float(speed)
            rows.append({"policy": label, **mean_cells(interval), "q10": q10, "q90": q90, "us_per_round": us})
        style = _style(rows, ("mean", "q10", "q90"))
        columns = (
            Column("policy", lambda row: str(row["policy"])),
            Column("mean regret", lambda row: format(row["mean"], style)),
            Column("95 % interval", lambda row: ends_text(row["low"], row["high"], style)),
            quantile_column("10 %", "q10", style),
            quantile_column("90 %", "q90", style),
            Column("us per round", lambda row: "-" if row["us_per_round"] is None else format(row["us_per_round"], ",.3f")),
        )
        return Table(self._heading, columns, rows, notes=self._notes)

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
        base, named = self._find(baseline), self._labels(labels)
        if len(self.policies) < 2:
            raise InvalidValueError("policies", "be two or more to be compared", self.policies, got="a result with one")
        final = self.regret[:, :, -1]
        tie = TIE * float(np.abs(final).max())
        rows = []
        for k, label in enumerate(named):
            if k == base:
                continue
            difference = final[k] - final[base]
            won, tied = np.mean(difference < -tie), np.mean(np.abs(difference) <= tie)
            interval = mean_interval(difference)
            rows.append({"policy": label, **mean_cells(interval), "won": float(won), "tied": float(tied)})
        style = _style(rows, ("mean",))
        signed = "+" + style
        columns = (
            Column("policy", lambda row: str(row["policy"])),
            Column("mean difference", lambda row: format(row["mean"], signed)),
            Column("95 % interval", lambda row: ends_text(row["low"], row["high"], signed)),
            Column("runs won", lambda row: f"{row['won']:.1%}"),
            Column("runs tied", lambda row: f"{row['tied']:.1%}"),
        )
        below = f"Difference of regret to {named[base]}, run by run; below zero is better than it."
        return Table((*self._heading, below), columns, rows, notes=self._notes)

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
        chosen = np.array([self._find(each, "policies") for each in asked], np.int64)
        which = self._find_runs(runs)
        if checkpoints is not None and not isinstance(checkpoints, Iterable):
            raise InvalidTypeError("checkpoints", "be a list of rounds", checkpoints)
        marks = self.checkpoints.tolist() if checkpoints is None else [*checkpoints, self.horizon]
        for each in marks:
            if each not in self.checkpoints:
                raise InvalidValueError("checkpoints", "be among those of this result", each)
        places = np.searchsorted(self.checkpoints, np.unique(marks))
        own = slice(which.start - self.first_run, which.stop - self.first_run)
        kept = {name: getattr(self, name)[chosen, own] for name in self._recorded(self.pulls.shape[2])}
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

    def _find_runs(self, runs: object) -> range:
        """Return the numbers of runs; a result holds those from `first_run` on, none left out."""
        own = range(self.first_run, self.first_run + self.runs)
        if runs is None:
            return own
        which: Sequence[int]
        if isinstance(runs, slice):
            which = range(own.stop)[runs]
            if which.step == 1:  # what comes before the first run, however many, is not there
                which = range(max(which.start, own.start), which.stop)
        elif isinstance(runs, Iterable) and not isinstance(runs, str):
            which = [nonnegative_int("runs", each) for each in runs]
        else:
            raise InvalidTypeError("runs", "be a slice or run numbers such as range(10)", runs)
        if not which or which[0] not in own or which[-1] not in own or list(which) != list(range(which[0], which[-1] + 1)):
            rule = f"be numbers from {own.start} to {own.stop - 1} that follow one another, and at least one"
            raise InvalidValueError("runs", rule, runs)
        return range(which[0], which[-1] + 1)

    def _find(self, policy: "Policy | str | int", name: str = "baseline") -> int:
        if isinstance(policy, str):
            for labels in (self.labels, self.full_labels):
                if policy in labels:
                    return labels.index(policy)
            hint = suggest(policy, [*self.labels, *self.full_labels]) or f"; known: {', '.join(self.labels)}"
            raise InvalidValueError(name, "be a policy of this result", policy, hint=hint)
        if isinstance(policy, int | np.integer) and not isinstance(policy, bool):
            if not 0 <= policy < len(self.policies):
                last = len(self.policies) - 1
                raise InvalidValueError(name, f"be an index from 0 to {last}, a label or a policy", int(policy))
            return int(policy)
        if policy not in self.policies:
            raise InvalidValueError(name, "be a policy of this result", policy)
        return self.policies.index(policy)

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
        known = self._known(bounds)
        proved: list[tuple[Bound, ...]] = [()] * len(self.policies)
        if known is not None:
            from rotting import theory  # noqa: PLC0415 - theorems are about results: see pyproject.toml

            marks = self.checkpoints.tolist()
            proved = [theory.bounds(known, policy, self.horizon, marks) for policy in self.policies]
        spread = "A single run"
        if self.runs > 1:
            spread = ", ".join([f"Mean of {self.runs:,} runs", *filter(None, [BANDS.get(band)])])
        caption = [f"{spread}.", *regret_against(self.reference)]
        if any(proved):
            caption.append("Thin: proved bounds.")
        elif known is not None:
            caption.append("No bound applies (see `rotting theory`).")
        if band == "interval" and self.runs > 1:
            caption.append(what_runs_can_miss(self.runs))
        return plot_regret(
            named,
            self.checkpoints,
            self.regret,
            f"{self.problem_name}, horizon {self.horizon:,}" if title is None else title,
            caption=" ".join(caption) if title is None else "",
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

    def _known(self, problem: "bool | Problem") -> "Problem | None":
        """Return the problem whose bounds are wanted, or None."""
        if problem is False:
            return None
        if "family" in self.problem:
            raise InvalidValueError("bounds", "be of one problem", problem, got="a family, whose runs have one each")
        if problem is True:
            if self.played is None:
                raise InvalidValueError("bounds", "be the problem itself for a result that has none", problem)
            return self.played
        known = problem
        described = json.loads(json.dumps(known.describe()))
        if {**described, "name": None} != {**self.problem, "name": None}:  # older versions named the same problem otherwise
            raise InvalidValueError("bounds", f"be the problem that was played, {self.problem_name}", known)
        return known

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
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("to_pandas needs pandas: pip install 'rotting[pandas]'") from error
        P, R, C = self.regret.shape
        return pd.DataFrame(
            {
                # Categories keep the order of the policies, and store each label once.
                "policy": pd.Categorical.from_codes(np.repeat(np.arange(P), R * C), pd.Index(self.labels)),
                "run": np.tile(np.repeat(self.first_run + np.arange(R), C), P),
                "round": np.tile(self.checkpoints, P * R),
                "regret": self.regret.ravel(),
                "reference": pd.Categorical.from_codes(np.zeros(P * R * C, np.int8), pd.Index([self.reference])),
            }
        )

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
        """Return the settings and the rows of `table()`, each with its policy in full, for strict JSON.

        Example:
            >>> import rotting
            >>> both = [rotting.UCB1(), rotting.RAWUCB()]
            >>> result = rotting.simulate(both, rotting.problems.two_arms(horizon=100), runs=20)
            >>> data = result.to_json()
            >>> data["runs"], data["policies"][1]["params"]
            (20, {'alpha': 1.4, 'sigma': 1.0})
        """
        policies = [
            {**row, **policy.to_json(), "label": row["policy"]}
            for row, policy in zip(self.table().rows, self.policies, strict=True)
        ]
        return {**self._settings(), "optimal": self.is_optimal, "policies": policies}

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
        with new_folder(path) as partial:
            with (partial / ARRAYS_FILE).open("wb") as file:
                names = [*ARRAYS, *self._recorded(self.pulls.shape[2])]
                plain = self.played is not None and self.played.is_plain
                means = self.played.means(self.horizon)._asdict() if self.played is not None and plain else {}
                tables: dict[str, Any] = {f"{_MEANS}{name}": array for name, array in means.items()}
                np.savez(file, **{name: getattr(self, name) for name in names}, **tables)
                _to_disk(file.fileno(), file.flush)
            settings = {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                **self._settings(),
                "policies": [policy.to_json() for policy in self.policies],
                "arrays_sha256": _file_digest(partial / ARRAYS_FILE),
            }
            settings["settings_sha256"] = _settings_digest(settings)
            with (partial / SETTINGS_FILE).open("w", encoding="utf-8") as text:
                json.dump(settings, text, indent=2, allow_nan=False)
                text.write("\n")
                _to_disk(text.fileno(), text.flush)

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
        if not path.exists():
            raise PathMissingError(f"path must be a saved result, but '{path}' does not exist")
        for name in (SETTINGS_FILE, ARRAYS_FILE):
            if not (path / name).is_file():
                raise InvalidValueError("path", "be a saved result", path, hint=f", which has no {name}")
        try:
            settings = json.loads((path / SETTINGS_FILE).read_text("utf-8"), parse_constant=_refuse)
        except ValueError as error:
            raise _not_a_result(path / SETTINGS_FILE, f"is truncated or edited: {error}") from error
        if not isinstance(settings, dict) or settings.get("format") != FORMAT:
            raise _not_a_result(path / SETTINGS_FILE, f"is of another format than {FORMAT!r}")
        version = settings.get("format_version")
        if version != FORMAT_VERSION:
            raise _not_a_result(path, f"has format version {version!r}, but this rotting reads {FORMAT_VERSION}")
        if settings.pop("settings_sha256", None) != _settings_digest(settings):
            raise _not_a_result(path / SETTINGS_FILE, "is truncated or edited: its checksum differs")
        if settings["arrays_sha256"] != _file_digest(path / ARRAYS_FILE):
            raise _not_a_result(path / ARRAYS_FILE, "is truncated or edited: its checksum differs")
        try:
            with np.load(path / ARRAYS_FILE, allow_pickle=False) as file:
                arrays = {name: file[name] for name in [*ARRAYS, *({"arms", "rewards"} & {*file.files})]}
                tables = {name: file[f"{_MEANS}{name}"] for name in Means._fields if f"{_MEANS}{name}" in file.files}
            return cls(
                policies=tuple(map(registry.from_json, settings["policies"])),
                **{name: settings[name] for name in ("problem", "horizon", "runs", "seed", "reference")},
                first_run=settings.get("first_run", 0),
                **arrays,
                played=_restored(settings["problem"], settings["horizon"], tables),
            )
        except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise _not_a_result(path, f"cannot be read: {error}") from error


def _not_a_result(path: Path, why: str) -> InvalidValueError:
    return InvalidValueError("path", "be a saved result", path, hint=f", which {why}")


def _restored(description: dict[str, Any], horizon: int, tables: dict[str, NDArray[Any]]) -> Problem | None:
    """Return the problem of saved means; None where they were not saved, or the noise is not known here."""
    if not tables or description["noise"]["noise"] not in known_kinds():
        return None
    for array in tables.values():
        array.setflags(write=False)
    problem = Problem.from_means(Means(**tables), horizon, from_json(description["noise"]), description["name"])
    return problem.delayed(delays.from_json(description["delay"])) if "delay" in description else problem


def _one_after_another(results: Sequence[Result]) -> Result:
    """Return the runs of several results of the same policies."""
    shards = sorted(results, key=lambda each: each.first_run)
    for before, after in pairwise(shards):
        if before.first_run + before.runs != after.first_run:
            got = f"{before._runs_text} and {after._runs_text}"
            raise InvalidValueError("results", "hold runs that follow one another", after.first_run, got=got)
    runs = np.array([each.runs for each in shards])
    times = np.array([each.us_per_round for each in shards])
    weights = np.where(np.isnan(times), 0, runs[:, None])
    time = mean_time((np.nan_to_num(times) * weights).sum(axis=0), weights.sum(axis=0))
    return replace(shards[0], runs=int(runs.sum()), us_per_round=time, **shards[0]._joined(shards[1:], axis=1))


def mean_time(total: Floats, count: Floats) -> Floats:
    """Return totals over counts; NaN, not measured, where nothing was counted.

    Example:
        >>> mean_time(np.array([6.0, 0.0]), np.array([3.0, 0.0]))
        array([ 2., nan])
    """
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _same_means(one: Result, two: Result) -> bool:
    """Tell whether two results have the same means, as far as they know."""
    if any(one.problem.get(name) != two.problem.get(name) for name in (DRAWN, CODE)):
        return False
    a, b = one.played, two.played
    return a is None or b is None or a == b or all(map(_same_bits, a.tables(one.horizon), b.tables(two.horizon)))


def _beside(results: Sequence[Result]) -> Result:
    """Return the policies of several results of the same runs."""
    first, *others = results
    policies = [policy for each in results for policy in each.policies]
    for each in others:
        if each._runs_text != first._runs_text:
            got = f"{first._runs_text} and {each._runs_text}"
            raise InvalidValueError("results of different policies", "hold the same runs", each.first_run, got=got)
    for policy in policies:
        if others and policies.count(policy) > 1:
            raise InvalidValueError("results", "have the same policies or different ones", policy, hint=" in two of them")
    time = np.concatenate([each.us_per_round for each in results])
    return replace(first, policies=tuple(policies), us_per_round=time, **first._joined(others, axis=0))


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels that differ: of equal ones, all but the first get a number."""
    numbered: list[str] = []
    for each in labels:
        label, copy = each, 1
        while label in numbered:
            copy += 1
            label = f"{each} ({copy})"
        numbered.append(label)
    return tuple(numbered)


def _same_bits(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and np.array_equal(one.view(np.uint8), other.view(np.uint8))


def _frozen(name: str, value: object, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return a read-only array of type `kind`; only casts that keep every value are allowed.

    It is a copy, unless nobody can write into the one given: every round of every run may fill half of the memory.
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


def _check_shape(name: str, array: NDArray[Any], axes: str, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InvalidValueError(name, f"have the shape {axes} = {list(shape)}", list(array.shape))


def _style(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> str:
    values = [row[key] for row in rows for key in keys]
    return number_format(values, half_widths(rows))


def _settings_digest(settings: dict[str, Any]) -> str:
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_disk(descriptor: int, flush: Callable[[], None]) -> None:
    """Wait until a file's content is on disk: the rename must not come first."""
    flush()
    os.fsync(descriptor)


def _refuse(constant: str) -> NoReturn:
    raise InvalidValueError("numbers", "be finite", float(constant), got=constant)
