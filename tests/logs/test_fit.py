"""`fit`: what every run has in common with the log, how the noise is fitted, and how often its levels hold the truth."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.logs.cells import Clock
from rotting.logs.fit import fit
from rotting.logs.levels import falling_curve
from rotting.logs.log import Log, positions
from rotting.problems.families import family_key
from rotting.problems.noise import Bernoulli, Noiseless, Poisson, Resampled
from rotting.problems.oracle import GREEDY_RISING, GREEDY_TWO_CLOCKS

ONE_CLOCK: tuple[Clock, ...] = ("pulls", "time")
CLOCKS = (*ONE_CLOCK, "both")
KEY = family_key(0)


def worn_log(rounds: int = 600, seed: int = 0, noise: str = "clicks") -> Log:
    """Return a log of three arms, two of which wear out with their pulls, and eight units."""
    rng = np.random.default_rng(seed)
    arm, unit = rng.integers(0, 3, rounds), rng.integers(0, 8, rounds)
    mean = np.array([0.8, 0.6, 0.4])[arm] * np.where(arm < 2, np.exp(-4.0 * positions(arm) / rounds), 1.0)
    if noise == "clicks":
        reward = (rng.random(rounds) < mean).astype(float)
    elif noise == "counts":
        reward = rng.poisson(5 * mean).astype(float)
    else:
        reward = mean + rng.standard_t(3, rounds)
    return Log({"arm": arm, "reward": reward, "unit": unit}, unit="unit")


@pytest.mark.parametrize("falling", [True, False])
@pytest.mark.parametrize("clock", ONE_CLOCK)
def test_a_noiseless_log_of_constant_arms_gives_these_arms_in_every_run(clock: Clock, falling: bool) -> None:
    log = Log({"arm": ["a", "b", "c"] * 100, "reward": [1.0, 0.25, -0.5] * 100})
    family = fit(log, clock, falling)
    assert family.noise == Noiseless()
    for run in range(5):
        problem = family.problem(run)
        table = problem.means(300)
        values = table.pull_values if clock == "pulls" else table.round_values
        np.testing.assert_allclose(values, [1.0, 0.25, -0.5], rtol=1e-12)
        assert family.log_reward(run) == pytest.approx(75.0)


def test_a_noiseless_log_of_constant_arms_with_units_gives_their_means_along_both_clocks() -> None:
    log = Log({"arm": ["a", "b"] * 400, "reward": [1.0, 0.25] * 400, "unit": np.arange(800) // 2 % 8}, unit="unit")
    table = fit(log, "both").problem(run=3).means(800)
    products = [
        table.round_values[a] * table.pull_values[b]
        for a, b in zip(table.round_first, table.pull_first, strict=True)
        if a < table.round_first[-1]
    ]
    np.testing.assert_allclose(products, [1.0, 0.25], rtol=1e-6)


@pytest.mark.parametrize("clock", CLOCKS)
def test_means_without_the_problem_are_those_of_the_problem(clock: Clock) -> None:
    family = fit(worn_log(), clock)
    for run in range(3):
        for horizon in (1, 250, 600):
            for mine, its in zip(family.means(run, KEY, horizon), family.problem(run).means(horizon), strict=True):
                np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("clock", CLOCKS)
def test_runs_differ_and_depend_on_seed_and_run_alone(clock: Clock) -> None:
    one, two = fit(worn_log(), clock), fit(worn_log(), clock)
    assert repr(one) == repr(two) != repr(fit(worn_log(seed=1), clock))
    assert one.problem(4) == two.problem(4) == pickle.loads(pickle.dumps(one)).problem(4)
    assert one.problem(4) != one.problem(5)
    assert one.problem(4, seed=1) != one.problem(4)


@pytest.mark.parametrize("clock", CLOCKS)
def test_falling_arms_never_rise(clock: Clock) -> None:
    family = fit(worn_log(noise="counts"), clock)
    assert all(family.problem(run).is_rotting() for run in range(20))


@pytest.mark.parametrize("clock", CLOCKS)
def test_levels_are_means_that_the_rewards_can_have(clock: Clock) -> None:
    arm = np.arange(400) % 2
    for reward in (np.where(arm == 0, 1.0, 0.0), np.where(np.arange(400) < 10, 1.0, 0.0)):
        log = Log({"arm": arm, "reward": reward, "unit": np.arange(400) // 2 % 8}, unit="unit")
        for run in range(10):
            low, high = fit(log, clock).problem(run).reward_bounds(400)
            assert 0.0 <= low <= high <= 1.0


def test_the_noise_is_that_of_the_rewards() -> None:
    assert fit(worn_log(), "pulls").noise == Bernoulli()
    assert fit(worn_log(noise="counts"), "pulls").noise == Poisson()
    log = worn_log(4_000, noise="heavy tails")
    noise = fit(log, "pulls").noise
    assert isinstance(noise, Resampled)
    assert not noise.relative
    assert np.std(noise.residuals) == pytest.approx(float(np.std(log.reward)), rel=0.1)


def test_rewards_that_are_never_negative_stay_so() -> None:
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 2_000)
    sold = rng.random(2_000) < 0.1
    log = Log({"arm": arm, "reward": np.where(sold, rng.lognormal(1.0, 1.0, 2_000) * (1 + 3 * arm), 0.0)})
    family = fit(log, "time")
    assert isinstance(family.noise, Resampled)
    assert family.noise.relative
    rewards = rotting.simulate(rotting.Uniform(), family, runs=5, record="rewards").rewards
    assert rewards is not None
    assert rewards.min() == 0.0


def test_missing_rewards_are_rounds_that_wear_out_their_arm() -> None:
    log = Log([("a", None if k % 2 else float(k < 100)) for k in range(200)])
    family = fit(log, "pulls")
    assert family.horizon == 200
    means = family.problem(0).means(200)
    assert means.pull_values[np.searchsorted(means.pull_starts, 90, side="right") - 1] == pytest.approx(1.0, abs=0.2)


def test_one_lucky_click_does_not_make_the_best_arm() -> None:
    """Arms are alike; one has a single click among two pulls."""
    rng = np.random.default_rng(0)
    arm = np.concatenate([rng.integers(0, 5, 20_000), [9, 9]])
    reward = np.concatenate([rng.random(20_000) < 0.005, [1.0, 0.0]]).astype(float)
    family = fit(Log({"arm": arm, "reward": reward}), "pulls")
    starts = np.array([family.problem(run).mean(5, 1, 0) for run in range(40)])
    assert starts.mean() < 0.01
    assert starts.max() < 0.05


def test_arms_that_may_rise_are_measured_against_the_greedy_oracle() -> None:
    log = worn_log(150)
    references: dict[tuple[Clock, bool], str | None] = {
        ("pulls", True): "optimal",
        ("pulls", False): GREEDY_RISING,
        ("time", False): "optimal",
        ("both", True): GREEDY_TWO_CLOCKS,
    }
    for (clock, falling), reference in references.items():
        result = rotting.simulate(rotting.UCB1(), fit(log, clock, falling), runs=3)
        assert result.reference == reference
        assert np.isfinite(result.regret).all()


def test_the_runs_hold_what_the_choices_of_the_log_earn_on_average() -> None:
    """Each of 24 logs is outside of its 40 runs with a chance of 2/41; more than 9 are with a chance below 1e-6."""
    outside = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        arm = rng.integers(0, 4, 1_500)
        mean = np.array([0.1, 0.2, 0.3, 0.4])[arm] * np.exp(-positions(arm) / 300)
        log = Log({"arm": arm, "reward": (rng.random(1_500) < mean).astype(float)})
        family = fit(log, ONE_CLOCK[seed % 2])
        drawn = [family.log_reward(run) for run in range(40)]
        outside += not min(drawn) <= mean.sum() <= max(drawn)
    assert outside <= 9


def test_a_random_arm_is_one_of_those_that_could_be_chosen() -> None:
    arm = np.arange(600) % 2
    arm[300::3] = 2
    log = Log({"arm": arm, "reward": np.where(arm == 2, -1.0, 1.0)})
    drawn = fit(log, "time").random_rewards(log, range(3))
    np.testing.assert_allclose(drawn, (1 + 1 / 3) / 2, atol=0.01)


def test_an_arm_stays_or_keeps_falling_after_its_last_reward() -> None:
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 4_000)
    reward = 10.0 - 0.003 * positions(arm) + rng.normal(0.0, 0.1, 4_000)
    family = fit(Log({"arm": arm, "reward": reward}), "pulls")
    ends = np.array([family.problem(run).means(4_000).pull_values[-1] for run in range(40)])
    assert ends.max() > 3.5  # the level of its last reward is 4
    assert ends.min() < 1.0  # the line would reach -2, and no level is negative
    assert ends.min() >= 0.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda log: fit([1], "pulls"), InvalidTypeError, "log must be a Log"),  # type: ignore[arg-type]
        (lambda log: fit(log, "rounds"), InvalidValueError, "clock must be 'pulls', 'time' or 'both', got 'rounds'"),  # type: ignore[arg-type]
        (lambda log: fit(log, "time", falling=1), InvalidTypeError, "falling must be True or False"),  # type: ignore[arg-type]
        (lambda log: fit(Log([("a", None)]), "time"), InvalidValueError, "log must have a row with a reward"),
    ],
)
def test_what_cannot_be_fitted_is_refused(call, error, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error) as caught:
        call(Log([("a", 1.0), ("b", 0.0)]))
    assert message in str(caught.value)


def test_pulls_without_a_reward_make_another_family() -> None:
    """They change where the curves of the family have their steps, so games on the one must not be kept for the other."""
    rows = [(arm, 1 / (1 + n)) for n in range(50) for arm in "abcdefgh"]
    one, two = (fit(Log([*rows, *[(arm, None) for arm in "abcdefgh"] * lost]), "pulls") for lost in (0, 300))
    assert one.problem(0) != two.problem(0)
    assert repr(one) != repr(two)


values = st.lists(st.floats(-5, 5), min_size=1, max_size=12)


@given(values, st.integers(0, 2**32 - 1))
def test_the_falling_sequence_is_the_closest_one(numbers: list[float], seed: int) -> None:
    given_values = np.array(numbers)
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, given_values.size)
    fitted = falling_curve(given_values, weights)
    assert (np.diff(fitted) <= 1e-12).all()
    # Optimality: the residuals sum to 0 over each constant piece, and no prefix of a piece would rather be lower.
    for level in np.unique(fitted):
        piece = fitted == level
        assert abs((weights * (given_values - fitted))[piece].sum()) < 1e-9
        assert (np.cumsum((weights * (given_values - fitted))[piece]) < 1e-9).all()


@given(values)
def test_a_falling_sequence_stays_as_it_is(numbers: list[float]) -> None:
    ordered = np.sort(numbers)[::-1]
    assert np.allclose(falling_curve(ordered, np.ones(ordered.size)), ordered, rtol=0, atol=1e-12)
