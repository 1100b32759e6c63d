"""Random problems: a new one in every run, which depends on the seed and the number of the run alone.

The library's own families draw the same means, to the last bit, on every machine, so that several machines can share a
simulation. They use only operations that IEEE 754 rounds in one way, in a fixed order: the logarithms and exponentials of
`policies/kernels/elementary.py`, and no sum or product of matrices, whose order depends on the processor.

A family is played like a problem. Run r is a game on the problem of run r, and its regret is measured against the optimum of
that problem. The mean regret over the runs is therefore the Bayesian regret, with the family as the prior.
"""

import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.html_parts import block, row
from rotting.common.json_data import JsonDict
from rotting.common.rules import COUNT, FINITE, POSITIVE, Rule, check_fields, nonnegative_int, run_number
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.kernels.elementary import exps, logs
from rotting.policies.kernels.random_numbers import derive_key
from rotting.problems.arms import Rested, Restless
from rotting.problems.decays import Piecewise, name_of
from rotting.problems.mean_table import Means, from_rows, pulls_of, rounds_of
from rotting.problems.noise import Noise, check_kernel
from rotting.problems.problem import STANDARD_NOISE, Problem, means_caption, means_picture

_GRID = 65  # points of a Gaussian process between which it is a straight line
_JITTER = 1e-6  # added to the variance, which keeps the covariance of smooth processes invertible
_CLOCKS = ("pulls", "rounds")
_PICTURED = 3  # problems that a notebook shows
_DIGESTED = 8  # runs whose problems are part of the digest of a function's family
DRAWN_DIGEST = "drawn"
"""The key of the digest of the first problems in the description of a family."""


class ProblemFamily:
    """Random problems, one for each run, drawn by a function of yours.

    The families of the library are much faster, since they draw tables: `rotting.problems.RandomBreakpoints`,
    `FallingGaussianProcess`, `ReflectedWalk` and `DirichletDecay`.

    Args:
        draw: called for each run with a `numpy.random.Generator`; returns a `Problem`. All problems of a family have the same
            number of arms and the same noise, and the same functions if arms have a memory.
        name: the name of the family in results.

    Example:
        >>> import rotting
        >>> def draw(rng):
        ...     return rotting.problems.two_arms(L=rng.uniform(0.1, 1.0), horizon=100)
        >>> family = ProblemFamily(draw, name="two arms, any L")
        >>> family.problem(run=3) == family.problem(run=3), family.problem(run=3) == family.problem(run=4)
        (True, False)
        >>> rotting.simulate(rotting.UCB1(), family, runs=20)
        Result(two arms, any L, horizon=100, runs=20, seed=0, policies=1)
    """

    is_value: ClassVar[bool] = False
    """Whether families of the same `repr` draw the same problems; not so for functions, whose `repr` is only a name.

    Games of other families are kept, too (`keep=`): their problems are drawn again and compared. They are not sent to clusters.
    """

    def __init__(self, draw: Callable[[np.random.Generator], Problem], name: str | None = None) -> None:
        if not callable(draw):
            raise InvalidTypeError("draw", "be a callable of a random generator", draw)
        if name is not None and not isinstance(name, str):
            raise InvalidTypeError("name", "be a string or None", name)
        self._draw = draw
        self.name = name

    @property
    def max_horizon(self) -> int | None:
        """The largest horizon for which the means are known; None if each problem has its own."""
        return None

    @property
    def reference(self) -> str | None:
        """The label of the greedy oracle, if the regret of every run is measured against it; None for the optimum of each run.

        A family whose runs differ in whether their optimum can be computed measures all of them against the greedy oracle.
        """
        return None

    def problem(self, run: int, seed: int = 0) -> Problem:
        """Return the problem that `simulate` plays in a run with the same seed.

        Example:
            >>> family = RandomBreakpoints(n_arms=2, horizon=100)
            >>> family.problem(run=7) == family.problem(run=7, seed=1)
            False
        """
        return self.drawn(run_number("run", run), family_key(seed))

    def drawn(self, run: int, key: int) -> Problem:
        """Return the problem of a run, given the `family_key` of the seed."""
        problem = self._draw(generator(key, run))
        if not isinstance(problem, Problem):
            raise InvalidTypeError("draw", "return a Problem", problem, got=type(problem).__name__, hint=f" in run {run}")
        return problem

    def means(self, run: int, key: int, horizon: int) -> Means | None:
        """Return the means of a run without making its problem; None if the family cannot do that."""
        return None

    def describe(self, first: Problem, seed: int, horizon: int) -> JsonDict:
        """Return a description as JSON-able data, with the properties that all problems share with the first.

        A digest of the first problems distinguishes families of the same `repr`: functions of one name may differ, or close
        over different numbers, and another version of the library may draw other problems.
        """
        shared = {name: value for name, value in first.describe().items() if name in {"kind", "n_arms", "horizon", "noise"}}
        digest = self._digest(seed, horizon, runs=1 if self.is_value else _DIGESTED)
        return {"name": self.name, **shared, "family": repr(self), DRAWN_DIGEST: digest}

    def _digest(self, seed: int, horizon: int, runs: int) -> str:
        hasher = hashlib.sha256()
        for run in range(runs):
            for array in self.problem(run, seed).tables(horizon):
                hasher.update(f"{array.shape}".encode())
                hasher.update(np.ascontiguousarray(array).data)
        return hasher.hexdigest()[:16]

    def _repr_html_(self) -> str:
        drawn = [self.problem(run) for run in range(_PICTURED)]
        pictures = [f"<div>run {run}{means_picture(problem)}</div>" for run, problem in enumerate(drawn)]
        words = f"a new problem in every run, here those of the first {_PICTURED} with seed 0: {means_caption(drawn[0])}"
        return block(self.name or "ProblemFamily", row(*pictures), note=f"{self!r}; {words}")

    def __repr__(self) -> str:
        return f"ProblemFamily({name_of(self._draw)}{'' if self.name is None else f', name={self.name!r}'})"


