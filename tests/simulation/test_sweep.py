"""Grids, and all that is on them played together."""

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

import rotting
from rotting.common.progress import Progress
from rotting.problems import Problem, RandomBreakpoints, two_arms
from rotting.problems.noise import Gaussian, Laplace, Noise
from rotting.simulation.engines.task import Task
from rotting.simulation.engines.threads import Threads
from rotting.simulation.study import Study
from rotting.simulation.sweep import grid, sweep


def test_a_grid_has_every_combination_in_order() -> None:
    made = grid(rotting.EffRAWUCB, alpha=np.array([1.0, 2.0]), m=[1.5, 2.0], sigma=0.5)
    assert list(made) == [rotting.EffRAWUCB(alpha=a, m=m, sigma=0.5) for a in (1.0, 2.0) for m in (1.5, 2.0)]
    assert made.parameters == {"alpha": [1.0, 1.0, 2.0, 2.0], "m": [1.5, 2.0, 1.5, 2.0]}
    assert list(made[1:3]) == list(made)[1:3]
    assert made[1:3].parameters == {"alpha": [1.0, 2.0], "m": [2.0, 1.5]}
    assert list(grid(rotting.UCB1)) == [rotting.UCB1()]


def test_a_sweep_is_the_simulations_one_by_one() -> None:
    policies, sizes = grid(rotting.EffRAWUCB, alpha=[0.5, 2.0]), [0.3, 1.0]
    study = sweep(policies, grid(two_arms, L=sizes, horizon=50), runs=7, seed=3, checkpoints=[20])
    assert study.parameters == {"L": (0.3, 1.0)}
    assert list(study.results) == [
        rotting.simulate(list(policies), two_arms(L=L, horizon=50), runs=7, seed=3, checkpoints=[20]) for L in sizes
    ]


def test_policies_may_come_one_by_one() -> None:
    policies, problems = [rotting.UCB1(), rotting.Uniform()], grid(two_arms, L=[0.1, 1.0], horizon=20)
    assert sweep(iter(policies), problems, runs=2) == sweep(policies, problems, runs=2)  # type: ignore[arg-type]


def test_problems_without_parameters_are_known_by_their_names() -> None:
    family = RandomBreakpoints(n_arms=2, horizon=40)
    study = sweep(rotting.UCB1(), [two_arms(), family], horizon=40, runs=3)
    assert study.parameters == {"problem": ("two-arms(L=0.3)", "random-breakpoints")}
    assert sweep(rotting.UCB1(), family, runs=3).results[0] == study.results[1]


def test_problems_of_one_name_are_told_apart() -> None:
    study = sweep(grid(rotting.RAWUCB, alpha=[0.5, 1.4]), [two_arms(L=0.5), two_arms(L=1.0)], horizon=40, runs=3)
    assert study.parameters == {"problem": ("two-arms(L=0.5)", "two-arms(L=1)")}
    assert study.varying == ("problem", "raw-ucb.alpha")


def test_a_parameter_of_problems_may_be_anything(tmp_path: Path) -> None:
    noises = [Gaussian(0.5), Laplace()]

    def late(n: int) -> float:
        return float(n < 5)

    def make(noise: Noise, decay: Callable[[int], float]) -> Problem:
        return Problem.rested([decay, 0.5], noise, horizon=20)

    study = sweep(rotting.UCB1(), grid(make, noise=noises, decay=[late]), runs=3)
    assert study.parameters["noise"] == ("Gaussian(sigma=0.5)", "Laplace(b=1.0)")
    assert study.parameters["decay"] == (late.__qualname__,) * 2
    study.save(tmp_path / "study")
    assert Study.load(tmp_path / "study") == study


