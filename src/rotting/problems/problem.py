"""A problem: arms, the noise of their rewards, and how long the game lasts."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from rotting.common.arrays import Floats, Ints
from rotting.common.display.figures import Curve, Panel
from rotting.common.display.html_parts import MAX_CURVES, block, drawing
from rotting.common.json_data import JsonDict
from rotting.common.rules import LARGEST, nonnegative_int, positive_int
from rotting.common.short_numbers import plural
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError
from rotting.policies.kernels.binding import digest, plain_function
from rotting.policies.kernels.code_checks import check_arguments
from rotting.policies.kernels.random_numbers import derive_key, subkey
from rotting.problems.arms import Arm, Formula, Recovering, Rested, Restless, Tabulated, Visiting, check_size
from rotting.problems.decays import decays_of
from rotting.problems.delays import Delay
from rotting.problems.mean_table import Means, Rise, arm_of, first_rise, join, lookup, mean_bounds
from rotting.problems.noise import Gaussian, Noise, Noiseless, check_kernel
from rotting.problems.stateful import ArmKernel, Stateful

STANDARD_NOISE = Gaussian(1.0)
_DRAWN_ROUNDS = 200  # drawn at most, and the length of the picture of a problem without a horizon
_NEVER = 1 << 60  # the last round of an arm that never leaves
CODE_DIGEST = "code"
"""The key of the function's digest in the description of a problem by a function."""

_KINDS = {
    frozenset[str](): "stationary",
    frozenset({"pulls"}): "rested",
    frozenset({"rounds"}): "restless",
    frozenset({"pulls", "rounds"}): "both",
}


@dataclass(frozen=True)
class Rotting:
    """Whether no mean rises up to a horizon: true, or false with the first rise in `where`."""

    horizon: int
    where: Rise | None

    def __bool__(self) -> bool:
        return self.where is None

    def __str__(self) -> str:
        if self.where is None:
            return f"rotting: no mean rises up to round {self.horizon}"
        return f"not rotting: {self.where}"


