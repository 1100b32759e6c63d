"""Games on a log: on its stacks a policy plays as it would have played live, with the arms that could be chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rotting
from rotting.common.arrays import Floats
from rotting.logs.games import launches
from rotting.logs.log import Log
from rotting.logs.replay import PolicyReplay, replay
from rotting.policy import Policy
from tests.conftest import INTERPRETED
from tests.helpers.games import learners

ROUNDS, NAMES = 150 if INTERPRETED else 600, ("a", "b", "c", "d")
LOGGERS = (rotting.Uniform(), rotting.UCB1(), rotting.ThompsonSampling(), rotting.RAWUCB(sigma=0.5))


def falling_tape(seed: int) -> Floats:
    """Return the 0/1 reward [arm, n] of every pull of rested arms that fall."""
    rng = np.random.default_rng(seed)
    means = np.linspace(rng.uniform(0.5, 0.9, len(NAMES)), rng.uniform(0.0, 0.5, len(NAMES)), ROUNDS, axis=1)
    return np.asarray(rng.random(means.shape) < means, np.float64)


def play_live(policy: Policy, names: tuple[object, ...], tape: Floats, rounds: int, seed: int) -> list[tuple[str, float]]:
    """Return the arms and rewards of a bandit that is paid from a tape."""
    bandit = rotting.Bandit(policy, arms=[str(each) for each in names], seed=seed)
    pulls, rows = dict.fromkeys(NAMES, 0), []
    for _ in range(rounds):
        arm = bandit.pull()
        reward = float(tape[NAMES.index(arm), pulls[arm]])
        pulls[arm] += 1
        bandit.update(arm, reward)
        rows.append((arm, reward))
    return rows


@pytest.mark.parametrize("policy", learners(), ids=lambda each: each.name)
@pytest.mark.parametrize("logger", LOGGERS, ids=lambda each: each.name)
def test_the_game_on_stacks_is_the_live_game(policy: Policy, logger: Policy) -> None:
    tape = falling_tape(seed=1)
    log = Log(play_live(logger, NAMES, tape, ROUNDS, seed=5))
    (game,) = replay(log, policy, seed=3)
    live = play_live(policy, log.arms, tape, game.steps, seed=3)
    assert list(game.choices) == [arm for arm, _ in live]
    assert game.reward == pytest.approx(sum(reward for _, reward in live))
    if game.ran_out is not None:  # the log has no more rewards of the next arm
        assert game.choices.count(game.ran_out) == log.pulls[log.arms.index(game.ran_out)]
    else:
        assert game.steps == ROUNDS


@pytest.mark.parametrize("policy", [rotting.RAWUCB(sigma="estimate"), rotting.UCB1(), rotting.ThompsonSampling()], ids=str)
def test_a_missing_reward_keeps_its_place(policy: Policy) -> None:
    """The pull wears out the arm, as a live decision does whose reward never comes."""
    tape = falling_tape(seed=2)
    tape[np.random.default_rng(0).random(tape.shape) < 0.3] = np.nan
    pulls, rows = dict.fromkeys(NAMES, 0), []
    for arm in np.random.default_rng(1).choice(NAMES, ROUNDS).tolist():
        reward = float(tape[NAMES.index(arm), pulls[arm]])
        rows.append((arm, None if np.isnan(reward) else reward))
        pulls[arm] += 1
    log = Log(rows)
    (game,) = replay(log, policy, seed=3)
    bandit, pulls, earned = rotting.Bandit(policy, arms=[str(each) for each in log.arms], seed=3), dict.fromkeys(NAMES, 0), 0.0
    for choice in game.choices:
        decision = bandit.decide()
        assert decision.arm == choice
        reward = float(tape[NAMES.index(choice), pulls[choice]])
        pulls[choice] += 1
        if np.isnan(reward):
            bandit.cancel(decision.id)
        else:
            bandit.reward(decision.id, reward)
            earned += reward
    assert game.steps > ROUNDS / 4
    assert game.reward == pytest.approx(earned)


def played(log: Log, policy: Policy) -> PolicyReplay:
    (game,) = replay(log, policy)
    return game


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans()), min_size=1, max_size=25))
def test_a_round_is_paid_from_the_stack_of_its_unit(rows: list[tuple[str, str, bool]]) -> None:
    """The reward of a row is a power of two, so that the sum tells which ones were paid."""
    rewards = [None if missing else 2.0**k for k, (_, _, missing) in enumerate(rows)]
    if all(each is None for each in rewards):
        return
    columns = {"arm": [arm for arm, _, _ in rows], "reward": rewards, "unit": [unit for _, unit, _ in rows]}
    log = Log(columns, unit="unit")
    game = played(log, rotting.Uniform())
    expected, taken = 0.0, dict[tuple[int, int], int]()
    for k, choice in enumerate(game.choices):
        place = (int(log.unit[k]), log.arms.index(choice))
        stack = log.reward[(log.unit == place[0]) & (log.arm == place[1])]
        expected += float(np.nan_to_num(stack[taken.get(place, 0)]))
        taken[place] = taken.get(place, 0) + 1
    assert game.reward == expected


def test_a_state_that_outgrows_its_room_plays_the_same_game() -> None:
    """Rewards that fall strictly keep every window on the hull, which is enlarged several times."""
    rewards = np.linspace(1.0, 0.0, ROUNDS)
    log = Log([("a", reward) for reward in rewards] + [("b", -5.0)])
    policy = rotting.RAWUCB(sigma=1e-3)
    game = played(log, policy)
    bandit, pulls = rotting.Bandit(policy, arms=["a", "b"]), {"a": iter(rewards), "b": iter([-5.0])}
    for choice in game.choices:
        arm = bandit.pull()
        assert arm == choice
        bandit.update(arm, float(next(pulls[arm])))
    assert bandit.pull() == "a" if game.ran_out is None or game.ran_out == "a" else "b"


def test_no_policy_plays_an_arm_before_its_launch() -> None:
    arm = np.array(["a", "old"] * 300)
    arm[300::3] = "new"
    log = Log({"arm": arm, "reward": np.where(arm == "new", 1.0, 0.0)})
    assert launches(log).tolist() == [0, 0, 300]
    for policy in (rotting.Uniform(), rotting.UCB1(), rotting.RAWUCB()):
        game = played(log, policy)
        assert "new" not in game.choices[:300]
        assert "new" in game.choices[300:320]


def test_a_policy_chooses_among_the_listed_arms() -> None:
    rng = np.random.default_rng(0)
    could = [["a", "b", "c"] if k % 3 else ["a", "b"] for k in range(300)]
    arm = [str(rng.choice(each)) for each in could]
    log = Log({"arm": arm, "reward": [float(each == "c") for each in arm], "could": could}, available="could")
    for policy in (rotting.Uniform(), rotting.UCB1(sigma=0.1)):
        game = played(log, policy)
        assert game.steps > 90
        assert all(choice in listed for choice, listed in zip(game.choices, could, strict=False))


def test_an_arm_that_a_policy_tries_late_was_there_all_the_time() -> None:
    log = Log([("a", 1.0)] * 30 + [("b", 0.0)] + [("a", 1.0)] * 300)
    assert launches(log).tolist() == [0, 0]
