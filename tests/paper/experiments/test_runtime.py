"""The paper's times are there and marked."""

from rotting.paper.experiments import restless_nights


def test_the_papers_times_are_marked() -> None:
    assert set(restless_nights.PAPER_SECONDS) == set(range(2, 10))
    assert {len(row) for row in restless_nights.PAPER_SECONDS.values()} == {len(restless_nights.LABELS)}
