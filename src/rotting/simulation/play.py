"""Playing one run, with a record of every round and of the reasons for every choice."""

from dataclasses import replace

import numpy as np

from rotting.common.progress import Progress
from rotting.common.rules import run_number
from rotting.engines.round_record import PLAYED, REASONS, check_size
from rotting.engines.task import Chunk, Game, Task
from rotting.engines.threads import Threads
from rotting.errors import InvalidTypeError, KernelError
from rotting.kernels.readable_errors import is_library_code
from rotting.policy import Policy
from rotting.problems import Problem, ProblemFamily
from rotting.simulation.plan import Simulation, plan
from rotting.simulation.trajectory import Trajectory


def play(
    policy: Policy, problem: Problem | ProblemFamily, run: int = 0, seed: int = 0, horizon: int | None = None
) -> Trajectory:
    """Play one run, and return every round of it: arms, rewards, means, regret, and the policy's index of every arm.

    It equals run `run` of `simulate` with the same seed and horizon, bit for bit. It takes 8 bytes of memory per round and arm,
    and 24 more for a policy that explains its choices; more than 8 GiB is refused.

    Args:
        policy: the policy that plays.
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
    if not isinstance(policy, Policy):
        raise InvalidTypeError("policy", "be a policy such as RAWUCB(alpha=1.4)", policy)
    run = run_number("run", run)
    asked = plan(Simulation(policy, problem, horizon, seed=seed))
    record = PLAYED if policy.kernel.explain is None else PLAYED + REASONS
    check_size(record, 1, asked.horizon, asked.problem.n_arms)
    every_round = replace(asked, checkpoints=np.arange(1, asked.horizon + 1), record=record)
    (game,), reference = every_round.games()
    chunk = _played(game, run)
    if policy.kernel.explain is not None and not is_library_code(policy.kernel.explain):
        _check_same_game(chunk, Game(policy, replace(game.setting, record=())), run)
    arm, reward, means, index, window, width = (array[0] for array in chunk.record)
    reasons = {"index": index, "window": window, "width": width} if policy.kernel.explain is not None else {}
    played = problem.problem(run, asked.seed) if isinstance(problem, ProblemFamily) else problem
    return Trajectory(policy, played, run, asked.seed, reference, arm, reward, chunk.regret[0], means, **reasons)


def _played(game: Game, run: int) -> Chunk:
    ((_, chunk),) = Threads(1).play([Task(game, run, 1)], Progress(game.setting.horizon, show=False))
    return chunk


def _check_same_game(chunk: Chunk, game: Game, run: int) -> None:
    """Refuse a policy whose choices change if `explain` is called: its reasons would belong to another game."""
    plain = _played(game, run)
    if plain.regret.tobytes() != chunk.regret.tobytes() or plain.pulls.tobytes() != chunk.pulls.tobytes():
        raise KernelError(f"{game.policy!r}: explain must change nothing that a choice depends on, got other choices with it")