@dataclass(frozen=True, repr=False)
class Problem:
    """A bandit problem, as a value: immutable, comparable, printable.

    Args:
        arms: one `Rested`, `Restless`, `Sum`, `Product`, `General`, `Recovering`, `Stateful` or `Visiting` per arm.
        noise: the distribution of the rewards around their means.
        horizon: the default length of a game; if None, the length of the shortest table, if there is one.
        name: the problem's name in results.
        delay: how late the rewards are seen, such as `rotting.problems.GeometricDelay(100)`; at once by default.

    Example:
        >>> from rotting.problems import Abrupt, Linear
        >>> arms = [Rested(Abrupt(0.5, 0.0, at=100)), Restless(Linear(1.0, slope=-0.25))]
        >>> problem = Problem(arms, horizon=300)
        >>> problem.kind, problem.mean(1, t=3, n=0)
        ('both', 0.5)
        >>> bool(problem.is_rotting())
        True
    """

    arms: Sequence[Arm]
    noise: Noise = STANDARD_NOISE
    horizon: int | None = None
    name: str | None = None
    delay: Delay | None = None
    _tables: dict[int, Means] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", _checked_arms(self.arms))
        check_kernel(self.noise)
        self.noise.check_arms(len(self.arms))
        if self.name is not None and not isinstance(self.name, str):
            raise InvalidTypeError("name", "be a string or None", self.name)
        if self.delay is not None and not isinstance(self.delay, Delay):
            raise InvalidTypeError("delay", "be a delay such as GeometricDelay(100) or None", self.delay)
        if self.horizon is None:
            object.__setattr__(self, "horizon", self.max_horizon)
        if self.horizon is not None:
            object.__setattr__(self, "horizon", self.resolve_horizon(self.horizon))
            self.tables(self.horizon)
        else:
            # Check what is known without a horizon; the rest is checked when a game gives one.
            for i, arm in enumerate(self.arms):
                self.arm_table(i, arm.settles or 1)

    @classmethod
    def rested(
        cls,
        means: npt.ArrayLike | Sequence[object],
        noise: Noise = STANDARD_NOISE,
        horizon: int | None = None,
        name: str | None = None,
    ) -> Self:
        """Return a problem whose arms wear out when they are pulled.

        Args:
            means: a table [arm, pull], or one entry per arm: a decay, a number, a table or a callable.
            noise: the distribution of the rewards around their means.
            horizon: the default length of a game.
            name: the problem's name in results.

        Example:
            >>> Problem.rested([[0.5, 0.25]])
            Problem([Rested(decay=Table([0.5, 0.25]))], noise=Gaussian(sigma=1.0), horizon=2)
        """
        return cls([Rested(decay) for decay in decays_of(means)], noise, horizon, name)

    @classmethod
    def restless(
        cls,
        means: npt.ArrayLike | Sequence[object],
        noise: Noise = STANDARD_NOISE,
        horizon: int | None = None,
        name: str | None = None,
    ) -> Self:
        """Return a problem whose arms wear out with time.

        Args:
            means: a table [arm, round], or one entry per arm: a decay, a number, a table or a callable.
            noise: the distribution of the rewards around their means.
            horizon: the default length of a game.
            name: the problem's name in results.

        Example:
            >>> Problem.restless([[0.5, 0.25], [0.4, 0.4]]).mean(0, t=2, n=0)
            0.25
        """
        return cls([Restless(decay) for decay in decays_of(means)], noise, horizon, name)

    @classmethod
    def by_function(
        cls,
        mu: Callable[[int, int, int], float],
        n_arms: int,
        noise: Noise = STANDARD_NOISE,
        horizon: int | None = None,
        name: str | None = None,
    ) -> Self:
        """Return a problem whose means are computed by a function, which is compiled into the game.

        No table is stored, so the horizon may be of any length. Regret is measured against the greedy oracle, which takes the
        largest mean of each round and need not be optimal.

        Args:
            mu: `mu(i, t, n)`, the mean of arm i at round t after n of its pulls. It is a plain function that can be compiled:
                it allocates, raises and prints nothing, and its global names are numbers, `math` and other such functions.
            n_arms: K.
            noise: the distribution of the rewards around their means.
            horizon: the default length of a game.
            name: the problem's name in results.

        Example:
            >>> import rotting
            >>> def mu(i, t, n):
            ...     return 1 / (1 + i + 0.01 * n) - 1e-7 * t
            >>> problem = Problem.by_function(mu, n_arms=3, horizon=100_000)
            >>> problem.mean(1, t=10, n=0), rotting.simulate(rotting.UCB1(), problem, runs=1, horizon=100).reference
            (0.499999, 'greedy (means by a function: whether it is optimal is not known)')
        """
        function = plain_function("mu(i, t, n)", mu)
        check_arguments(function, ("i", "t", "n"))
        digest(function)
        return cls([Formula(mu, i) for i in range(positive_int("n_arms", n_arms))], noise, horizon, name)

    @classmethod
    def from_means(cls, means: Means, horizon: int, noise: Noise = STANDARD_NOISE, name: str | None = None) -> Self:
        """Return the problem of a table of means, such as `problem.means()`, that covers `horizon` rounds.

        Example:
            >>> problem = Problem.rested([lambda n: 1 / (1 + n), 0.25], horizon=4)
            >>> Problem.from_means(problem.means(), horizon=4).mean(0, t=4, n=1)
            0.5
        """
        arms = [Tabulated(arm_of(means, i, horizon), horizon) for i in range(means.kinds.size)]
        return cls(arms, noise, horizon, name)

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def max_horizon(self) -> int | None:
        """The largest horizon for which the means are known; None if there is no limit."""
        return min((arm.length for arm in self.arms if arm.length is not None), default=None)

    @property
    def kind(self) -> str:
        """The clocks that matter: "stationary" (none), "rested" (pulls), "restless" (rounds) or "both".

        If some arms recover or have a memory, "recovering" or "stateful".
        """
        clocks = frozenset[str]().union(*(arm.clocks for arm in self.arms))
        return "stateful" if "memory" in clocks else "recovering" if "rests" in clocks else _KINDS[clocks]

    @property
    def formula(self) -> Callable[[int, int, int], float] | None:
        """The function that gives the means, if no table does."""
        first = self.arms[0]
        return first.mu if isinstance(first, Formula) else None

    @property
    def bare_arms(self) -> tuple[Arm, ...]:
        """The arms themselves, also of those that come and leave."""
        return tuple(arm.arm if isinstance(arm, Visiting) else arm for arm in self.arms)

    @property
    def kernels(self) -> tuple[ArmKernel, ...]:
        """The functions of the arms with a memory, each once, in the order of the arms."""
        return tuple(dict.fromkeys(arm.kernel for arm in self.bare_arms if isinstance(arm, Stateful)))

    @property
    def has_dynamic_arms(self) -> bool:
        """Whether arms come, leave or recover."""
        return any(isinstance(arm, Visiting | Recovering) for arm in self.arms)

    @property
    def is_plain(self) -> bool:
        """Whether all arms are always present, with a table of means over rounds and pulls."""
        return self.formula is None and not self.has_dynamic_arms and not self.kernels

    def presence_rounds(self) -> tuple[Ints, Ints]:
        """Return the first and the last round in which each arm is present.

        Example:
            >>> first, last = Problem([Rested(0.5), Visiting(Rested(0.8), first=20, last=60)]).presence_rounds()
            >>> first.tolist(), int(last[1])
            ([1, 20], 60)
        """
        visits = [(arm.first, arm.last or _NEVER) if isinstance(arm, Visiting) else (1, _NEVER) for arm in self.arms]
        first, last = zip(*visits, strict=True)
        return np.array(first), np.array(last)

    def recovers(self) -> Ints:
        """Return 1 for each arm that recovers, 0 for the others.

        Example:
            >>> Problem([Rested(0.5), Recovering(0.8)]).recovers()
            array([0, 1])
        """
        return np.array([int(isinstance(arm, Recovering)) for arm in self.bare_arms])

    def resolve_horizon(self, horizon: int | None = None) -> int:
        """Return `horizon` after a check; by default that of the problem.

        Example:
            >>> problem = Problem.rested([0.5, 0.4], horizon=100)
            >>> problem.resolve_horizon(), problem.resolve_horizon(30)
            (100, 30)
        """
        if horizon is None:
            if self.horizon is None:
                raise InvalidValueError("horizon", "be given, as the problem has no horizon", None)
            return self.horizon
        checked = positive_int("horizon", horizon)
        if self.max_horizon is not None and checked > self.max_horizon:
            raise InvalidValueError("horizon", f"be at most {self.max_horizon}, the length of the shortest table", checked)
        return checked

    def means(self, horizon: int | None = None) -> Means:
        """Return the table of means for games of `horizon` rounds; the table of the last horizon is cached.

        Example:
            >>> table = Problem.rested([[0.5, 0.5, 0.2], [0.4, 0.4, 0.4]]).means(3)
            >>> table.pull_values.tolist(), table.pull_starts.tolist()
            ([0.5, 0.2, 0.4], [0, 2, 0])
        """
        if not self.is_plain:
            what = "arms with a memory" if self.kernels else "arms that come, leave or recover"
            what = what if self.formula is None else "means by a function"
            raise InvalidValueError("means", "be a table over rounds and pulls", self, got=f"a problem with {what}")
        return self.tables(horizon)

    def tables(self, horizon: int | None = None) -> Means:
        """Return the table of means, also for arms that come, leave or recover, which it does not describe fully.

        The pieces of a recovering arm are over the rounds since its last pull, where 0 means before the first pull.

        Example:
            >>> Problem([Visiting(Rested(0.8), first=1, last=9), Rested(0.5)]).tables(20).pull_values.tolist()
            [0.8, 0.5]
        """
        rounds = self.resolve_horizon(horizon)
        table = self._tables.get(rounds)
        if table is None:
            check_size(self.arms, rounds)
            _check_presence(self.arms, *self.presence_rounds(), rounds)
            table = join([self.arm_table(i, rounds) for i in range(self.n_arms)])
            self._tables.clear()
            self._tables[rounds] = table
        return table

    def mean(self, i: int, t: int, n: int) -> float:
        """Return the mean of arm `i` at round `t` (from 1) after `n < t` of its pulls.

        Example:
            >>> problem = Problem.rested([[0.5, 0.5, 0.2], [0.4, 0.4, 0.4]])
            >>> problem.mean(0, t=3, n=1), problem.mean(0, t=3, n=2)
            (0.5, 0.2)
        """
        i, t, n = nonnegative_int("i", i), positive_int("t", t), nonnegative_int("n", n)
        if i >= self.n_arms:
            raise InvalidValueError("i", f"be an arm below {self.n_arms}", i)
        if n >= t:
            raise InvalidValueError("n", f"be below t = {t}, as an arm is pulled at most once a round", n)
        if self.formula is not None:
            return float(self.formula(i, t, n))
        if "rests" in self.arms[i].clocks:
            raise InvalidValueError("i", "be an arm whose mean follows rounds and pulls", i, hint=", which recovers")
        if "memory" in self.arms[i].clocks:
            raise InvalidValueError("i", "be an arm whose mean follows rounds and pulls", i, hint=", which has a memory")
        for horizon, table in list(self._tables.items()):
            if t <= horizon:
                return lookup(table, i, t, n)
        return lookup(self.arm_table(i, self.resolve_horizon(t)), 0, t, n)

    def is_rotting(self, horizon: int | None = None) -> Rotting:
        """Return whether no mean rises with the arm's pulls or with the rounds, and where the first one rises if one does.

        Example:
            >>> print(Problem.rested([[1.0, 1.0, 0.5], [0.0, 0.25, 0.5]]).is_rotting())
            not rotting: arm 1 rises with its pulls, from 0.0 at n = 0 to 0.25 at n = 1 (at round t = 2)
        """
        rounds = self.resolve_horizon(horizon)
        table = self.means(rounds)
        rises = (first_rise(table, i, rounds) for i in range(self.n_arms))
        return Rotting(rounds, next((rise for rise in rises if rise is not None), None))

    def reward_bounds(self, horizon: int) -> tuple[float, float]:
        """Return the smallest and largest reward that can be paid in `horizon` rounds.

        Example:
            >>> Problem.rested([0.5, 0.4], noise=Noiseless()).reward_bounds(10)
            (0.4, 0.5)
        """
        if self.noise != Noiseless():
            return self.noise.support
        if self.formula is not None or self.kernels:
            return -math.inf, math.inf
        table = self.tables(horizon)
        ends = [mean_bounds(table, i, horizon) for i in range(self.n_arms)]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def describe(self) -> JsonDict:
        """Return a description of the problem as JSON-able data.

        Example:
            >>> list(Problem.rested([0.5, 0.4], horizon=100).describe())
            ['name', 'kind', 'n_arms', 'horizon', 'arms', 'noise']
        """
        return {
            "name": self.name,
            "kind": self.kind,
            "n_arms": self.n_arms,
            "horizon": self.horizon,
            "arms": [repr(arm) for arm in self.arms],
            "noise": self.noise.to_json(),
            **({} if self.delay is None else {"delay": self.delay.to_json()}),
            **({CODE_DIGEST: self._code_digest()} if self.formula is not None or self.kernels else {}),
        }

    def _code_digest(self) -> str:
        """Return a digest of the functions that give the means."""
        if self.formula is not None:
            return digest(plain_function("mu(i, t, n)", self.formula))
        functions = [each for kernel in self.kernels for each in kernel[:4] if each is not None]
        return hashlib.sha256("".join(map(digest, functions)).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        arms = [repr(arm) for arm in self.arms]
        if len(arms) > 10:
            arms = [*arms[:2], f"... {len(arms)} arms in all ...", arms[-1]]
        options = "".join(
            f", {name}={value!r}"
            for name, value in (("horizon", self.horizon), ("name", self.name), ("delay", self.delay))
            if value is not None
        )
        return f"Problem([{', '.join(arms)}], noise={self.noise!r}{options})"

    def _repr_html_(self) -> str:
        length = "no horizon" if self.horizon is None else f"horizon {self.horizon:,}"
        arms = plural(self.n_arms, "arm")
        late = "" if self.delay is None else f", {self.delay!r}"
        note = f"{self.kind}, {arms}, {length}, {self.noise!r}{late}; {means_caption(self)}"
        return block(self.name or "Problem", means_picture(self), note=note)

    def delayed(self, delay: Delay | None) -> Self:
        """Return the same problem with delayed rewards.

        Example:
            >>> from rotting.problems import GeometricDelay, two_arms
            >>> two_arms(horizon=100).delayed(GeometricDelay(10, lost=0.1)).delay
            GeometricDelay(lost=0.1, mean=10.0)
        """
        return replace(self, delay=delay)

    def arm_table(self, i: int, horizon: int) -> Means:
        """Return the checked table of arm `i` alone.

        Example:
            >>> Problem.rested([[0.5, 0.2], [0.4, 0.4]]).arm_table(1, horizon=2).pull_values
            array([0.4])
        """
        return _checked_table(f"arm {i}", self.arms[i], self.noise.of_arm(i), horizon)


def _checked_arms(arms: object) -> tuple[Arm, ...]:
    """Return the arms of a problem after a check."""
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence):
        raise InvalidTypeError("arms", "be a sequence of arms", arms)
    if not arms:
        raise InvalidValueError("arms", "hold at least one arm", arms, got="none")
    for i, arm in enumerate(arms):
        if not isinstance(arm, Arm):
            raise InvalidTypeError(f"arms[{i}]", "be an arm such as Rested or Restless", arm)
    formulas = {arm.mu if isinstance(arm, Formula) else None for arm in arms}
    if len(formulas) > 1:
        rule = "not mix arms of Problem.by_function with other arms, nor those of two functions"
        raise InvalidValueError("arms", rule, arms, got="a mix")
    return tuple(arms)


