"""Policies that detect changes: their choices and alarms are those of the definitions, and come when they should."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.parts.divergences import kl_bernoulli, kl_gaussian
from rotting.parts.doubling import doubling
from rotting.policies.ad_switch import AdSwitch
from rotting.policies.cusum_ucb import CUSUMUCB
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.kl_ucb import KLUCB
from rotting.policies.m_ucb import MUCB
from rotting.policy import Policy
from rotting.problems import Problem
from rotting.problems.noise import Bernoulli, Gaussian
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import KEY, play, play_naive, reference
from tests.reference import naive

T = 80 if INTERPRETED else 240

UNBOUNDED: list[Policy] = [
    GLRUCB(),
    GLRUCB(restart="global", rate=0.1),
    GLRUCB(delta=0.9, sigma=0.5, threshold="theory", c=0.0),
    GLRUCB(delta=0.5, test_every=10, split_every=10),
    GLRUCB(test_every=3, split_every=7, restart="global"),
    GLRUCB.from_horizon(T, bound="bernoulli"),
]
BOUNDED: list[Policy] = [
    GLRKLUCB(delta=0.1),
    GLRKLUCB(restart="global", rate=0.3, c=0.0),
    GLRKLUCB(delta=0.9, threshold="theory"),
    GLRKLUCB.from_horizon(T, test_every=2, split_every=5, low=0.1, high=0.95, outside="clip"),
    CUSUMUCB(M=10, h=2.0, rate=0.2),
    CUSUMUCB(M=5, h=1.0, epsilon=0.2, restart="global", xi=0.5),
    CUSUMUCB.from_breakpoints(T, breakpoints=4, M=8, low=0.1, high=0.8, outside="clip"),
    MUCB(w=10, b=3.0, gamma=0.1),
    MUCB(w=6, b=1.9, gamma=0.0),
    MUCB.from_breakpoints(T, breakpoints=3, w=60),
    MUCB.from_breakpoints(T, breakpoints=1, change=1.0),
    AdSwitch(horizon=T),
    AdSwitch(horizon=T, C1=0.1),
    AdSwitch(horizon=4, C1=2.0),
    AdSwitch(horizon=4, C1=0.5, low=-0.1, high=1.0, outside="clip"),
]
ALL = UNBOUNDED + BOUNDED
ONE_EACH = [UNBOUNDED[1], UNBOUNDED[5], BOUNDED[0], BOUNDED[4], BOUNDED[7], BOUNDED[12]]


def rounds(policy: Policy) -> int:
    """Rounds of a game against the reference, which compares all pairs of windows for AdSwitch."""
    return T // 2 if isinstance(policy, AdSwitch) else T


def tables(policy: Policy, n_arms: int, horizon: int) -> dict[str, Floats]:
    """Rewards with jumps, ties and offsets, in [0, 1] where the policy wants that."""
    rng = np.random.default_rng(3)
    late = np.arange(horizon) >= np.linspace(horizon / 5, horizon / 2, n_arms)[:, None]
    coins = (rng.random((n_arms, horizon)) < np.where(late, 0.1, 0.9)).astype(float)
    found = {
        "coins": coins,
        "rising coins": 1.0 - coins,
        "constant": np.full((n_arms, horizon), 0.1),
        "zero": np.zeros((n_arms, horizon)),
        "one": np.ones((n_arms, horizon)),
        "fractions": np.round(rng.random((n_arms, horizon)), 1),
        "step": np.where(late, 0.25, 0.75),
    }
    if policy in UNBOUNDED:
        noise = rng.normal(size=(n_arms, horizon)) - 3.0 * late
        found |= {"noise": noise, "offset": 1e6 + noise, "far offset": 1e9 + noise, "offset coins": 4.0 * coins - 1e6}
    return found


def uneven(n_arms: int, t: int) -> list[int]:
    """Some of the arms, others in each round, never none."""
    return [i for i in range(n_arms) if (t + i) % 3 != 0] or [n_arms - 1]


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_choices_equal_the_reference(policy: Policy) -> None:
    horizon = rounds(policy)
    for name, table in tables(policy, 3, horizon).items():
        assert play(policy, table.tolist(), horizon) == play_naive(policy, table.tolist(), horizon), name


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_choices_under_masks_equal_the_reference(policy: Policy) -> None:
    horizon = rounds(policy)
    table = tables(policy, 4, horizon)["coins"].tolist()
    games = [f(policy, table, horizon, available=lambda t: uneven(4, t)) for f in (play, play_naive)]
    assert games[0] == games[1]


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_odd_sizes_equal_the_reference(policy: Policy) -> None:
    for n_arms, horizon in [(1, 60), (5, 3), (7, 7), (2, 1)]:
        table = tables(policy, n_arms, horizon)["coins"].tolist()
        assert play(policy, table, horizon) == play_naive(policy, table, horizon), (n_arms, horizon)


@st.composite
def small_tables(draw: st.DrawFn) -> list[list[float]]:
    """Few distinct values, so that ties abound."""
    n_arms = draw(st.integers(1, 4))
    rows = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1 / 3]), min_size=30, max_size=30)
    return draw(st.lists(rows, min_size=n_arms, max_size=n_arms))


@pytest.mark.parametrize("policy", ONE_EACH, ids=repr)
@given(table=small_tables())
def test_ties_equal_the_reference(policy: Policy, table: list[list[float]]) -> None:
    assert play(policy, table, 30) == play_naive(policy, table, 30)


def samples_of(state: Any) -> Ints:
    """The number of samples of each arm since its restart."""
    found: Ints = (state.history if hasattr(state, "history") else state).pulls
    return found


def restarts(policy: Policy, table: Floats, horizon: int) -> int:
    """How often an arm that was just pulled has no samples."""
    state = states.new_state(policy, len(table), horizon)
    choose, update = compiled(policy.kernel.choose, policy), compiled(policy.kernel.update, policy)
    pulls, found = [0] * len(table), 0
    for t in range(1, horizon + 1):
        arm = choose(policy.params, state, t, KEY, np.arange(len(table)))
        update(policy.params, state, t, arm, table[arm, pulls[arm]])
        pulls[arm] += 1
        found += int(samples_of(state)[arm] == 0)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_the_games_above_have_alarms(policy: Policy) -> None:
    """Else they would prove little. (What is tuned to the games' short horizon is silent, as it should be.)"""
    horizon = rounds(policy)
    found = sum(restarts(policy, table, horizon) for table in tables(policy, 3, horizon).values())
    silent = policy.max_rounds == T and (isinstance(policy, AdSwitch) or "change=1.0" in repr(policy))
    assert (found == 0) == silent


@pytest.mark.slow
@pytest.mark.parametrize("policy", ONE_EACH, ids=repr)
def test_variants_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


def dyadic(seed: int, shape: tuple[int, ...]) -> Floats:
    return np.random.default_rng(seed).integers(-(2**20), 2**20, shape) / 2**20


def test_an_offset_changes_no_choice_of_glr_ucb() -> None:
    """Dyadic rewards, so that the offset itself is exact."""
    steps = dyadic(8, (3, T)) - 2.0 * (np.arange(T) > T // 5)
    policy = GLRUCB(sigma=0.6)
    assert play(policy, steps.tolist(), T) == play(policy, (steps + 2.0**20).tolist(), T)


# --- AdSwitch: a good arm that changes -----------------------------------------------------------------------


def in_steps(*steps: tuple[float, int]) -> list[float]:
    """These values, each for so many pulls, and the last of them on and on."""
    return [value for value, times in steps for _ in range(times)] + [steps[-1][0]] * 200


GOOD_ARMS = {
    "falls": in_steps((0.9, 25), (0.0, 1)),
    "rises": in_steps((0.1, 25), (1.0, 1)),
    "rises, and falls below its first level": in_steps((0.4, 5), (0.9, 30), (0.5, 5), (0.0, 1)),
    "falls, and rises above its first level": in_steps((0.6, 5), (0.1, 30), (0.5, 5), (1.0, 1)),
}


@pytest.mark.parametrize("name", GOOD_ARMS)
def test_a_good_arm_that_changes_begins_an_episode(name: str) -> None:
    """No arm is ever bad at this C1, so that nothing else begins one. Episodes are those of the reference, round by round."""
    policy, table, horizon = AdSwitch(horizon=3, C1=100.0), [GOOD_ARMS[name], in_steps((0.5, 1))], 120
    slow: Any = reference(policy, 2)
    state = states.new_state(policy, 2, horizon)
    choose, update = compiled(policy.kernel.choose, policy), compiled(policy.kernel.update, policy)
    pulls = [0, 0]
    for t in range(1, horizon + 1):
        arm = int(choose(policy.params, state, t, KEY, np.arange(2)))
        assert arm == slow.choose(t), t
        update(policy.params, state, t, arm, table[arm][pulls[arm]])
        slow.update(t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        assert state.episode.tolist() == [slow.episode, slow.start], t
    assert slow.episode > 1
    assert not slow.bad


# --- The GLR test skips only what cannot raise the alarm -----------------------------------------------------


def alarms(policy: Policy, samples: Floats) -> list[int]:
    """Sample numbers at which a single arm restarts."""
    state = states.new_state(policy, 1, len(samples))
    update = compiled(policy.kernel.update, policy)
    found = []
    for t, x in enumerate(samples, 1):
        update(policy.params, state, t, 0, float(x))
        if samples_of(state)[0] == 0:
            found.append(t)
    return found


def full_scan(policy: Any, samples: Floats) -> list[int]:
    """The same by NumPy, over every split; sums are exact because the samples are dyadic."""
    bernoulli = isinstance(policy, GLRKLUCB)
    sigma = 1.0 if bernoulli else policy.sigma
    found: list[int] = []
    start = 0
    for t in range(1, len(samples) + 1):
        xs = np.asarray(samples[start:t])
        n = xs.size
        if n < 2:
            continue
        sums, k = np.cumsum(xs)[:-1], np.arange(1, n)
        left, right, whole = sums / k, (xs.sum() - sums) / (n - k), xs.sum() / n
        if bernoulli:
            with np.errstate(all="ignore"):
                kls = [np.where(x > 0, x * np.log(x / whole), 0.0) for x in (left, right)]
                kls = [
                    a + np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - whole)), 0.0)
                    for a, x in zip(kls, (left, right), strict=True)
                ]
        else:
            kls = [(x - whole) ** 2 / (2 * sigma**2) for x in (left, right)]
        if np.max(k * kls[0] + (n - k) * kls[1]) >= naive.glr_threshold(
            "bernoulli" if bernoulli else "gaussian", n, policy.delta
        ):
            found.append(t)
            start = t
    return found


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.05])
def test_glr_alarms_are_those_of_the_full_scan(scale: float) -> None:
    """Long enough for blocks of several levels; false alarms are likely at delta = 1 and a small sigma."""
    length = 150 if INTERPRETED else 2500
    drift = scale * np.sin(np.arange(length) / 300)
    samples = dyadic(1, (length,)) + np.round(drift * 2**20) / 2**20
    fired = 0
    for offset in (0.0, 2.0**20, -(2.0**30)):
        policy = GLRUCB(sigma=0.4, delta=1.0)
        expected = full_scan(policy, samples + offset)
        assert alarms(policy, samples + offset) == expected
        fired += len(expected)
    unit = np.clip(np.round((samples + 2) / 4 * 2**20) / 2**20, 0, 1)
    for xs in (unit, np.where(unit > 0.5, 1.0, 0.0), np.where(unit > 0.7, 1.0, 0.0)):
        bernoulli = GLRKLUCB(delta=1.0)
        expected = full_scan(bernoulli, xs)
        assert alarms(bernoulli, xs) == expected
        fired += len(expected)
    assert fired > 0 or scale < 1.0 or INTERPRETED


