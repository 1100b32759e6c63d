"""The diagnosis of a log: what is said of logs whose truth is known, and that nothing else is."""

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest

import rotting
from rotting.common.rules import LARGEST
from rotting.errors import InvalidTypeError
from rotting.logs.cells import Scale, entanglement
from rotting.logs.diagnosis import BINS, ArmTrend, Diagnosis, diagnose
from rotting.logs.log import Log, positions
from rotting.logs.rates import RewardScale
from tests.helpers.made_logs import made_log

R = np.random.default_rng
TRAFFIC = 1 / np.arange(1, 13)
TRAFFIC /= TRAFFIC.sum()


def verdicts(log: Log) -> set[str]:
    return {each.verdict for each in diagnose(log).arms}


# --- What should be found -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("truth", "decay"), [("", "none"), ("pulls", "pulls"), ("time", "time"), ("pulls and time", "both")])
def test_units_tell_the_clocks_apart(truth: str, decay: str) -> None:
    found = diagnose(made_log(truth, seed=4, rows=30_000))
    assert found.decay == decay
    assert found.reason


def test_each_arm_gets_its_verdict() -> None:
    rng = R(0)
    arm = rng.integers(0, 20, 40_000)
    level = np.select([arm == 7, arm == 8], [np.linspace(1.0, 0.3, arm.size), np.linspace(0.5, 1.0, arm.size)], 1.0)
    reward = level + rng.normal(0.0, 0.2, arm.size)
    arm[:5], reward[:5] = 99, 1.0
    found = {each.name: each.verdict for each in diagnose(Log({"arm": arm, "reward": reward})).arms}
    assert (found[7], found[8], found[99]) == ("wears out", "rises", "too few")
    assert {verdict for name, verdict in found.items() if name not in {7, 8, 99}} == {"steady"}


@pytest.mark.parametrize("truth", ["pulls", "time", "pulls and time"])
def test_without_units_no_clock_is_named(truth: str) -> None:
    log = made_log(truth, seed=4)
    found = diagnose(Log({"arm": log.arm, "reward": log.reward}))
    assert found.decay == "cannot tell"
    assert any("A column that says who sees the arm" in each for each in found.lacks)


def test_arms_that_are_launched_late_tell_age_from_season() -> None:
    rng = R(0)
    n, launch = 40_000, np.linspace(0.0, 0.7, 12)
    x = np.sort(rng.random(n))
    arm = np.array([rng.integers(0, (launch <= now).sum()) for now in x])
    unit = rng.choice(12, n, p=TRAFFIC)
    columns = {"arm": arm, "unit": unit, "t": x}
    aged = (rng.random(n) < 0.1 * np.exp(-2.5 * (x - launch[arm]))) * 1.0
    season = (rng.random(n) < 0.1 * np.exp(-1.5 * x)) * 1.0
    old, late = (diagnose(Log({**columns, "reward": each}, time="t", unit="unit")) for each in (aged, season))
    assert old.decay == "time"
    assert "began afresh" in old.reason
    assert late.decay == "cannot tell"
    assert "season" in late.reason


# --- What must not be said ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("season", "words"),
    [
        (lambda t: np.where(t >= 5, 0.55, 1.0), "All arms"),
        (lambda t: 1 - t / 10, "All arms fall together"),
        (lambda t: np.where(t < 3, 1 + t / 3, 2 - 1.1 * (t - 3) / 4), "All arms"),
    ],
    ids=["weekend", "falling audience", "rise and fall"],
)
def test_what_all_arms_share_is_no_wear(season, words: str) -> None:  # type: ignore[no-untyped-def]
    rng, n = R(0), 40_000
    t = np.sort(rng.random(n)) * 7
    columns = {
        "arm": rng.integers(0, 6, n),
        "reward": (rng.random(n) < 0.08 * season(t)) * 1.0,
        "unit": rng.choice(12, n, p=TRAFFIC),
    }
    found = diagnose(Log({**columns, "t": 1.7e9 + 86_400 * t}, time="t", unit="unit"))
    assert found.decay == "cannot tell"
    assert words in found.reason
    assert not {"wears out", "rises", "steady"} & {each.verdict for each in found.arms}


