"""A simulation, checked before anything is played, and turned into the games that an engine plays."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import RUNS, nonnegative_int, positive_int, suggest
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policies.parts.plain import Player, as_policy, is_plain
from rotting.policy import Policy, check_policies, horizon_error, how_to_accept, range_error
from rotting.problems import Problem, ProblemFamily
from rotting.problems.noise import Noiseless
from rotting.problems.oracle import OPTIMAL, greedy_reference, optimal_rewards
from rotting.simulation.engines.extensions import Extensions, check_size, extend_means
from rotting.simulation.engines.greedy import FamilyDraws, OptimumDraws, play_greedily
from rotting.simulation.engines.task import Game, Setting
from rotting.simulation.engines.tiers import CompileMode
from rotting.simulation.references import ChosenReference, check_reference, reference_policies

if TYPE_CHECKING:
    from rotting.problems.mean_table import Means
    from rotting.simulation.engines.extensions import ExtendedMeans

_CHECKPOINTS = 200  # enough for a smooth curve
Record = Literal["arms", "rewards"]
RECORDS: tuple[Record, ...] = get_args(Record)
"""What can be recorded of every round."""


class Tuned:
    """A policy that is made for the horizon of each simulation. `rotting.tuned` makes it.

    Args:
        make: a class of policies with a parameter `horizon`, or a function of the horizon.
    """

    def __init__(self, make: "Callable[..., Competitor]") -> None:
        given: Any = make
        self._by_name = isinstance(given, type) and issubclass(given, Policy)
        plain = isinstance(given, type) and not self._by_name  # whose first argument is the number of arms
        if not callable(given) or plain or (self._by_name and "horizon" not in {each.name for each in given.parameters()}):
            rule = "be a class of policies with a parameter horizon, or a function of the horizon"
            raise InvalidTypeError("make", rule, make, got=getattr(make, "__name__", None))
        self._make = cache(make)  # policies for the same horizon are equal, also where each call makes another function

    def __repr__(self) -> str:
        return f"tuned({getattr(self._make, '__name__', self._make.__wrapped__)})"

    def made_for(self, horizon: int) -> "Competitor":
        """Return the policy for this horizon."""
        return self._make(horizon=horizon) if self._by_name else self._make(horizon)


Competitor: TypeAlias = Policy | Tuned | Player | Callable[..., object]
"""What plays in a simulation: a policy, one that is tuned to the horizon, or a plain class."""


def tuned(make: "Callable[..., Competitor]") -> Tuned:
    """Return a policy that `simulate` and `sweep` make for the horizon of each problem.

    Args:
        make: a class of policies with a parameter `horizon`, or a function that returns a policy for a horizon.

    Example:
        >>> import rotting
        >>> policies = [tuned(rotting.GLRUCB), tuned(lambda T: rotting.SWUCB(tau=T // 4, sigma=1.0))]
        >>> problems = rotting.grid(rotting.problems.two_arms, horizon=[100, 200])
        >>> study = rotting.sweep(policies, problems, runs=2)
        >>> [result.labels[1] for result in study.results], study.labels
        (['SW-UCB, tau=25, sigma=1', 'SW-UCB, tau=50, sigma=1'], ('GLR-UCB, tuned', 'SW-UCB, sigma=1, tuned'))
    """
    return Tuned(make)


def made_policies(given: object, n_arms: int, horizon: int) -> tuple[Policy, ...]:
    """Return one or several competitors as the policies that play."""
    if isinstance(given, Policy | str):
        return check_policies(given)
    listed = [given] if isinstance(given, Tuned) or is_plain(given) else given
    if not isinstance(listed, Iterable):
        return (as_policy(listed, n_arms),)  # an error
    made = [each.made_for(horizon) if isinstance(each, Tuned) else each for each in listed]
    return check_policies([as_policy(each, n_arms) for each in made])


class Simulation:
    """Policies, the problem that they play, and the number of runs, all checked; the arguments are those of `simulate`.

    Attributes:
        policies: a tuple of the policies that the result shows.
        reference_policies: a tuple of those that play, too, since the reference needs them.
        reference: what regret is measured against, if it was chosen.
        problem: the problem; that of run 0, if every run has its own.
        family: the family that draws the problems; None if there is one problem.
        horizon: rounds of a game.
        runs: games of each policy.
        seed: a whole number.
        checkpoints: rounds at which regret is recorded, increasing; the last one is the horizon.
        first_run: the number of the first run.
        record: what is recorded in every round.

    Example:
        >>> import rotting
        >>> two = [Simulation(rotting.UCB1(), rotting.problems.two_arms(L, horizon=50), runs=4) for L in (0.5, 1.0)]
        >>> [result.runs for result in rotting.simulate_all(two)]
        [4, 4]
        >>> Simulation(rotting.UCB1(), rotting.problems.two_arms(horizon=50), runs=0)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: runs must be a whole number, 1 or more, got 0
    """

    def __init__(
        self,
        policies: Competitor | Sequence[Competitor],
        problem: Problem | ProblemFamily,
        horizon: int | None = None,
        runs: int = 100,
        seed: int = 0,
        checkpoints: Iterable[int] | None = None,
        first_run: int = 0,
        record: Record | Sequence[Record] = (),
        reference: ChosenReference | Competitor = None,
    ) -> None:
        self.runs, self.seed = positive_int("runs", runs), nonnegative_int("seed", seed)
        self.family = problem if isinstance(problem, ProblemFamily) else None
        if isinstance(problem, ProblemFamily):
            problem = problem.problem(0, self.seed)
            if problem.formula is not None or problem.has_dynamic_arms or problem.delay is not None:
                rule = "draw problems of arms that are always present, with tables of means or a memory, and no delay"
                raise InvalidValueError("a family", rule, problem)
        if not isinstance(problem, Problem):
            raise InvalidTypeError("problem", "be a Problem such as Problem.rested(means)", problem, got=type(problem).__name__)
        self.problem, self.horizon = problem, problem.resolve_horizon(horizon)
        longest = None if self.family is None else self.family.max_horizon
        if longest is not None and self.horizon > longest:
            raise InvalidValueError("horizon", f"be at most {longest}, that of {self.family!r}", self.horizon)
        self.policies = made_policies(policies, problem.n_arms, self.horizon)
        if not isinstance(reference, str | None):
            (reference,) = made_policies(reference, problem.n_arms, self.horizon)
        self.reference = check_reference(reference, problem, self.horizon, self.family)
        needed = reference_policies(self.reference, problem.n_arms)
        self.reference_policies = tuple(each for each in needed if each not in self.policies)
        for policy in self.playing:
            _check_fit(policy, problem, self.horizon, self.family)
        self.checkpoints = _check_checkpoints(checkpoints, self.horizon)
        self.first_run = nonnegative_int("first_run", first_run)
        if self.first_run + self.runs > RUNS:
            raise InvalidValueError("first_run + runs", f"be at most {RUNS}", self.first_run + self.runs)
        self.record = _check_record(record)
        check_size(self.record, len(self.playing) * self.runs, self.horizon, problem.n_arms)

    def _value(self) -> tuple[Hashable, ...]:
        problem = self.problem if self.family is None else self.family
        rounds = self.checkpoints.tobytes(), self.first_run, self.record
        return self.policies, self.reference, problem, self.horizon, self.runs, self.seed, *rounds

    def __eq__(self, other: object) -> bool:
        return self._value() == other._value() if isinstance(other, Simulation) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value())

    @property
    def playing(self) -> tuple[Policy, ...]:
        """All policies that play: those that the result shows, then those that only the reference needs."""
        return self.policies + self.reference_policies

    @property
    def rounds(self) -> int:
        """Rounds of all games together."""
        return len(self.playing) * self.runs * self.horizon

    @property
    def unsupported_feature(self) -> str:
        """The first feature of the games that some engines do not support, or an empty string.

        Example:
            >>> import rotting
            >>> simulation = Simulation(rotting.UCB1(), rotting.problems.two_arms(horizon=50), record="arms")
            >>> simulation.unsupported_feature
            'a record of every round'
        """
        extensions = self._extensions
        found = {
            "a record of every round": bool(self.record),
            "a new problem in every run": self.family is not None,
            "arms that come, leave or recover": extensions.dynamic_arms,
            "late rewards": extensions.delay is not None,
        }
        return next((name for name, has_it in found.items() if has_it), "")

    @property
    def _extensions(self) -> Extensions:
        return Extensions.of(self.problem)

    def games(self, compile: CompileMode = "auto", place: int = 0, count: int = 1) -> tuple[list[Game], str]:
        """Return one game for each policy, and the label of what regret is measured against.

        Args:
            compile: when to compile the greedy oracle, as for `simulate`.
            place: that of the first game, among all that the engine plays.
            count: how many games the engine plays.
        """
        problem, extensions = self.problem, self._extensions
        table = problem.tables(self.horizon)
        means: Means | ExtendedMeans = table
        if extensions:
            means = extend_means(table, problem, extensions.kernels, self.seed)
        label = None if self.family is None else self.family.reference
        # Plain problems get the optimum itself; so do others where it was asked for and the greedy oracle may not be optimal.
        exact = problem.is_plain or (
            self.reference == OPTIMAL and self.family is None and greedy_reference(problem, self.horizon) != OPTIMAL
        )
        if label is None and exact:
            optimum, label = optimal_rewards(problem, self.horizon, self.checkpoints)
        else:
            optimum = play_greedily(means, problem.n_arms, self.checkpoints, extensions.on_means, compile=compile)[0]
            label = label or greedy_reference(problem, self.horizon)
        keys = derive_key(self.seed, "noise"), derive_key(self.seed, "policy")
        draws: OptimumDraws | None = None
        shared = means, extensions, self.checkpoints, compile
        if self.family is not None:
            draws = FamilyDraws(*shared, family=self.family, first=problem, seed=self.seed, reference=label)
        elif extensions.draws:
            draws = OptimumDraws(*shared)
        setting = Setting(
            problem.noise,
            means,
            *keys,
            self.checkpoints,
            optimum,
            self.record,
            draws,
            extensions,
            self.unsupported_feature,
        )
        return [Game(policy, setting, place + k, count) for k, policy in enumerate(self.playing)], label


def _check_record(record: object) -> tuple[str, ...]:
    """Return the records that are asked for, in the order of `RECORDS`."""
    asked = list(record) if isinstance(record, Sequence) and not isinstance(record, str) else [record]
    for name in asked:
        if name not in RECORDS:
            hint = suggest(name, RECORDS) if isinstance(name, str) else ""
            raise InvalidValueError("record", f"be {' or '.join(map(repr, RECORDS))}, or both", name, hint=hint)
    return tuple(name for name in RECORDS if name in asked)


def _check_checkpoints(checkpoints: Iterable[int] | None, horizon: int) -> Ints:
    """Return the rounds in increasing order, with the horizon; by default 200 evenly spaced ones."""
    if checkpoints is None:
        return np.unique(np.round(np.linspace(1, horizon, min(_CHECKPOINTS, horizon))).astype(np.int64))
    given: Any = checkpoints
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iu":
        ends = [int(given.min()), int(given.max())] if given.size else []  # each round of a long game by itself takes long
    else:
        given = ends = list(given)
    checked = [positive_int("checkpoints", each) for each in ends]
    if checked and max(checked) > horizon:
        raise InvalidValueError("checkpoints", f"be at most the horizon {horizon}", max(checked))
    rounds = np.sort(np.append(np.array(given, np.int64), horizon))
    return rounds[np.diff(rounds, prepend=0) > 0]  # `np.unique` takes many times as long for sorted numbers


def _check_fit(policy: Policy, problem: Problem, horizon: int, family: ProblemFamily | None) -> None:
    """Refuse a game longer than the policy is tuned for, or rewards outside the range it declares."""
    if policy.max_rounds is not None and horizon > policy.max_rounds:
        raise horizon_error(policy, "horizon", horizon)
    if policy.reward_range is not None:
        low, high = policy.reward_range
        unknown = family is not None and problem.noise == Noiseless()
        least, most = (-math.inf, math.inf) if unknown else problem.reward_bounds(horizon)
        if not low <= least <= most <= high:
            hint = f" noise, whose rewards lie in [{least!r}, {most!r}]{how_to_accept(policy, least, most)}"
            raise range_error(policy, "rewards", problem.noise, hint)
