"""What regret is measured against, where one chooses it."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting.problems import Problem, ProblemFamily, Recovering, Rested, Restless, Sum, Visiting, rebounding, two_arms
from rotting.simulation.references import SingleArm, reference_policies
from rotting.simulation.result import Result
from tests.helpers.command import run_command

POLICIES = [rotting.UCB1(sigma=1.0), rotting.RAWUCB(sigma=1.0)]
MARKS = [7, 20, 40]


def of_single_arms(problem: Problem, horizon: int) -> Any:
    """The best sum of an arm's means at each of `MARKS` if it alone is pulled, one by one."""
    sums = [np.cumsum([problem.mean(i, t, t - 1) for t in range(1, horizon + 1)]) for i in range(problem.n_arms)]
    return np.max(sums, axis=0)[np.array(MARKS) - 1]


def collected(result: Result, problem: Problem) -> Any:
    """The sum of the means of the arms that were pulled, up to each of `MARKS`, `[policy, run, mark]`."""
    assert result.arms is not None
    sums = np.empty(result.arms.shape)
    for place in np.ndindex(result.arms.shape[:2]):
        pulls = [0] * problem.n_arms
        for t, arm in enumerate(result.arms[place], start=1):
            sums[(*place, t - 1)] = problem.mean(arm, t, pulls[arm])
            pulls[arm] += 1
    return sums.cumsum(axis=2)[:, :, np.array(MARKS) - 1]


@pytest.mark.parametrize(
    "problem",
    [
        two_arms(1.0, horizon=40),
        Problem([Restless(np.linspace(1, 0, 40)), Restless(0.4), Restless(np.linspace(0, 1, 40))]),
        Problem(
            [Sum(np.linspace(1, 0, 40), np.linspace(0, -1, 40)), Rested(np.linspace(0.4, 0.9, 40)), Restless(0.3)], horizon=40
        ),
    ],
    ids=["rested", "restless", "both"],
)
def test_regret_is_what_the_reference_collects_more(problem: Problem) -> None:
    def played(reference: Any) -> Result:
        return rotting.simulate(POLICIES, problem, runs=4, checkpoints=MARKS, record="arms", reference=reference)

    plain = played(None)
    rewards = collected(plain, problem)
    against = played("best arm")
    assert against.regret == pytest.approx(of_single_arms(problem, 40) - rewards, abs=1e-9)
    greedy = rotting.simulate(rotting.GreedyOracle(), problem, runs=1, checkpoints=MARKS, record="arms")
    assert played("greedy").regret == pytest.approx(collected(greedy, problem) - rewards, abs=1e-9)
    other = rotting.simulate(rotting.EffRAWUCB(sigma=1.0), problem, runs=4, checkpoints=MARKS, record="arms")
    assert played(rotting.EffRAWUCB(sigma=1.0)).regret == pytest.approx(collected(other, problem) - rewards, abs=1e-9)
    own = played(POLICIES[0])
    assert not own.regret[0].any()  # exactly
    for each in (against, own):
        assert (each.policies, each.arms.tolist()) == (plain.policies, plain.arms.tolist())  # type: ignore[union-attr]


def test_optimal_by_name_is_the_default_where_it_is_known() -> None:
    for problem in (two_arms(1.0, horizon=40), rotting.problems.RandomBreakpoints(n_arms=2, horizon=40)):
        assert rotting.simulate(POLICIES, problem, runs=3, reference="optimal") == rotting.simulate(POLICIES, problem, runs=3)


def test_a_family_has_the_best_arm_of_each_run() -> None:
    family = rotting.problems.RandomBreakpoints(n_arms=3, horizon=40)
    found = rotting.simulate(POLICIES, family, runs=5, checkpoints=MARKS, reference="best arm", record="arms")
    for run in range(5):
        problem = family.problem(run)
        one = found.select(runs=[run])
        assert one.regret == pytest.approx(of_single_arms(problem, 40) - collected(one, problem), abs=1e-9)


def test_arms_that_recover_have_a_best_arm_and_those_that_come_have_none() -> None:
    recovering = Problem([Rested(0.5), Recovering(np.linspace(0.9, 0.1, 100))], horizon=30)
    result = rotting.simulate(rotting.UCB1(), recovering, runs=2, reference="best arm")
    assert result.reference == "best arm"
    coming = Problem([Rested(0.5), Visiting(Rested(0.8), first=9)], horizon=30)
    with pytest.raises(ValueError, match=r"^reference must be another one where arms come or leave, got 'best arm'$"):
        rotting.simulate(rotting.UCB1(), coming, runs=2, reference="best arm")


