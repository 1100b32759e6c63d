"""Policies that detect changes: their choices and alarms are those of the definitions, and come when they should."""

import math
from typing import Any

import numpy as np
import pytest

from rotting import registry
from rotting.common.arrays import Floats
from rotting.live import policy_state as states
from rotting.live.checks import check_policy
from rotting.policies.ad_switch import AdSwitch
from rotting.policies.cusum_ucb import CUSUMUCB
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.m_ucb import MUCB
from rotting.policies.parts.doubling import doubling
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.noise import Bernoulli
from rotting.simulation.engines.compile import compiled
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED, STRESS
from tests.helpers.detection import BOUNDED, UNBOUNDED, T, alarms, restarts, tables
from tests.helpers.games import KEY, ODD_SIZES, assert_equals_reference_on_ties, changing_arms, play, play_naive, reference

ALL = UNBOUNDED + BOUNDED

ONE_EACH = [UNBOUNDED[1], UNBOUNDED[4], BOUNDED[0], BOUNDED[4], BOUNDED[7], BOUNDED[12]]


def rounds(policy: Policy) -> int:
    """Rounds of a game against the reference, which compares all pairs of windows for AdSwitch."""
    return T // 2 if isinstance(policy, AdSwitch) else T


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    horizon = rounds(policy)
    for name, table in tables(policy, 3, horizon).items():
        assert play(policy, table.tolist(), horizon) == play_naive(policy, table.tolist(), horizon), name
    for n_arms, few in ODD_SIZES:
        rows = tables(policy, n_arms, few)["coins"].tolist()
        assert play(policy, rows, few) == play_naive(policy, rows, few), (n_arms, few)
    rows = tables(policy, 4, horizon)["coins"].tolist()
    assert play(policy, rows, horizon, available=changing_arms) == play_naive(policy, rows, horizon, changing_arms)


@pytest.mark.parametrize("policy", ONE_EACH, ids=repr)
def test_ties_equal_the_reference(policy: Policy) -> None:
    assert_equals_reference_on_ties(policy, 30)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_the_games_above_have_alarms(policy: Policy) -> None:
    """Else they would prove little. (What is tuned to the games' short horizon is silent, as it should be.)"""
    horizon = rounds(policy)
    found = sum(restarts(policy, table, horizon) for table in tables(policy, 3, horizon).values())
    silent = policy.max_rounds == T and (isinstance(policy, AdSwitch) or "change=1.0" in repr(policy))
    assert (found == 0) == silent


# The compiler plays those that end with their horizon, which is too short for the check where nothing is compiled.
@pytest.mark.parametrize("policy", [each for each in ONE_EACH if STRESS or (each.max_rounds is None) == INTERPRETED], ids=repr)
def test_variants_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


# T = 10,000 samples of one arm, sigma = 0.1, a change of 3 sigma; rewards in [0, 1] (six sigma from the ends, then clipped).
STATIONARY, CHANGE_AT, SIGMA = 10_000, 1_000, 0.1

DETECTORS = [
    (GLRUCB(horizon=STATIONARY, sigma=SIGMA), 200),
    (GLRUCB(horizon=STATIONARY, sigma=SIGMA, threshold="theory"), 200),
    (GLRKLUCB(horizon=STATIONARY), 200),
    (CUSUMUCB(horizon=STATIONARY, breakpoints=1), 200),
]


def gaussian(seed: int, size: int, before: float, after: float, at: int) -> Floats:
    means = np.where(np.arange(size) < at, before, after)
    return np.clip(means + SIGMA * np.random.default_rng(seed).normal(size=size), 0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "delay"), DETECTORS, ids=repr)
def test_detectors_fire_soon_after_a_change(policy: Policy, delay: int) -> None:
    """Delays over 100 other seeds: GLR-UCB 2 to 8 (theory 7 to 18), GLR-klUCB 77 to 115, CUSUM-UCB 39 to 59.

    The slowest has mean 97 and a standard deviation of about 8, so that 200 is missed with a chance below 1e-9.
    """
    for seed, (before, after) in enumerate([(0.65, 0.35), (0.35, 0.65)] * 3):
        found = alarms(policy, gaussian(seed, CHANGE_AT + delay, before, after, CHANGE_AT))
        assert len(found) == 1, (seed, found)
        assert CHANGE_AT < found[0] <= CHANGE_AT + delay


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "delay"), DETECTORS, ids=repr)
def test_detectors_are_silent_on_stationary_rewards(policy: Policy, delay: int) -> None:
    """GLR promises a false alarm in at most delta = 0.01 of the games, and had none in 100 others; these seeds are fixed.

    CUSUM's sums would have to climb to h = 9.2 against a drift of -0.1 in steps of 0.1: a chance below 1e-30 a sample.
    """
    del delay
    for seed in range(3):
        assert alarms(policy, gaussian(100 + seed, STATIONARY, 0.5, 0.5, 0)) == []


def test_forced_exploration_takes_its_share() -> None:
    table = np.zeros((4, 2000))
    table[0] = 1.0
    for policy in (GLRKLUCB(rate=0.1, c=0.0), MUCB(gamma=0.1, b=1e9)):
        pulls = np.bincount(play(policy, table[:, :400].tolist(), 400), minlength=4)
        assert (pulls >= 10).all()  # a tenth of 400 rounds, for four arms
        assert pulls[0] > 200


