"""Durations in words, and a clock that never goes back."""

from datetime import timedelta
from typing import Any

import pytest

from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.live.locks import steady_clock
from rotting.live.values import seconds_in


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [
        ("45s", 45.0),
        ("30min", 1_800.0),
        ("2h", 7_200.0),
        ("1.5 h", 5_400.0),
        ("1d", 86_400.0),
        (timedelta(minutes=30), 1_800.0),
        (0.25, 0.25),
        (90, 90.0),
    ],
)
def test_a_duration_is_a_number_of_seconds(duration: Any, seconds: float) -> None:
    assert seconds_in("reward_window", duration) == seconds


@pytest.mark.parametrize(
    "duration", ["", "30", "min", "-1h", "1w", "1h30min", "0s", 0, -5, float("nan"), float("inf"), timedelta(0)]
)
def test_other_values_are_refused_by_name(duration: Any) -> None:
    with pytest.raises(InvalidValueError, match="^older_than must be a positive duration") as caught:
        seconds_in("older_than", duration)
    assert (caught.value.field, caught.value.value) == ("older_than", duration) or duration != duration  # noqa: PLR0124 - NaN


@pytest.mark.parametrize("duration", ["9" * 40 + "d", 1e300, timedelta.max])
def test_a_duration_that_no_store_can_add_to_a_time_is_refused(duration: Any) -> None:
    with pytest.raises(InvalidValueError, match="; the longest is 1e12 s$"):
        seconds_in("reward_window", duration)


@pytest.mark.parametrize("duration", [True, None, ["1h"], b"1h"])
def test_other_types_are_refused_by_name(duration: Any) -> None:
    with pytest.raises(InvalidTypeError, match="^reward_window must be a positive duration"):
        seconds_in("reward_window", duration)


def test_the_clock_does_not_go_back() -> None:
    times = [steady_clock() for _ in range(100)]
    assert times == sorted(times)
