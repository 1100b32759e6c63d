"""Policies that are made for the horizon of each simulation."""

from typing import TYPE_CHECKING, Any

import pytest

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.simulation.study import Study
from tests.policies.parts.test_plain import PlainUCB1

if TYPE_CHECKING:
    from rotting.simulation.plan import Competitor

HORIZONS = [40, 60, 80]


def window(T: int) -> rotting.Policy:
    return rotting.SWUCB(tau=T // 4, sigma=0.5)


@pytest.fixture(scope="module")
def study() -> Study:
    policies: list[Competitor] = [
        rotting.tuned(rotting.GLRUCB),
        rotting.tuned(window),
        rotting.UCB1(sigma=1.0),
        rotting.tuned(lambda T: PlainUCB1(2, sigma=T / 40)),
    ]
    return rotting.sweep(policies, rotting.grid(rotting.problems.two_arms, horizon=HORIZONS), runs=3)


def test_a_tuned_policy_equals_the_one_that_is_made_by_hand(study: Study) -> None:
    for T, result in zip(HORIZONS, study.results, strict=True):
        by_hand: list[Competitor] = [rotting.GLRUCB(horizon=T), window(T), rotting.UCB1(sigma=1.0), PlainUCB1(2, sigma=T / 40)]
        assert rotting.simulate(by_hand, rotting.problems.two_arms(horizon=T), runs=3) == result


def test_it_has_one_row_for_each_horizon_under_one_name(study: Study, tmp_path: Any) -> None:
    names = ("GLR-UCB, tuned", "SW-UCB, sigma=0.5, tuned", "UCB1", "PlainUCB1, tuned")
    assert study.labels == names
    assert study.varying == ("horizon",)
    assert [(row["horizon"], row["policy"]) for row in study.table().rows] == [(T, name) for T in HORIZONS for name in names]
    assert set(study.to_pandas()["policy"]) == {*names}
    assert {line.get_label() for line in study.plot().axes[0].get_lines()} >= {*names}
    study.save(tmp_path / "study")
    read = Study.load(tmp_path / "study")
    assert read == study
    assert read.labels == names


def test_a_study_of_one_horizon_shows_what_was_made() -> None:
    problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=40)
    study = rotting.sweep(rotting.tuned(rotting.GLRUCB), problems, runs=2)
    assert study.labels == study.results[0].labels == ("GLR-UCB, horizon=40",)


def test_other_policies_at_the_same_horizon_and_other_kinds_are_refused() -> None:
    def played(policy: rotting.Policy, T: int) -> rotting.Result:
        return rotting.simulate(policy, rotting.problems.two_arms(horizon=T), runs=2)

    for other in (played(window(60), 40), played(rotting.UCB1(sigma=1.0), 60)):
        with pytest.raises(InvalidValueError, match=r"results must be of the same policies, got others in results\[1\]"):
            Study({"T": [1, 2]}, [played(window(40), 40), other])


@pytest.mark.parametrize("make", [rotting.UCB1, rotting.UCB1(), PlainUCB1, "glr-ucb", None])
def test_what_cannot_be_tuned_is_refused(make: Any) -> None:
    with pytest.raises(
        InvalidTypeError, match="make must be a class of policies with a parameter horizon, or a function of the"
    ):
        rotting.tuned(make)


def test_a_function_must_return_a_policy_for_each_horizon() -> None:
    with pytest.raises(InvalidTypeError, match=r"policies must be policies such as RAWUCB\(alpha=1.4\), got 10"):
        rotting.simulate(rotting.tuned(lambda T: T // 4), rotting.problems.two_arms(horizon=40), runs=2)
