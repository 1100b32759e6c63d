"""A policy on the stacks of a log plays the game that it would have played live, decision by decision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rotting
from rotting.common.arrays import Floats
from rotting.logs.log import Log
from rotting.logs.stacks import play_stacks, stacks_of
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
    game = play_stacks(policy, stacks_of(log), seed=3)
    live = play_live(policy, log.arms, tape, game.choices.size, seed=3)
    assert [log.arms[arm] for arm in game.choices] == [arm for arm, _ in live]
    assert game.rewards.tolist() == [reward for _, reward in live]
    if game.ran_out is not None:  # the log has no more rewards of the next arm
        assert (game.choices == game.ran_out).sum() == (log.arm == game.ran_out).sum()
    else:
        assert game.choices.size == ROUNDS


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans()), min_size=1, max_size=25))
def test_a_round_is_paid_from_the_stack_of_its_unit(rows: list[tuple[str, str, bool]]) -> None:
    """The reward of a row is its number, so that every reward tells where it came from."""
    rewards = [None if missing else float(k) for k, (_, _, missing) in enumerate(rows)]
    if all(each is None for each in rewards):
        return
    columns = {"arm": [arm for arm, _, _ in rows], "reward": rewards, "unit": [unit for _, unit, _ in rows]}
    log = Log(columns, unit="unit")
    game = play_stacks(rotting.UCB1(), stacks_of(log), seed=0)
    served = log.unit[log.known]
    taken: dict[tuple[int, int], int] = {}
    for k, (arm, reward) in enumerate(zip(game.choices.tolist(), game.rewards, strict=True)):
        place = (int(served[k]), arm)
        stack = log.reward[log.known & (log.unit == place[0]) & (log.arm == arm)]
        assert reward == stack[taken.get(place, 0)]
        taken[place] = taken.get(place, 0) + 1


def test_a_state_that_outgrows_its_room_plays_the_same_game() -> None:
    """Rewards that fall strictly keep every window on the hull, which is enlarged several times."""
    rewards = np.linspace(1.0, 0.0, ROUNDS)
    log = Log([("a", reward) for reward in rewards] + [("b", -5.0)])
    policy = rotting.RAWUCB(sigma=1e-3)
    game = play_stacks(policy, stacks_of(log), seed=0)
    bandit, pulls = rotting.Bandit(policy, arms=["a", "b"]), {"a": iter(rewards), "b": iter([-5.0])}
    for choice in game.choices:
        arm = bandit.pull()
        assert arm == log.arms[choice]
        bandit.update(arm, float(next(pulls[arm])))
    assert bandit.pull() == "a" if game.ran_out is None or log.arms[game.ran_out] == "a" else "b"