def _checked_table(name: str, arm: Arm, noise: Noise, horizon: int) -> Means:
    """Return the table of the arm called `name`, after a check that its means are finite and that its noise can have them."""
    try:
        table = arm.means(horizon)
        low, high = mean_bounds(table, 0, horizon)
        for value in (low, high):
            if not abs(value) <= LARGEST:
                raise InvalidValueError("means", f"be finite numbers of at most {LARGEST:g} in size", value)
        noise.check_means(low, high)
    except InvalidArgumentError as error:
        raise error.replace(where=name) from error
    except (TypeError, ValueError) as error:  # of the user's function
        kinds = {TypeError: InvalidTypeError, ValueError: InvalidValueError}  # subclasses of the two pass unchanged
        if type(error) not in kinds:
            raise
        raise kinds[type(error)]("means", "be computable", arm, got=f"an error: {error}", where=name) from error
    return table


def _check_presence(arms: Sequence[Arm], first: Ints, last: Ints, horizon: int) -> None:
    """Refuse a round in which no arm is present; `first` and `last` are the rounds in which each arm comes and leaves."""
    covered = 0  # some arm is present in every round up to this one
    for comes, leaves in sorted(zip(first.tolist(), last.tolist(), strict=True)):
        if comes > covered + 1:
            break
        covered = max(covered, leaves)
    if covered < horizon:
        got = f"none in round {covered + 1}"
        raise InvalidValueError("arms", f"be present in every round up to {horizon}", arms, got=got)


