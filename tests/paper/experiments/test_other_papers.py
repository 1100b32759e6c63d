"""Experiments of other papers: what is compared, and what their reports say."""

import numpy as np
import pytest

from rotting.paper import experiments
from rotting.paper.experiments import fewa2019, levine2017


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["fewa2019", "levine2017"])
def test_the_best_of_each_grid_is_compared(name: str) -> None:
    module = {"fewa2019": fewa2019, "levine2017": levine2017}[name]
    (finished,) = experiments.run([name], workers=1, progress=False)
    found, grids = finished.section.findings, {}
    for game, result in finished.results.items():
        problem = result.played
        assert problem is not None
        ends = dict(zip(result.policies, result.regret[:, :, -1], strict=True))
        for label, policies in module.policies(problem).items():
            grids[game, label] = min((ends[each] for each in policies), key=np.mean)
    for row in found.tables["regret"].rows:
        for game in finished.results:
            assert row[game].mean == pytest.approx(grids[game, row["policy"]].mean())
    assert [panel.title for panel in found.figures[0].panels] == list(finished.results)
    assert len({claim.id for claim in found.claims}) == len(found.claims) > 2
    title = experiments.about([finished]).title
    assert title == f"{finished.section.title}: reproduced"
    assert name not in experiments.list_experiments(other=False)


def test_a_claim_compares_two_policies_on_its_games() -> None:
    experiment = levine2017.EXPERIMENT
    assert experiment.sizes["full"].runs == 100
    assert experiment.sizes["full"].horizon == 30_000
    assert fewa2019.EXPERIMENT.sizes["full"].runs == 500
