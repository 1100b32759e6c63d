"""Delays are values: checked, compared, written as JSON. What they do to a game is tested with the games."""

import json

import pytest

from rotting.problems import Delay, FixedDelay, GeometricDelay, Problem, UniformDelay
from rotting.problems.delays import from_json

ALL = [FixedDelay(0), FixedDelay(10, lost=0.25), UniformDelay(2, 7), GeometricDelay(0.5, lost=1.0)]


@pytest.mark.parametrize("delay", ALL, ids=repr)
def test_a_delay_is_a_value_that_survives_json(delay: Delay) -> None:
    assert from_json(json.loads(json.dumps(delay.to_json()))) == delay
    assert eval(repr(delay)) == delay
    assert len({*ALL, delay}) == len(ALL)


def test_a_problem_with_a_delay_is_another_problem() -> None:
    plain = Problem.rested([0.5, 0.4], horizon=9)
    late = plain.delayed(ALL[1])
    assert late != plain
    assert late.delayed(None) == plain
    assert late.describe() == {**plain.describe(), "delay": ALL[1].to_json()}
    assert repr(late) == repr(plain)[:-1] + ", delay=FixedDelay(lost=0.25, rounds=10))"
