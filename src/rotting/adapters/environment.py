"""A problem as a Gymnasium environment: an action is an arm, an episode is a run."""

from functools import cache
from typing import Any

import gymnasium
import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import nonnegative_int, run_number
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.kernels.binding import KernelFunction, bind_all
from rotting.policies.kernels.exact_sums import add, difference
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policies.uniform import Uniform
from rotting.problems import Problem, Visiting
from rotting.problems.mean_table import Means
from rotting.simulation.engines.extensions import Extensions
from rotting.simulation.engines.game import Board, count, mean_now, memory_of_run, new_board, start_arms
from rotting.simulation.plan import Simulation


def _begin(m: Means, pulls: Ints, horizon: int, run: int) -> Board:
    board = new_board(m, pulls, (), memory_of_run(m, pulls.size, horizon))
    start_arms(m, board, run)
    return board


def _mean(m: Means, b: Board, i: int, t: int) -> float:
    return mean_now(m, b, i, t)


def _count(m: Means, b: Board, i: int, t: int) -> None:
    count(m, b, i, t)


@cache
def _functions(extensions: Extensions) -> dict[str, KernelFunction]:
    """Return the functions of a step, for a problem with these extensions."""
    return bind_all({"begin": _begin, "mean": _mean, "count": _count}, extensions.on_means)


class Environment(gymnasium.Env[Any, Any]):
    """A problem as a Gymnasium environment, which River's loops can play, too. An episode is truncated after the last round.

    Episode r after `reset(seed=s)` is run r of `simulate(seed=s)`: its rewards, its means and its regret, bit for bit. The
    first `reset` begins run 0, and each later one the next run; `reset(options={"run": r})` begins run r. The observation is
    always 0. `info` holds `regret` (cumulative pseudo-regret), `mean` (of the arm that was pulled), `round` and `run`. The
    attribute `reference` says what regret is measured against.

    Args:
        problem: a problem without delays, whose arms are always present.
        horizon: rounds of an episode; default: the problem's own horizon.
        seed: seed of the rewards until `reset` gets another one.

    Example:
        >>> import rotting
        >>> from rotting.adapters import Environment
        >>> env = Environment(rotting.problems.two_arms(L=1.0, horizon=100))
        >>> observation, info = env.reset(seed=7)
        >>> observation, reward, terminated, truncated, info = env.step(0)
        >>> observation, truncated, info
        (0, False, {'round': 1, 'run': 0, 'mean': 0.0, 'regret': 0.5})
    """

    metadata: dict[str, list[str]] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's

    def __init__(self, problem: Problem, horizon: int | None = None, seed: int = 0) -> None:
        if not isinstance(problem, Problem):
            raise InvalidTypeError("problem", "be a Problem such as Problem.rested(means)", problem, got=type(problem).__name__)
        if problem.delay is not None:
            raise InvalidValueError("problem", "have no delay, as an environment pays at once", problem.delay)
        if any(isinstance(arm, Visiting) for arm in problem.arms):
            raise InvalidValueError("problem", "have arms that are always present, as actions are", problem)
        self.problem = problem
        self.horizon = problem.resolve_horizon(horizon)
        self.action_space = gymnasium.spaces.Discrete(problem.n_arms)
        self.observation_space = gymnasium.spaces.Discrete(1)
        self._plan(nonnegative_int("seed", seed))
        self._run = -1  # none has begun
        self._round = self.horizon

    def _plan(self, seed: int) -> None:
        self._seed = seed
        every_round = np.arange(1, self.horizon + 1)
        simulation = Simulation(Uniform(), self.problem, self.horizon, seed=seed, checkpoints=every_round)
        (game,), self.reference = simulation.games()
        self._setting = game.setting

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin a run: the next one, run 0 of another seed, or the one in `options["run"]`."""
        super().reset(seed=seed)
        if seed is not None:
            self._run = -1
            if nonnegative_int("seed", seed) != self._seed:
                self._plan(nonnegative_int("seed", seed))
        self._run = run_number("run", (options or {}).get("run", self._run + 1))
        self._key = derive_key(self._seed, "noise")
        setting, pulls = self._setting, np.zeros(self.problem.n_arms, np.int64)
        draws = setting.draws
        self._optimal = setting.optimum if draws is None else draws.tables(self._run, 1)[1][0]
        self._board = _functions(setting.extensions)["begin"](setting.means, pulls, self.horizon, self._run)
        self._round, self._collected = 0, (0.0, 0.0)
        return 0, {"round": 0, "run": self._run, "regret": 0.0}

    def step(self, action: object) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Pull an arm; return the observation, the reward, False, whether this was the last round, and `info`."""
        arm, t = self._checked(action), self._round + 1
        if t > self.horizon:
            raise InvalidValueError("step", "come after a reset and before the end", t, got=f"round {t}")
        self._round = t
        m, b, noise = self._setting.means, self._board, self.problem.noise
        functions = _functions(self._setting.extensions)
        mean = float(functions["mean"](m, b, arm, t))
        clock = t - 1 if m.on_rounds[arm] else int(b.pulls[arm])
        reward = float(noise.draw(mean, noise.scale, self._key, self._run, arm, clock))
        functions["count"](m, b, arm, t)
        self._collected = add(*self._collected, mean)
        regret = float(difference(self._optimal[t - 1], 0.0, *self._collected))
        return 0, reward, False, t == self.horizon, {"round": t, "run": self._run, "mean": mean, "regret": regret}

    def _checked(self, action: object) -> int:
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action.item()  # some agents return zero-dimensional arrays
        arms = self.problem.n_arms
        if isinstance(action, bool) or not isinstance(action, int | np.integer) or not 0 <= action < arms:
            raise InvalidValueError("action", f"be an arm, a whole number from 0 to {arms - 1}", action)
        return int(action)
