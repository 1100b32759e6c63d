"""Grids of policy parameters and of problem parameters, all played together."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np

from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.problems import Problem, ProblemFamily
from rotting.problems.decays import name_of
from rotting.simulation.plan import Competitor, Simulation
from rotting.simulation.references import ChosenReference
from rotting.simulation.result import Result, numbered
from rotting.simulation.simulate import AnyEngine, simulate_all
from rotting.simulation.study import Study, Value, checked_parameters, horizon_suffix, number_or_text

Item = TypeVar("Item")
Other = TypeVar("Other")
Playable = Problem | ProblemFamily


class ParameterGrid(Sequence[Item], Generic[Item]):
    """A sequence of policies or problems, one for each combination of parameters. `rotting.grid` makes it.

    Args:
        items: the policies or problems.
        parameters: the values of each parameter that varies, one for each item.
    """

    def __init__(self, items: Sequence[Item], parameters: dict[str, list[object]]) -> None:
        self._items = tuple(items)
        self.parameters = parameters

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> "ParameterGrid[Item]": ...
    def __getitem__(self, place: int | slice) -> "Item | ParameterGrid[Item]":
        if isinstance(place, slice):
            return ParameterGrid(self._items[place], {name: values[place] for name, values in self.parameters.items()})
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __add__(self, others: Sequence[Other]) -> list[Item | Other]:
        return [*self, *others]

    def __radd__(self, others: Sequence[Other]) -> list[Item | Other]:
        return [*others, *self]

    def __repr__(self) -> str:
        return f"ParameterGrid({len(self)} over {', '.join(self.parameters) or 'nothing'})"


def grid(make: Callable[..., Item], /, **parameters: object) -> ParameterGrid[Item]:
    """Call `make` with every combination of the parameters that are lists, and return the results; the last varies fastest.

    Args:
        make: the class of a policy, or a function that returns a problem.
        **parameters: a list, tuple, range or array has the values of a parameter that varies; anything else is the value for
            all. (For a parameter whose values are lists, give a list of lists.)

    Example:
        >>> import rotting
        >>> list(grid(rotting.RAWUCB, alpha=[0.5, 1.4], sigma=0.5))
        [RAWUCB(alpha=0.5, sigma=0.5), RAWUCB(alpha=1.4, sigma=0.5)]
        >>> grid(rotting.problems.two_arms, L=[0.1, 0.3, 1.0], horizon=[100, 1_000])
        ParameterGrid(6 over L, horizon)
    """
    if not callable(make):
        raise InvalidTypeError("make", "be the class of a policy or a function that returns a problem", make)
    varying = {
        name: list(values) for name, values in parameters.items() if isinstance(values, list | tuple | range | np.ndarray)
    }
    for name, values in varying.items():
        if not values:
            raise InvalidValueError(name, f"have at least one value in a grid of {name_of(make)}", values, got="none")
    fixed = {name: value for name, value in parameters.items() if name not in varying}
    cells = [dict(zip(varying, cell, strict=True)) for cell in itertools.product(*varying.values())]
    items = [make(**fixed, **cell) for cell in cells]
    return ParameterGrid(items, {name: [cell[name] for cell in cells] for name in varying})


def sweep(
    policies: Competitor | Sequence[Competitor],
    problems: Playable | Sequence[Playable],
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: Iterable[int] | None = None,
    progress: bool | None = None,
    keep: str | Path | None = None,
    engine: AnyEngine = "threads",
    reference: ChosenReference | Competitor = None,
) -> Study:
    """Let every policy play every problem, and return the results as a study, with tables, plots and the best parameters.

    Every problem is played with the same seed, so comparisons are paired: in run r, all policies have the same rewards.

    Args:
        policies: one or several, such as `rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4])`. They may be plain classes, as for
            `simulate`, and `rotting.tuned` makes a policy for the horizon of each problem.
        problems: one or several problems or families, such as `rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0])`. The
            parameters of a grid become those of the study, as texts if they are not numbers. Problems that are not from a grid
            are distinguished by their names, by the horizon ("stairs, T = 5,000") and the noise if these differ, and by a
            number if two are still the same.
        horizon: as for `simulate`, and so are the others.
        runs: games of each policy on each problem.
        seed: a whole number.
        workers: threads; all CPUs by default.
        checkpoints: rounds at which regret is recorded.
        progress: show a progress bar.
        keep: a folder for finished games: an interrupted sweep resumes there, and a finer grid plays only the new games.
        engine: as for `simulate`.
        reference: as for `simulate`; if it is "optimal", every problem must have an optimum that can be computed.

    Example:
        >>> import rotting
        >>> policies = rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4])
        >>> problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 0.3, 1.0], horizon=200)
        >>> study = sweep(policies, problems, runs=20)
        >>> study, study.varying
        (Study(3 problems over L, 2 policies, 20 runs), ('L', 'raw-ucb.alpha'))
    """
    if not isinstance(problems, Problem | ProblemFamily | Iterable):
        raise InvalidTypeError("problems", "be problems such as Problem.rested(means)", problems)
    listed: Sequence[Playable] = [problems] if isinstance(problems, Problem | ProblemFamily) else list(problems)
    if not listed:
        raise InvalidValueError("problems", "hold at least one problem", listed, got="none")
    parameters: dict[str, Sequence[Value]] = {}
    if isinstance(problems, ParameterGrid):
        parameters = {name: [_value_of(each) for each in values] for name, values in problems.parameters.items()}
    checked_parameters(parameters)  # before anything is played
    if isinstance(horizon, list | tuple | range | np.ndarray):
        hint = "; vary it with grid(two_arms, horizon=[...])"
        raise InvalidTypeError("horizon", "be one whole number for all problems", horizon, hint=hint)
    marks = None if checkpoints is None else list(checkpoints)
    given: object = policies
    # An iterator would be empty for the second problem.
    players: Any = tuple(given) if isinstance(given, Iterator) else given
    simulations = [Simulation(players, each, horizon, runs, seed, marks, reference=reference) for each in listed]
    results = simulate_all(simulations, workers, progress, keep, engine)
    return Study(parameters or {"problem": _names(results)}, results)


def _names(results: Sequence[Result]) -> tuple[str, ...]:
    """Return the names of problems with what was varied: their noises, and their horizons."""
    noises = ["" if name is None else f", {name}" for name in (each.problem.get("noise") and _noise(each) for each in results)]
    varied = len({*noises}) > 1 and len({(each.problem_name, each.horizon) for each in results}) < len(results)
    names = [f"{each.problem_name}{noise if varied else ''}" for each, noise in zip(results, noises, strict=True)]
    if len({each.horizon for each in results}) > 1:
        names = [f"{name}{horizon_suffix(each.horizon)}" for name, each in zip(names, results, strict=True)]
    return numbered(names)


def _noise(result: Result) -> str:
    """Return the noise of a problem as text."""
    kind, *numbers = result.problem["noise"].values()
    return " ".join([str(kind), *map(str, numbers)])


def _value_of(value: object) -> Value:
    """Return a value of a parameter as a study keeps it: a number, or a text."""
    kept = number_or_text(value)
    return name_of(value) if kept is None else kept
