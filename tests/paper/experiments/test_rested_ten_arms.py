"""Ten rested arms: what cannot learn is told by how its regret grows."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.paper.experiments import rested_ten_arms as experiment
from rotting.paper.report.claims import Claim, Verdict

RUNS, T = 30, 1_000
MARKS = np.arange(1, 201) * T // 200


def claims(over_rounds: float, over_horizons: float, scale: float = 1.0) -> dict[str, Claim]:
    """Regrets that grow like powers of the round and of the horizon; RAW-UCB's like their logarithms."""
    spread = scale * np.linspace(0.9, 1.1, RUNS)[:, None]
    regret = np.ones((len(experiment.LABELS), RUNS, MARKS.size)) * np.log(MARKS)
    longer = [np.ones((3, RUNS, 1)) * np.log(times * T) for times in experiment.LONGER]
    for label in (experiment.SW, experiment.D):
        regret[experiment.LABELS.index(label)] = spread * (MARKS / T) ** over_rounds
        for each, times in zip(longer, experiment.LONGER, strict=True):
            each[experiment.GROWING.index(label)] = spread * times**over_horizons
    played: Any = {experiment.GAME: SimpleNamespace(regret=regret, checkpoints=MARKS, horizon=T)}
    played |= {
        experiment.longer_name(times): SimpleNamespace(regret=each)
        for times, each in zip(experiment.LONGER, longer, strict=True)
    }
    return {each.id: each.decide(played) for each in experiment.STATEMENTS}


@pytest.mark.parametrize("name", ["sw-ucb", "d-ucb"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_growth_tells_what_cannot_learn_however_much_it_regrets(name: str, scale: float) -> None:
    """A power of 1 is linear, 1/2 is not: each is told from the rounds of a game and from the horizons, one by one."""
    for power, verdict in ((1.0, Verdict.HOLDS), (0.5, Verdict.FAILS)):
        other = 1.5 - power
        assert claims(power, other, scale)[f"ten-arms-{name}-linear-in-rounds"].verdict == verdict
        assert claims(other, power, scale)[f"ten-arms-{name}-linear-in-horizons"].verdict == verdict


def test_the_regret_of_raw_ucb_stands_beside_it() -> None:
    found = claims(1.0, 1.0)["ten-arms-sw-ucb-linear-in-horizons"]
    assert found.estimate.mean == pytest.approx(2.0)
    assert found.remark.startswith("For comparison, RAW-UCB 1.4: 1.000 [1.000, 1.000]. Regret over that of RAW-UCB 1.4: ")


def test_longer_games_are_tuned_to_their_own_horizon() -> None:
    prepared = experiment.prepare(experiment.SIZES["quick"], 1, False)
    for times in experiment.LONGER:
        game = prepared.games[experiment.longer_name(times)]
        T = times * experiment.SIZES["quick"].horizon
        tuned = experiment.policies(T)
        assert game.policies == tuple(tuned[label] for label in experiment.GROWING)
        assert game.problem.horizon == T
        assert tuned[experiment.SW] != experiment.policies(T // 2)[experiment.SW]