def test_an_optimum_that_is_too_expensive_is_refused_with_its_price_before_anything_is_played() -> None:
    arms = [Sum(np.linspace(1, 0, 500), np.linspace(0, -1, 500))] * 3
    short, long = (Problem(arms, horizon=T) for T in (60, 500))
    assert rotting.sweep(POLICIES, [short], runs=1, reference="optimal").results[0].is_optimal
    price = r": it takes a table of 6.3e\+10 pull counts, and at most 50,000,000 are computed$"
    with pytest.raises(
        ValueError, match=r"^reference must be 'greedy', 'best arm' or a policy for this problem, got 'optimal'" + price
    ):
        rotting.sweep(POLICIES, [short, long], runs=1, reference="optimal")
    recovering = Problem([Recovering(np.linspace(0.9, 0.1, 100))] * 9, horizon=100)
    with pytest.raises(ValueError, match=r"^horizon must be at most \d for the optimum of these arms, of which every"):
        rotting.simulate(POLICIES, recovering, runs=1, reference="optimal")
    family = ProblemFamily(lambda rng: rebounding([1.0, float(rng.random())], horizon=5))
    with pytest.raises(ValueError, match=r"got 'optimal': each run is measured against greedy \(some arms have a memory"):
        rotting.simulate(POLICIES, family, runs=1, reference="optimal")


def test_the_optimum_of_a_tiny_game_is_the_best_of_all_sequences() -> None:
    """By default regret is measured against the greedy oracle, which can be beaten there."""
    tiny = Problem([Rested([0.6, 0.1, 0.1, 0.1, 0.1, 0.1]), Recovering(np.linspace(0.2, 0.9, 9), fresh=0.5)], horizon=6)
    greedy, optimal = (rotting.simulate(POLICIES, tiny, runs=3, reference=each) for each in (None, "optimal"))
    assert (greedy.reference, optimal.reference) == ("greedy (not optimal: some arms recover)", "optimal")
    shift = optimal.regret - greedy.regret
    assert shift[0, 0].tolist() == pytest.approx(shift[-1, -1].tolist(), abs=1e-12)
    assert shift.min() >= -1e-12
    assert shift[0, 0, -1] > 0.01


def test_without_a_choice_a_reference_that_changes_between_horizons_is_named_everywhere(tmp_path: Path) -> None:
    arms = [Sum(np.linspace(1, 0, 500), np.linspace(0, -1, 500))] * 3
    study = rotting.sweep(POLICIES, rotting.grid(lambda T: Problem(arms, horizon=T), T=[60, 500]), runs=2)
    for table in (study.table(), study.compare()):
        for text in (str(table), table.to_latex(), table.to_markdown()):
            assert "Regrets against different references cannot be compared." in text
            assert " greedy " in text
        assert set(table.to_pandas()["reference"]) == {result.reference for result in study.results}
    assert "against greedy" in str([line.get_label() for line in study.plot(path=tmp_path / "p.png").axes[0].get_lines()])


def test_tables_plots_and_frames_name_the_chosen_reference() -> None:
    references: list[tuple[Any, str]] = [
        ("best arm", "Regret against the best single arm of each run."),
        ("greedy", "Regret against the greedy oracle."),
        (rotting.UCB1(sigma=1.0), "Regret against UCB1(sigma=1.0) in the same runs."),
    ]
    for reference, words in references:
        result = rotting.simulate(POLICIES, two_arms(horizon=40), runs=2, reference=reference)
        for table in (result.table(), result.compare()):
            assert words in str(table)
            assert words.replace("_", r"\_") in table.to_latex()
        assert set(result.to_pandas()["reference"]) == {result.reference}
        assert result.to_json()["optimal"] is False


def test_a_single_arm_is_a_value_that_other_processes_can_play() -> None:
    one = SingleArm(2)
    assert pickle.loads(pickle.dumps(one)) == one
    assert reference_policies("best arm", 3) == [SingleArm(0), SingleArm(1), one]
    compiled = rotting.simulate(POLICIES, two_arms(horizon=40), runs=2, reference="best arm", compile="auto")
    assert compiled == rotting.simulate(POLICIES, two_arms(horizon=40), runs=2, reference="best arm", compile="never")


def test_another_reference_is_another_result(tmp_path: Path) -> None:
    one, other = (rotting.simulate(POLICIES, two_arms(horizon=40), runs=2, reference=each) for each in ("greedy", "best arm"))
    assert one != other
    with pytest.raises(ValueError, match="have the same reference"):
        one.merge(other)
    other.save(tmp_path / "result")
    assert Result.load(tmp_path / "result") == other


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            "optimum",
            "^reference must be 'optimal', 'greedy', 'best arm' or a policy, got 'optimum'; did you mean 'optimal'\\?$",
        ),
        (rotting.GLRUCB(horizon=20), "^horizon must be at most 20"),
    ],
)
def test_a_reference_that_is_none_is_refused(reference: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rotting.simulate(POLICIES, two_arms(horizon=40), runs=2, reference=reference)


def test_the_command_line_takes_a_reference() -> None:
    for reference, words in (("best arm", "best single arm"), ("ucb1:sigma=1", "UCB1(sigma=1.0) in the same runs")):
        arguments = ["--policy", "raw-ucb", "--horizon", "40", "--runs", "2", "--reference", reference]
        assert words in run_command("simulate", *arguments).stdout
