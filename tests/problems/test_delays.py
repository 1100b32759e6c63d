"""Delays are values: checked, compared, written as JSON. What they do to a game is tested with the games."""

import json
import math
from collections.abc import Callable

import numpy as np
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


@pytest.mark.parametrize("make", [FixedDelay, lambda rounds: UniformDelay(0, rounds), GeometricDelay])
def test_delays_that_no_round_has_a_number_for_are_refused(make: Callable[[int], Delay]) -> None:
    """Compiled, they would be negative, and a reward would be written outside its array."""
    assert make(2**53).draw(make(2**53).scale, 7, 0, 1) >= 0
    for rounds in (2**53 + 2, 10**19, 10**400):
        with pytest.raises(ValueError, match=r"must be a (whole )?number of rounds, from 0 to 2\^53, got 1|got 9"):
            make(rounds)


@pytest.mark.parametrize("mean", [1e-320, 1e-9, 0.5, 100.0, 1e6, 1e12, 1e15])
def test_geometric_delays_have_their_mean_however_large(mean: float) -> None:
    delay = GeometricDelay(mean)
    drawn = np.array([delay.draw(delay.scale, 7, run, 1) for run in range(4_000)])
    assert drawn.min() >= 0
    # Of 4,000, the mean is within five standard errors, of which one is sqrt(mean (1 + mean) / 4,000).
    assert abs(drawn.mean() - mean) <= 5 * math.sqrt(mean * (1 + mean) / 4_000)
