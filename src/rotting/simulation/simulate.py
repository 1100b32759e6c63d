"""Policies x runs on one problem: the same noise for every policy, on any number of threads."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.progress import Progress
from rotting.common.rules import nonnegative_int, positive_int
from rotting.common.version import __version__
from rotting.engines.chunk_store import Chunk, Store
from rotting.engines.compile import compiled
from rotting.engines.game import CANCEL, DONE, link
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.kernels.binding import digest
from rotting.kernels.random_numbers import derive_key
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.mean_table import Means
from rotting.problems.oracle import optimal_rewards
from rotting.simulation.result import Result

_CHECKPOINTS = 200  # enough for a smooth curve
_CHUNK_ROUNDS = 2_000_000  # work of one task: small enough to share out, large enough to make crossings free
_CHUNKS = 16  # tasks of a policy, at least, if it has as many runs


@dataclass(frozen=True)
class Games:
    """Policies, the problem that each of them plays, and how often; the fields are the arguments of `simulate`."""

    policies: Policy | Sequence[Policy]
    problem: Problem
    horizon: int | None = None
    runs: int = 100
    seed: int = 0
    checkpoints: Iterable[int] | None = None


def _default_checkpoints(horizon: int) -> Ints:
    even = np.linspace(1, horizon, min(_CHECKPOINTS, horizon))
    return np.unique(np.round(even).astype(np.int64))


def _check_checkpoints(checkpoints: Iterable[int], horizon: int) -> Ints:
    rounds = [positive_int("checkpoints", each) for each in checkpoints]
    if rounds and max(rounds) > horizon:
        raise InvalidValueError(f"checkpoints must be at most the horizon {horizon}, got {max(rounds)}")
    return np.unique(np.array([*rounds, horizon], np.int64))


def _check_policies(policies: Policy | Sequence[Policy]) -> tuple[Policy, ...]:
    if isinstance(policies, str | type) or not isinstance(policies, Policy | Iterable):
        raise InvalidTypeError(f"policies must be policies such as RAWUCB(alpha=1.4), got {policies!r}")
    listed = (policies,) if isinstance(policies, Policy) else tuple(policies)
    if not listed:
        raise InvalidValueError("policies must hold at least one policy, got none")
    for each in listed:
        if not isinstance(each, Policy):
            raise InvalidTypeError(f"policies must hold policies such as RAWUCB(alpha=1.4), got {each!r}")
    return listed


def _check_fit(policy: Policy, problem: Problem, horizon: int) -> None:
    """Refuse a game longer than the policy is tuned for, or rewards outside the range it declares."""
    if policy.limit is not None and horizon > policy.limit:
        raise InvalidValueError(
            f"horizon must be at most {policy.limit}, which {policy!r} is tuned for, got {horizon}; "
            f"rotting.doubling(policy) plays without a horizon"
        )
    if policy.reward_range is not None:
        low, high = policy.reward_range
        least, most = problem.reward_bounds(horizon)
        if not low <= least <= most <= high:
            raise InvalidValueError(
                f"rewards must be in [{low!r}, {high!r}], the range that {policy!r} declares, "
                f"got {problem.noise!r} noise, whose rewards lie in [{least!r}, {most!r}]; "
                f"give low and high that hold them, or outside='clip'"
            )


def default_workers() -> int:
    """Return the number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def simulate(
    policies: Policy | Sequence[Policy],
    problem: Problem,
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: Iterable[int] | None = None,
    progress: bool | None = None,
    keep: str | Path | None = None,
) -> Result:
    """Let each policy play `runs` games of `horizon` rounds, and return their pseudo-regrets.

    In run r, the n-th pull of a rested arm, or a restless arm at round t, pays the same to every policy: comparisons are
    paired. The result depends on the seed, never on the number of workers or on which other policies play.

    Args:
        policies: one policy or several.
        problem: what they play.
        horizon: rounds of a game; the problem's own if it has one.
        runs: games of each policy.
        seed: a whole number; the same seed gives the same result, bit for bit.
        workers: threads; all CPUs by default.
        checkpoints: rounds at which regret is recorded; 200 evenly spaced ones by default. The horizon is always one.
        progress: show a progress bar; by default when standard error is a terminal.
        keep: a folder for the games that are finished, so that the same call goes on where another was killed. They are known
            by a digest of the settings and of the code, and are never taken for others.

    Memory does not grow with the horizon where the means have few pieces and the policies forget. It takes:

    - for the result, 8 bytes per policy, run and checkpoint or arm;
    - for the means, 16 bytes per piece of equal value, and several times that while an arm is tabulated. `Constant`, `Abrupt`
      and `Piecewise` have the pieces that they are written with; the other decays, and callables, one per round of the horizon
      unless neighbours are equal; a `General` arm takes 8 bytes per pair of rounds;
    - for the reference, next to nothing where it is known from the pieces; `rotting.oracle.optimal_rewards` says what it takes
      where arms rise or follow both clocks;
    - on each worker, the state of one game. Per arm and round of the horizon: 20 bytes for the exact windows of RAW-UCB,
      RAW-UCB++, RAW-klUCB and FEWA and for the GLR policies, 24 for AdSwitch, 16 for SWA, wSWA and M-UCB; per round: 32 bytes
      for SW-UCB and Thompson sampling on a sliding window. The states of the others grow with the logarithm of the horizon, or
      not at all.

    Example:
        >>> import rotting
        >>> problem = rotting.problems.two_arms(L=1.0, horizon=400)
        >>> result = simulate([rotting.RAWUCB(), rotting.UCB1()], problem, runs=20, seed=1)
        >>> result.regret.shape, result.pulls.sum(axis=2).min()
        ((2, 20, 200), np.int64(400))
    """
    games = Games(policies, problem, horizon, runs, seed, checkpoints)
    return simulate_all([games], workers=workers, progress=progress, keep=keep)[0]


