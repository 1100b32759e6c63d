"""Verdicts on single arms."""

import math
from itertools import pairwise

import numpy as np
import pytest

import rotting
from rotting.common.rules import LARGEST
from rotting.logs.log import Log
from rotting.logs.trends import FEWEST_REWARDS, GRID, arm_trends, grid_up_to


def verdicts(rows: int, **curves: tuple[float, float]) -> dict[object, str]:
    """Return the verdicts on arms whose means go from the first to the second number."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[object]] = {"arm": [], "reward": []}
    for name, (first, last) in curves.items():
        columns["arm"] += [name] * rows
        columns["reward"] += list(np.linspace(first, last, rows) + rng.normal(0.0, 0.3, rows))
    return {each.name: each.verdict for each in arm_trends(Log(columns))}


def test_each_verdict_is_given() -> None:
    found = verdicts(4_000, worn=(1.0, 0.4), fresh=(1.0, 1.0), better=(0.5, 1.0))
    assert found == {"worn": "wears out", "fresh": "steady", "better": "rises"}
    assert verdicts(60, worn=(1.0, 0.6)) == {"worn": "too few"}


def test_the_largest_rewards_are_judged_like_others() -> None:
    curves = [(arm, mean) for k in range(200) for arm, mean in (("worn", 200 - k), ("fresh", 100 + k % 2))]
    plain, large = (arm_trends(Log([(arm, scale * mean) for arm, mean in curves])) for scale in (1.0, LARGEST / 200))
    assert [each.verdict for each in plain] == ["wears out", "steady"] == [each.verdict for each in large]


def test_an_arm_with_few_pulls_has_no_numbers() -> None:
    (trend,) = arm_trends(Log([("a", 1.0)] * (FEWEST_REWARDS - 1)))
    assert trend.verdict == "too few"
    assert all(map(math.isnan, (trend.launch, trend.recent, trend.low, trend.high)))


def test_pulls_without_a_reward_count_as_pulls_and_are_not_judged() -> None:
    known = [("a", 1.0 - k / 100) for k in range(100)]
    (without,) = arm_trends(Log(known))
    (trend,) = arm_trends(Log([*known, *[("a", None)] * 3]))
    assert (without.pulls, trend.pulls) == (100, 103)
    assert trend._replace(pulls=100) == without
    rows = [("a", 1.0 if k % 2 else None) for k in range(2 * (FEWEST_REWARDS - 1))]
    (few,) = arm_trends(Log(rows))
    assert (few.pulls, few.verdict) == (len(rows), "too few")
    assert math.isnan(few.launch)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_rewards_are_steady(value: float) -> None:
    (trend,) = arm_trends(Log([("a", value)] * 100))
    assert (trend.verdict, trend.low, trend.high) == ("steady", 0.0, 0.0)


def test_launch_and_recent_are_quarters_of_the_reached_number() -> None:
    rewards = np.arange(100.0)
    (trend,) = arm_trends(Log([("a", each) for each in rewards]))
    reached = max(n for n in grid_up_to(100) if n <= 100)
    assert trend.launch == rewards[: reached // 4].mean()
    assert trend.recent == rewards[reached - reached // 4 : reached].mean()


def test_the_grid_leaves_out_few_pulls() -> None:
    grid = grid_up_to(100_000)
    assert grid[0] == FEWEST_REWARDS
    assert all(n % 4 == 0 for n in grid)
    assert all(b / a < GRID + 4 / a for a, b in pairwise(grid))
    assert 100_000 / grid[-1] < GRID + 1e-3


def test_a_learning_policy_does_not_make_steady_arms_look_worn() -> None:
    """UCB1 leaves an arm after bad luck. If an alarm has a probability of 5 %, 12 or more in 60 logs have one below 1e-4."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        bandit = rotting.Bandit(rotting.UCB1(sigma=0.3), arms=range(5), seed=seed)
        rows = []
        for _ in range(400):
            arm = bandit.pull()
            reward = float(0.5 + 0.02 * arm + rng.normal(0.0, 0.5))
            bandit.update(arm, reward)
            rows.append((arm, reward))
        alarms += any(each.verdict == "wears out" for each in arm_trends(Log(rows)))
    assert alarms < 12