def test_a_daily_pattern_is_named() -> None:
    rng, n = R(0), 40_000
    t = np.sort(rng.random(n)) * 10
    reward = (rng.random(n) < 0.08 * (1 + 0.6 * np.sin(2 * np.pi * t))) * 1.0
    dates = np.datetime64("2026-03-01") + (t * 86_400e6).astype("timedelta64[us]")
    found = diagnose(Log({"arm": rng.integers(0, 6, n), "reward": reward, "t": dates}, time="t"))
    assert "All arms share a daily pattern." in found.notes
    assert found.decay != "time"


def test_arms_that_are_played_for_hours_are_not_worn_by_the_day() -> None:
    """Each arm has its hours, and they come earlier each day: until its last day, an arm sees more and more of the night."""
    rng, n = R(0), 60_000
    t = np.sort(rng.random(n)) * 30
    arm = np.where(rng.random(n) < 0.7, ((t - t / 60) % 1 * 6).astype(int), rng.integers(0, 6, n))
    reward = (rng.random(n) < 0.08 * (1 + 0.8 * np.sin(2 * np.pi * t))) * 1.0
    seconds = 1.7e9 + 86_400 * t
    plain, dated = (
        diagnose(Log({"arm": arm, "reward": reward, "t": each}, time="t"))
        for each in (seconds, seconds.astype("datetime64[s]"))
    )
    assert "wears out" in {each.verdict for each in plain.arms}  # the log does not say that these are seconds
    assert "wears out" not in {each.verdict for each in dated.arms}
    assert "All arms share a daily pattern." in dated.notes


def test_an_arm_that_its_policy_leaves_soon_after_it_fell_is_found() -> None:
    rng, n = R(1), 60_000
    fell = np.arange(n) > n / 2
    weights = np.where(fell[:, None] & (np.arange(6) == 2), 0.2, 1.0)
    arm = (rng.random(n)[:, None] * weights.sum(axis=1, keepdims=True) >= np.cumsum(weights, axis=1)).sum(axis=1)
    reward = (rng.random(n) < np.where(fell & (arm == 2), 0.03, 0.06)) * 1.0
    found = {each.name: each.verdict for each in diagnose(Log({"arm": arm, "reward": reward})).arms}
    assert [name for name, verdict in found.items() if verdict == "wears out"] == [2]


def test_rewards_that_may_still_come_are_a_hint_and_can_be_left_out() -> None:
    rng, n = R(0), 40_000
    t = np.sort(rng.random(n)) * 20
    reward = (rng.random(n) < 0.08 * np.minimum(1.0, (20 - t) / 2)) * 1.0
    columns = {
        "arm": rng.integers(0, 6, n),
        "reward": reward,
        "t": np.datetime64("2026-03-01") + (t * 86_400e6).astype("timedelta64[us]"),
    }
    assert any("rewards may still come" in each for each in diagnose(Log(columns, time="t")).notes)
    log = Log(columns, time="t", delay="2d")
    assert log.young == pytest.approx(4_000, rel=0.1)
    found = diagnose(log)
    assert (found.decay, found.notes) == ("none", ())


def test_arms_that_lose_nine_tenths_of_rare_clicks_are_not_steady() -> None:
    rng, n = R(1), 10_000
    arm = rng.integers(0, 34, n)
    reward = (rng.random(n) < 0.01 * np.where(np.arange(n) < n / 2, 1, 0.1)) * 1.0
    found = diagnose(Log({"arm": arm, "reward": reward}))
    assert {each.verdict for each in found.arms} == {"too few"}
    assert all(each.low < each.high and each.low >= -1 and each.high <= 1 for each in found.arms)


def test_a_changing_mix_of_units_is_no_wear() -> None:
    rng, n = R(0), 40_000
    low = rng.random(n) < 0.1 + 0.7 * np.arange(n) / n
    columns = {"unit": np.where(low, 0, rng.integers(1, 12, n)), "arm": rng.integers(0, 3, n)}
    log = Log({**columns, "reward": (rng.random(n) < np.where(low, 0.02, 0.1)) * 1.0}, unit="unit")
    assert "wears out" not in verdicts(log)