def test_bound_of_the_divergences() -> None:
    """`kl(x, m) <= (x - m)^2 / v`, on which the skipping rests."""
    for m in np.linspace(0.01, 0.99, 33):
        for x in np.linspace(0.0, 1.0, 41):
            assert kl_bernoulli(x, m) <= (x - m) ** 2 / (m * (1 - m)) * (1 + 1e-12)
            assert kl_gaussian(x, m, 0.3) <= (x - m) ** 2 / (2 * 0.3**2) * (1 + 1e-12)


# --- Detection ----------------------------------------------------------------------------------------------

# T = 10,000 samples of one arm, sigma = 0.1, a change of 3 sigma; rewards in [0, 1] (six sigma from the ends, then clipped).
STATIONARY, CHANGE_AT, SIGMA = 10_000, 1_000, 0.1
DETECTORS = [
    (GLRUCB.from_horizon(STATIONARY, sigma=SIGMA), 200),
    (GLRUCB.from_horizon(STATIONARY, sigma=SIGMA, threshold="theory"), 200),
    (GLRKLUCB.from_horizon(STATIONARY), 200),
    (CUSUMUCB.from_breakpoints(STATIONARY, breakpoints=1), 200),
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


def test_m_ucb_fires_within_its_window_and_not_else() -> None:
    """By Hoeffding's inequality, the tuned b has a false alarm with a chance below 1 / (K T^2) = 1e-8 a sample; fixed seeds."""
    policy = MUCB.from_breakpoints(STATIONARY, breakpoints=1, change=0.6)
    w = naive.mucb_w(1, STATIONARY, 0.6)
    length = w + 200
    for seed, (before, after) in enumerate([(0.8, 0.2), (0.2, 0.8)]):
        rng = np.random.default_rng(seed)
        means = np.where(np.arange(length + w) < length, before, after)
        found = alarms(policy, np.clip(means + 0.2 * rng.normal(size=length + w), 0, 1))
        assert len(found) == 1
        assert length < found[0] <= length + w
    size = 2 * w if INTERPRETED else STATIONARY
    assert alarms(policy, np.where(np.random.default_rng(5).random(size) < 0.5, 1.0, 0.0)) == []


# --- Limits, tunings, probabilities --------------------------------------------------------------------------


@pytest.mark.parametrize("restart", ["local", "global"])
def test_glr_with_an_infinite_threshold_is_its_index_without_forgetting(restart: str) -> None:
    table = tables(UNBOUNDED[0], 3, T)["coins"]
    assert play(GLRKLUCB(delta=0, restart=restart), table.tolist(), T) == play(KLUCB(c=3.0), table.tolist(), T)
    noise = tables(UNBOUNDED[0], 3, T)["offset"]
    gaussian_ucb = KLUCB(kind="gaussian", c=3.0, sigma=0.7)
    assert play(GLRUCB(delta=0, sigma=0.7, restart=restart), noise.tolist(), T) == play(gaussian_ucb, noise.tolist(), T)
    assert restarts(GLRUCB(delta=0), noise, T) == 0 < restarts(GLRUCB(), noise, T)


def test_global_restart_forgets_every_arm_and_local_one_arm() -> None:
    for restart, left in [("local", [0, 30]), ("global", [0, 0])]:
        policy = GLRUCB(restart=restart)
        state = states.new_state(policy, 2, 60)
        for t in range(1, 31):
            policy.kernel.update(policy.params, state, t, 1, 0.5)
        for t in range(31, 61):
            policy.kernel.update(policy.params, state, t, 0, 0.0 if t < 55 else 100.0)
            if samples_of(state)[0] == 0:
                break
        assert samples_of(state).tolist() == left
        assert state.restart.tolist() == [55, 55 if restart == "global" else 0]


def test_forced_exploration_takes_its_share() -> None:
    table = np.zeros((4, 2000))
    table[0] = 1.0
    for policy in (GLRKLUCB(rate=0.1, c=0.0), MUCB(gamma=0.1, b=1e9)):
        pulls = np.bincount(play(policy, table[:, :400].tolist(), 400), minlength=4)
        assert (pulls >= 10).all()  # a tenth of 400 rounds, for four arms
        assert pulls[0] > 200


def test_named_constructors_tune_as_published() -> None:
    K, rounds_, Y = 3, 10_000, 5
    slow: Any = reference(MUCB.from_breakpoints(rounds_, Y, change=0.5), K)
    assert slow.w == 2 * math.ceil(8 * (math.sqrt(math.log(6e8)) + math.sqrt(math.log(2e4))) ** 2)
    assert slow.b == math.sqrt(slow.w * math.log(6e8) / 2)
    slow = reference(CUSUMUCB.from_breakpoints(rounds_, Y), K)
    assert (slow.h, slow.rate) == (math.log(2000), math.sqrt(math.log(2000) / 2000))
    slow = reference(GLRUCB.from_horizon(rounds_), K)
    assert slow.delta == 0.01
    for policy in (MUCB.from_breakpoints(rounds_, Y), CUSUMUCB.from_breakpoints(rounds_, Y), GLRKLUCB.from_horizon(rounds_)):
        assert policy.max_rounds == rounds_


@pytest.mark.parametrize("policy", [CUSUMUCB(rate=0.3), AdSwitch(horizon=T, C1=0.05)], ids=repr)
def test_propensities_match_the_frequencies(policy: Policy) -> None:
    """4,000 draws: an error of five standard deviations has a chance of 6e-7 a comparison; there are 12, at a fixed seed."""
    assert policy.kernel.propensities is not None
    choose, chances = compiled(policy.kernel.choose, policy), compiled(policy.kernel.propensities, policy)
    n_arms, draws = 3, 500 if INTERPRETED else 4000
    table = tables(policy, n_arms, T)["fractions"] * [[0.2], [1.0], [0.5]]
    state = states.new_state(policy, n_arms, T)
    arms, pulls, mixed = np.arange(n_arms), [0] * n_arms, 0
    for t in range(1, T // 2 + 1):
        out = np.full(n_arms, np.nan)
        chances(policy.params, state, t, arms, out)
        assert math.isclose(out.sum(), 1.0, rel_tol=1e-12)
        if out.max() < 1.0 and mixed < 2:
            mixed += 1
            for some in (arms, arms[1:]):
                out = np.full(some.size, np.nan)
                chances(policy.params, state, t, some, out)
                drawn = [choose(policy.params, type(state)(*map(np.copy, state)), t, key, some) for key in range(draws)]
                share = np.bincount(drawn, minlength=n_arms)[some] / draws
                assert (np.abs(share - out) <= 5 * np.sqrt(out * (1 - out) / draws) + 1e-12).all()
        arm = choose(policy.params, state, t, KEY, arms)
        policy.kernel.update(policy.params, state, t, arm, table[arm, pulls[arm]])
        pulls[arm] += 1
    assert mixed == 2


def test_live_propensities() -> None:
    bandit = Bandit(CUSUMUCB(rate=0.3), arms=["a", "b", "c"], seed=1)
    assert bandit.propensities() == {"a": 1.0, "b": 0.0, "c": 0.0}
    for arm in "abc":
        bandit.update(arm, 1.0 if arm == "b" else 0.0)
    assert bandit.propensities() == pytest.approx({"a": 0.1, "b": 0.8, "c": 0.1})
    assert bandit.propensities(["a", "c"]) == pytest.approx({"a": 0.85, "c": 0.15})


def test_a_removed_arm_leaves_no_count_behind() -> None:
    bandit = Bandit(CUSUMUCB(rate=0.0), arms=["a", "b"])
    for _ in range(9):
        bandit.update("a", 0.5)
    bandit.remove_arm("a")
    bandit.add_arm("c")
    bandit.update("b", 0.5)
    bandit.update("c", 0.5)
    assert bandit.explain()["c"].width == math.sqrt(math.log(2))


TUNED = [GLRKLUCB.from_horizon(30), CUSUMUCB.from_breakpoints(30, 2), MUCB.from_breakpoints(30, 2, w=6), AdSwitch(30)]


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
        (lambda: MUCB.from_breakpoints(100, 2, change=1e-4), "change must be 0 or at least 0.001, got 0.0001"),
        (lambda: CUSUMUCB.from_breakpoints(10, 10), "breakpoints must be fewer than the horizon 10, got 10"),
        (lambda: GLRUCB.from_horizon(0), "T must be a whole number, 1 or more, got 0"),
        (lambda: GLRUCB(delta=2), r"delta must be a probability in \[0, 1\], got 2"),
        (lambda: GLRUCB(horizon=10, delta=0.5), "delta must be left out with a horizon"),
        (lambda: GLRKLUCB(restart="lokal"), "restart must be one of 'local', 'global', got 'lokal'; did you mean 'local'"),
        (lambda: GLRKLUCB(low=1.0), "low must be below high"),
        (lambda: AdSwitch(horizon=1), "horizon must be a whole number, 2 or more, got 1"),
    ],
)
def test_bad_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", ["glr-kl", "cusum", "m", "ad-switch"])
def test_rewards_outside_the_range_are_refused_or_clipped(name: str) -> None:
    refusing = {"glr-kl": GLRKLUCB, "cusum": CUSUMUCB, "m": MUCB, "ad-switch": AdSwitch}[name]
    needed = {"horizon": 100} if refusing is AdSwitch else {}
    with pytest.raises(ValueError, match=r"reward must be in \[0.0, 1.0\]"):
        Bandit(refusing(**needed), arms=["a", "b"]).update("a", 1.5)
    with pytest.raises(ValueError, match=r"rewards must be in \[0.0, 1.0\]"):
        simulate(refusing(**needed), Problem.restless([0.5, 0.2], noise=Gaussian(1.0)), horizon=10, runs=1)
    Bandit(refusing(outside="clip", **needed), arms=["a", "b"]).update("a", 1.5)