def family_key(seed: int) -> int:
    """Return the key from which the problems of a seed are drawn."""
    return derive_key(nonnegative_int("seed", seed), "problem")


def generator(key: int, run: int) -> np.random.Generator:
    """Return the random number generator of one run."""
    return np.random.Generator(np.random.Philox(key=np.array([key, run], np.uint64)))


@dataclass(frozen=True)
class TableFamily(ProblemFamily, ABC):
    """A family whose problems are tables of means over one clock, drawn without making the problems.

    Args:
        n_arms: K.
        horizon: T, which is also the longest game.
        noise: the distribution of the rewards around their means.
        clock: "rounds" for restless arms, "pulls" for rested ones.
        name: the name of the family in results; by default that of its class.
    """

    n_arms: int = 10
    horizon: int = 1_000
    noise: Noise = field(default=STANDARD_NOISE, kw_only=True)
    clock: str = field(default="rounds", kw_only=True)
    name: str | None = field(default=None, kw_only=True)

    is_value: ClassVar[bool] = True
    rules: ClassVar[Mapping[str, Rule]] = {"n_arms": COUNT, "horizon": COUNT}

    def __post_init__(self) -> None:
        check_fields(self, **self.rules)
        check_kernel(self.noise)
        self.noise.check_arms(self.n_arms)
        if self.clock not in _CLOCKS:
            raise InvalidValueError("clock", f"be {' or '.join(map(repr, _CLOCKS))}", self.clock)
        if self.name is None:
            hyphenated = re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()
            object.__setattr__(self, "name", hyphenated)

    @property
    def max_horizon(self) -> int:
        """The length of the tables."""
        return self.horizon

    @abstractmethod
    def rows(self, rng: np.random.Generator) -> Floats:
        """Return the means `[arm, tick]` of one problem."""

    def means(self, run: int, key: int, horizon: int) -> Means:
        """Return the table of a run's problem."""
        rows = self.rows(generator(key, run))[:, :horizon]
        self.noise.check_means(float(rows.min()), float(rows.max()))
        return from_rows(rows, on_rounds=self.clock == "rounds")

    def drawn(self, run: int, key: int) -> Problem:
        """Return the problem of a run."""
        table = self.means(run, key, self.horizon)
        steps = [rounds_of(table, i) if self.clock == "rounds" else pulls_of(table, i) for i in range(self.n_arms)]
        first = 1 if self.clock == "rounds" else 0
        kind = Restless if self.clock == "rounds" else Rested
        arms = [kind(Piecewise(values, starts=starts - first)) for starts, values in steps]
        return Problem(arms, self.noise, self.horizon, self.name)


