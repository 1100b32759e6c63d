"""Arms: on which clock a mean runs, and whether it rises."""

import pytest

from rotting import problems
from rotting.problems import Exponential, General, Logistic, Problem, Product, Recovering, Rested, Restless, Sum


@pytest.mark.parametrize(
    ("arms", "kind"),
    [
        ([Rested(0.5), Restless([0.25, 0.25])], "stationary"),
        ([Rested([1, 0]), Restless(0.5)], "rested"),
        ([Rested(0.5), Restless([1, 0])], "restless"),
        ([Rested([1, 0]), Restless([1, 0])], "both"),
        ([Sum([1, 0], 0.5)], "rested"),
        ([Product(0.5, [1, 0])], "restless"),
        ([Sum([1, 0], [1, 0])], "both"),
        ([General(lambda t, n: 0.0)], "both"),
        ([Rested(lambda n: 0.0)], "rested"),
    ],
)
def test_kind(arms: list[problems.Arm], kind: str) -> None:
    assert Problem(arms).kind == kind


def test_a_callable_of_a_restless_arm_counts_rounds_from_zero() -> None:
    assert Problem.restless([float], horizon=4).mean(0, t=4, n=0) == 3.0


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        (Rested([0.5, 0.5, 0.75]), "arm 1 rises with its pulls, from 0.5 at n = 1 to 0.75 at n = 2 (at round t = 3)"),
        (
            Restless([0.5, 0.25, 1.0]),
            "arm 1 rises with its rounds, from 0.25 at t = 2 to 1.0 at t = 3 (after n = 0 pulls)",
        ),
        (
            Sum([1, 0, 0], [0, 0.5, 0]),
            "arm 1 rises with its rounds, from 1.0 at t = 1 to 1.5 at t = 2 (after n = 0 pulls)",
        ),
        (
            Product([1, -1, -1], [1, 1, 0.5]),
            "arm 1 rises with its rounds, from -1.0 at t = 2 to -0.5 at t = 3 (after n = 1 pulls)",
        ),
        (
            Product([-1, -2, -3], [1, -1, -1]),
            "arm 1 rises with its pulls, from 1.0 at n = 0 to 2.0 at n = 1 (at round t = 2)",
        ),
        (
            General(lambda t, n: -1.0 if (t, n) == (2, 1) else -2.0),
            "arm 1 rises with its pulls, from -2.0 at n = 0 to -1.0 at n = 1 (at round t = 2)",
        ),
    ],
)
def test_is_rotting_says_where_it_fails(arm: problems.Arm, sentence: str) -> None:
    check = Problem([Rested(0.0), arm], horizon=3).is_rotting()
    assert not check
    assert str(check) == f"not rotting: {sentence}"
    assert check.where is not None
    assert check.where.arm == 1


@pytest.mark.parametrize(
    "arm",
    [
        Rested([1, 1, 0.5]),
        Restless([1, 1, 0.5]),
        Sum([1, 0, -1], [1, 1, -5]),
        Product([3, 2, 1], [3, 2, 1]),
        Product([-1, -2, -3], [1, 2, 3]),  # a negative factor: the other one may rise
        General(lambda t, n: -t - n),
        Rested(Exponential(1, 1e-12)),
        Rested(Logistic(1, 0, at=1.5, width=1e3)),
    ],
)
def test_is_rotting_when_nothing_rises(arm: problems.Arm) -> None:
    check = Problem([arm], horizon=3).is_rotting()
    assert check
    assert check.where is None
    assert str(check) == "rotting: no mean rises up to round 3"


def test_a_recovering_table_lasts_one_round_longer_than_its_values() -> None:
    problem = Problem([Recovering([0.1, 0.5])])
    assert problem.max_horizon == problem.arms[0].settles == 3
    assert problem.tables(3).pull_values.tolist() == [0.5, 0.1, 0.5]
    with pytest.raises(ValueError, match="horizon must be at most 3"):
        problem.tables(4)
