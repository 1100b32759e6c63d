"""KL-UCB, RAW-UCB++, RAW-klUCB and Thompson sampling: bounds and chances are exact, choices equal the slow references."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import (
    assert_equals_reference,
    assert_equals_reference_on_ties,
    assert_equals_reference_while_arms_change,
    play,
    some,
)
from tests.helpers.variants import FINE, KL, PLUS, THOMPSON

HORIZON = 50 if INTERPRETED else 250

OURS = [*KL, *PLUS, *THOMPSON]


def tables(n_arms: int, horizon: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(n_arms, horizon))
    chances = np.linspace(0.9, 0.1, horizon) ** (1 + np.arange(n_arms)[:, None])
    return {
        "noise": noise,
        "falling coins": (rng.random((n_arms, horizon)) < chances).astype(float),
        "unit": rng.random((n_arms, horizon)),
        "constant": np.full((n_arms, horizon), 0.1),
        "extremes": np.repeat(np.arange(n_arms)[:, None] % 2.0, horizon, axis=1),
        "offset": 1e6 + noise,
        "tiny": 1e-9 * noise,
    }


@pytest.mark.parametrize("policy", OURS, ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    horizon = 60 if policy.name == "raw-kl-ucb" else HORIZON  # the reference bisects for every window
    assert_equals_reference(policy, horizon, odd="coins")
    assert_equals_reference_while_arms_change(policy, horizon, "coins", "falling")


@pytest.mark.parametrize("policy", [*KL, *PLUS], ids=repr)
def test_ties_equal_the_reference(policy: Policy) -> None:
    assert_equals_reference_on_ties(policy, 24)


def same_choices(a: Policy, b: Policy, names: Sequence[str]) -> None:
    for name in names:
        table = tables(3, HORIZON)[name].tolist()
        assert play(a, table, HORIZON) == play(b, table, HORIZON), name


@pytest.mark.parametrize("kind", ["beta", "gaussian"])
def test_without_forgetting_all_are_thompson_sampling(kind: str) -> None:
    plain = make("thompson-sampling", kind=kind)
    names = ["unit", "falling coins", "offset", "constant"]
    same_choices(make("discounted-ts", kind=kind, gamma=1), plain, names)
    same_choices(make("sliding-window-ts", kind=kind, tau=10**15), plain, names)
    same_choices(make("sliding-window-ts", kind=kind, tau=HORIZON), plain, names)


@pytest.mark.parametrize(("alpha", "beta"), [(1.4, 0.0), (1.0, 3.5)])
def test_a_fine_grid_is_every_window(alpha: float, beta: float) -> None:
    names = ["noise", "falling coins", "constant", "offset"]
    same_choices(make("eff-raw-ucb-pp", alpha=alpha, beta=beta, m=FINE), make("raw-ucb-pp", alpha=alpha, beta=beta), names)


def test_the_gaussian_divergence_is_the_sub_gaussian_policy() -> None:
    same_choices(make("raw-kl-ucb", kind="gaussian", alpha=1.4, sigma=0.5), make("raw-ucb", sigma=0.5), ["noise", "offset"])
    same_choices(make("kl-ucb", kind="gaussian", sigma=0.5), make("ucb1", sigma=0.5), ["noise", "offset"])


def test_the_range_is_only_a_change_of_units() -> None:
    """Dyadic rewards, so that mapping them loses nothing."""
    unit = np.random.default_rng(8).integers(0, 2**10, (3, HORIZON)) / 2**10
    for name in ("kl-ucb", "raw-kl-ucb", "thompson-sampling", "discounted-ts", "sliding-window-ts"):
        wide = make(name, low=-4.0, high=12.0)
        assert play(make(name), unit.tolist(), HORIZON) == play(wide, (16.0 * unit - 4.0).tolist(), HORIZON), name


@pytest.mark.parametrize("policy", some([each for each in OURS if each.shown_params().get("kind") == "gaussian"]), ids=repr)
def test_the_contract_is_kept(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize("name", ["thompson-sampling", "discounted-ts", "sliding-window-ts"])
def test_an_arm_in_a_used_slot_starts_afresh(name: str) -> None:
    memory = {"tau": 14} if name == "sliding-window-ts" else {}
    bandit = Bandit(make(name, kind="gaussian", **memory), arms=["a", "b"])
    for arm in "abab":
        bandit.update(arm, 1.0)
    bandit.remove_arm("a")
    bandit.add_arm("c")
    assert bandit.pull() == "c"
    bandit.update("c", 0.25)
    for _ in range(12):  # the rewards of arm a leave the window, and must not be taken from arm c
        bandit.update("b", 1.0)
    assert bandit.explain()["c"].mean == 0.25
    assert bandit.explain()["b"].mean == pytest.approx(1.0)


def test_explain_speaks_in_rewards() -> None:
    for name in ("kl-ucb", "raw-kl-ucb"):
        bandit = Bandit(make(name, low=-10, high=10), arms=["a", "b"])
        for arm, reward in [("a", 4.0), ("b", -10.0), ("a", 6.0)]:
            bandit.update(arm, reward)
        reason = bandit.explain()["a"]
        assert reason.mean == pytest.approx(5.0)
        assert 5.0 < reason.index <= 10.0
        assert reason.index == pytest.approx(reason.mean + reason.width)
        assert reason.window == 2
    bandit = Bandit(make("thompson-sampling", low=-10, high=10), arms=["a"])
    bandit.update("a", 10.0)
    assert bandit.explain()["a"].mean == pytest.approx(-10 + 20 * 2 / 3)
    assert bandit.explain()["a"].width == pytest.approx(20 * math.sqrt(2 / 9 / 4))


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*KL, *PLUS, *THOMPSON], ids=repr)
def test_they_learn(policy: Policy) -> None:
    """Means 0.1 and 0.9 over 2,000 rounds: well over half of the pulls go to the better arm, at this fixed seed.

    Only a window of 7 rounds keeps its lead small. For it, the share is a mean of 2,000 choices that remember 7 rounds:
    its standard deviation is below sqrt(7 * 0.25 / 2,000) = 0.03.
    """
    coins = (np.random.default_rng(6).random((2, 2_000)) < [[0.1], [0.9]]).astype(float)
    assert np.mean(play(policy, coins.tolist(), 2_000)) > 0.6


@pytest.mark.parametrize("name", ["kl-ucb", "raw-kl-ucb", "thompson-sampling", "discounted-ts", "sliding-window-ts"])
def test_rewards_outside_the_range_are_refused(name: str) -> None:
    bandit = Bandit(make(name, low=0, high=2), arms=["a", "b"])
    with pytest.raises(ValueError, match=r"reward must be in \[0.0, 2.0\], the range that .* declares, got 2.5"):
        bandit.update("a", 2.5)
    assert bandit.rounds == 0
    clipping, inside = (Bandit(make(name, outside="clip"), arms=["a", "b"]) for _ in range(2))
    clipping.update("a", 2.5)
    inside.update("a", 1.0)
    assert clipping.get_state() == inside.get_state()


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: make("discounted-ts", gamma=0), r"gamma must be a number in \(0, 1\], got 0"),
        (lambda: make("discounted-ts", gamma=1.01), r"gamma must be a number in \(0, 1\], got 1.01"),
        (lambda: make("sliding-window-ts", tau=0), "tau must be a whole number, 1 or more, got 0"),
        (lambda: make("sliding-window-ts", tau=2.5), "tau must be a whole number, 1 or more, got 2.5"),
        (lambda: make("kl-ucb", low=1, high=1), "low must be below high, got low=1.0 and high=1.0"),
        (lambda: make("thompson-sampling", low=1), "low must be below high, got low=1.0 and high=1.0"),
        (lambda: make("kl-ucb", kind="gausian"), "kind must be one of 'bernoulli', 'gaussian', .*did you mean 'gaussian'"),
        (lambda: make("raw-kl-ucb", outside="ignore"), "outside must be one of 'refuse', 'clip', got 'ignore'"),
        (lambda: make("raw-ucb-pp", beta=-1), "beta must be a finite number, zero or more, got -1"),
        (lambda: make("eff-raw-ucb-pp", m=1), "m must be a finite number above 1, got 1"),
        (lambda: make("thompson-sampling", a=0), "a must be a positive finite number, got 0"),
    ],
)
def test_bad_parameters_are_refused(make_it: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_it()