def simulate_all(
    games: Sequence[Games],
    workers: int | None = None,
    progress: bool | None = None,
    keep: str | Path | None = None,
) -> list[Result]:
    """Return the results of several simulations, that share the threads and the progress bar.

    One policy's games are played while the next policy is being compiled.

    Args:
        games: what to simulate.
        workers: threads; all CPUs by default.
        progress: show a progress bar; by default when standard error is a terminal.
        keep: as for `simulate`.

    Example:
        >>> import rotting
        >>> problems = [rotting.problems.two_arms(L=L, horizon=50) for L in (0.5, 1.0)]
        >>> [result.horizon for result in simulate_all([Games(rotting.UCB1(), each, runs=2) for each in problems])]
        [50, 50]
    """
    workers = default_workers() if workers is None else positive_int("workers", workers)
    store = None if keep is None else Store(keep)
    sets = [_Set(each) for each in games]
    with Progress(sum(each.rounds for each in sets), "rounds", show=progress) as bar, _Pool(workers, bar) as pool:
        for each in sets:
            each.play(pool, store)
        pool.finish()
    return [each.result() for each in sets]


class _Set:
    """Games under way: their settings, checked, and the arrays of their result."""

    def __init__(self, games: Games) -> None:
        self.policies = _check_policies(games.policies)
        if not isinstance(games.problem, Problem):
            raise InvalidTypeError(
                f"problem must be a Problem such as Problem.rested(means), got {type(games.problem).__name__}"
            )
        self.problem = games.problem
        self.horizon = horizon = self.problem.resolve_horizon(games.horizon)
        for each in self.policies:
            _check_fit(each, self.problem, horizon)
        self.runs = runs = positive_int("runs", games.runs)
        self.seed = nonnegative_int("seed", games.seed)
        marks = games.checkpoints
        self.marks = _default_checkpoints(horizon) if marks is None else _check_checkpoints(marks, horizon)
        self.regret = np.full((len(self.policies), runs, self.marks.size), np.nan)
        self.pulls = np.zeros((len(self.policies), runs, self.problem.n_arms), np.int64)
        self.seconds = np.zeros((len(self.policies), runs))
        self.keys = derive_key(self.seed, "noise"), derive_key(self.seed, "policy")
        self.reference = ""

    @property
    def rounds(self) -> int:
        return self.regret.shape[0] * self.runs * self.horizon

    def play(self, pool: "_Pool", store: Store | None) -> None:
        """Hand every chunk of runs that the store does not have to the pool."""
        means = self.problem.means(self.horizon)  # held here: a problem keeps those of one horizon only
        optimal, self.reference = optimal_rewards(self.problem, self.horizon, self.marks)
        # The same chunks on any number of workers, so that what one kept serves another.
        size = max(1, min(_CHUNK_ROUNDS // self.horizon, -(-self.runs // _CHUNKS)))
        firsts = range(0, self.runs, size)
        settings = None if store is None else self._digest(means, optimal)
        for index, policy in enumerate(self.policies):
            linked = link(policy, self.problem.noise)
            names = dict.fromkeys(firsts, "")
            if store is not None:
                names = {first: self._name(settings, policy, linked, first, size) for first in firsts}
            missing = [
                first for first in firsts if store is None or not self._recall(store, names[first], index, first, size, pool)
            ]
            if missing:
                pool.bar.status = f"compiling {policy.name}"
                pool.count()
                game = partial(
                    compiled(linked, policy, allocates=True), policy.params, means, self.problem.noise.scale, *self.keys
                )
                self._warm_up(game, optimal)
                pool.bar.status = ""
                for first in missing:
                    pool.submit(partial(self._play, game, optimal, index, first, size, store, names[first]))

    def _warm_up(self, game: Callable[..., None], optimal: Floats) -> None:
        """Play one round, which compiles what is not in the cache yet, outside the clock."""
        row = np.zeros((1, self.problem.n_arms), np.int64)
        game(0, np.ones(1, np.int64), optimal[:1], np.zeros((1, 1)), row, np.zeros(2, np.int64))

    def _play(
        self,
        game: Callable[..., None],
        optimal: Floats,
        index: int,
        first: int,
        size: int,
        store: Store | None,
        name: str,
        signal: Ints,
    ) -> None:
        rows = slice(first, first + size)
        regret, pulls = self.regret[index, rows], self.pulls[index, rows]
        began = time.thread_time()  # of this thread alone: others compile and play beside it
        game(first, self.marks, optimal, regret, pulls, signal)
        spent = time.thread_time() - began
        self.seconds[index, first] = spent
        if store is not None and not signal[CANCEL]:
            store.write(name, Chunk(regret, pulls, spent))

    def _recall(self, store: Store, name: str, index: int, first: int, size: int, pool: "_Pool") -> bool:
        """Take a chunk from the store; False if it has none that fits."""
        chunk = store.read(name)
        rows = slice(first, first + size)
        regret, pulls = self.regret[index, rows], self.pulls[index, rows]
        if chunk is None or (chunk.regret.shape, chunk.pulls.shape) != (regret.shape, pulls.shape):
            return False
        regret[:], pulls[:], self.seconds[index, first] = chunk
        pool.bar.resumed += len(regret) * self.horizon
        pool.count()
        return True

    def _digest(self, means: Means, optimal: Floats) -> str:
        """Return a digest of the problem and the seed: by value, whatever code made them."""
        noise = self.problem.noise
        # A game that was played without the compiler gives the same regret, but not the same times.
        engine = __version__, version("numba"), os.environ.get("NUMBA_DISABLE_JIT", "0")
        digest = hashlib.sha256(repr((self.keys, noise, noise.scale, engine)).encode())
        for array in (*means, self.marks, optimal):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _name(self, settings: str | None, policy: Policy, linked: Callable[..., None], first: int, size: int) -> str:
        """Return the name of a chunk: a digest of the settings, and of the code of the policy and of the game."""
        runs = min(size, self.runs - first)
        parts = (settings, policy.name, tuple(map(float, policy.params)), digest(linked), first, runs)  # type: ignore[arg-type]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def result(self) -> Result:
        """Return the result, after the last game."""
        return Result(
            policies=self.policies,
            problem=self.problem.describe(),
            horizon=self.horizon,
            runs=self.runs,
            seed=self.seed,
            checkpoints=self.marks,
            regret=self.regret,
            pulls=self.pulls,
            us_per_round=self.seconds.sum(axis=1) * 1e6 / (self.runs * self.horizon),
            reference=self.reference,
            played=self.problem,
        )


class _Pool:
    """Threads that play; on an interrupt, or an error in one, the games under way stop and the error is passed on."""

    def __init__(self, workers: int, bar: Progress) -> None:
        self.bar = bar
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rotting")
        self._waiting: set[Future[None]] = set()
        self._signals: list[Ints] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for signal in self._signals:
            signal[CANCEL] = error is not None
        self._threads.shutdown(wait=True, cancel_futures=True)

    def submit(self, play: Callable[[Ints], None]) -> None:
        """Play when a thread is free."""
        signal = np.zeros(2, np.int64)
        self._signals.append(signal)
        self._waiting.add(self._threads.submit(play, signal))

    def count(self) -> None:
        """Show how far the games are, and pass an error on."""
        done = {future for future in self._waiting if future.done()}
        self._waiting -= done
        for future in done:
            future.result()
        self.bar.advance(self.bar.resumed + sum(int(signal[DONE]) for signal in self._signals) - self.bar.done)

    def finish(self) -> None:
        """Wait for all games."""
        while self._waiting:
            wait(self._waiting, timeout=0.1, return_when=FIRST_COMPLETED)
            self.count()