# --- Small pictures of the means, for notebooks -------------------------------------------------------------------------------


def means_picture(problem: Problem) -> str:
    """Return a small picture of the means, as HTML.

    Example:
        >>> "arm 1" in means_picture(Problem.rested([0.5, 0.4]))
        True
    """
    horizon = drawn_rounds(problem)
    rounds = np.unique(np.linspace(1, horizon, min(horizon, _DRAWN_ROUNDS)).round().astype(np.int64))
    curves = tuple(
        Curve(f"arm {i}", rounds, means_if_always_pulled(problem, i, rounds)) for i in range(min(problem.n_arms, MAX_CURVES))
    )
    return drawing(Panel("", "round t", "mean", curves))


def drawn_rounds(problem: Problem) -> int:
    """Return how many rounds of a problem are drawn: the first ones of arms with a memory, which are stepped one by one."""
    horizon = problem.horizon or _DRAWN_ROUNDS
    return min(horizon, _DRAWN_ROUNDS) if problem.kernels else horizon


def means_caption(problem: Problem) -> str:
    """Return what `means_picture` shows, in words.

    Example:
        >>> means_caption(Problem.rested([0.5, 0.4]))
        'the mean of each arm, if pulled in every round'
    """
    first = f"the first {MAX_CURVES} arms" if problem.n_arms > MAX_CURVES else "each arm"
    rests = ", or in its first one alone if it recovers" if problem.recovers().any() else ""
    until = f" of the first {drawn_rounds(problem)}" if problem.kernels else ""
    return f"the mean of {first}, if pulled in every round{until}{rests}"