def test_a_sweep_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finer grid plays what is new; the same grid plays nothing."""
    coarse = grid(rotting.EffRAWUCB, alpha=[0.5, 2.0])
    problems = grid(two_arms, L=[0.3, 1.0], horizon=50)
    first = sweep(coarse, problems, runs=5, keep=tmp_path)
    played: list[str] = []
    real = Threads.play

    def counted(self: Threads, games: Iterable[list[Task]], bar: Progress) -> object:
        def noted() -> Iterator[list[Task]]:
            for tasks in games:
                played.extend(repr(task.game.policy) for task in tasks)
                yield tasks

        return real(self, noted(), bar)

    monkeypatch.setattr(Threads, "play", counted)
    assert sweep(coarse, problems, runs=5, keep=tmp_path) == first
    assert played == []
    fine = sweep(grid(rotting.EffRAWUCB, alpha=[0.5, 1.0, 2.0]), problems, runs=5, keep=tmp_path)
    assert {*played} == {repr(rotting.EffRAWUCB(alpha=1.0))}
    assert fine.results[0].select([0, 2]) == first.results[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: grid(rotting.RAWUCB, alpha=[]), "alpha must have at least one value in a grid of RAWUCB, got none"),
        (
            lambda: grid("raw-ucb", alpha=[1.0]),  # type: ignore[arg-type]
            "make must be the class of a policy or a function that returns a problem, got 'raw-ucb'",
        ),
        (lambda: sweep(rotting.UCB1(), []), "problems must hold at least one problem, got none"),
        (lambda: sweep(rotting.UCB1(), None), "problems must be problems such as Problem.rested(means), got None"),  # type: ignore[arg-type]
        (lambda: sweep([], two_arms()), "policies must hold at least one policy, got none"),
        (lambda: sweep(rotting.UCB1(), [3]), "problem must be a Problem such as Problem.rested(means), got int"),  # type: ignore[list-item]
        (lambda: sweep(rotting.UCB1(), grid(lambda L: two_arms(), L=[1.0, math.nan])), "L must be a finite number, got nan"),
        (lambda: grid(rotting.RAWUCB, alpha=[-1.0]), "alpha must be a positive finite number, got -1.0"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(make: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(message)


def test_a_grid_and_a_list_are_a_list() -> None:
    grid, others = rotting.grid(rotting.UCB1, sigma=[0.5]), [rotting.Uniform()]
    assert grid + others == [rotting.UCB1(sigma=0.5), rotting.Uniform()]
    assert others + grid == [rotting.Uniform(), rotting.UCB1(sigma=0.5)]


def test_horizons_are_varied_by_a_grid() -> None:
    with pytest.raises(
        TypeError, match=r"^horizon must be one whole number for all problems, got \[1, 2\]; vary it with grid\("
    ):
        rotting.sweep(rotting.UCB1(), rotting.problems.two_arms(), horizon=[1, 2])  # type: ignore[arg-type]


def test_a_study_of_different_problems_and_policies_names_its_table() -> None:
    problems = [rotting.Problem.rested([0.5, 0.4], horizon=20), rotting.problems.two_arms(horizon=20)]
    study = rotting.sweep([rotting.UCB1(), rotting.Uniform()], problems, runs=2)
    assert study.parameters == {"problem": ("stationary problem, 2 arms", "two-arms(L=0.3)")}
    with pytest.raises(ValueError, match=r"x must be a parameter with numbers.*: use table\(\)$"):
        study.plot()


def test_the_best_of_different_kinds_is_one_of_all() -> None:
    study = rotting.sweep([rotting.UCB1(), rotting.Uniform()], rotting.problems.stationary([0.9, 0.1]), horizon=200, runs=9)
    (row,) = study.best().rows
    assert (row["kind"], row["policy"], row["next"]) == ("any", "UCB1", "uniform")


def test_problems_are_named_by_what_was_varied() -> None:
    def names(*problems: rotting.Problem) -> object:
        return rotting.sweep(rotting.UCB1(), problems, runs=1).parameters["problem"]

    def stairs(horizon: int, sigma: float = 1.0) -> rotting.Problem:
        return rotting.Problem.rested(
            [[1.0] * 6000, [0.5] * 6000], noise=rotting.Gaussian(sigma), name="stairs", horizon=horizon
        )

    other = rotting.problems.two_arms(horizon=20)
    assert names(stairs(20), other) == ("stairs", "two-arms(L=0.3)")
    assert names(stairs(20), stairs(5_000)) == ("stairs, T = 20", "stairs, T = 5,000")
    assert names(stairs(20), other, stairs(30)) == ("stairs, T = 20", "two-arms(L=0.3), T = 20", "stairs, T = 30")
    assert names(stairs(20), stairs(20, 0.5)) == ("stairs, Gaussian 1.0", "stairs, Gaussian 0.5")
    assert names(stairs(20), stairs(20)) == ("stairs", "stairs (2)")