def test_trends_of_units_are_no_wear_of_the_arms_that_they_see() -> None:
    """One large country loses interest in all arms alike, and sees one of them most of the time."""
    worn = 0
    for seed in range(6):
        rng, n = R(seed), 40_000
        unit = rng.choice(12, n, p=TRAFFIC)
        arm = np.where(rng.random(n) < 0.6, unit % 3, rng.integers(0, 3, n))
        rate = 0.1 * np.where(unit == 0, 1 - 0.7 * np.arange(n) / n, 1.0)
        worn += "wears out" in verdicts(Log({"arm": arm, "reward": (rng.random(n) < rate) * 1.0, "u": unit}, unit="u"))
    assert worn <= 1


def test_steady_arms_do_not_wear_out_beside_one_that_rises() -> None:
    wrong = 0
    for seed in range(6):
        rng, n = R(seed), 30_000
        arm = rng.integers(0, 6, n)
        mean = 0.06 * np.where(arm == 0, 1 + 2.0 * np.arange(n) / n, 1.0)
        found = diagnose(Log({"arm": arm, "reward": (rng.random(n) < mean) * 1.0}))
        assert [each.name for each in found.arms if each.verdict == "rises"] == [0]
        wrong += "wears out" in {each.verdict for each in found.arms}
        assert found.rises
    assert wrong == 0


def test_weekends_of_single_arms_are_no_wear() -> None:
    """Half of the arms are better at weekends, the others worse; two weeks that begin on a Monday end with one."""
    wrong = 0
    for seed in range(6):
        rng, n = R(seed), 40_000
        t, arm = np.sort(rng.random(n)) * 14, rng.integers(0, 6, n)
        rate = 0.05 * (1 + np.where(arm < 3, 0.45, -0.45) * (t % 7 >= 5))
        dates = np.datetime64("2026-03-02") + (t * 86_400e6).astype("timedelta64[us]")
        log = Log({"arm": arm, "reward": (rng.random(n) < rate) * 1.0, "t": dates}, time="t")
        wrong += bool({"wears out", "rises"} & verdicts(log))
    assert wrong == 0


def test_a_sudden_change_of_some_arms_is_no_wear_with_time() -> None:
    rng, n = R(3), 40_000
    arm, unit = rng.integers(0, 6, n), rng.choice(12, n, p=TRAFFIC)
    worse = (arm < 2) & (np.arange(n) > n / 2)
    found = diagnose(Log({"arm": arm, "reward": (rng.random(n) < 0.1 * np.where(worse, 0.4, 1)) * 1.0, "u": unit}, unit="u"))
    assert found.decay == "cannot tell"
    assert "suddenly" in found.reason
    assert "wears out" not in {each.verdict for each in found.arms}


def test_luck_that_ends_is_no_wear_where_choices_follow_each_unit() -> None:
    rng = R(0)
    sums, pulls = np.zeros((20, 4)), np.full((20, 4), 1e-9)
    rows = []
    for _ in range(12_000):
        unit = int(rng.integers(20))
        arm = int(rng.integers(4)) if rng.random() < 0.2 else int(np.argmax(sums[unit] / pulls[unit]))
        reward = float(rng.random() < 0.1)
        sums[unit, arm] += reward
        pulls[unit, arm] += 1
        rows.append((arm, reward, unit))
    columns = dict(zip(("arm", "reward", "unit"), map(list, zip(*rows, strict=True)), strict=True))
    found = diagnose(Log(columns, unit="unit"))
    assert (found.decay, found.targeted) == ("cannot tell", True)
    assert "wears out" not in {each.verdict for each in found.arms}


def test_units_that_prefer_some_arms_are_not_taken_for_wear() -> None:
    log = made_log("", seed=4, rows=30_000)
    rng = R(4)
    taste = rng.lognormal(0.0, 0.3, (len(log.units), len(log.arms)))[log.unit, log.arm]
    assert diagnose(Log({"arm": log.arm, "reward": rng.poisson(5 * taste), "u": log.unit}, unit="u")).decay == "none"


