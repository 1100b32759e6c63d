"""Exp3 and its kin, SW-UCB and D-UCB, SWA and wSWA: their references, their tunings, and what each is known for."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Ints
from rotting.engines.compile import compiled
from rotting.kernels.binding import bind
from rotting.kernels.exact_sums import times
from rotting.kernels.random_numbers import uniform
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
from rotting.problems.noise import Gaussian
from rotting.registry import from_json
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import KEY, play, play_naive, tables
from tests.reference import naive

HORIZON = 60 if INTERPRETED else 250
WIDE: dict[str, float | str] = {"low": -1e7, "high": 1e7, "outside": "clip"}

RANDOMISED: list[Policy] = [
    Exp3(gamma=0.3),
    Exp3(gamma=1.0, low=-3.0, high=3.0, outside="clip"),
    Exp3(gamma=0.05, **WIDE),
    Exp3.from_horizon(HORIZON, low=-3.0, high=3.0, outside="clip"),
    Exp3S(gamma=0.2, alpha=0.01, low=-3.0, high=3.0, outside="clip"),
    Exp3S(gamma=0.2, alpha=1.0, **WIDE),
    Exp3S.from_horizon(HORIZON, low=-3.0, high=3.0, outside="clip"),
    Exp3S.from_switches(HORIZON, 3, low=-3.0, high=3.0, outside="clip"),
    Exp3S.from_budget(HORIZON, 0.01, low=-3.0, high=3.0, outside="clip"),
    Rexp3(gamma=0.2, batch=17, low=-3.0, high=3.0, outside="clip"),
    Rexp3(batch=1),
    Rexp3.from_budget(HORIZON, 5.0, low=-3.0, high=3.0, outside="clip"),
]
WINDOWED: list[Policy] = [
    SWUCB(tau=1),
    SWUCB(tau=7, xi=2.0),
    SWUCB(tau=40, B=0.1),
    SWUCB(tau=10_000),
    SWUCB.from_breakpoints(HORIZON, 3),
    SWUCB.from_breakpoints(HORIZON, 0),
    DUCB(gamma=1.0),
    DUCB(gamma=0.99, B=0.1),
    DUCB(gamma=0.9),
    DUCB(gamma=0.3),
    DUCB.from_breakpoints(HORIZON, 3),
    DUCB.from_breakpoints(HORIZON, 0),
    SWA(M=1),
    SWA(M=9),
    SWA.from_horizon(HORIZON, alpha=0.02),
    SWA.from_horizon(HORIZON, alpha=1.0, sigma=0.5),
    WSWA(),
    WSWA(alpha=0.02),
]
VARIANTS = RANDOMISED + WINDOWED


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    for name, table in tables(3, HORIZON).items():
        assert play(policy, table.tolist(), HORIZON) == play_naive(policy, table.tolist(), HORIZON), name


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_odd_sizes_and_changing_arms_equal_the_reference(policy: Policy) -> None:
    for n_arms, horizon in [(1, 40), (5, 3), (7, 7), (2, 1)]:
        table = tables(n_arms, horizon)["noise"].tolist()
        assert play(policy, table, horizon) == play_naive(policy, table, horizon), (n_arms, horizon)

    def available(t: int) -> list[int]:
        return [i for i in range(4) if (t // 5) % 4 != i and (t % 7 != 0 or i < 2)]

    table = tables(4, HORIZON)["falling"].tolist()
    assert play(policy, table, HORIZON, available=available) == play_naive(policy, table, HORIZON, available)


TIED = [Exp3(gamma=0.3), Exp3S(gamma=0.2, alpha=0.01), SWUCB(tau=7), DUCB(gamma=1.0), DUCB(gamma=0.5), SWA(M=3), WSWA()]


@pytest.mark.parametrize("policy", TIED, ids=repr)
@given(data=st.data())
def test_ties_equal_the_reference(policy: Policy, data: st.DataObject) -> None:
    n_arms = data.draw(st.integers(1, 4))
    values = st.sampled_from([0.0, 0.1, 0.5, 1.0, -1.0, 1 / 3])
    offset = data.draw(st.sampled_from([0.0, 1e6, -1e9]))
    rows = data.draw(st.lists(st.lists(values, min_size=30, max_size=30), min_size=n_arms, max_size=n_arms))
    table = [[offset + x for x in row] for row in rows]
    assert play(policy, table, 30) == play_naive(policy, table, 30)


TUNED: list[Policy] = [
    Exp3.from_horizon(500),
    Exp3S.from_switches(500, 2),
    Exp3S.from_budget(500, 2.0),
    Rexp3.from_budget(500, 2.0),
    SWUCB.from_breakpoints(500, 2),
    DUCB.from_breakpoints(500, 2),
    SWA.from_horizon(500),
]


@pytest.mark.parametrize("policy", TUNED, ids=repr)
def test_tuned_policies_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


# --- Exponential weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.05, 0.7])
def test_exp3_s_that_shares_nothing_is_exp3(gamma: float) -> None:
    for table in tables(4, HORIZON).values():
        plain = play(Exp3(gamma=gamma, low=-3, high=3, outside="clip"), table.tolist(), HORIZON)
        assert play(Exp3S(gamma=gamma, alpha=0.0, low=-3, high=3, outside="clip"), table.tolist(), HORIZON) == plain


def test_exp3_and_exp3_s_tunings_are_the_published_numbers() -> None:
    def rates(policy: Policy, n_arms: int) -> list[float]:
        return list(states.new_state(policy, n_arms, 1).rates)

    assert rates(Exp3.from_horizon(10_000), 10) == pytest.approx([math.sqrt(10 * math.log(10) / ((math.e - 1) * 10_000)), 0])
    assert rates(Exp3.from_horizon(2), 10) == [1.0, 0.0]
    assert rates(Exp3S.from_horizon(10_000), 10) == pytest.approx([math.sqrt(10 * math.log(1e5) / 1e4), 1e-4])
    assert rates(Exp3S.from_switches(10_000, 4), 10) == pytest.approx(
        [math.sqrt(10 * (5 * math.log(1e5) + math.e) / ((math.e - 1) * 1e4)), 1e-4]
    )
    assert rates(Exp3S.from_budget(10_000, 0.04), 10) == pytest.approx(
        [(4 * 0.04 * 10 * math.log(1e5) / ((math.e - 1) ** 2 * 1e4)) ** (1 / 3), 1e-4]
    )
    batch = math.ceil((10 * math.log(10)) ** (1 / 3) * (10_000 / 2) ** (2 / 3))
    state = states.new_state(Rexp3.from_budget(10_000, 2), 10, 1)
    assert state.batch[0] == batch
    assert state.rates[0] == pytest.approx(math.sqrt(10 * math.log(10) / ((math.e - 1) * batch)))


def choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    raise NotImplementedError


def update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    raise NotImplementedError


def many_rounds(p: Any, s: Any, rounds: int, change: int, top: float, key: int, arms: Ints) -> None:
    """Let arm 0 pay `top` up to round `change` and arm 1 after it, and the others nothing."""
    for t in range(1, rounds + 1):
        i = choose(p, s, t, key, arms)
        update(p, s, t, i, top if i == (0 if t <= change else 1) else 0.0)


LONG: list[tuple[Any, int]] = [
    (Exp3(gamma=0.01, high=1000.0), 10_000_000),
    (Exp3S(gamma=0.01, alpha=1e-7, high=1000.0), 10_000_000),
    (Exp3(gamma=0.001, outside="clip"), 1_000_000),
    (Rexp3(gamma=0.01, batch=500_000, high=1000.0), 1_000_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "rounds"), LONG, ids=repr)
def test_weights_stay_finite_for_ten_million_rounds_of_large_rewards(policy: Policy, rounds: int) -> None:
    """And arm 1, the best at the end, is played all the time but for exploration, also where it was not the best before.

    Since the others pay nothing, its weight grows by exp(gamma / 3) or more at each of its pulls, of which there are at least
    gamma / 3 a round: by Hoeffding's bound the false-alarm rate is far below 1e-6.
    """
    arms, state = np.arange(3), states.new_state(policy, 3, 1)
    change = 0 if policy.name == "exp3" else rounds // 2  # Exp3 is not made to follow one
    loop = compiled(bind(many_rounds, {choose: policy.kernel.choose, update: policy.kernel.update}))
    loop(policy.params, state, rounds, change, 1000.0, KEY, arms)
    assert np.isfinite(state.log_weights).all()
    assert state.log_weights.max() == 0.0
    out = np.zeros(3)
    assert policy.kernel.propensities is not None
    policy.kernel.propensities(policy.params, state, rounds, arms, out)
    gamma = policy.params.gamma
    # Exp3.S leaves the others e alpha / gamma = 3e-5 of the best weight.
    assert out == pytest.approx([gamma / 3, 1 - 2 * gamma / 3, gamma / 3], rel=0.01)


@pytest.mark.parametrize("policy", [Exp3(gamma=0.2), Exp3S(gamma=0.2, alpha=0.01), Rexp3(gamma=0.2, batch=64)], ids=repr)
def test_propensities_sum_to_one_and_match_the_frequencies(policy: Policy) -> None:
    """By Hoeffding, one frequency is off by e in n draws with chance below 2 exp(-2 n e^2): below 1e-7 here, for 3 arms."""
    bandit = Bandit(policy, arms=["a", "b", "c"], seed=3)
    for t in range(40):
        arm = bandit.pull()
        bandit.update(arm, 1.0 if arm == "b" and t % 3 else 0.2)
    for arms in (None, ["a", "c"]):
        chances = bandit.propensities(arms)
        assert math.fsum(chances.values()) == pytest.approx(1.0, abs=1e-15)
        assert min(chances.values()) >= 0.2 / len(chances) * (1 - 1e-12)
    n = 500 if INTERPRETED else 20_000
    available = np.arange(3)
    draw, state = compiled(policy.kernel.choose), bandit._state  # a pull that is not rewarded changes no weight
    drawn = [int(draw(policy.params, state, 41, key, available)) for key in range(n)]
    margin = math.sqrt(math.log(2 / 1e-8) / (2 * n))
    for slot, chance in enumerate(bandit.propensities().values()):
        assert abs(drawn.count(slot) / n - chance) < margin


def test_a_late_reward_is_divided_by_the_probability_of_its_draw() -> None:
    policy = Exp3(gamma=0.2)
    bandit = Bandit(policy, arms=[0, 1], seed=1)
    slow = naive.Exp3(2, gamma=0.2, uniform=lambda t, draw: uniform(bandit._key, t, draw))
    waiting: list[tuple[int, int]] = []
    for t in range(1, 61):
        arm = slow.choose(t)
        assert bandit.pull() == arm
        waiting.append((t, arm))
        if t % 20 == 0:  # twenty rewards at once, drawn with the same weights; those of an arm come in the order of its draws
            for drawn, each in waiting:
                slow.update(drawn, each, 0.9 if each else 0.1)
                bandit.update(each, 0.9 if each else 0.1)
            waiting = []
        expected = dict(enumerate(slow.probabilities([0, 1])))
        assert bandit.propensities() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "policy", [Exp3(gamma=0.2), Exp3S(gamma=0.2, alpha=0.0), Rexp3(gamma=0.2, batch=1_000)], ids=lambda each: each.name
)
@pytest.mark.parametrize("saved", [False, True])
def test_late_rewards_of_an_arm_are_those_of_its_draws_in_order(policy: Policy, saved: bool) -> None:
    """Drawn alone, arm 0 has probability 1; drawn from three and from two, 1/3 and 1/2: each reward is divided by its own."""
    for rewards in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.1, 0.7]):
        bandit = Bandit(policy, arms=[0, 1, 2], seed=1)
        for some in ([0], [0, 1, 2], [0, 1]):
            while bandit.pull(arms=some) != 0:
                pass
        if saved:
            bandit = Bandit.from_state(bandit.get_state())
        rounds = bandit.rounds
        for reward in rewards:
            bandit.update(0, reward)
        assert bandit.rounds == rounds
        weight = math.exp(0.2 / 3 * (rewards[0] + 3 * rewards[1] + 2 * rewards[2]))
        assert bandit.propensities()[0] == pytest.approx(0.8 * weight / (weight + 2) + 0.2 / 3, rel=1e-14)


def test_a_reward_that_no_pull_asked_for_is_divided_by_the_probability_it_would_have_had() -> None:
    bandit = Bandit(Exp3(gamma=0.5), arms=[0, 1])
    bandit.update(0, 1.0)
    weight = math.exp(0.5 * (1.0 / 0.5) / 2)
    assert bandit.propensities()[0] == pytest.approx(0.5 * weight / (weight + 1) + 0.25)


def test_rexp3_forgets_at_the_end_of_a_batch() -> None:
    bandit = Bandit(Rexp3(gamma=0.3, batch=50), arms=[0, 1], seed=2)
    for t in range(1, 201):
        asked_before = bandit.propensities()
        assert (asked_before == pytest.approx({0: 0.5, 1: 0.5}, abs=1e-12)) == (t % 50 == 1)
        arm = bandit.pull()
        bandit.update(arm, float(arm == 1) * 0.5 + 0.5)


@pytest.mark.parametrize("make", [Exp3, Exp3S, Rexp3])
def test_rewards_outside_the_range_are_refused_with_the_range(make: Callable[..., Policy]) -> None:
    bandit = Bandit(make(low=-1.0, high=2.0), arms=["a", "b"])
    before = bandit.get_state()
    for bad in (-1.001, 2.5):
        with pytest.raises(ValueError, match=rf"^reward must be in \[-1\.0, 2\.0\].*got {bad}$"):
            bandit.update("a", bad)
    assert bandit.get_state() == before
    bandit.update("a", 2.0)
    clipping = Bandit(make(low=-1.0, high=2.0, outside="clip"), arms=["a", "b"])
    clipping.update("a", 1e9)
    assert clipping.propensities() == bandit.propensities()
    problem = Problem.restless(np.zeros((2, 10)), noise=Gaussian(1.0))
    with pytest.raises(ValueError, match=r"^rewards must be in \[-1\.0, 2\.0\]"):
        simulate(make(low=-1.0, high=2.0), problem, runs=1)
    if make is Exp3:
        assert simulate(make(low=-1.0, high=2.0, outside="clip"), problem, runs=1).pulls.sum() == 10


def test_an_arm_that_is_added_starts_level_with_the_leader() -> None:
    bandit = Bandit(Exp3(gamma=0.3), arms=["a", "b"], seed=1)
    for _ in range(500):
        bandit.update("a", 1.0)
    assert bandit.propensities()["a"] > 0.8
    bandit.add_arm("c")
    assert bandit.propensities()["c"] == pytest.approx(bandit.propensities()["a"])


# --- Windows and discounts ----------------------------------------------------------------------------------


def fed(policy: Policy, rewards: list[tuple[int, float]], n_arms: int = 2) -> Any:
    """The state after these (arm, reward), one a round."""
    state = states.new_state(policy, n_arms, len(rewards))
    for t, (arm, reward) in enumerate(rewards, 1):
        policy.kernel.update(policy.params, state, t, arm, reward)
    return state


@given(past=st.lists(st.sampled_from([1e100, -3e99, 1e6, 0.1, -1e-9]), max_size=60), data=st.data())
def test_sw_ucb_forgets_all_that_left_the_window(past: list[float], data: st.DataObject) -> None:
    """Whatever came before, and however large: the index is that of the window alone, to the last bit."""
    tau, policy = 10, SWUCB(tau=10)
    values = st.tuples(st.integers(0, 1), st.sampled_from([0.1, 0.2, 1 / 3, 1e6 + 0.1]))
    window = data.draw(st.lists(values, min_size=tau, max_size=tau))
    state = states.new_state(policy, 2, 70)
    t = 0
    for t, reward in enumerate(past, 1):
        policy.kernel.update(policy.params, state, t, t % 2, reward)
        policy.kernel.choose(policy.params, state, t + 1, KEY, np.arange(2))
    for t, (arm, reward) in enumerate(window, t + 1):  # noqa: B020 - goes on counting
        policy.kernel.update(policy.params, state, t, arm, reward)
        policy.kernel.choose(policy.params, state, t + 1, KEY, np.arange(2))
    assert policy.kernel.explain is not None
    for i in range(2):
        rewards = [x for arm, x in window if arm == i]
        reason = policy.kernel.explain(policy.params, state, t + 1, np.arange(2), i)
        if not rewards:
            assert reason.value == math.inf
        else:
            assert reason.mean == math.fsum(rewards) / len(rewards)
            assert reason.window == len(rewards)
            assert reason.width == math.sqrt(0.6 * math.log(min(t + 1, tau)) / len(rewards))


def test_sw_ucb_comes_back_to_an_arm_that_left_the_window() -> None:
    table = [[1.0] * HORIZON, [0.0] * HORIZON]
    chosen = play(SWUCB(tau=20), table, HORIZON)
    gaps = np.diff([t for t, arm in enumerate(chosen) if arm == 1])
    assert gaps.max() <= 21
    assert np.mean(chosen) < 0.5


def test_sw_ucb_takes_rewards_that_come_late_together() -> None:
    bandit = Bandit(SWUCB(tau=3), arms=["a", "b"])
    for _ in range(100):
        for arm in [bandit.pull() for _ in range(4)]:
            bandit.update(arm, 1.0)
    bandit.pull()
    assert sum(choice.window for choice in bandit.explain().values()) == 4


def test_unpulled_arms_age_too() -> None:
    rewards = [(0, 1.0)] + [(1, 0.0)] * 9
    slow = naive.DUCB(2, gamma=0.8)
    for t, (arm, reward) in enumerate(rewards, 1):
        slow.update(t, arm, reward)
    policy = DUCB(gamma=0.8)
    state = fed(policy, rewards)
    assert policy.kernel.explain is not None
    for i in range(2):
        reason = policy.kernel.explain(policy.params, state, 11, np.arange(2), i)
        assert reason.value == pytest.approx(slow.index(11, i), rel=1e-14)
    assert state.pulls_high[0] == pytest.approx(0.8**9, rel=1e-15)


def test_d_ucb_without_a_discount_is_its_own_ucb_index() -> None:
    """`mean + 2 B sqrt(xi ln(t - 1) / N)` over all rewards ever seen."""
    table = tables(3, HORIZON)["falling"].tolist()
    rewards: list[list[float]] = [[], [], []]
    chosen = play(DUCB(gamma=1.0, xi=0.7, B=0.5), table, HORIZON)
    for t, arm in enumerate(chosen, 1):
        if t <= 3:
            assert arm == t - 1
        else:
            width = [2 * 0.5 * math.sqrt(0.7 * math.log(t - 1) / len(xs)) for xs in rewards]
            index = [math.fsum(xs) / len(xs) + c for xs, c in zip(rewards, width, strict=True)]
            assert arm == index.index(max(index))
        rewards[arm].append(table[arm][len(rewards[arm])])


@pytest.mark.parametrize("gamma", [0.9, 0.999])
def test_d_ucb_does_not_drift_at_an_offset(gamma: float) -> None:
    """The discounted mean of equal rewards is that reward to 2 units in the last place, in every round.

    Sum and count are rounded once each, and so is their quotient; recurrences in plain floats are off by 7 and by 212 units.
    """
    policy, reward = DUCB(gamma=gamma), 1e6 + 0.1
    state = states.new_state(policy, 2, 1)
    learn = compiled(policy.kernel.update)
    for t in range(1, 301 if INTERPRETED else 6_001):
        learn(policy.params, state, t, t % 2, reward)
        if t >= 2:
            means = state.high / state.pulls_high
            assert np.abs(means - reward).max() <= 2 * math.ulp(reward)


def test_d_ucb_forgets_an_arm_that_is_removed() -> None:
    bandit, twin = Bandit(DUCB(gamma=0.9), arms=["a", "b"]), Bandit(DUCB(gamma=0.9), arms=["b"])
    bandit.update("a", 1.0)
    bandit.update("b", 0.3)
    bandit.remove_arm("a")
    twin.update("b", 0.3)
    assert bandit.explain()["b"].index == pytest.approx(twin.explain()["b"].index)
    bandit.add_arm("c")  # takes the place of a
    assert bandit.explain()["b"].index == pytest.approx(twin.explain()["b"].index)


def test_d_ucb_plays_an_arm_whose_rewards_have_faded_away() -> None:
    policy = DUCB(gamma=0.01)
    state = fed(policy, [(0, 1.0), *[(1, 1.0)] * 200])
    assert policy.kernel.choose(policy.params, state, 202, KEY, np.arange(2)) == 0


@given(st.floats(-1e50, 1e50), st.floats(0.0, 1.0))
def test_products_are_kept_to_106_bits(x: float, factor: float) -> None:
    high, low = times(x, 0.0, factor)
    exact = Fraction(x) * Fraction(factor)
    assert abs(Fraction(high) + Fraction(low) - exact) <= abs(exact) * Fraction(2) ** -104 + Fraction(1e-300)


def test_window_tunings_are_the_published_numbers() -> None:
    assert states.new_state(SWUCB.from_breakpoints(10_000, 4, B=2), 3, 1).recent.tau[0] == math.ceil(
        4 * math.sqrt(1e4 * math.log(1e4) / 4)
    )
    assert states.new_state(SWUCB.from_breakpoints(100, 0), 3, 1).recent.tau[0] == 100
    assert states.new_state(DUCB.from_breakpoints(10_000, 4, B=2), 3, 1).gamma[0] == pytest.approx(1 - 0.02 / 8)
    assert states.new_state(DUCB.from_breakpoints(10_000, 0), 3, 1).gamma[0] == 1.0
    m = 0.2 * (4 * 0.5 * 10_000 / 10) ** (2 / 3) * math.log(math.sqrt(2) * 10_000) ** (1 / 3)
    assert states.new_state(SWA.from_horizon(10_000, sigma=0.5), 10, 1).window[0] == math.ceil(m)


# --- SWA ----------------------------------------------------------------------------------------------------


def test_swa_takes_turns_and_then_the_best_window() -> None:
    table = [[1.0] * 6 + [0.0] * 94, [0.5] * 100, [0.4] * 100]
    chosen = play(SWA(M=2), table, 60)
    assert chosen[:6] == [0, 1, 2, 0, 1, 2]
    assert chosen[6:12] == [0] * 6  # four ones, a zero, then the window (1, 0) ties with arm 1 and wins
    assert set(chosen[12:]) == {1}


def test_wswa_starts_anew_at_rounds_that_are_powers_of_two() -> None:
    table = [[1.0] * 100, [0.0] * 100]
    chosen = play(WSWA(alpha=1e-6), table, 63)
    assert [t for t, arm in enumerate(chosen, 1) if arm == 1] == [3, 5, 9, 17, 33]


# --- Bad input ----------------------------------------------------------------------------------------------


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
        (lambda: SWUCB(tau=2.5), r"^tau must be a whole number, 1 or more, got 2\.5$"),
        (lambda: SWA(M=0), r"^M must be a whole number, 1 or more, got 0$"),
        (lambda: Rexp3(batch=0), r"^batch must be a whole number, 1 or more, got 0$"),
        (lambda: Exp3(gamma=0), r"^gamma must be a number in \(0, 1\], got 0$"),
        (lambda: Exp3S(alpha=-0.1), r"^alpha must be a probability in \[0, 1\], got -0\.1$"),
        (lambda: Exp3(low=1, high=1), r"^low must be below high, got low=1\.0 and high=1\.0$"),
        (lambda: Exp3(outside="drop"), r"^outside must be one of 'refuse', 'clip', got 'drop'$"),
        (lambda: Exp3(gamma=0.3, horizon=100), r"^gamma must be left out with a horizon, which decides it, got 0\.3$"),
        (lambda: Exp3S(segments=3), r"^segments must be left out without a horizon, got 3$"),
        (lambda: Exp3S(horizon=9, segments=3, budget=2), r"^budget must be left out when segments is given, got 2\.0$"),
        (lambda: SWUCB(horizon=9, tau=5), r"^tau must be left out with a horizon, which decides it, got 5$"),
        (lambda: Exp3.from_horizon(0), r"^horizon must be a whole number, 1 or more, got 0$"),
        (lambda: Exp3S.from_switches(10, -1), r"^switches must be a whole number, 0 or more, got -1$"),
        (lambda: Exp3S.from_budget(10, 0), r"^budget must be a positive finite number, got 0$"),
        (lambda: Rexp3.from_budget(10, -2), r"^budget must be a positive finite number, got -2$"),
        (lambda: SWUCB.from_breakpoints(10, -1), r"^breakpoints must be a whole number, 0 or more, got -1$"),
        (lambda: DUCB.from_breakpoints(10, 10, B=0.2), r"^breakpoints must be below 16 B\^2 horizon.*got 10 with B=0\.2"),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Policy], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_what_is_printed_makes_the_same_policy(policy: Policy) -> None:
    names = {each.__name__: each for each in (Exp3, Exp3S, Rexp3, SWUCB, DUCB, SWA, WSWA)}
    assert eval(repr(policy), names) == policy
    assert from_json(policy.to_json()) == policy
