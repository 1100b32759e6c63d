"""What is counted, on a clock that the test sets."""

import asyncio
import math
import re
from pathlib import Path

from rotting.service.metrics import OUTCOMES, Metrics, Tally
from rotting.store.host import Host


class Clock:
    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        return self.now


def test_the_mean_reward_of_an_hour_is_compared_with_that_before() -> None:
    clock = Clock()
    tally = Tally(clock)
    assert tally.mean_rewards() == (None, None)
    for minute in range(240):
        tally.rewarded("applied", 1.0 if minute < 180 else 0.25)
        tally.rewarded("conflict", 100.0)
        clock.now += 60.0
    clock.now -= 60.0
    assert tally.mean_rewards() == (0.25, 1.0)
    assert tally.rewards == {**dict.fromkeys(OUTCOMES, 0), "applied": 240, "conflict": 240}
    assert len(tally._minutes) == 120
    clock.now += 3_600.0
    assert tally.mean_rewards() == (None, 0.25)


def test_histograms_have_buckets_at_one_two_and_five_times_the_powers_of_ten(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    text = asyncio.run(Metrics(host).text({})).decode()
    host.close()
    for name, first, last in (("seconds", 0.0005, 1.0), ("events", 1.0, 1000.0)):
        ends = [float(each) for each in re.findall(rf'rotting_commit_{name}_bucket{{le="([^"]+)"}}', text)]
        assert ends == [
            *(each for k in range(-4, 4) for each in (10.0**k, 2 * 10.0**k, 5 * 10.0**k) if first <= each <= last),
            math.inf,
        ]


def test_the_age_of_the_oldest_decision_is_known_to_a_second() -> None:
    clock = Clock()
    tally = Tally(clock)
    assert tally.age(5) == 0.0  # of an earlier process
    for number in range(1, 101):
        tally.decided(number, 1)
        clock.now += 0.5
    assert tally.decisions == 100
    assert tally.age(1) == 50.0
    assert 30.0 <= tally.age(40) <= 31.5
    assert tally.age(None) == 0.0


def test_the_age_needs_little_memory() -> None:
    clock = Clock()
    tally = Tally(clock)
    for number in range(1, 20_001):
        tally.decided(number, 1)
        clock.now += 2.0
    assert len(tally._rounds) <= 1_000
    assert tally.age(1) == 40_000.0
    assert 20_000.0 <= tally.age(10_000) <= 20_200.0


def test_the_text_does_not_grow_with_the_number_of_bandits(tmp_path: Path) -> None:
    host = Host(tmp_path / "songs.rot")
    metrics = Metrics(host)
    for k in range(3_000):
        metrics.decided(f"b{k:04d}", 1, 1 if k % 20 else 5)
        metrics.rewarded(f"b{k:04d}", [("applied", 1.0), ("unknown", 1.0)])
    text = asyncio.run(metrics.text({})).decode()
    host.close()
    shown = re.findall(r'rotting_decisions_total{bandit="([^"]+)"} (.+)', text)
    assert len(metrics.tallies) == 1_000
    assert len(shown) == 100
    assert [name for name, count in shown if count == "5.0"] == [f"b{k:04d}" for k in range(2_000, 3_000, 20)]
    assert f"\nrotting_all_decisions_total {3_000 + 4 * 150}.0\n" in text
    assert '\nrotting_all_rewards_total{outcome="applied"} 3000.0\n' in text
    assert '\nrotting_all_rewards_total{outcome="conflict"} 0.0\n' in text
