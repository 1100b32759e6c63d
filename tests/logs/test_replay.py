"""Replays: how far the log reaches, what was earned, and bounds to the end."""

import math
import re
from typing import Any

import numpy as np
import pytest

import rotting
from rotting.common import progress
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.logs.log import Log
from rotting.logs.replay import fixed_choices, fixed_table, replay
from tests.helpers.made_logs import made_log

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
    assert len(found.policies) == 3
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


def test_there_are_no_bounds_where_time_wears_arms_out_or_rewards_are_missing() -> None:
    (found,) = replay(made_log("time", seed=4, rows=30_000), rotting.Uniform())
    assert math.isnan(found.low)
    assert "wear out with time" in found.why
    (lost,) = replay(Log([("a", 1.0), ("b", None)] * 50), rotting.Uniform())
    assert math.isnan(lost.high)
    assert "lacks rewards" in lost.why


def test_a_replay_of_few_rounds_is_a_line_and_no_row() -> None:
    table = replay(Log([("a", 0.0)] * 990 + [("b", 1.0)] * 10), [rotting.UCB1(sigma=0.1)]).table()
    assert not table.rows
    assert "for UCB1, sigma=0.1: too few to say what they would have earned" in str(table)


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


def test_progress_counts_every_game(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    replay(uniform_log(), rotting.Uniform(), progress=True)
    shown = capsys.readouterr().err
    assert "games on the log" in shown
    assert "1/1" in shown
    assert "uniform (1 of 1)" in shown


MEANS = np.array([0.2, 0.5, 0.8])


def log_of(seed: int, rows: int = 2_000, shift: float = 0.0, **more: Any) -> Log:
    """Return a log of a policy that learns: it prefers the arm with the best mean so far, and knows its propensities."""
    rng = np.random.default_rng(seed)
    sums, pulls, columns = np.zeros(3), np.ones(3), []
    for _ in range(rows):
        chances = np.full(3, 0.1)
        chances[np.argmax(sums / pulls)] += 0.7
        arm = int(rng.choice(3, p=chances))
        reward = MEANS[arm] + rng.normal(0.0, 0.5)
        sums[arm] += reward
        pulls[arm] += 1
        columns.append((arm, reward + shift, chances[arm]))
    return Log({**dict(zip(("arm", "reward", "p"), zip(*columns, strict=True), strict=True)), **more}, propensity="p")


def test_the_value_by_hand() -> None:
    """b is 2 before the second row, 1 before the third, and (2 + 0 + 4) / 3 = 2 before the fourth."""
    log = Log({"arm": ["a", "b", "a", "b"], "reward": [2.0, 0.0, 4.0, 1.0], "p": [0.5, 0.5, 0.25, 0.5]}, propensity="p")
    a, b, random = fixed_choices(log)
    assert (a.arm, a.rounds, a.weight) == ("a", 3, 4 / 3)
    assert a.value.mean == (2 + (1 + 4 * (4 - 1)) + 2) / 3
    assert b.value.mean == ((2 + 2 * (0 - 2)) + 1 + (2 + 2 * (1 - 2))) / 3
    assert random.arm is None
    assert random.value.mean == ((2 + 1 * (0 - 2)) + (1 + 2 * (4 - 1)) + (2 + 1 * (1 - 2))) / 3
    assert a.value.low is None  # three rows are too few


def test_intervals_hold_the_means_although_the_policy_learns() -> None:
    """Each of 120 intervals misses with a chance of 5 %; more than 17 do with a chance below 1e-4."""
    missed = 0
    for seed in range(40):
        for each in fixed_choices(log_of(seed, 1_000)):
            if each.arm is not None:
                _, low, high = each.value
                assert low is not None
                assert high is not None
                missed += not low <= MEANS[int(str(each.arm))] <= high
    assert missed <= 17


def test_a_random_arm_pays_the_mean_of_all_arms() -> None:
    _, low, high = fixed_choices(log_of(0))[-1].value
    assert low is not None
    assert high is not None
    assert low < MEANS.mean() < high


def test_intervals_hold_rare_clicks_too() -> None:
    """Clicks at 0.5 % and unequal propensities: normal intervals hold three of four. 12 of 120 misses have a chance of 2 %."""
    missed = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        chances = np.array([0.7, 0.15, 0.1, 0.05])
        arm = rng.choice(4, 4_000, p=chances)
        columns = {"arm": arm, "reward": (rng.random(4_000) < 0.005) * 1.0, "p": chances[arm]}
        for each in fixed_choices(Log(columns, propensity="p"))[:-1]:
            _, low, high = each.value
            assert low is not None
            assert high is not None
            assert 0 <= low < high <= 1
            missed += not low <= 0.005 <= high
    assert missed <= 12


def test_large_rewards_do_not_widen_the_intervals() -> None:
    near, far = (fixed_choices(log_of(0, shift=shift)) for shift in (0.0, 1e6))
    for one, two in zip(near, far, strict=True):
        assert two.value.mean - 1e6 == pytest.approx(one.value.mean, abs=1e-2)
        assert one.value.high is not None
        assert two.value.high is not None
        assert two.value.high - two.value.mean == pytest.approx(one.value.high - one.value.mean, rel=0.05)


def test_a_deterministic_policy_has_no_value_for_single_arms() -> None:
    log = Log({"arm": ["a", "b"] * 100, "reward": [1.0, 0.0] * 100, "p": [1.0] * 200}, propensity="p")
    found = fixed_choices(log)
    assert all(math.isnan(each.value.mean) for each in found)
    assert "the weights of a average 0.5, not 1, so its propensities cannot be right" in str(fixed_table(found))


def test_an_arm_counts_in_the_rows_in_which_it_was_available() -> None:
    rng = np.random.default_rng(0)
    early = np.arange(600) < 300
    arm = np.where(early, rng.integers(0, 2, 600), rng.integers(0, 3, 600))
    columns = {"arm": arm, "reward": MEANS[arm], "p": np.where(early, 1 / 2, 1 / 3)}
    some = [["0", "1"] if each else ["0", "1", "2"] for each in early]
    named = {**columns, "arm": arm.astype(str), "could": some}
    log = Log(named, propensity="p", available="could")
    late = next(each for each in fixed_choices(log) if each.arm == "2")
    assert late.rounds == 300
    assert late.value.mean == pytest.approx(0.8, abs=0.1)
    assert "Not all arms were available in 50.0% of the rows" in str(log.describe())
    without = next(each for each in fixed_choices(Log(columns, propensity="p")) if each.arm == 2)
    assert without.rounds == 299  # its launch is clear from the log, apart from its first row


def test_rows_without_a_reward_or_a_propensity_are_left_out() -> None:
    log = Log({"arm": ["a"] * 4, "reward": [1.0, None, 3.0, 5.0], "p": [1.0, 1.0, 1.0, None]}, propensity="p")
    assert fixed_choices(log)[0].rounds == 1  # the third: the first has no row before it
    assert fixed_choices(Log([("a", 1.0), ("a", 2.0)])) == ()
    assert fixed_choices(Log({"arm": ["a"], "reward": [1.0], "p": [0.5]}, propensity="p")) == ()


def test_replays_of_logs_with_propensities_have_them() -> None:
    log = log_of(0, 300)
    found = rotting.replay(log, rotting.Uniform())
    assert found.fixed_choices == fixed_choices(log)
    assert "a random arm" in str(found.fixed_table())
    assert "Propensities tell what each arm" in str(log.describe())
