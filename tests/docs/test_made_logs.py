"""Logs of policies that learn are those of a live bandit, decision by decision."""

import numpy as np
import pytest

import rotting
from docs.made_logs import LOGGERS, REWARDS, UNIFORM, make_world, poisson


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("logger", LOGGERS[1:])
def test_a_bandit_that_plays_live_chooses_the_same_arms_and_gets_the_same_rewards(logger: str, rewards: str) -> None:
    world, seed = make_world(3, "both", rewards, rounds=400, n_arms=3, n_units=4), 5
    log = world.log(logger, seed)
    rng = np.random.default_rng([seed, LOGGERS.index(logger)])
    units = rng.choice(4, 400, p=world.traffic)
    any_arm = rng.integers(0, 3, 400)
    explores = rng.random(400) < (UNIFORM if logger == LOGGERS[2] else 0.0)
    noise = rng.normal(size=400) if rewards == "Gaussian" else rng.random(400)
    bandit = rotting.Bandit(_policy(logger, rewards), [0, 1, 2], seed=seed)
    means = world.log_means(log)
    for row in range(400):
        arm, mean = log.arms[log.arm[row]], means[row]
        assert log.units[log.unit[row]] == units[row]
        assert arm == (any_arm[row] if explores[row] else bandit.pull())
        paid = {"clicks": float(noise[row] < mean), "Gaussian": mean + noise[row], "counts": poisson(mean, noise[row])}
        assert np.isclose(log.reward[row], paid[rewards], rtol=1e-12)
        bandit.update(arm, log.reward[row])


def _policy(logger: str, rewards: str) -> rotting.Policy:
    if logger == LOGGERS[2]:
        return rotting.RAWUCB(sigma="estimate")
    return (
        rotting.ThompsonSampling()
        if rewards == "clicks"
        else rotting.ThompsonSampling("gaussian", sigma={"Gaussian": 1.0, "counts": 2.0}[rewards])
    )


def test_counts_have_the_distribution_function_of_poisson() -> None:
    chances = np.exp(-2.0) * np.array([1.0, 2.0, 2.0, 4 / 3])
    ends = np.cumsum(chances)
    assert [poisson(2.0, float(x)) for x in ends - 1e-9] == [0.0, 1.0, 2.0, 3.0]
    assert [poisson(2.0, float(x)) for x in ends + 1e-9] == [1.0, 2.0, 3.0, 4.0]
