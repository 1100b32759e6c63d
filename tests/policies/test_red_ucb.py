"""R-ed-UCB: the estimate by hand and on a line, exact sums, and a game on arms that rise."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from rotting.kit import log
from rotting.live import policy_state as states
from rotting.live.checks import check_policy
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.red_ucb import RedUCB
from rotting.policy import Reason
from tests.helpers.games import assert_equals_reference, assert_equals_reference_on_ties, play, play_naive, tables
from tests.helpers.variants import HORIZON
from tests.reference.policy import Policy, argmax

JUST_BELOW_HALF = math.nextafter(0.5, 0.0)
VARIANTS = [RedUCB(epsilon=0.1), RedUCB(epsilon=0.4, sigma=0.01), RedUCB(epsilon=JUST_BELOW_HALF, alpha=2.5, sigma=0.1)]


class Naive(Policy):
    """Metelli, Trovò, Pirola, Restelli 2022, R-ed-UCB: the estimator and the bound, term by term, in fractions."""

    def __init__(self, n_arms: int, *, epsilon: float, alpha: float, sigma: float) -> None:
        super().__init__(n_arms)
        self.epsilon, self.alpha, self.sigma = epsilon, alpha, sigma

    def estimate(self, t: int, i: int, h: int) -> Fraction:
        X = [Fraction(0), *map(Fraction, self.rewards[i])]  # X[1] is the first reward
        N = len(self.rewards[i])
        return sum((X[n] + (t - n) * (X[n] - X[n - h]) / h for n in range(N - h + 1, N + 1)), Fraction(0)) / h

    def index(self, t: int, i: int) -> float:
        N = len(self.rewards[i])
        h = math.floor(self.epsilon * N)
        if h == 0:
            return math.inf
        now = max(t, N + 1)  # N >= t only after priors
        mu = float(h * h * self.estimate(now, i, h)) / (h * h)  # rounded as the policy does: the sum, then the quotient
        return mu + self.sigma * (now - N + h - 1) * math.sqrt(10 * self.alpha * log(t) / h**3)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        return argmax(lambda i: self.index(t, i), self.available(arms))


def explained(policy: RedUCB, rewards: Sequence[float], t: int) -> Reason:
    """Return what the policy says in round t about an arm that paid `rewards`."""
    state = states.new_state(policy, 1, len(rewards))
    for n, reward in enumerate(rewards, 1):
        policy.kernel.update(policy.params, state, n, 0, reward)
    assert policy.kernel.explain is not None
    return policy.kernel.explain(policy.params, state, t, np.arange(1), 0)


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: RedUCB) -> None:
    assert_equals_reference(policy, HORIZON, odd="offset")


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_ties_with_other_parameters_equal_the_reference(policy: RedUCB) -> None:
    assert_equals_reference_on_ties(policy, 40)


def test_the_index_by_hand() -> None:
    """Eight rewards, two of them in the window: (4 + 3 (4 - 1) / 2 + 8 + 2 (8 - 2) / 2) / 2 = 11.25."""
    reason = explained(RedUCB(alpha=4, sigma=0.1), [0, 0, 0, 0, 1, 2, 4, 8], t=10)
    assert (reason.mean, reason.window) == (11.25, 2)
    assert reason.width == pytest.approx(0.1 * (10 - 8 + 2 - 1) * math.sqrt(10 * 4 * math.log(10) / 2**3), rel=1e-14)
    assert reason.value == reason.mean + reason.width


@pytest.mark.parametrize("epsilon", [0.01, 0.25, 1 / 3, JUST_BELOW_HALF])
def test_a_line_is_extended_to_the_current_round(epsilon: float) -> None:
    line = [2.0**20 + n / 8 for n in range(1, 301)]
    for t in (301, 302, 5_000):
        assert explained(RedUCB(epsilon=epsilon), line, t).mean == 2.0**20 + t / 8


@pytest.mark.parametrize("epsilon", [0.05, 0.25, JUST_BELOW_HALF])
def test_what_left_the_windows_leaves_no_trace(epsilon: float) -> None:
    """Large rewards come first, and only small ones are left: the estimate is that of the definition, to the last bit."""
    rng = np.random.default_rng(2)
    for n in (100, 777, 1_500):
        h, t = math.floor(epsilon * n), n + 50
        large, small = rng.choice([1e6, 0.5 - 3e6], n - 2 * h), rng.choice([0.1, 1 / 3, 1.0, -1e-3], 2 * h)
        naive = Naive(1, epsilon=epsilon, alpha=4.0, sigma=1.0)
        naive.rewards[0] = [*large.tolist(), *small.tolist()]
        wanted = float(h * h * naive.estimate(t, 0, h)) / (h * h)
        assert explained(RedUCB(epsilon=epsilon), naive.rewards[0], t).mean == wanted


def test_choices_after_priors_of_more_pulls_than_rounds_equal_the_reference() -> None:
    policy, table = RedUCB(sigma=0.01), tables(2, 40)["coins"].tolist()
    priors = [(arm, 0.4 + 0.01 * n) for arm in range(2) for n in range(12 + arm)]
    assert play(policy, table, 40, priors=priors) == play_naive(policy, table, 40, priors=priors)


def test_an_offset_changes_no_choice() -> None:
    """Dyadic rewards, so that the offset itself is exact."""
    steps = np.random.default_rng(8).integers(-(2**20), 2**20, (3, HORIZON)) / 2**20
    assert play(RedUCB(), steps.tolist(), HORIZON) == play(RedUCB(), (steps + 2.0**20).tolist(), HORIZON)


def test_every_arm_starts_with_the_pulls_that_its_first_window_needs() -> None:
    assert play(RedUCB(epsilon=0.25), [[1.0] * 12] * 3, 12) == [0] * 4 + [1] * 4 + [2] * 4


def test_on_rising_arms_it_collects_more_than_raw_ucb() -> None:
    """The late bloomer begins far below the steady arm, where RAW-UCB leaves it: an arm that rots would only get worse."""
    T, sigma = 400, 0.01
    means = np.array([np.full(T, 0.5), 1.0 - np.exp(-np.arange(T) / 40)])
    table = (means + sigma * np.random.default_rng(1).normal(size=means.shape)).tolist()
    red, raw = play(RedUCB(sigma=sigma), table, T), play(RAWUCB(sigma=sigma), table, T)
    collected = [sum(means[i, : chosen.count(i)].sum() for i in range(2)) for chosen in (red, raw)]
    assert collected[1] < 0.5 * T + 1
    assert collected[0] > 0.75 * T


def test_it_keeps_the_contract_of_a_policy() -> None:
    """With a window that is there early, so that little is infinite: arms come and go, states grow, are saved and restored."""
    check_policy(RedUCB(epsilon=0.4, sigma=0.1))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, -0.1, 1.0, math.nan])
def test_a_window_of_none_or_half_of_the_pulls_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be a number above 0 and below 1/2, got "):
        RedUCB(epsilon=epsilon)


def test_a_confidence_level_and_a_scale_are_positive() -> None:
    with pytest.raises(ValueError, match=r"^alpha must be a positive finite number, got 0$"):
        RedUCB(alpha=0)
    with pytest.raises(ValueError, match=r"^sigma must be a positive finite number, got -1$"):
        RedUCB(sigma=-1)
