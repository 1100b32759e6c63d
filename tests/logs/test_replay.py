"""Replays: how far the log reaches, what was earned, and bounds to the end."""

import math
import re

import numpy as np
import pytest

import rotting
from rotting.common.statistics import t_critical
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.logs.buckets import Buckets, EmptyBucket, buckets_of, draw_queues
from rotting.logs.log import Log
from rotting.logs.replay import DRAWS, replay
from rotting.logs.stacks import play_stacks

LOG = Log([("a", 1.0), ("b", 0.0), ("a", 1.0), ("b", 0.0), ("a", 0.5), ("b", 0.0)])


def uniform_log(rows: int = 3_000, low: float = 0.0) -> Log:
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 3, rows)
    return Log({"arm": arm, "reward": np.maximum(low, rng.random(rows) + 0.2 * arm)})


def test_a_replay_by_hand() -> None:
    (found,) = replay(LOG, rotting.UCB1())
    assert (found.steps, found.reward, found.log_reward, found.ran_out) == (4, 2.5, 2.0, "a")
    assert found.choices == ("a", "b", "a", "a")


def test_lists_have_an_entry_for_each_policy() -> None:
    found = replay(uniform_log(), [rotting.UCB1(), rotting.RAWUCB(), rotting.Uniform()])
    assert len(found) == 3
    assert found.steps == [each.steps for each in found]
    assert [len(each) for each in found.choices] == found.steps
    assert all(low <= high for low, high in zip(found.low, found.high, strict=True))
    assert all(each.reward <= each.high for each in found)
    table = str(found.table())
    assert all(policy.policy.label in table for policy in found)


def test_the_table_has_no_digits_that_mean_nothing() -> None:
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 3, 300)
    for reward, digits in ((rng.random(300) < 0.5, {""}), (0.2 * rng.random(300), {"0"})):
        table = replay(Log({"arm": arm, "reward": reward}), [rotting.UCB1(), rotting.Uniform()]).table()
        written = [column.write(row) for row in table.rows for column in table.columns[3:]]
        assert {
            re.sub(r"\d", "0", each.partition(".")[2]) for text in written for each in re.findall(r"[\d,.]+", text)
        } == digits


def test_the_log_of_a_policy_replays_that_policy_to_the_end() -> None:
    bandit, rng, rows = rotting.Bandit(rotting.RAWUCB(sigma=0.5), arms=["x", "y"], seed=7), np.random.default_rng(1), []
    for _ in range(200):
        arm = bandit.pull()
        reward = float(rng.normal(0.5, 0.5))
        bandit.update(arm, reward)
        rows.append((arm, reward))
    (found,) = replay(Log(rows), rotting.RAWUCB(sigma=0.5), seed=7)
    assert (found.steps, found.ran_out) == (200, None)
    assert found.reward == found.log_reward == pytest.approx(sum(reward for _, reward in rows))
    assert list(found.choices) == [arm for arm, _ in rows]


def test_there_are_no_bounds_if_the_log_lost_sight_of_an_arm() -> None:
    rows = [("a", 1.0), ("b", 0.5)] * 100 + [("a", 0.9)] * 800
    (found,) = replay(Log(rows), rotting.UCB1())
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert "'b'" in found.why


def test_the_interval_by_time_is_for_one_more_game() -> None:
    """With one arm, replays differ by their rewards alone, and those that are drawn twice vary more than those of the log."""
    rng = np.random.default_rng(0)
    log = Log({"arm": ["a"] * 400, "reward": rng.random(400)})
    buckets, rng = buckets_of(log), np.random.default_rng([3, DRAWS])
    assert isinstance(buckets, Buckets)
    earned = [play_stacks(rotting.Uniform(), draw_queues(buckets, rng), 0).rewards.sum() for _ in range(DRAWS)]
    half = t_critical(DRAWS - 1) * np.std(earned, ddof=1) * math.sqrt(1 + 1 / DRAWS)
    (found,) = replay(log, rotting.Uniform(), seed=3)
    assert (found.low, found.high) == pytest.approx((np.mean(earned) - half, np.mean(earned) + half))


def test_bounds_leave_room_for_the_luck_of_the_log() -> None:
    """The log answers every round, but another log would have had other rewards."""
    means = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        log = Log({"arm": ["a"] * 300, "reward": rng.random(300)})
        (found,) = replay(log, rotting.Uniform())
        assert found.low < found.reward < found.high
        means.append(found.low < 150 < found.high)
    assert sum(means) >= 17


def test_negative_rewards_have_no_lower_bound() -> None:
    rng = np.random.default_rng(0)
    log = Log({"arm": rng.integers(0, 3, 2_000), "reward": rng.normal(0.0, 1.0, 2_000)})
    (found,) = replay(log, rotting.UCB1())
    assert math.isnan(found.low)
    assert not math.isnan(found.high)
    assert "negative" in found.why


def test_what_cannot_be_replayed_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="log must be a Log"):
        replay([("a", 1.0)], rotting.UCB1())  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="log must have a row with a reward"):
        replay(Log([("a", None)]), rotting.UCB1())
    with pytest.raises(InvalidTypeError, match="must be a learner"):
        replay(LOG, rotting.GreedyOracle())
    with pytest.raises(InvalidValueError, match="policy must be tuned to at least the 6 rounds of the log"):
        replay(LOG, rotting.AdSwitch(horizon=5))
    with pytest.raises(InvalidValueError, match="reward must be in"):
        replay(Log([("a", 3.0), ("b", 1.0)]), rotting.Exp3())


def test_queues_hold_rewards_of_their_arm_and_bucket_only() -> None:
    rows, number = 960, 32
    arm = np.arange(rows) % 3
    log = Log({"arm": arm, "reward": arm + 10.0 * (np.arange(rows) * number // rows)})
    buckets = buckets_of(log)
    assert isinstance(buckets, Buckets)
    queues = draw_queues(buckets, np.random.default_rng(0))
    for place in range(number * 3):
        queue = queues.rewards[queues.starts[place] : queues.starts[place + 1]]
        assert set(queue) == {place % 3 + 10.0 * (place // 3)}
        assert queue.size == rows // number


def test_an_empty_bucket_names_its_arm() -> None:
    found = buckets_of(Log([("a", 1.0)] * 90 + [("b", 1.0)] * 10))
    assert isinstance(found, EmptyBucket)
    assert (found.arm, found.rewards) == (1, 0)
