"""RAW-klUCB: windows whose bounds are equal, and tangents that are never below a bound."""

import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.live import policy_state as states
from rotting.policies import raw_kl_ucb
from rotting.policies.kernels.binding import bind
from rotting.policies.parts import hull
from rotting.policies.raw_kl_ucb import RAWKLUCB
from tests.conftest import INTERPRETED
from tests.helpers.games import Player, play, play_naive
from tests.reference import windows

Naive = windows.RAWKLUCB  # what the common tests compare the policy with

ROOM = 256
EXPLAIN: Any = RAWKLUCB.kernel.explain


def test_of_windows_with_equal_bounds_the_shortest_explains_the_index() -> None:
    """The width w of one sample is twice that of four: `0 + w = w / 2 + w / 2`, exactly. Other windows bound it less."""
    policy, t = RAWKLUCB(kind="gaussian", alpha=1.0, sigma=1.0), 7
    w = math.sqrt(2.0 * math.log(t))
    state = states.new_state(policy, 1, ROOM)
    for n, reward in enumerate([100.0, w / 2, w / 2, w, 0.0], 1):
        policy.kernel.update(policy.params, state, n, 0, reward)
    assert policy.kernel.explain is not None
    assert policy.kernel.explain(policy.params, state, t, np.arange(1), 0) == (w, 0.0, 1, w)


SEARCH: Any = bind(
    raw_kl_ucb.search,
    {
        hull.bound: raw_kl_ucb.bound,
        hull.line_bound: raw_kl_ucb.line_bound,
        hull.square: raw_kl_ucb.square,
    },
)
POLICIES = st.one_of(
    st.builds(RAWKLUCB, alpha=st.sampled_from([1e-9, 1e-3, 1.4, 50.0]), sigma=st.sampled_from([1e-9, 1.0])),
    st.builds(RAWKLUCB, kind=st.just("gaussian"), sigma=st.sampled_from([1e-6, 1.0, 1e6])),
)
SHARES = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-12, 1.0 - 1e-12]), st.floats(0.0, 1.0))


@given(
    POLICIES,
    st.lists(SHARES, min_size=1, max_size=30),
    st.integers(1, 10**9),
    st.lists(st.floats(1.0, 1e9), min_size=1, max_size=8),
    st.sampled_from([0.0, 1e6, -1e9]),
)
def test_a_tangent_is_never_below_the_bound(
    policy: RAWKLUCB, rewards: list[float], t: int, later: list[float], offset: float
) -> None:
    """At whatever later round the arms are compared, near or far."""
    p: Any = policy.params
    player = Player(policy, 1, len(rewards), fast=False)
    for n, reward in enumerate(rewards, 1):
        player.update(n, 0, reward + (offset if p.kind else 0.0))
        assert raw_kl_ucb.line(p, player.state, 1.0, 0) == math.inf  # a window that has changed has no tangent
    s, level = player.state, raw_kl_ucb.level_at(p, t)
    found = SEARCH(p, s, level, 0, math.inf)
    assert raw_kl_ucb.line(p, s, level, 0) == found == raw_kl_ucb.line_bound(p, s, level, 0)
    for times in later:
        for after in (t + 1, math.ceil(t * times)):
            more = raw_kl_ucb.level_at(p, after)
            assert raw_kl_ucb.line(p, s, more, 0) >= raw_kl_ucb.line_bound(p, s, more, 0)


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("name", ["falling", "quiet", "coins", "fractions", "rare", "constant"])
def test_whatever_the_threshold_the_search_keeps_its_promise(kind: Literal["bernoulli", "gaussian"], name: str) -> None:
    """The index if that is at most the threshold, else a bound above it; on hulls where it looks at all, and where it leaps."""
    length, rng = 250, np.random.default_rng(4)
    rewards = {
        "falling": np.linspace(1.0, 0.0, length),
        "quiet": np.clip(np.linspace(0.9, 0.1, length) + 1e-4 * rng.normal(size=length), 0.0, 1.0),
        "coins": rng.integers(0, 2, length).astype(float),
        "fractions": np.round(rng.random(length), 1),
        "rare": (rng.random(length) < 0.02).astype(float),
        "constant": np.full(length, 0.1),
    }[name]
    policy = RAWKLUCB(kind=kind)
    p: Any = policy.params
    player = Player(policy, 1, length, fast=False)
    for n, reward in enumerate(rewards.tolist(), 1):
        player.update(n, 0, reward)
        if n % 25 > 1:
            continue
        for t in (n + 1, 10**6):
            best = EXPLAIN(p, player.state, t, np.arange(1), 0).value
            for threshold in (best, np.nextafter(best, -1.0), np.nextafter(best, 2.0), best + 0.1 * rng.normal()):
                s = states.copy(player.state)
                found = SEARCH(p, s, raw_kl_ucb.level_at(p, t), 0, float(threshold))
                assert found == best if best <= threshold else found > threshold, (n, t)
                assert found == raw_kl_ucb.line_bound(p, s, raw_kl_ucb.level_at(p, t), 0)
    assert (player.state.hull.size[0] > hull._MANY_VERTICES) == (name in {"falling", "quiet"})


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
def test_a_tangent_is_close_to_the_bound_for_some_rounds(kind: Literal["bernoulli", "gaussian"]) -> None:
    """Else it would not spare the bounds: over a tenth more rounds it is off by less than a thousandth of the width."""
    policy = RAWKLUCB(kind=kind)
    p: Any = policy.params
    player = Player(policy, 1, 100, fast=False)
    for n in range(1, 101):
        player.update(n, 0, float(n % 3 == 0))
    s, level, more = player.state, raw_kl_ucb.level_at(p, 1_000), raw_kl_ucb.level_at(p, 1_100)
    SEARCH(p, s, level, 0, math.inf)
    bound = raw_kl_ucb.line_bound(p, s, more, 0)
    assert 0.0 <= raw_kl_ucb.line(p, s, more, 0) - bound < 1e-3 * (bound - s.lines.mean[0])


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("n_arms", [2, 5])
def test_games_between_equal_arms_equal_the_reference(kind: Literal["bernoulli", "gaussian"], n_arms: int) -> None:
    """Indices tie all the time, exactly: the lowest arm goes, whether its line is a tangent or a bound."""
    horizon = 40 if INTERPRETED else 70
    rng = np.random.default_rng(2)
    rows = {
        "constant": np.full(horizon, 0.1),
        "zeros": np.zeros(horizon),
        "ones": np.ones(horizon),
        "coins": rng.integers(0, 2, horizon).astype(float),
        "fractions": np.round(rng.random(horizon), 1),
        "falling": np.linspace(1.0, 0.0, horizon),
    }
    for alpha in (0.1, 1.4):
        policy = RAWKLUCB(kind=kind, alpha=alpha)
        for name, row in rows.items():
            table = [row.tolist()] * n_arms
            assert play(policy, table, horizon) == play_naive(policy, table, horizon), (name, alpha)
