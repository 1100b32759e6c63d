"""FDSWTS: two views of every arm, and how they are forgotten."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pytest

from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.policies.f_dsw_ts import FDSWTS
from rotting.policies.thompson_sampling import ThompsonSampling
from rotting.policy import Policy as AnyPolicy
from rotting.problems import Abrupt, Problem
from rotting.problems.noise import Bernoulli
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import assert_equals_reference, assert_equals_reference_on_ties, changing_arms, play, play_naive
from tests.reference.forgetting import Timed
from tests.reference.policy import Draws, argmax, to_unit
from tests.reference.thompson import Stream

Word = Literal["min", "max", "mean"]
F: dict[str, Callable[[float, float], float]] = {"min": min, "max": max, "mean": lambda x, y: (x + y) / 2}
ROUNDS = 60 if INTERPRETED else 250


class Naive(Timed):
    """Cavenaghi et al. 2021: draw x from the discounted counts and y from those of the last n pulls, play the largest f.

    Discounted counts of successes and failures start at 1 before round 1. Every round multiplies all of them by gamma, then
    adds the reward of the arm that was pulled. x is drawn from Beta(successes + 1, failures + 1), y from Beta(1 + successes, 1
    + failures) of the arm's last n rewards. Draws: arm by arm, x and then y, each as in ``thompson.Stream``.
    """

    def __init__(
        self, n_arms: int, *, uniform: Draws, f: str, gamma: float, n: int, low: float = 0.0, high: float = 1.0
    ) -> None:
        super().__init__(n_arms)
        self.uniform, self.f, self.gamma, self.n = uniform, f, gamma, n
        self.low, self.high = low, high

    def mapped(self, reward: float) -> float:
        return to_unit(reward, self.low, self.high)

    def discounted(self, t: int, outcomes: Sequence[float], rounds: Sequence[int]) -> float:
        """The count of one kind of outcome: a 1 of round s was discounted after rounds s + 1, ..., t - 1."""
        count = [self.gamma ** (t - 1)]
        for outcome, s in zip(outcomes, rounds, strict=True):
            count.append(self.gamma ** max(0, t - 1 - s) * outcome)  # a prior may come in round t itself
        return math.fsum(count)

    def value(self, t: int, i: int, stream: Stream) -> float:
        successes = self.rewards[i]
        failures = [1 - x for x in successes]
        x = stream.beta(self.discounted(t, successes, self.rounds[i]) + 1, self.discounted(t, failures, self.rounds[i]) + 1)
        y = stream.beta(1 + math.fsum(successes[-self.n :]), 1 + math.fsum(failures[-self.n :]))
        return F[self.f](x, y)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        if new is not None:
            return new
        stream = Stream(self.uniform, t)
        return argmax(lambda i: self.value(t, i, stream), arms)


POLICIES = [
    FDSWTS("min", gamma=0.9, n=4),
    FDSWTS("max", gamma=0.9, n=4),
    FDSWTS("mean", gamma=0.9, n=4),
    FDSWTS("min", gamma=0.95, n=75),
    FDSWTS("max", gamma=1.0, n=10**15),
    FDSWTS("mean", gamma=1e-3, n=1),
    FDSWTS("mean", low=-2.0, high=2.0),
]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_choices_equal_the_reference(policy: AnyPolicy) -> None:
    assert_equals_reference(policy, ROUNDS)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_ties_equal_the_reference(policy: AnyPolicy) -> None:
    assert_equals_reference_on_ties(policy, 40)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_choices_among_some_arms_equal_the_reference(policy: AnyPolicy) -> None:
    rows = np.random.default_rng(3).random((4, ROUNDS)).tolist()
    assert play(policy, rows, ROUNDS, available=changing_arms) == play_naive(policy, rows, ROUNDS, available=changing_arms)


@pytest.mark.parametrize("f", ["min", pytest.param("mean", marks=pytest.mark.slow)])
def test_the_contract_is_kept(f: Word) -> None:
    """With a short memory, so that what a removed arm leaves behind is found. The common tests check "max", the default."""
    check_policy(FDSWTS(f, gamma=0.8, n=4))


@pytest.mark.parametrize(("f", "mean"), [("min", 1 / 2), ("max", 7 / 12), ("mean", 13 / 24)])
def test_the_two_views_by_hand(f: Word, mean: float) -> None:
    """Round 5: arm a has 1/16 + 1/8 + 1 successes and 1/16 + 1/2 failures, discounted, and one of each in its window."""
    bandit = Bandit(FDSWTS(f, gamma=0.5, n=2), arms=["a", "b"])
    for arm, reward in [("a", 1.0), ("b", 0.0), ("a", 0.0), ("a", 1.0)]:
        bandit.update(arm, reward)
    assert bandit.explain()["a"].mean == pytest.approx(mean, rel=1e-14)
    assert bandit.explain()["a"].window == 2


@pytest.mark.parametrize(("f", "mean"), [("min", 1 / 2), ("max", 11 / 12)])
def test_the_discount_runs_with_the_rounds_and_the_window_with_the_pulls(f: Word, mean: float) -> None:
    """After 200 rounds of another arm, the window still knows that arm a paid 1, and the discount does not."""
    bandit = Bandit(FDSWTS(f, gamma=0.9, n=10), arms=["a", "b"])
    for arm in 20 * "a" + 200 * "b":
        bandit.update(arm, 1.0)
    assert bandit.explain()["a"].mean == pytest.approx(mean, abs=1e-8)


def test_explain_speaks_in_rewards() -> None:
    bandit = Bandit(FDSWTS("max", gamma=0.5, low=-10.0, high=10.0), arms=["a"])
    bandit.update("a", 10.0)  # the window: Beta(2, 1); the discount: Beta(2.5, 1.5)
    assert bandit.explain()["a"].mean == pytest.approx(-10 + 20 * 2 / 3)


def test_it_follows_a_change_that_thompson_sampling_misses() -> None:
    """The better arm becomes the worse one after 150 of 300 rounds."""
    problem = Problem.restless([Abrupt(0.9, 0.1, at=150), 0.5], noise=Bernoulli())
    regrets = simulate([FDSWTS(), ThompsonSampling()], problem, horizon=300, runs=10, seed=1).regret[:, :, -1].mean(axis=1)
    assert regrets[0] < 0.7 * regrets[1]


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: FDSWTS("median"), "f must be one of 'min', 'max', 'mean', got 'median'"),  # type: ignore[arg-type]
        (lambda: FDSWTS(gamma=0), r"gamma must be a number in \(0, 1\], got 0"),
        (lambda: FDSWTS(gamma=1.01), r"gamma must be a number in \(0, 1\], got 1.01"),
        (lambda: FDSWTS(n=0), "n must be a whole number, 1 or more, got 0"),
        (lambda: FDSWTS(n=2.5), "n must be a whole number, 1 or more, got 2.5"),  # type: ignore[arg-type]
        (lambda: FDSWTS(low=1), "low must be below high, got low=1.0 and high=1.0"),
        (lambda: FDSWTS(outside="ignore"), "outside must be one of 'refuse', 'clip', got 'ignore'"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters_are_refused(make_it: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_it()


def test_rewards_outside_the_range_are_refused_or_clipped() -> None:
    bandit = Bandit(FDSWTS(high=2.0), arms=["a", "b"])
    with pytest.raises(ValueError, match=r"reward must be in \[0.0, 2.0\], the range that .* declares, got 2.5"):
        bandit.update("a", 2.5)
    clipping, inside = (Bandit(FDSWTS(outside="clip"), arms=["a", "b"]) for _ in range(2))
    clipping.update("a", 2.5)
    inside.update("a", 1.0)
    assert clipping.get_state() == inside.get_state()
