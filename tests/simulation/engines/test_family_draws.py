"""Games of a family: each run has its own problem and its own optimum, whatever else is played."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import rotting
from rotting.problems import Abrupt, DirichletDecay, Problem, ProblemFamily, RandomBreakpoints, ReflectedWalk, Rested, Sum
from rotting.problems.families import TableFamily
from rotting.problems.noise import Gaussian, Noiseless
from rotting.problems.oracle import optimal_rewards
from rotting.simulation.engines.greedy import FamilyDraws
from rotting.simulation.plan import Simulation
from tests.conftest import INTERPRETED

RUNS = 8 if INTERPRETED else 60
FAMILIES = [
    RandomBreakpoints(3, 50, pieces=3, clock="pulls"),
    RandomBreakpoints(3, 50, pieces=3),
    ReflectedWalk(4, 40),
    DirichletDecay(2, 60, clock="pulls", noise=Noiseless()),
    ReflectedWalk(2, 30, clock="pulls"),  # rises with its pulls: the greedy oracle is not optimal
]


def draws(family: ProblemFamily, seed: int = 0) -> FamilyDraws:
    (game,), _ = Simulation(rotting.UCB1(), family, seed=seed, checkpoints=[5]).games()
    found = game.setting.draws
    assert isinstance(found, FamilyDraws)
    return found


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_run_is_the_game_on_its_own_problem(family: TableFamily) -> None:
    policies = [rotting.UCB1(), rotting.EffRAWUCB(), rotting.GreedyOracle()]
    result = rotting.simulate(policies, family, runs=RUNS, seed=3, checkpoints=[7, 20])
    assert result.reference == "optimal"
    for run in (0, 1, RUNS - 1):
        alone = rotting.simulate(policies, family.problem(run, seed=3), runs=RUNS, seed=3, checkpoints=[7, 20])
        np.testing.assert_array_equal(result.pulls[:, run], alone.pulls[:, run])
        np.testing.assert_allclose(result.regret[:, run], alone.regret[:, run], rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_run_does_not_depend_on_others(family: TableFamily) -> None:
    """Nor on the workers, nor on the number of runs; `play` plays the same."""
    many = rotting.simulate(rotting.UCB1(), family, runs=RUNS, seed=5, workers=3, checkpoints=range(1, family.horizon))
    few = rotting.simulate(rotting.UCB1(), family, runs=3, seed=5, workers=1, checkpoints=range(1, family.horizon))
    assert many.regret[:, :3].tobytes() == few.regret.tobytes()
    game = rotting.play(rotting.UCB1(), family, run=RUNS - 1, seed=5)
    assert game.regret.tobytes() == many.regret[0, -1].tobytes()
    assert game.problem == family.problem(RUNS - 1, seed=5)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_tables_are_those_of_the_problems_however_many_are_drawn(family: TableFamily) -> None:
    means, optimum = draws(family).tables(2, 4)
    for row, run in enumerate(range(2, 6)):
        problem = family.problem(run)
        expected = optimal_rewards(problem, checkpoints=[5, family.horizon]).cumulative
        np.testing.assert_allclose(optimum[row], expected, rtol=1e-15)
        alone, best = draws(family).tables(run, 1)
        assert best.tobytes() == optimum[row : row + 1].tobytes()
        arms = slice(row * family.n_arms, (row + 1) * family.n_arms)
        np.testing.assert_array_equal(
            alone.pull_values, means.pull_values[means.pull_first[arms][0] :][: alone.pull_values.size]
        )


def test_tables_are_drawn_once_for_several_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    real = RandomBreakpoints.rows

    def counted(family: RandomBreakpoints, rng: np.random.Generator) -> object:
        drawn.append(1)
        return real(family, rng)

    monkeypatch.setattr(RandomBreakpoints, "rows", counted)
    family = FAMILIES[0]
    rotting.simulate(rotting.UCB1(), family, runs=20, workers=1)
    once = len(drawn)
    rotting.simulate([rotting.UCB1(), rotting.EffRAWUCB()], family, runs=20, workers=1)
    assert len(drawn) - once == once


def test_kept_games_of_a_family_are_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES[0]
    first = rotting.simulate(rotting.UCB1(), family, runs=RUNS, keep=tmp_path)
    other = rotting.simulate(rotting.UCB1(), RandomBreakpoints(3, 50, pieces=4, clock="pulls"), runs=RUNS, keep=tmp_path)
    assert not np.array_equal(first.regret, other.regret)
    monkeypatch.setattr(FamilyDraws, "tables", None)  # nothing is left to be drawn
    assert rotting.simulate(rotting.UCB1(), FAMILIES[0], runs=RUNS, keep=tmp_path) == first


def test_draws_can_be_sent_elsewhere() -> None:
    here = draws(FAMILIES[0], seed=4)
    there = pickle.loads(pickle.dumps(here))
    assert there.digest == here.digest != draws(FAMILIES[0], seed=5).digest
    assert there.tables(3, 2)[1].tobytes() == here.tables(3, 2)[1].tobytes()
    assert there.seed == 4


def of_run(*problems: Problem) -> ProblemFamily:
    """Draws the first problem for run 0, and one of the others for the rest."""
    first = ProblemFamily(lambda rng: Problem.rested([[rng.random()]])).problem(0)

    def draw(rng: np.random.Generator) -> Problem:
        return problems[0] if Problem.rested([[rng.random()]]) == first else problems[1]

    return ProblemFamily(draw)


PLAIN = Problem.rested([0.5, 0.4], horizon=30)
BOTH = Problem([Sum(Abrupt(1.0, 0.0, at=3), Abrupt(1.0, 0.0, at=4))] * 9, horizon=30)
FALLING = Problem([Rested(Abrupt(1.0, 0.0, at=3))] * 9, horizon=30)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (of_run(PLAIN, Problem.rested([0.5, 0.4, 0.3], horizon=30)), "one number of arms, got 2 in run 0 and 3 in run "),
        (
            of_run(PLAIN, Problem.rested([0.5, 0.4], Gaussian(2.0), horizon=30)),
            "one noise, got Gaussian(sigma=1.0) in run 0 and",
        ),
        (of_run(FALLING, BOTH), "one reference for all runs, got 'optimal' in run 0 and 'greedy (not optimal"),
        (of_run(BOTH, FALLING), "one reference for all runs, got 'greedy (not optimal"),
    ],
)
def test_problems_that_are_no_kin_are_refused_in_one_sentence(family: ProblemFamily, message: str) -> None:
    with pytest.raises(ValueError, match="a family must ") as caught:
        rotting.simulate(rotting.UCB1(), family, runs=20)
    assert message in str(caught.value)


def test_the_reference_of_a_run_is_that_of_the_whole_game_whatever_the_checkpoints() -> None:
    assert rotting.simulate(rotting.UCB1(), of_run(PLAIN, PLAIN), horizon=2, runs=2).reference == "optimal"
    for checkpoints in ([1, 2], [30]):
        result = rotting.simulate(rotting.UCB1(), of_run(BOTH, BOTH), runs=2, checkpoints=checkpoints)
        assert result.reference.startswith("greedy (not optimal")
    assert rotting.simulate(rotting.UCB1(), of_run(BOTH, BOTH), horizon=2, runs=2).reference == "optimal"


def test_rewards_of_unknown_range_are_refused() -> None:
    family = ReflectedWalk(2, 20, noise=Noiseless())
    with pytest.raises(ValueError, match="rewards must be in"):
        rotting.simulate(rotting.KLUCB(), family, runs=2)
    with pytest.raises(ValueError, match="bounds must be False for a family, which has a problem for each run, got True"):
        rotting.simulate(rotting.UCB1(), family, runs=2).plot(bounds=True)


def test_the_table_says_that_the_regret_is_bayesian() -> None:
    assert "Bayesian regret" in str(rotting.simulate(rotting.UCB1(), FAMILIES[0], runs=2).table())