@pytest.mark.parametrize("along", ["pulls", "time"])
def test_units_of_equal_traffic_name_no_wrong_clock(along: str) -> None:
    """They meet every arm at nearly the same rates, so that pulls are nearly time."""
    rng = R(2)
    rows, n_units, n_arms = 24_000, 20, 4
    unit, arm = np.arange(rows) % n_units, rng.integers(0, n_arms, rows)
    own = positions(unit * n_arms + arm) / (rows / n_units / n_arms)
    wear = own if along == "pulls" else np.arange(rows) / rows
    rewards = rng.poisson(2.0 * np.exp(-1.5 * wear))
    log = Log({"arm": arm, "reward": rewards, "unit": unit}, unit="unit")
    assert entanglement(log) > 0.9
    assert diagnose(log).decay in {along, "cannot tell"}


def test_a_learning_policy_does_not_make_steady_arms_look_worn() -> None:
    """UCB1 leaves an arm after bad luck. If an alarm has a probability of 4 %, 9 or more in 40 logs have one below 1e-4."""
    alarms = 0
    for seed in range(40):
        rng = R(seed)
        bandit = rotting.Bandit(rotting.UCB1(sigma=0.3), arms=range(5), seed=seed)
        rows = []
        for _ in range(400):
            arm = bandit.pull()
            reward = float(0.5 + 0.02 * arm + rng.normal(0.0, 0.5))
            bandit.update(arm, reward)
            rows.append((arm, reward))
        alarms += "wears out" in verdicts(Log(rows))
    assert alarms < 9


# --- Form ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "log",
    [
        Log([("a", 1.0)]),
        Log([("a", None)]),
        Log([("a", 0.0)] * 200),
        Log([("a", 0.0), ("b", 0.0)] * 200),
        Log({"arm": ["a"] * 90, "reward": [1.0] * 90, "u": [k % 9 for k in range(90)]}, unit="u"),
        Log({"arm": ["a"] * 90, "reward": [None] * 90, "u": [k % 9 for k in range(90)]}, unit="u"),
        Log({"arm": ["a", "b"] * 45, "reward": [1.0] * 90, "u": list(range(90))}, unit="u"),
        Log({"arm": list(range(90)), "reward": [0.0] * 90, "u": [k % 9 for k in range(90)]}, unit="u"),
    ],
    ids=["one row", "no reward", "zeros", "two of zeros", "constant", "no reward with units", "a unit a row", "an arm a row"],
)
def test_odd_logs_get_a_verdict_and_a_table(log: Log) -> None:
    found = diagnose(log)
    assert found.decay in {"none", "cannot tell"}
    assert found.reason in str(found.table())
    assert found.reason in found._repr_html_()


