"""Student's quantile by its two methods, where each could stand for the other."""

import pytest

from rotting.common import statistics
from rotting.common.statistics import t_critical


@pytest.mark.parametrize("degrees", [201, 202, 250, 400])
def test_the_expansion_keeps_the_digits_it_promises(monkeypatch: pytest.MonkeyPatch, degrees: int) -> None:
    expanded = t_critical.__wrapped__(degrees)
    monkeypatch.setattr(statistics, "SERIES_UP_TO", degrees)
    assert expanded == pytest.approx(t_critical.__wrapped__(degrees), rel=0, abs=1e-11)
