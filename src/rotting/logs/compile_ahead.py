"""Compiling what an analysis plays before it plays: the loops of all policies, in two processes.

Every policy of an analysis plays hundreds of games, on stacks and in simulations, so all of them are compiled. The two loops of
a policy share most of their code, which a process compiles once. So one process compiles both, and a child process does the
same for other policies at the same time.
"""

import threading
from collections import deque
from collections.abc import Sequence
from functools import partial

from rotting.common.progress import Progress
from rotting.engines.background_compiler import Job, submit
from rotting.engines.code_cache import is_cached
from rotting.engines.game_start import loop_entry
from rotting.engines.tiers import pickled, resolve_mode
from rotting.logs.fit import FittedFamily
from rotting.logs.stacks import FEW_ROUNDS, stack_entry
from rotting.policy import Policy
from rotting.simulation.plan import Simulation, plan


def compile_ahead(policies: Sequence[Policy], family: FittedFamily, rounds: int, progress: bool | None) -> None:
    """Compile the loops of policies that are not in the cache.

    Args:
        policies: the policies.
        family: problems that they will play. The machine code depends on their noise.
        rounds: the rounds that each policy will play; if they are few, nothing is compiled.
        progress: show a progress bar; None to show it on a terminal and in a notebook.
    """
    if rounds < FEW_ROUNDS or resolve_mode("auto") != "auto":
        return
    games, _ = plan(Simulation(policies, family, runs=1, checkpoints=[])).games()
    missing = deque(
        game.policy for game in games if not (is_cached(loop_entry(game).key) and is_cached(stack_entry(game.policy).key))
    )
    of, job = len(missing), None
    with Progress(of, "compiling", show=progress if missing else False) as bar:
        while missing:
            if len(missing) > 1 and (job is None or job.outcome):
                job = _send(missing.pop(), family, bar)
            policy = missing.popleft()
            bar.status = policy.title
            bar.advance(0)
            compile_loops(policy, family)
            bar.advance()
        bar.status = ""
        if job is not None:
            over = threading.Event()
            job.then(lambda _: over.set())
            over.wait()


def compile_loops(policy: Policy, family: FittedFamily) -> None:
    """Compile both loops of a policy, and keep them in the cache on disk."""
    from rotting.engines.compile import compiled_for, guarded_for  # noqa: PLC0415 - imports Numba

    (game,), _ = plan(Simulation(policy, family, runs=1, checkpoints=[])).games()
    compiled_for(loop_entry(game))
    guarded_for(stack_entry(policy))


def _send(policy: Policy, family: FittedFamily, bar: Progress) -> Job | None:
    """Let a child process compile both loops of a policy; None if it cannot be sent."""
    work = pickled(partial(compile_loops, policy, family))
    if work is None:
        return None
    job = submit(work)
    job.then(lambda _: bar.advance())
    return job
