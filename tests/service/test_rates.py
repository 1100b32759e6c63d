"""Limits of requests a second."""

from rotting.service.rates import Rates


def test_each_caller_has_a_limit_of_its_own() -> None:
    rates = Rates(10.0)
    assert [rates.wait("a", 0.0) for _ in range(10)] == [0.0] * 10
    assert rates.wait("a", 0.0) > 0.0
    assert rates.wait("b", 0.0) == 0.0
    allowed = sum(rates.wait("a", number / 1_000) == 0.0 for number in range(1, 10_001))
    assert 99 <= allowed <= 101


def test_few_callers_are_remembered() -> None:
    rates = Rates(1.0)
    for number in range(20_000):
        assert rates.wait(str(number), 0.0) == 0.0
    assert len(rates._buckets) == 10_000
