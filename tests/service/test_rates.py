"""Limits of requests a second."""

import pytest

from rotting.service.rates import Rates


def test_each_caller_has_a_limit_of_its_own() -> None:
    rates = Rates(10.0)
    assert [rates.wait("a", 0.0) for _ in range(10)] == [0.0] * 10
    assert rates.wait("a", 0.0) > 0.0
    assert rates.wait("b", 0.0) == 0.0
    allowed = sum(rates.wait("a", number / 1_000) == 0.0 for number in range(1, 10_001))
    assert 99 <= allowed <= 101


@pytest.mark.parametrize(("rate", "at_once"), [(10.0, 10), (2.5, 2), (0.1, 1)])
def test_an_idle_caller_saves_up_at_most_one_second_of_requests(rate: float, at_once: int) -> None:
    rates = Rates(rate)
    for now in (0.0, 1_000.0, 1_000_000.0):
        assert [rates.wait("a", now) == 0.0 for _ in range(at_once + 1)] == [True] * at_once + [False]


def test_the_number_of_remembered_callers_is_bounded() -> None:
    rates = Rates(1.0)
    for number in range(20_000):
        assert rates.wait(str(number), 0.0) == 0.0
    assert len(rates._buckets) == 10_000
