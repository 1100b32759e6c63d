"""The paper's times are there and marked."""

from rotting.experiments import restless_nights, runtime


def test_the_papers_times_are_marked() -> None:
    assert set(runtime.PAPER) == set(range(2, 10))
    assert {len(row) for row in runtime.PAPER.values()} == {len(restless_nights.LABELS)}