def test_policies_with_a_horizon_are_tuned_as_published() -> None:
    K, rounds_, Y = 3, 10_000, 5
    slow: Any = reference(MUCB(horizon=rounds_, breakpoints=Y, change=0.5), K)
    assert slow.w == 2 * math.ceil(8 * (math.sqrt(math.log(6e8)) + math.sqrt(math.log(2e4))) ** 2)
    assert slow.b == math.sqrt(slow.w * math.log(6e8) / 2)
    slow = reference(CUSUMUCB(horizon=rounds_, breakpoints=Y), K)
    assert (slow.h, slow.rate) == (math.log(2000), math.sqrt(math.log(2000) / 2000))
    slow = reference(GLRUCB(horizon=rounds_), K)
    assert slow.delta == 0.01
    for policy in (MUCB(horizon=rounds_, breakpoints=Y), CUSUMUCB(horizon=rounds_, breakpoints=Y), GLRKLUCB(horizon=rounds_)):
        assert policy.max_rounds == rounds_


@pytest.mark.parametrize("policy", [CUSUMUCB(rate=0.3), AdSwitch(horizon=T, C1=0.05)], ids=repr)
def test_propensities_match_the_frequencies(policy: Policy) -> None:
    """4,000 draws: an error of five standard deviations has a chance of 6e-7 a comparison; there are 12, at a fixed seed."""
    assert policy.kernel.propensities is not None
    choose, propensities = compiled(policy.kernel.choose, policy), compiled(policy.kernel.propensities, policy)
    n_arms, draws = 3, 500 if INTERPRETED else 4000
    table = tables(policy, n_arms, T)["fractions"] * [[0.2], [1.0], [0.5]]
    state = states.new_state(policy, n_arms, T)
    arms, pulls, mixed = np.arange(n_arms), [0] * n_arms, 0
    for t in range(1, T // 2 + 1):
        out = np.full(n_arms, np.nan)
        propensities(policy.params, state, t, arms, out)
        assert math.isclose(out.sum(), 1.0, rel_tol=1e-12)
        if out.max() < 1.0 and mixed < 2:
            mixed += 1
            for some in (arms, arms[1:]):
                out = np.full(some.size, np.nan)
                propensities(policy.params, state, t, some, out)
                drawn = [choose(policy.params, states.copy(state), t, key, some) for key in range(draws)]
                share = np.bincount(drawn, minlength=n_arms)[some] / draws
                assert (np.abs(share - out) <= 5 * np.sqrt(out * (1 - out) / draws) + 1e-12).all()
        arm = choose(policy.params, state, t, KEY, arms)
        policy.kernel.update(policy.params, state, t, arm, table[arm, pulls[arm]])
        pulls[arm] += 1
    assert mixed == 2


TUNED = [GLRKLUCB(horizon=30), CUSUMUCB(horizon=30, breakpoints=2), MUCB(horizon=30, breakpoints=2, w=6), AdSwitch(30)]


@pytest.mark.parametrize("policy", TUNED, ids=repr)
def test_horizons_are_limits_that_doubling_lifts(policy: Policy) -> None:
    problem = Problem.restless(np.full((2, 100), 0.5), noise=Bernoulli())
    with pytest.raises(ValueError, match=r"horizon must be at most 30.*rotting\.doubling"):
        simulate(policy, problem, horizon=100, runs=1)
    table = tables(policy, 2, 90)["coins"]
    game = play(doubling(policy), table.tolist(), 90, fast=False)
    if not policy.randomised:  # each epoch is a game of its own, tuned to its length
        assert game[:30] == play(policy, table.tolist(), 30)
        pulls = np.bincount(game[:30], minlength=2)
        rest = [row[n:].tolist() for row, n in zip(table, pulls, strict=True)]
        longer = type(policy)(**{**policy.to_json()["params"], "horizon": 60})
        assert game[30:] == play(longer, rest, 60)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MUCB(w=7), "w must be an even number, got 7"),
        (lambda: MUCB(horizon=100, breakpoints=2, change=1e-4), "change must be 0 or at least 0.001, got 0.0001"),
        (lambda: CUSUMUCB(horizon=10, breakpoints=10), "breakpoints must be fewer than the horizon 10, got 10"),
        (lambda: GLRUCB(horizon=-1), "horizon must be a whole number, 0 or more, got -1"),
        (lambda: GLRUCB(delta=2), r"delta must be a probability in \[0, 1\], got 2"),
        (lambda: GLRUCB(horizon=10, delta=0.5), "delta must be left out with a horizon"),
        (
            lambda: registry.make("glr-kl-ucb", restart="lokal"),
            "restart must be one of 'local', 'global', got 'lokal'; did you mean 'local'",
        ),
        (lambda: GLRKLUCB(low=1.0), "low must be below high"),
        (lambda: AdSwitch(horizon=1), "horizon must be a whole number, 2 or more, got 1"),
    ],
)
def test_bad_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