def test_the_table_and_the_picture_show_every_arm(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = diagnose(made_log("pulls", seed=6))
    assert [row["name"] for row in found.table().rows] == [each.name for each in found.arms]
    picture = found.plot(tmp_path / "arms.png")
    assert len(picture.axes) == 4  # all together, and three arms
    assert (tmp_path / "arms.png").stat().st_size > 10_000


def test_the_table_begins_with_the_verdict_and_the_change_and_has_the_digits_of_its_intervals() -> None:
    rng = R(0)
    arm = rng.integers(0, 2, 40_000)
    rates = np.where(arm == 0, np.linspace(0.12, 0.02, arm.size), 0.0342)
    table = diagnose(Log({"arm": arm, "reward": rng.random(arm.size) < rates})).table()
    assert [each.head for each in table.columns] == ["arm", "verdict", "change [95 % interval]", "launch", "recent", "pulls"]
    for row in table.rows:
        _, _, *numbers, pulls = (column.write(row) for column in table.columns)
        assert len({len(each.partition(".")[2]) for each in re.findall(r"[\d.]+", " ".join(numbers))}) == 1
        assert float(numbers[0].split()[0]) == pytest.approx(row["recent"] - row["launch"], abs=5e-4)
        assert pulls == f"{row['pulls']:,}"


@pytest.mark.parametrize("scale", [2.0**-700, LARGEST / 1_000])
@pytest.mark.parametrize("truth", ["", "time"])
@pytest.mark.parametrize("shift", [0.0, 3.0])  # with a shift, some rewards are negative
def test_the_unit_of_rewards_does_not_matter(truth: str, shift: float, scale: float) -> None:
    log = made_log(truth, seed=5, rows=2_000)
    usual, other = (
        diagnose(Log({"arm": log.arm, "reward": factor * (log.reward - shift), "u": log.unit}, unit="u"))
        for factor in (10.0, 10.0 * scale)
    )
    assert (other.decay, other.reason) == (usual.decay, usual.reason)
    assert [each.verdict for each in other.arms] == [each.verdict for each in usual.arms]


@pytest.mark.parametrize("reward", [0.0, 1.0, -3.0])
def test_nothing_is_found_in_rewards_that_are_all_alike(reward: float) -> None:
    found = diagnose(Log({"arm": np.arange(4_000) % 3, "reward": np.full(4_000, reward), "t": np.arange(4_000)}, time="t"))
    assert not {"wears out", "rises"} & {each.verdict for each in found.arms}
    assert found.lifetimes == ()


def test_another_object_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="log must be a Log, got 3"):
        diagnose(3)  # type: ignore[arg-type]


def test_pulls_without_a_reward_count_as_pulls_and_are_not_judged() -> None:
    known = [("a", 1.0 - k / 100) for k in range(100)]
    (without,), (trend,) = (diagnose(Log(rows)).arms for rows in (known, [*known, *[("a", None)] * 3]))
    assert (without.pulls, trend.pulls) == (100, 103)
    assert trend._replace(pulls=100) == without
    (few,) = diagnose(Log([("a", 1.0), ("a", None), ("a", 1.0), ("a", 0.5)])).arms
    assert math.isnan(few.launch)


def test_launch_and_recent_are_quarters() -> None:
    (trend,) = diagnose(Log([("a", float(each)) for each in range(100)])).arms
    assert (trend.launch, trend.recent) == (np.arange(25).mean(), np.arange(75, 100).mean())


@pytest.mark.parametrize("rate", [0.003, 0.01, 0.05])
@pytest.mark.parametrize("rows", [100, 1_000, 10_000])
@pytest.mark.parametrize("is_binary", [True, False])
def test_intervals_of_rates_hold_the_rate(rate: float, rows: int, is_binary: bool) -> None:
    """The chance that the interval holds the rate is a sum over the number of events, without simulation."""
    scale = RewardScale(np.array([0.0, 1.0]), Scale(ratios=True, is_binary=is_binary))
    held, chance = 0.0, (1 - rate) ** rows
    for events in range(min(rows, int(rows * rate + 20 * math.sqrt(rows * rate)) + 20)):
        _, low, high = scale.interval(np.repeat([1.0, 0.0], [events, rows - events]))
        assert low is not None
        assert high is not None
        assert 0 <= low < high
        held += chance * (low <= rate <= high)
        chance *= (rows - events) / (events + 1) * rate / (1 - rate)
    assert held > 0.95


def test_bins_hold_equally_many_rows_and_their_means() -> None:
    curve = diagnose(Log({"arm": ["a"] * 240, "reward": np.arange(240.0)})).figure().panels[0].curves[0]
    assert curve.x.tolist() == [9.5 + 20 * k for k in range(BINS)]
    assert curve.y.tolist() == [9.5 + 20 * k for k in range(BINS)]
    assert curve.low is not None
    assert (curve.low < curve.y).all()


def test_dates_are_drawn_in_days() -> None:
    log = Log({"arm": ["a"] * 2, "reward": [1.0, 0.0], "t": ["2026-05-01", "2026-05-03"]}, time="t")
    panel = diagnose(log).figure().panels[0]
    assert (panel.x_label, panel.curves[0].x.tolist()) == ("days since the first row", [1.0])


# --- How long an arm lasts ----------------------------------------------------------------------------------------------------


