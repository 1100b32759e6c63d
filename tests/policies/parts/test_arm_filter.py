"""FEWA's filter: which arms stay, which of them has fewest pulls, and the last window that an arm passed."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.live import policy_state as states
from rotting.policies.kernels.binding import bind, with_names
from rotting.policies.parts.arm_filter import keep_close, least_pulled, skip_windows, window_mean
from rotting.policies.parts.indices import window_width
from rotting.policies.parts.prefix_sums import PrefixSums, mean_range, new_prefix_sums, record
from rotting.policies.parts.prefix_sums import window_mean as exact_mean
from rotting.policy import Policy
from rotting.registry import make

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, -1.0, 1 / 3]), min_size=1, max_size=8)


def params(**more: object) -> Any:
    """The parameters of a policy with a sigma of 1, and what a test adds to them."""
    return SimpleNamespace(sigma=1.0, **more)


def mean_of(s: Any, i: int, h: int) -> float:
    return float(s.means[i] / h)


@given(means=VALUES, h=st.integers(1, 3), c=st.sampled_from([0.0, 0.025, 0.2, 1.0]), data=st.data())
def test_arms_close_to_the_best_stay_in_order(means: list[float], h: int, c: float, data: st.DataObject) -> None:
    arms = sorted(data.draw(st.sets(st.integers(0, len(means) - 1), min_size=1)))
    s = SimpleNamespace(means=np.array(means), kept=np.full(len(means), -1))
    s.kept[: len(arms)] = arms
    left = bind(keep_close, {window_mean: mean_of})(params(), s, len(arms), h, c)
    top = max(mean_of(s, i, h) for i in arms)
    assert s.kept[:left].tolist() == [i for i in arms if mean_of(s, i, h) >= top - 2 * c]
    assert left > 0


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_ties_in_pulls_go_to_the_first(pulls: list[int], data: st.DataObject) -> None:
    arms = sorted(data.draw(st.sets(st.integers(0, len(pulls) - 1), min_size=1)))
    s = SimpleNamespace(kept=np.array(arms))
    assert least_pulled(s, np.array(pulls), len(arms)) == min(arms, key=lambda i: (pulls[i], i))


def windows_passed(rewards: list[list[float]], policy: Policy, t: int) -> list[int]:
    """The largest window on which each arm was compared and kept, by the definition, for windows 1, 2, 3, ..."""
    kept, passed, h = list(range(len(rewards))), [0] * len(rewards), 1
    while all(len(rewards[i]) >= h for i in kept):
        mean = {i: math.fsum(rewards[i][-h:]) / h for i in kept}
        c = policy.params.sigma * math.sqrt(2 * policy.params.alpha * math.log(t) / h)
        kept = [i for i in kept if mean[i] >= max(mean.values()) - 2 * c]
        for i in kept:
            passed[i] = h
        h += 1
    return passed


@pytest.mark.parametrize(
    "policy", [make("fewa", sigma=0.3), make("fewa", alpha=0.3, sigma=0.3), make("eff-fewa", sigma=0.3, m=1 + 1e-15)], ids=repr
)
def test_the_explained_window_is_the_last_one_passed(policy: Policy) -> None:
    explain, update = policy.kernel.explain, policy.kernel.update
    assert explain is not None
    rng = np.random.default_rng(5)
    n_arms, horizon = 6, 240
    arms, dropped = np.arange(n_arms), 0
    state = states.new_state(policy, n_arms, horizon)
    rewards: list[list[float]] = [[] for _ in arms]
    for t in range(1, horizon + 1):
        arm = t % n_arms
        rewards[arm].append(float(rng.normal(scale=0.3)) - 0.02 * arm * len(rewards[arm]) / n_arms)
        update(policy.params, state, t, arm, rewards[arm][-1])
        if t % 24 == 0:
            reasons = [explain(policy.params, state, t + 1, arms, i) for i in arms]
            passed = windows_passed(rewards, policy, t + 1)
            assert [reason.window for reason in reasons] == passed, t
            dropped += sum(0 < h < max(passed) and h % 8 > 0 for h in passed)
            for reason, own in zip(reasons, rewards, strict=True):
                if reason.window > 0:
                    assert reason.mean == math.fsum(own[-reason.window :]) / reason.window
    assert dropped > 2  # some of them between two multiples of 8, where blocks end


def counted_width(p: Any, level: float, h: int, root: float) -> float:
    p.looks.append(h)
    return float(level / root)


SKIP = bind(skip_windows, {window_width: counted_width})
RANGES: list[int] = []


def counted_range(history: PrefixSums, i: int, shortest: int, longest: int) -> tuple[float, float]:
    RANGES.append(i)
    return range_of_means(history, i, shortest, longest)


range_of_means = with_names(mean_range, {})  # a copy: `bind` replaces `mean_range` wherever it is reached
COUNTED = bind(skip_windows, {mean_range: counted_range})


def filled(rewards: list[list[float]]) -> Any:
    """Arms, all of them kept, that were paid this."""
    s = SimpleNamespace(history=new_prefix_sums(len(rewards), max(map(len, rewards))), kept=np.arange(len(rewards)))
    for i, own in enumerate(rewards):
        for reward in own:
            record(s.history, i, reward)
    return s


@pytest.mark.parametrize("seed", range(40))
def test_no_window_is_skipped_on_which_an_arm_is_dropped(seed: int) -> None:
    """Rewards around 0, whose sums are small, from every window on."""
    rng = np.random.default_rng(seed)
    rewards = [rng.normal(size=int(rng.integers(20, 90))).tolist() for _ in range(3)]
    s, level, p = filled(rewards), float(rng.uniform(0.2, 2.0)), params(looks=[])
    end = min(map(len, rewards))
    for h in range(end):
        last = SKIP(p, s, level, 3, h, end)
        assert h <= last <= end
        for between in range(h + 1, last + 1):
            means = [exact_mean(s.history, i, between) for i in range(3)]
            assert min(means) >= max(means) - 2.0 * level / math.sqrt(between), (h, last, between)


@pytest.mark.parametrize("end", [16, 24, 520, 4_096])
def test_windows_that_every_arm_passes_are_skipped_in_strides_that_double(end: int) -> None:
    s, p = filled([[0.5] * end, [0.25] * (end + 3), [0.5] * end]), params(looks=[])
    assert SKIP(p, s, 1e4, 3, 8, end) == end
    assert len(p.looks) <= 2 * math.log2(end / 8)
    assert SKIP(p, s, 0.0, 3, 8, end) == 8  # the arms differ, and the width is zero
    assert SKIP(p, s, 0.0, 1, 3, end) == end  # nothing drops the only arm


@pytest.mark.parametrize("drop", [40, 333, 1_000, 3_999])
def test_windows_are_skipped_up_to_the_one_that_drops_an_arm(drop: int) -> None:
    """One reward, so many pulls ago, that towers above all others. Few ranges of windows are read to get there."""
    rewards = [[0.0] * 4_096, [0.0] * 4_096]
    rewards[1][-drop] = 1e9
    RANGES.clear()
    assert COUNTED(params(), filled(rewards), 1.0, 2, 8, 4_096) == drop - 1
    assert RANGES.count(0) == RANGES.count(1) <= 4 * math.log2(drop)


@pytest.mark.parametrize("n", range(80, 88))
def test_a_single_window_that_drops_an_arm_is_never_skipped(n: int) -> None:
    """The mean of window h alone is far from zero, wherever h and the pulls lie among the blocks."""
    for h in range(1, 73):
        rewards = [[0.0] * n, [0.0] * n]
        rewards[1][-h], rewards[1][-h - 1] = 1e9, -1e9
        for passed in (0, 8) if h > 8 else (0,):
            assert SKIP(params(looks=[]), filled(rewards), 1.0, 2, passed, n) < h


def test_the_window_after_those_passed_must_pass_too() -> None:
    """At level 0.06, a mean of 1 / 65 over 65 pulls drops the other arm; with what was paid before, longer windows do not."""
    rewards = [[0.0] * 81, [0.0] * 8 + [-0.125] * 8 + [0.0] * 64 + [1.0]]
    assert SKIP(params(looks=[]), filled(rewards), 0.06, 2, 64, 72) == 64


@pytest.mark.parametrize(("gap", "last"), [(1.99, 16), (2.01, 15)])
def test_arms_pass_within_twice_the_width_of_the_longest_window(gap: float, last: int) -> None:
    """That of window 16 is a quarter of the level."""
    rewards = [[0.0] * 24, [gap / 4] * 24]
    assert SKIP(params(looks=[]), filled(rewards), 1.0, 2, 8, 16) == last