@dataclass(frozen=True)
class _Bounded(TableFamily):
    """Means between `low` and `high`."""

    low: float = field(default=0.0, kw_only=True)
    high: float = field(default=1.0, kw_only=True)
    rules: ClassVar = {**TableFamily.rules, "low": FINITE, "high": FINITE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low >= self.high:
            raise InvalidValueError("low", f"be below high = {self.high}", self.low)

    def _ends(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the first and the last mean of each arm `[arm, 1]`: two uniform numbers, the larger one first."""
        both = uniforms(rng, self.low, self.high, (2, self.n_arms))
        return both.max(axis=0)[:, None], both.min(axis=0)[:, None]


@dataclass(frozen=True)
class RandomBreakpoints(_Bounded):
    """Arms that fall at random ticks, each to a random value.

    Each arm has `pieces` values, uniform in [low, high] and sorted from the largest on, and `pieces - 1` breakpoints, uniform
    among the ticks; where two coincide, a value is left out.

    Args:
        n_arms: K.
        horizon: T.
        pieces: the number of values of each arm.
        low: the smallest mean.
        high: the largest mean.
        noise: the distribution of the rewards around their means.
        clock: "rounds" for restless arms, "pulls" for rested ones.
        name: the name of the family in results.

    Example:
        >>> family = RandomBreakpoints(n_arms=2, horizon=100, pieces=3)
        >>> problem = family.problem(run=0)
        >>> problem.kind, bool(problem.is_rotting()), problem == family.problem(run=0)
        ('restless', True, True)
    """

    pieces: int = 5
    rules: ClassVar = {**_Bounded.rules, "pieces": COUNT}

    def rows(self, rng: np.random.Generator) -> Floats:
        """Return means that fall in jumps."""
        values = -np.sort(-uniforms(rng, self.low, self.high, (self.n_arms, self.pieces)), axis=1)
        breaks = np.sort(rng.random((self.n_arms, self.pieces - 1)) * (self.horizon - 1), axis=1).astype(np.int64) + 1
        ends = np.concatenate([breaks, np.full((self.n_arms, 1), self.horizon)], axis=1)
        lengths = np.diff(ends, axis=1, prepend=0)  # 0 where two breakpoints fall on one tick
        return np.asarray(np.repeat(values.ravel(), lengths.ravel()).reshape(self.n_arms, self.horizon))


@dataclass(frozen=True)
class FallingGaussianProcess(_Bounded):
    """Arms that fall smoothly, at a rate whose logarithm is a Gaussian process.

    `mu(x) = start - (start - end) sum_{y < x} exp(g(y)) / sum_{y < T} exp(g(y))`, where g is a Gaussian process of covariance
    `spread^2 exp(-((x - y) / (length T))^2 / 2)`, drawn at 65 points, between which the rate is a straight line; start and end
    are the larger and the smaller of two uniform numbers in [low, high].

    Args:
        n_arms: K.
        horizon: T.
        length: the length over which the rate is correlated, as a share of the horizon.
        spread: the standard deviation of the logarithm of the rate.
        low: the smallest mean.
        high: the largest mean.
        noise: the distribution of the rewards around their means.
        clock: "rounds" for restless arms, "pulls" for rested ones.
        name: the name of the family in results.

    Example:
        >>> problem = FallingGaussianProcess(n_arms=2, horizon=100, clock="pulls").problem(run=0)
        >>> problem.kind, bool(problem.is_rotting())
        ('rested', True)
    """

    length: float = 0.1
    spread: float = 2.0
    rules: ClassVar = {**_Bounded.rules, "length": POSITIVE, "spread": POSITIVE}

    def rows(self, rng: np.random.Generator) -> Floats:
        """Return means that fall smoothly."""
        start, end = self._ends(rng)
        coarse = np.zeros((self.n_arms, _GRID))
        for column, number in zip(_root(self.length).T, normals(rng, (_GRID, self.n_arms)), strict=True):
            coarse += column * number[:, None]
        place = np.linspace(0, _GRID - 1, self.horizon)
        left = np.minimum(place.astype(np.int64), _GRID - 2)
        rates = exps(self.spread * coarse)
        rate = rates[:, left] + (place - left) * np.diff(rates, axis=1)[:, left]
        passed = np.cumsum(rate, axis=1)
        fallen = np.concatenate([np.zeros((self.n_arms, 1)), passed[:, :-1]], axis=1) / passed[:, -1:]
        return np.asarray(start - (start - end) * fallen)


@cache
def _root(length: float) -> Floats:
    """Return the lower triangular root of the covariance of a process at the points of the grid (Cholesky)."""
    x = np.linspace(0, 1, _GRID)
    with np.errstate(over="ignore"):  # infinitely far apart, two points have nothing in common
        far = (x[:, None] - x) / length
        left = exps(-(far * far) / 2) + _JITTER * np.eye(_GRID)
    root = np.zeros((_GRID, _GRID))
    for j in range(_GRID):
        root[j, j] = math.sqrt(left[j, j])
        below = left[j + 1 :, j] / root[j, j]
        root[j + 1 :, j] = below
        left[j + 1 :, j + 1 :] -= below[:, None] * below
    return root


@dataclass(frozen=True)
class ReflectedWalk(_Bounded):
    """Arms whose means walk at random between two walls: they fall and rise, so no theorem on rotting arms applies.

    `mu(x)` starts uniformly in [low, high], moves by a normal step of standard deviation `step` each tick, and is reflected at
    low and high.

    Args:
        n_arms: K.
        horizon: T.
        step: the standard deviation of a step.
        low: the smallest mean.
        high: the largest mean.
        noise: the distribution of the rewards around their means.
        clock: "rounds" for restless arms, "pulls" for rested ones, whose rises make the optimum expensive to compute.
        name: the name of the family in results.

    Example:
        >>> problem = ReflectedWalk(n_arms=2, horizon=100, step=0.05).problem(run=0)
        >>> problem.kind, bool(problem.is_rotting())
        ('restless', False)
    """

    step: float = 0.02
    rules: ClassVar = {**_Bounded.rules, "step": POSITIVE}

    def rows(self, rng: np.random.Generator) -> Floats:
        """Return means that walk."""
        steps = self.step * normals(rng, (self.n_arms, self.horizon))
        steps[:, 0] = uniforms(rng, 0.0, self.high - self.low, (self.n_arms,))
        room = self.high - self.low
        return np.asarray(self.low + (room - np.abs(np.cumsum(steps, axis=1) % (2 * room) - room)))


@dataclass(frozen=True)
class DirichletDecay(_Bounded):
    """Arms that fall by random shares, drawn from a Dirichlet distribution: in a few jumps, or evenly.

    `mu(x) = start - (start - end) (w_1 + ... + w_x)`, where w is drawn from a Dirichlet distribution over the T - 1 ticks;
    start and end are the larger and the smaller of two uniform numbers in [low, high].

    Args:
        n_arms: K.
        horizon: T.
        jumps: the sum of the Dirichlet parameters, roughly the number of ticks that share the fall: one jump if it is small,
            an even slope if it is much larger than T.
        low: the smallest mean.
        high: the largest mean.
        noise: the distribution of the rewards around their means.
        clock: "rounds" for restless arms, "pulls" for rested ones.
        name: the name of the family in results.

    Example:
        >>> problem = DirichletDecay(n_arms=2, horizon=100, jumps=3, clock="pulls").problem(run=0)
        >>> problem.kind, bool(problem.is_rotting())
        ('rested', True)
    """

    jumps: float = 10.0
    rules: ClassVar = {**_Bounded.rules, "jumps": POSITIVE}

    def rows(self, rng: np.random.Generator) -> Floats:
        """Return means that fall in random parts."""
        start, end = self._ends(rng)
        ticks = max(1, self.horizon - 1)
        weights = gammas(rng, self.jumps / ticks, (self.n_arms, ticks))
        weights[:, 0] = np.maximum(weights[:, 0], math.ulp(0.0) / np.finfo(float).eps)  # in case all are zero
        parts = np.cumsum(weights, axis=1)
        fallen = np.concatenate([np.zeros((self.n_arms, 1)), parts / parts[:, -1:]], axis=1)[:, : self.horizon]
        return np.asarray(start - (start - end) * fallen)


# --- Random variates ----------------------------------------------------------------------------------------------------------
#
# They are computed from NumPy's uniform numbers on [0, 1), which are exact. NumPy's own normal and gamma variates depend on the
# mathematical library of the machine, and its uniform variates on an interval on how the compiler rounds.


def uniforms(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...]) -> Floats:
    """Return numbers that are uniform on [low, high]; only rounding can give `high` itself.

    Example:
        >>> uniforms(np.random.default_rng(0), 2.0, 4.0, (2, 2)).round(2).tolist()
        [[3.27, 2.54], [2.08, 2.03]]
    """
    return low + (high - low) * rng.random(shape)


def normals(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return standard normal numbers, by the polar method (Marsaglia, Bray 1964).

    Example:
        >>> normals(np.random.default_rng(0), (2, 2)).round(2).tolist()
        [[0.49, 0.81], [0.3, 1.72]]
    """
    size = math.prod(shape)
    found = np.empty(0)
    while found.size < size:
        # 78 of 100 such pairs lie in the disc, so that one round is mostly enough.
        u, v = 2.0 * rng.random((2, 2 * (size - found.size) // 3 + 8)) - 1.0
        square = u * u + v * v
        inside = (square > 0.0) & (square < 1.0)
        u, v, square = u[inside], v[inside], square[inside]
        scale = np.sqrt(-2.0 * logs(square) / square)
        found = np.concatenate([found, u * scale, v * scale])
    return found[:size].reshape(shape)


def gammas(rng: np.random.Generator, a: float, shape: tuple[int, ...]) -> Floats:
    """Return gamma variates of shape parameter a and scale 1, by rejection (Marsaglia, Tsang 2000).

    Example:
        >>> gammas(np.random.default_rng(0), 3.0, (2, 2)).round(2).tolist()
        [[3.54, 4.22], [3.18, 6.57]]
    """
    found = np.empty(math.prod(shape))
    d = (a if a >= 1.0 else a + 1.0) - 1.0 / 3.0
    missing = np.arange(found.size)
    while missing.size > 0:
        x, u = normals(rng, missing.shape), rng.random(missing.size)
        square = x * x
        v = 1.0 + x / math.sqrt(9.0 * d)
        v = v * v * v
        accepted = (v > 0.0) & (u < 1.0 - 0.0331 * square * square)
        doubtful = np.flatnonzero((v > 0.0) & ~accepted)  # few: the rest needs no logarithm
        accepted[doubtful] = logs(u[doubtful]) < (0.5 * square + d - d * v)[doubtful] + d * logs(v[doubtful])
        found[missing[accepted]] = d * v[accepted]
        missing = missing[~accepted]
    if a < 1.0:  # a gamma variate of a + 1, times u^(1/a), is one of a
        with np.errstate(over="ignore"):
            found *= exps(logs(rng.random(found.size)) / a)
    return found.reshape(shape)