def halved_log(clock: str, rows: int = 20_000) -> Log:
    """Return a log of counts: `a` is halved after 100 pulls by a unit or half a day, `b` falls by a third, `c` is steady."""
    rng = R(0)
    unit, arm = rng.choice(12, rows, p=TRAFFIC), rng.integers(0, 3, rows)
    t = np.datetime64("2026-03-01") + np.sort(rng.integers(0, 86_400, rows)).astype("timedelta64[s]")
    columns = {"arm": np.array(["a", "b", "c"])[arm], "country": unit, "t": t}
    own = Log({**columns, "reward": np.zeros(rows)}, time="t", unit="country").own_pulls
    late = own >= 100 if clock == "pulls" else np.arange(rows) >= rows / 2
    kept = np.where(late, np.array([0.4, 0.66, 1.0])[arm], 1.0)
    return Log({**columns, "reward": rng.poisson(3 * (1 + unit % 3) * kept)}, time="t", unit="country")


def test_half_lives_are_those_of_the_clock_and_only_of_arms_that_halve() -> None:
    found = diagnose(halved_log("pulls"))
    rows = {each.name: each for each in found.arms}
    assert found.decay == "pulls"
    assert rows["a"].half_life_low <= 100 <= rows["a"].half_life_high
    assert rows["a"].half_life_high < 1.3 * rows["a"].half_life_low
    assert not rows["a"].half_life_reason
    assert math.isnan(rows["b"].half_life)
    assert rows["b"].half_life_reason == "it may still pay more than half of what it paid at first"
    assert rows["c"].half_life_reason == "the log does not show that it wears out"
    words = " ".join(found.lifetimes)
    assert re.search(r"a earns half of what it did at first after about \d+ pulls in one country \[\d+, \d+\]\.", words)
    assert "How long b lasts is not known: it may still pay more than half of what it paid at first." in words
    assert "c" not in {each.split()[0] for each in found.lifetimes}


def test_how_long_an_arm_lasts_is_said_to_two_digits() -> None:
    trend = ArmTrend("c39", 9, 0.1, 0.05, -0.06, -0.04, "wears out", 4_219.0, 3_130.0, 5_996.0)
    log = Log({"arm": ["c39"], "reward": [1.0], "country": ["fr"], "t": ["2026-05-01"]}, unit="country", time="t")
    found = Diagnosis(log, "pulls", "", (trend,), 1.0, (), (), 1, False)
    assert found.lifetimes == ("c39 earns half of what it did at first after about 4,200 pulls in one country [3,100, 6,000].",)
    old = trend._replace(half_life=3.2, half_life_low=2.0, half_life_high=8.04)
    days = dataclasses.replace(found, decay="time")
    assert days.lifetime(old) == "earns half of what it did at first after about 3.2 days since its launch [2, 8]"
    unknown = trend._replace(half_life_reason="it may still pay more")
    assert found.lifetime(unknown) == "how long it lasts is not known: it may still pay more"


def test_without_a_clock_there_is_no_half_life() -> None:
    log = halved_log("pulls")
    blind = diagnose(Log({"arm": log.arm, "reward": log.reward}))
    assert all(math.isnan(each.half_life) and each.half_life_reason for each in blind.arms)
    assert "the log cannot tell what wears it out" in " ".join(blind.lifetimes)


def test_the_half_life_of_a_clock_of_time_is_in_days() -> None:
    rng = R(0)
    worn = made_log("time", seed=4, rows=30_000)
    days = np.datetime64("2026-03-01") + (np.arange(30_000) * 20 * 86_400 // 30_000).astype("timedelta64[s]")
    reward = rng.poisson(5.0 * np.where(worn.arm == 2, 1.0, 0.5 ** (np.arange(30_000) / 15_000)))
    found = diagnose(Log({"arm": worn.arm, "reward": reward, "u": worn.unit, "t": days}, time="t", unit="u"))
    assert found.decay == "time"
    for row in found.arms:
        assert row.name == 2 or row.half_life_low <= 10 <= row.half_life_high
    assert "days since its launch" in found.lifetimes[0]
