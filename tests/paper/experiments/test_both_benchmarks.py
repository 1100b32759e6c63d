"""RAW-UCB and FEWA on both benchmarks: the games of two experiments, played once, and their ratios over each other."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rotting.paper import experiments
from rotting.paper.datasets import Nights
from rotting.paper.experiments import both_benchmarks as experiment
from rotting.paper.experiments import rested_two_arms, restless_nights
from rotting.paper.report.claims import Verdict
from rotting.simulation.simulate import simulate_all
from tests.helpers.tiny_experiments import tiny_night

if TYPE_CHECKING:
    from rotting.simulation.plan import Simulation


@pytest.mark.usefixtures("tiny")
def test_its_games_are_those_of_the_two_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Simulation] = []

    def counted(games, *rest, **options):  # type: ignore[no-untyped-def]
        played.extend([] if "compile" in options else games)  # others are played for their times
        return simulate_all(games, *rest, **options)

    monkeypatch.setattr(experiments, "simulate_all", counted)
    finished = experiments.run(["restless-nights", "rested-two-arms", "both-benchmarks"], progress=False)
    rested, nights, both = finished
    assert [each.section.id for each in finished] == ["rested-two-arms", "restless-nights", "both-benchmarks"]
    assert len(played) == len(rested.results) + len(nights.results)
    for name, result in both.results.items():
        assert result is {**rested.results, **nights.results}[name]


def test_the_difference_is_that_of_the_ratios() -> None:
    """FEWA regrets 3 times as much as RAW-UCB when rested and 6 times when restless: twice the difference; 4: none more."""
    settings, nights = experiment.SIZES["full"], Nights((tiny_night(2), tiny_night(7)))

    def drawn(labels: tuple[str, ...], **means: float) -> Any:
        regret = np.ones((len(labels), 5, 1)) * np.linspace(0.9, 1.1, 5)[:, None]
        for label, mean in means.items():
            regret[labels.index(label)] *= mean
        return SimpleNamespace(regret=regret)

    rested = drawn(rested_two_arms.LABELS, **{rested_two_arms.FEWA: 3.0, rested_two_arms.FEWA_4: 4.0})
    restless = drawn(restless_nights.LABELS, **{restless_nights.FEWA: 6.0, restless_nights.FEWA_4: 2.0})
    played: Any = {rested_two_arms.game_name(L): rested for L in settings.rested.drops}
    played |= {f"night-{number}": restless for number in nights}
    found = experiment.findings(settings, experiments.Prepared({}, data=nights), played)
    empirical, theoretical = found.claims
    assert (round(empirical.estimate.mean, 9), empirical.verdict) == (2.0, Verdict.HOLDS)
    assert (round(theoretical.estimate.mean, 9), theoretical.verdict) == (0.5, Verdict.FAILS)
    assert all(claim.synthetic for claim in found.claims)
    assert [row["restless"].mean for row in found.tables["fewa-over-raw-ucb"].rows] == pytest.approx([6.0, 2.0])
