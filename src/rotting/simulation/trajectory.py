"""One run of one policy, round by round, with the reasons for every choice: played, as a data frame and as a picture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import AnyArray, ArmNumbers, Floats, Ints
from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.html_parts import block, drawing, row
from rotting.common.display.html_parts import table as html_table
from rotting.common.display.plots import Colours, check_colours, plot_figure
from rotting.common.progress import Progress
from rotting.common.rules import nonnegative_int, run_number
from rotting.common.short_numbers import plural
from rotting.errors import InvalidTypeError, InvalidValueError, KernelError, MissingExtraError
from rotting.policies.kernels.readable_errors import is_library_code
from rotting.policies.parts.plain import is_plain
from rotting.policy import Policy
from rotting.problems import Problem, ProblemFamily
from rotting.problems.oracle import regret_against
from rotting.simulation.engines.extensions import PLAYED, REASONS, check_size
from rotting.simulation.engines.task import Chunk, Game, Task
from rotting.simulation.engines.threads import Threads
from rotting.simulation.plan import Competitor, Simulation, Tuned

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
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
        with np.errstate(invalid="ignore"):
            paid = np.bincount(self.arm, self.reward, minlength=pulls.size) / pulls
        rows = [[f"arm {i}", f"{pulls[i]:,}", f"{paid[i]:.4g}", f"{self.means[-1, i]:.4g}"] for i in shown]
        heads = ["arm", "pulls", "mean reward", "mean at the end"]
        return block(figure.title, row(html_table(heads, rows), *map(drawing, figure.panels)), note=figure.caption)

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

    def plot(
        self,
        path: str | Path | None = None,
        arms: Sequence[int] | None = None,
        title: str | None = None,
        ax: "Sequence[Axes] | None" = None,
        labels: Sequence[str] | None = None,
        colors: Colours = None,
    ) -> "Picture":
        """Draw the pulls, the indices and the means of the arms over the rounds, one below the other.

        Needs the extra `rotting[plot]`.

        Args:
            path: a new image file (.png, .pdf, .svg); None makes a figure that pyplot shows.
            arms: which arms to draw, in this order; all by default, or the eight that were pulled most.
            title: above the picture; by default the policy and the problem.
            ax: the axes to draw into, one for each of the pictures; None makes a figure.
            labels: one text for each arm that is drawn.
            colors: one for each arm that is drawn, or a dict by labels.

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
        figure = self._figure(self._shown(arms), title, labels)
        figure = replace(figure, colours=check_colours(figure.labels, colors))
        return plot_figure(figure, path, ax, captioned=title is None)

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

    def _figure(self, arms: Sequence[int], title: str | None, labels: Sequence[str] | None = None) -> Figure:
        rounds, named = np.arange(1, self.horizon + 1), [f"arm {i}" for i in arms] if labels is None else labels
        if isinstance(labels, str) or len({*named}) != len(arms):
            raise InvalidValueError("labels", f"be one text for each of {plural(len(arms), 'arm')}", labels)

        def panel(name: str, label: str, values: Floats | Ints, y_max: float | None = None) -> Panel:
            finite = np.where(np.isfinite(values), values, np.nan)
            curves = tuple(Curve(label, rounds, finite[:, k]) for k, label in enumerate(named))
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
        heading = title if title is not None else f"{self.policy.label} on {self._problem_name}"
        return Figure("run", heading, caption, tuple(panels), columns=1)


def play(
    policy: Competitor, problem: Problem | ProblemFamily, run: int = 0, seed: int = 0, horizon: int | None = None
) -> Trajectory:
    """Play one run, and return every round of it: arms, rewards, means, regret, and the policy's index of every arm.

    It equals run `run` of `simulate` with the same seed and horizon, bit for bit. It takes 8 bytes of memory per round and arm,
    and 24 more for a policy that explains its choices; more than 8 GiB is refused.

    Args:
        policy: the policy that plays; or a plain class, as for `simulate`.
        problem: the problem, or a family, of which the problem of this run is played.
        run: the number of the run, from 0 on.
        seed: as for `simulate`.
        horizon: rounds of the game; by default the horizon of the problem.

    Example:
        >>> import rotting
        >>> problem = rotting.problems.two_arms(L=1.0, horizon=400)
        >>> game = play(rotting.RAWUCB(), problem, run=3, seed=1)
        >>> game
        Trajectory(RAW-UCB 1.4 on two-arms(L=1), horizon=400, run=3, seed=1)
        >>> result = rotting.simulate(rotting.RAWUCB(), problem, runs=4, seed=1)
        >>> bool(game.regret[-1] == result.regret[0, 3, -1])
        True
        >>> game.arm[:4], game.index[3].shape
        (array([0, 1, 0, 0], dtype=uint8), (2,))
    """
    if not isinstance(policy, Policy | Tuned) and not is_plain(policy):
        raise InvalidTypeError("policy", "be a policy such as RAWUCB(alpha=1.4)", policy)
    run = run_number("run", run)
    simulation = Simulation(policy, problem, horizon, seed=seed)
    (policy,), rounds = simulation.policies, simulation.horizon
    record = PLAYED if policy.kernel.explain is None else PLAYED + REASONS
    check_size(record, 1, rounds, simulation.problem.n_arms)
    every_round = Simulation(policy, problem, rounds, seed=seed, checkpoints=np.arange(1, rounds + 1))
    (game,), reference = every_round.games()
    chunk = _played(Game(policy, replace(game.setting, record=record)), run)
    if policy.kernel.explain is not None and not is_library_code(policy.kernel.explain):
        _check_same_game(chunk, game, run)
    arm, reward, means, index, window, width = (array[0] for array in chunk.record)
    reasons = {"index": index, "window": window, "width": width} if policy.kernel.explain is not None else {}
    played = problem.problem(run, simulation.seed) if isinstance(problem, ProblemFamily) else problem
    return Trajectory(policy, played, run, simulation.seed, reference, arm, reward, chunk.regret[0], means, **reasons)


def _played(game: Game, run: int) -> Chunk:
    ((_, chunk),) = Threads(1).play([[Task(game, run, 1)]], Progress(game.setting.horizon, show=False))
    return chunk


def _check_same_game(chunk: Chunk, game: Game, run: int) -> None:
    """Refuse a policy whose choices change if `explain` is called: its reasons would belong to another game."""
    plain = _played(game, run)
    if plain.regret.tobytes() != chunk.regret.tobytes() or plain.pulls.tobytes() != chunk.pulls.tobytes():
        raise KernelError(f"{game.policy!r}: explain must change nothing that a choice depends on, got other choices with it")
