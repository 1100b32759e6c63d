"""One run of one policy, round by round: as arrays, as a data frame and as a picture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import AnyArray, ArmNumbers, Floats, Ints
from rotting.common.html_parts import Line, block, drawing, row
from rotting.common.html_parts import table as html_table
from rotting.common.rules import nonnegative_int
from rotting.display.figures import Curve, Figure, Panel
from rotting.display.plots import plot_figure
from rotting.errors import InvalidTypeError, InvalidValueError, MissingExtraError
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.oracle import regret_against

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

_SHOWN_ARMS = 8  # arms in a picture, each in another colour
_SETTLED = 20  # the indices of the first 1/20 of the rounds are very large, and do not count for the end of their axis


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """One run of a policy on a problem, round by round: T rounds, K arms. `rotting.play` makes it.

    Args:
        policy: the policy that played.
        problem: the problem.
        run: the number of the run.
        seed: the seed of the noise and of the policy's randomness.
        reference: what regret is measured against.
        arm: the arm of each round, `[T]`.
        reward: the reward of each round, `[T]`.
        regret: cumulative pseudo-regret, `[T]`.
        means: the mean of every arm before the pull, `[T, K]`; NaN for an arm that is not present.
        index: the policy's index of every arm, `[T, K]`, infinite before the arm's first pull; None if the policy does not
            explain its choices.
        window: the window of that index, `[T, K]`; 0 if there is none.
        width: the width of its confidence interval, `[T, K]`; NaN if there is none.

    Example:
        >>> import rotting
        >>> problem = rotting.problems.two_arms(L=1.0, horizon=100)
        >>> game = rotting.play(rotting.UCB1(), problem)
        >>> game.horizon, game.pulls, game.mean[:3], game.best_mean[:3]
        (100, array([47, 53]), array([0. , 0.5, 0.5]), array([0.5, 0.5, 0.5]))
    """

    policy: Policy
    problem: Problem
    run: int
    seed: int
    reference: str
    arm: ArmNumbers
    reward: Floats
    regret: Floats
    means: Floats
    index: Floats | None = None
    window: Ints | None = None
    width: Floats | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def horizon(self) -> int:
        """Rounds of the run."""
        return self.arm.size

    @property
    def mean(self) -> Floats:
        """The mean of the arm that was pulled, `[T]`."""
        return np.asarray(self.means[np.arange(self.horizon), self.arm])

    @property
    def best_mean(self) -> Floats:
        """The largest mean of the present arms in each round, `[T]`."""
        return np.asarray(np.nanmax(self.means, axis=1))

    @property
    def pulls(self) -> Ints:
        """Pulls of each arm at the horizon, `[K]`."""
        return np.bincount(self.arm, minlength=self.problem.n_arms)

    @property
    def _problem_name(self) -> str:
        return self.problem.name or f"{self.problem.kind} problem, {self.problem.n_arms} arms"

    def __repr__(self) -> str:
        settings = f"horizon={self.horizon}, run={self.run}, seed={self.seed}"
        return f"Trajectory({self.policy.label} on {self._problem_name}, {settings})"

    def _repr_html_(self) -> str:
        pulls, shown = self.pulls, self._shown(None)
        figure = self._figure(shown, None)
        drawings = [
            drawing([_below(each, panel.y_max) for each in panel.curves], panel.x_label, panel.y_label)
            for panel in figure.panels
        ]
        with np.errstate(invalid="ignore"):
            paid = np.bincount(self.arm, self.reward, minlength=pulls.size) / pulls
        rows = [[f"arm {i}", f"{pulls[i]:,}", f"{paid[i]:.4g}", f"{self.means[-1, i]:.4g}"] for i in shown]
        heads = ["arm", "pulls", "mean reward", "mean at the end"]
        return block(figure.title, row(html_table(heads, rows), *drawings), note=figure.caption)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a data frame with one row per round.

        Its columns are `round`, `arm`, `reward`, `mean`, `best_mean`, `regret`, and for every arm `mean_0`, ..., and, if the
        policy explains its choices, `index_0`, ..., `window_0`, ... and `width_0`, ... Needs the extra `rotting[pandas]`.

        Example:
            >>> import rotting
            >>> game = rotting.play(rotting.RAWUCB(), rotting.problems.two_arms(horizon=50))
            >>> list(game.to_pandas().columns[4:10])
            ['best_mean', 'regret', 'mean_0', 'mean_1', 'index_0', 'index_1']
        """
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("to_pandas needs pandas: pip install 'rotting[pandas]'") from error
        columns: dict[str, AnyArray] = {"round": np.arange(1, self.horizon + 1)}
        columns |= {name: getattr(self, name) for name in ("arm", "reward", "mean", "best_mean", "regret")}
        tables = {"mean": self.means, "index": self.index, "window": self.window, "width": self.width}
        for name, table in tables.items():
            if table is not None:
                columns |= {f"{name}_{i}": table[:, i] for i in range(self.problem.n_arms)}
        return pd.DataFrame(columns)

    def plot(self, path: str | Path | None = None, arms: Sequence[int] | None = None, title: str | None = None) -> "Picture":
        """Draw the pulls, the indices and the means of the arms over the rounds, one below the other.

        Needs the extra `rotting[plot]`.

        Args:
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.
            arms: which arms to draw; all by default, or the eight that were pulled most.
            title: above the picture; by default the policy and the problem.

        Returns:
            The Matplotlib figure.

        Example:
            >>> import rotting
            >>> game = rotting.play(rotting.RAWUCB(), rotting.problems.two_arms(horizon=50))
            >>> [ax.get_ylabel() for ax in game.plot(arms=[1]).axes]
            ['pulls so far', 'index', 'mean']
            >>> import matplotlib.pyplot
            >>> matplotlib.pyplot.close("all")
        """
        return plot_figure(self._figure(self._shown(arms), title), path)

    def _shown(self, arms: Iterable[int] | None) -> list[int]:
        K = self.problem.n_arms
        if arms is None:
            most = np.argsort(-self.pulls, kind="stable")[:_SHOWN_ARMS]
            return sorted(map(int, most))
        if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
            raise InvalidTypeError("arms", "be a list of arms", arms)
        chosen = [nonnegative_int("arms", arm) for arm in arms]
        for arm in chosen:
            if arm >= K:
                raise InvalidValueError("arms", f"be below {K}, the number of arms", arm)
        if not chosen:
            raise InvalidValueError("arms", "hold at least one arm", chosen, got="none")
        return list(dict.fromkeys(chosen))

    def _figure(self, arms: Sequence[int], title: str | None) -> Figure:
        rounds = np.arange(1, self.horizon + 1)

        def panel(name: str, label: str, values: Floats | Ints, y_max: float | None = None) -> Panel:
            finite = np.where(np.isfinite(values), values, np.nan)
            curves = tuple(Curve(f"arm {i}", rounds, finite[:, k]) for k, i in enumerate(arms))
            note = "Higher in the first rounds" if y_max is not None and np.nanmax(finite) > y_max else ""
            return Panel(name, "round t", label, curves, y_max=y_max, note=note)

        pulls = np.cumsum(self.arm[:, None] == np.array(arms), axis=0)
        panels = [panel("Pulls", "pulls so far", pulls)]
        if self.index is not None:
            index = self.index[:, list(arms)]
            settled = index[self.horizon // _SETTLED :]
            settled = settled[np.isfinite(settled)]
            if settled.size:
                low, high = float(settled.min()), float(settled.max())
                panels.append(panel("What the policy goes by", "index", index, high + 0.05 * (high - low)))
        panels.append(panel("What it does not see", "mean", self.means[:, list(arms)]))
        K = self.problem.n_arms
        which = f", {len(arms)} of {K} arms" if len(arms) < K else ""
        against = " ".join(regret_against(self.reference))
        caption = f"Run {self.run}, seed {self.seed}{which}. Regret at the end: {self.regret[-1]:,.4g}. {against}"
        named = title if title is not None else f"{self.policy.label} on {self._problem_name}"
        return Figure("run", named, caption, tuple(panels), columns=1)


def _below(curve: Curve, y_max: float | None) -> Line:
    """Return a curve without the values above the end of its axis."""
    shown = curve.y if y_max is None else np.where(curve.y > y_max, np.nan, curve.y)
    return Line(curve.label, curve.x, shown)
