"""Random pauses name the clock where the two clocks are known, and stay silent where nothing wears out."""

import json

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.live.probe import SPAN_STARTS, Probe
from rotting.logs.diagnosis import diagnose
from rotting.logs.log import Log
from rotting.logs.pauses import compare_pauses, find_spans

ARMS = 20


def drawn_log(seed: int, clock: str, rounds: int = 12_000, share: float = 0.25) -> Log:
    """Arms that are pulled uniformly while they are not paused, and fall by 90 % along one clock."""
    rng, probe = np.random.default_rng(seed), Probe(share)
    arms, rewards, pulls = np.zeros(rounds, np.int64), np.zeros(rounds), np.zeros(ARMS)
    paused: list[list[int]] = []
    for t in range(1, rounds + 1):
        pauses = probe.paused(t, seed)
        arm = t - 1 if t <= ARMS else int(rng.integers(ARMS))
        while arm in pauses:
            arm = int(rng.integers(ARMS))
        x = {"none": 0.0, "time": t / rounds, "pulls": pulls[arm] * ARMS / rounds}[clock]
        arms[t - 1], rewards[t - 1] = arm, 2.0 - 1.8 * min(x, 1.0) + rng.normal(0.0, 0.3)
        paused.append(sorted(pauses))
        probe.pulled(arm, t)
        pulls[arm] += 1
    return Log({"arm": arms, "reward": rewards, "paused": paused}, paused="paused")


def slow_levels(pulls: Floats, rewards: Floats, before: int, start: int, end: int) -> tuple[int, float, float]:
    """The definition of m, `at once` and `later` for one span."""
    earlier = [x for t, x in zip(pulls, rewards, strict=True) if before <= t < start]
    m, level = len(earlier), float(np.mean(earlier))
    at_once, later = ([x - level for t, x in zip(pulls, rewards, strict=True) if t >= begin][:m] for begin in (start, end))
    return m, sum(at_once) / m, sum(later) / m


def test_spans_are_those_of_the_definition() -> None:
    log = drawn_log(1, "time", rounds=2_500)
    found, expected = find_spans(log), []
    for arm in range(ARMS):
        own = log.arm == log.arms.index(arm) if arm in log.arms else np.zeros(len(log), np.bool_)
        pulls = log.round[own]
        starts = [int(pulls[0]) + age for age in (0, *SPAN_STARTS[:40]) if pulls[0] + age <= 2_501]
        for k in range(1, len(starts) - 2):
            before, start, end = starts[k - 1 : k + 2]
            if any(before <= t < start for t in pulls):
                m, at_once, later = slow_levels(pulls, log.reward[own], before, start, end)
                assert log.paused is not None
                expected.append((log.arms.index(arm) in log.paused[start], k, m, at_once, later))
    expected.sort(key=lambda row: row[1:])
    rows = sorted(zip(*(each.tolist() for each in found), strict=True), key=lambda row: row[1:])
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    np.testing.assert_allclose([row[3:] for row in rows], [row[3:] for row in expected], atol=1e-9)


@pytest.mark.parametrize("clock", ["pulls", "time"])
def test_the_clock_is_named(clock: str) -> None:
    log = drawn_log(3, clock)
    found = compare_pauses(log)
    assert found.clock == clock
    assert abs(found.share_of_time - (clock == "time")) < 0.4
    diagnosis = diagnose(log)
    assert diagnosis.decay == clock
    assert "random pauses" in diagnosis.reason


def test_nothing_is_named_where_nothing_wears_out() -> None:
    found = compare_pauses(drawn_log(3, "none"))
    assert found.clock is None
    assert np.isnan(found.share_of_time)


def test_a_log_with_pauses_is_not_told_to_pause_arms() -> None:
    log = drawn_log(3, "time")
    assert f"Clock: {compare_pauses(log).pauses} random pauses may tell" in str(log.describe())
    columns = {"arm": log.arm, "reward": log.reward, "paused": [[]] * len(log)}
    silent = diagnose(Log(columns, paused="paused"))
    assert silent.decay == "cannot tell"
    assert "at least 5 to tell, and the log has 0" in silent.reason
    assert "random pauses may" not in silent.reason
    assert "random pauses may" in diagnose(Log(columns)).reason


def test_few_pauses_name_no_clock() -> None:
    log = drawn_log(5, "time", rounds=3_000, share=0.005)
    assert compare_pauses(log).pauses < 5
    assert compare_pauses(log).clock is None


def test_a_log_in_which_every_arm_is_always_paused_names_no_clock() -> None:
    rows = 3_000
    data = {"arm": np.arange(rows) % 3, "reward": np.linspace(1.0, 0.0, rows), "out": ["[0, 1, 2]"] * rows}
    found = compare_pauses(Log(data, paused="out"))
    assert found.pauses >= 5
    assert found.clock is None


def test_pauses_of_a_table_are_read_in_text() -> None:
    data = {"arm": ["a", "b", "a"], "reward": [1.0, 0.0, 1.0], "out": [json.dumps(["b", "?"]), "", None]}
    log = Log(data, paused="out")
    assert log.paused == [frozenset({1}), frozenset(), frozenset()]
    assert log.round.tolist() == [1, 2, 3]
    assert Log(data).paused is None
