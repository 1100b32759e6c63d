"""Exp3 and its kin, SW-UCB and D-UCB, SWA and wSWA: their references, their tunings, and what each is known for."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from rotting import registry
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.policies.d_ucb import DUCB
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from rotting.policies.rexp3 import Rexp3
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.swa import SWA
from rotting.policies.wswa import WSWA
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.registry import from_json
from rotting.simulation.simulate import simulate
from tests.helpers.games import (
    assert_equals_reference,
    assert_equals_reference_on_ties,
    assert_equals_reference_while_arms_change,
    some,
)
from tests.helpers.variants import HORIZON, RANDOMISED, WINDOWED

VARIANTS = RANDOMISED + WINDOWED


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    assert_equals_reference(policy, HORIZON)
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling")


TIED = [Exp3(gamma=0.3), Exp3S(gamma=0.2, alpha=0.01), SWUCB(tau=7), DUCB(gamma=1.0), DUCB(gamma=0.5), SWA(M=3), WSWA()]


@pytest.mark.parametrize("policy", TIED, ids=repr)
def test_ties_equal_the_reference(policy: Policy) -> None:
    assert_equals_reference_on_ties(policy, 30)


TUNED: list[Policy] = [
    Exp3(horizon=500),
    Exp3S(horizon=500, segments=3),
    Exp3S(horizon=500, budget=2.0),
    Rexp3(horizon=500, budget=2.0),
    SWUCB(horizon=500, breakpoints=2),
    DUCB(horizon=500, breakpoints=2),
    SWA(horizon=500),
]


@pytest.mark.parametrize("policy", some(TUNED), ids=repr)
def test_tuned_policies_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


def test_window_tunings_are_the_published_numbers() -> None:
    assert states.new_state(SWUCB(horizon=10_000, breakpoints=4, B=2), 3, 1).recent.tau[0] == math.ceil(
        4 * math.sqrt(1e4 * math.log(1e4) / 4)
    )
    assert states.new_state(SWUCB(horizon=100, breakpoints=0), 3, 1).recent.tau[0] == 100
    assert states.new_state(DUCB(horizon=10_000, breakpoints=4, B=2), 3, 1).sums.gamma[0] == pytest.approx(1 - 0.02 / 8)
    assert states.new_state(DUCB(horizon=10_000, breakpoints=0), 3, 1).sums.gamma[0] == 1.0
    m = 0.2 * (4 * 0.5 * 10_000 / 10) ** (2 / 3) * math.log(math.sqrt(2) * 10_000) ** (1 / 3)
    assert states.new_state(SWA(horizon=10_000, sigma=0.5), 10, 1).window[0] == math.ceil(m)


@pytest.mark.parametrize("policy", TUNED, ids=repr)
def test_past_its_horizon_a_policy_says_so_and_offers_doubling(policy: Policy) -> None:
    short = from_json({**policy.to_json(), "params": {**policy.shown_params(), "horizon": 5}})
    bandit = Bandit(short, arms=["a", "b"])
    for _ in range(5):
        bandit.update(bandit.pull(), 0.5)
    with pytest.raises(ValueError, match=r"^round must be at most 5.*got round 6; rotting\.doubling\(policy\)"):
        bandit.pull()
    before = bandit.get_state()
    with pytest.raises(ValueError, match=r"^round must be at most 5.*got round 6; rotting\.doubling\(policy\)"):
        bandit.update("a", 0.5)  # that no pull asked for
    assert bandit.get_state() == before
    problem = Problem.restless(np.full((2, 10), 0.5))
    with pytest.raises(ValueError, match=r"^horizon must be at most 5.*got 6; rotting\.doubling\(policy\)"):
        simulate(short, problem, horizon=6, runs=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DUCB(gamma=0), r"^gamma must be a number in \(0, 1\], got 0$"),
        (lambda: DUCB(gamma=1.01), r"^gamma must be a number in \(0, 1\], got 1\.01$"),
        (lambda: SWUCB(tau=0), r"^tau must be a whole number, 1 or more, got 0$"),
        (lambda: registry.make("sw-ucb", tau=2.5), r"^tau must be a whole number, 1 or more, got 2\.5$"),
        (lambda: SWA(M=0), r"^M must be a whole number, 1 or more, got 0$"),
        (lambda: Rexp3(batch=0), r"^batch must be a whole number, 1 or more, got 0$"),
        (lambda: Exp3(gamma=0), r"^gamma must be a number in \(0, 1\], got 0$"),
        (lambda: Exp3S(alpha=-0.1), r"^alpha must be a probability in \[0, 1\], got -0\.1$"),
        (lambda: Exp3(low=1, high=1), r"^low must be below high, got low=1\.0 and high=1\.0$"),
        (lambda: registry.make("exp3", outside="drop"), r"^outside must be one of 'refuse', 'clip', got 'drop'$"),
        (lambda: Exp3(gamma=0.3, horizon=100), r"^gamma must be left out with a horizon, which decides it, got 0\.3$"),
        (lambda: Exp3S(segments=3), r"^segments must be left out without a horizon, got 3$"),
        (lambda: Exp3S(horizon=9, segments=3, budget=2), r"^budget must be left out when segments is given, got 2\.0$"),
        (lambda: SWUCB(horizon=9, tau=5), r"^tau must be left out with a horizon, which decides it, got 5$"),
        (lambda: Exp3(horizon=-1), r"^horizon must be a whole number, 0 or more, got -1$"),
        (lambda: Exp3S(horizon=10, segments=-1), r"^segments must be a whole number, 0 or more, got -1$"),
        (lambda: Exp3S(horizon=10, budget=-1), r"^budget must be a finite number, zero or more, got -1$"),
        (lambda: Rexp3(horizon=10, budget=-2), r"^budget must be a positive finite number, got -2$"),
        (lambda: SWUCB(horizon=10, breakpoints=-1), r"^breakpoints must be a whole number, 0 or more, got -1$"),
        (lambda: DUCB(horizon=10, breakpoints=10, B=0.2), r"^breakpoints must be below 16 B\^2 horizon.*got 10 with B=0\.2"),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Policy], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