def means_if_always_pulled(problem: Problem, i: int, rounds: Ints) -> Floats:
    """Return the mean of arm i in each round if it is pulled in every round in which it is present.

    A recovering arm is pulled in the first of these rounds only. An arm that moves at random moves as in run 0 of seed 0.
    """
    if problem.formula is not None:
        return np.array([problem.mean(i, t, t - 1) for t in rounds.tolist()])
    # The table of all arms is cached, but only a problem with a horizon is known to have one.
    table, arm = (problem.arm_table(i, int(rounds[-1])), 0) if problem.horizon is None else (problem.tables(), i)
    first, last = (int(each[i]) for each in problem.presence_rounds())
    bare = problem.bare_arms[i]
    if isinstance(bare, Stateful):
        return _means_of_memory(bare, rounds, first, last, subkey(subkey(derive_key(0, "memory"), 0), i))
    return np.array([lookup(table, arm, t, t - first) if first <= t <= last else math.nan for t in rounds.tolist()])


def _means_of_memory(arm: Stateful, rounds: Ints, first: int, last: int, key: int) -> Floats:
    """Return the mean of an arm with a memory in each round if it is pulled from round `first` to round `last`."""
    found, state, n = {}, arm.state_at(arm.first_state(key), 1, first, 0, key), 0
    for t in range(first, min(last, int(rounds[-1])) + 1):
        found[t] = float(arm.mean(arm.params, state, t, n))
        state, n = arm.next_state(state, t, n, 1, key), n + 1
    return np.array([found.get(t, math.nan) for t in rounds.tolist()])
