"""A name that was added is never denied, and few others are taken for known ones."""

import pytest

from rotting.store.name_filter import NameFilter


def test_no_name_that_was_added_is_denied_and_few_others_are_not() -> None:
    names = NameFilter()
    for number in range(20_000):
        names.add(f"key:{number}")
    assert all(names.may_have(f"key:{number}") for number in range(20_000))
    wrong = sum(names.may_have(f"other:{number}") for number in range(20_000))
    assert wrong < 200  # the two full parts are wrong about 1 in 202: 99 of these names, with a standard deviation of 10


@pytest.mark.parametrize("own", [0, 1, 1_151, 1_152, 1_153])
def test_a_filter_that_includes_another_one_denies_no_name_of_either(own: int) -> None:
    names, others = NameFilter(f"key:{number}" for number in range(own)), NameFilter(f"old:{number}" for number in range(2_000))
    names.include(others)
    for number in range(own, 12_000):
        names.add(f"key:{number}")
    assert all(names.may_have(f"key:{number}") for number in range(12_000))
    assert all(names.may_have(f"old:{number}") for number in range(2_000))
    assert sum(names.may_have(f"other:{number}") for number in range(12_000)) < 240  # 1 in 50; at most 1 in 80 is expected


def test_an_empty_filter_knows_no_name() -> None:
    assert not any(NameFilter().may_have(f"key:{number}") for number in range(1_000))
