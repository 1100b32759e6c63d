"""The search of the hull: it finds the index of the scan of all windows, and so do whole games."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Floats
from rotting.live.policy_state import copy, new_state
from rotting.policies.parts import hull
from rotting.policies.parts.hull import lowest_bound, search_hull
from rotting.policies.parts.prefix_sums import window_mean
from rotting.policies.raw_ucb import RAWUCB, level_at
from rotting.policy import Policy
from rotting.problems import Linear, Problem
from rotting.problems.noise import Gaussian
from rotting.registry import make
from rotting.simulation.engines.compile import compiled
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.games import Player, play, play_naive, reference, tables
from tests.helpers.streams import rounds_to_check, states_to_check, streams
from tests.reference import full_scan
from tests.reference.full_scan import RAWKLUCBWithHistory, RAWUCBByBlocks, RAWUCBWithHistory

LENGTH = 700 if INTERPRETED else 9_000


@pytest.mark.parametrize("name", streams(10))
@pytest.mark.parametrize("alpha", [0.06, 1.4, 4.0])
def test_the_search_finds_the_index(name: str, alpha: float) -> None:
    policy = RAWUCBWithHistory(alpha=alpha)
    assert policy.kernel.explain is not None
    search, explain = compiled(search_hull, policy), compiled(policy.kernel.explain, policy)
    scan = compiled(full_scan.index, policy)
    for t, s in states_to_check(policy, streams(LENGTH)[name]):
        level = level_at(policy.params, t + 1)
        found = search(policy.params, s, level, 0, math.inf)
        assert found == s.lines.mean[0] + level / s.lines.root[0]
        reason = explain(policy.params, s, t + 1, np.array([0]), 0)
        assert found == reason.value
        least = scan(policy.params, s, t + 1, 0)
        if name != "large offset":
            assert found == least
        # Else a window next to a vertex differs from it by less than the rounding. A mean is rounded twice and the bound
        # once, so the smallest computed bounds are less than 2 (1 + 1/2) units in the last place apart.
        assert 0.0 <= found - least < 3.0 * math.ulp(least)
        assert reason.value == reason.mean + reason.width
        assert reason.mean == window_mean(s.history, 0, reason.window)


def falling(length: int, seed: int) -> dict[str, Floats]:
    """Rewards whose hulls are long: they fall with little noise, or none, quickly or slowly, near 0 and far from it."""
    rng, time = np.random.default_rng(seed), np.arange(length)
    steady = -4.0 * time / length
    return {
        "no noise": steady,
        "little noise": steady + 1e-3 * rng.normal(size=length),
        "steps": -np.floor(time / 3.0),
        "tenths": -0.1 * time,
        "slower and slower": 1.0 / (1.0 + time),
        "ever faster": -((time / length) ** 3) * 50.0,
        "offset": 1e6 + steady,
        "small": 1e-6 * steady,
        "halves": 2.0 ** -np.minimum(time, 900.0),
    }


@pytest.mark.parametrize("name", [*falling(10, 0), *(f"stream of {each}" for each in streams(10))])
def test_whatever_the_threshold_the_search_keeps_its_promise(name: str) -> None:
    """The index if that is at most the threshold, else a bound above it; on hulls where it looks at all, and where it leaps."""
    length = 360 if INTERPRETED else 1_500
    policy = RAWUCB()
    search, every = compiled(search_hull, policy), compiled(lowest_bound, policy)
    player, rng = Player(policy, 1, length), np.random.default_rng(6)
    check, sizes, leapt = rounds_to_check(length), set(), 0
    rewards = {**falling(length, 1), **{f"stream of {each}": row for each, row in streams(length).items()}}
    for t, reward in enumerate(rewards[name].tolist(), start=1):
        player.update(t, 0, reward)
        if t not in check:
            continue
        sizes.add(int(player.state.hull.size[0]))
        for level in (1e-3, 0.05, level_at(policy.params, t + 1), 40.0):
            best = every(policy.params, player.state, level, 0).value
            newest = hull.top(player.state.hull, 0)
            far = abs(best) + level
            for threshold in (best, np.nextafter(best, -math.inf), np.nextafter(best, math.inf), best + far * rng.normal()):
                s = copy(player.state)
                s.lines.depth[0] = rng.integers(0, s.hull.size[0] - 1)  # whichever window the arm keeps
                place = s.hull.first[0] + s.lines.depth[0]
                hull._keep_line(s, 0, newest, place, hull.window_mean(s.hull, newest, place))
                found = search(policy.params, s, level, 0, float(threshold))
                assert found == best if best <= threshold else found > threshold, (t, level)
                assert found == s.lines.mean[0] + level / s.lines.root[0]
                leapt += s.hull.size[0] > hull._MANY_VERTICES
    assert leapt > 0 or name == "halves" or name.startswith("stream")
    assert min(sizes) < hull._MANY_VERTICES


KL = [
    RAWKLUCBWithHistory(),
    RAWKLUCBWithHistory(alpha=0.2),
    RAWKLUCBWithHistory(kind="gaussian"),
    RAWKLUCBWithHistory(kind="gaussian", sigma=0.1),
]
PAIRS = [
    *((RAWUCBWithHistory(alpha=alpha), full_scan.raw_ucb_choice) for alpha in (0.2, 1.4, 4.0)),
    *((policy, full_scan.raw_kl_ucb_choice) for policy in KL),
]


# Where nothing is compiled, a bound of a divergence takes long, and the scans look for that of every window.
GAMES = [
    (name, *pair) for k, name in enumerate(streams(10)) for pair in PAIRS if k % 3 == 0 or not INTERPRETED or pair[0] not in KL
]


@pytest.mark.parametrize(("name", "policy", "scan"), GAMES, ids=[f"{name}-{policy!r}" for name, policy, _ in GAMES])
def test_long_games_equal_the_scans(name: str, policy: Policy, scan: object) -> None:
    """Decisions all over a game of some thousand rounds, with arms that differ in level and in kind of decay."""
    horizon, n_arms = LENGTH // 3, 3
    others = list(streams(horizon).values())
    rows = np.array([streams(horizon)[name], others[1] + streams(horizon)[name].mean(), streams(horizon)[name][::-1] + 0.05])
    if getattr(policy.params, "kind", 1) == 0:  # rewards in [0, 1]
        rows = (rows - rows.min()) / max(1e-300, np.ptp(rows))
    player, slow = Player(policy, n_arms, horizon), compiled(scan, policy)  # type: ignore[arg-type]
    arms, pulls = np.arange(n_arms), [0] * n_arms
    check = rounds_to_check(horizon) | set(range(horizon // 2, horizon // 2 + (20 if INTERPRETED else 200)))
    for t in range(1, horizon + 1):
        arm = player.choose(t, arms)
        if t > n_arms and t in check:
            assert arm == slow(policy.params, player.state, t, 0, arms), t
        player.update(t, arm, float(rows[arm, pulls[arm]]))
        pulls[arm] += 1
    assert sum(pulls) == horizon
    assert player.state.full[0] == 0


NAMES = ("raw-ucb", "eff-raw-ucb", "raw-ucb-pp", "eff-raw-ucb-pp", "fewa", "eff-fewa")


@pytest.mark.parametrize("policy", [make(name, sigma=1e-40) for name in NAMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", range(6))
def test_choices_equal_the_reference(policy: Policy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = (rng.integers(1, 5, (3, 90)) / 4).tolist()
    assert play(policy, table, 90) == play_naive(policy, table, 90)


@pytest.mark.parametrize("policy", [make(name, sigma=1e-40) for name in NAMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", range(1, 7))
def test_choices_after_rewards_that_no_pull_asked_for_equal_the_reference(policy: Policy, seed: int) -> None:
    """They lower an index while the arm's line stays where it is."""
    rng = np.random.default_rng(seed)
    player, slow, arms = Player(policy, 3, 60, fast=False), reference(policy, 3), np.arange(3)
    for t in range(1, 61):
        arm = player.choose(t, arms, 0)
        assert arm == slow.choose(t), t
        paid = arm if t <= 6 or rng.random() < 0.5 else int(rng.integers(3))
        reward = float(rng.integers(1, 5) / 4)
        player.update(t, paid, reward)
        slow.update(t, paid, reward)


LONG_HULLS = [make("raw-ucb"), make("raw-ucb", sigma=0.01), make("raw-kl-ucb", kind="gaussian")]


@pytest.mark.parametrize("policy", LONG_HULLS, ids=repr)
def test_games_on_long_hulls_equal_the_reference(policy: Policy) -> None:
    horizon = 60 if INTERPRETED else 250
    for name, row in falling(horizon, 3).items():
        table = [row.tolist(), (row - 0.01).tolist(), row[::-1].tolist()]
        assert play(policy, table, horizon) == play_naive(policy, table, horizon), name


@pytest.mark.parametrize("policy", [RAWUCB(), make("raw-kl-ucb", kind="gaussian")], ids=repr)
def test_the_unit_of_the_rewards_changes_no_choice(policy: Policy) -> None:
    """Also where squares are so small that they lose digits, or all of them: at 2**-531, the least of them are 2**-1074."""
    horizon = 60 if INTERPRETED else 250
    for name, table in tables(3, horizon).items():
        chosen = play(policy, table.tolist(), horizon)
        for power in (300, -100, -450, *range(-540, -520)):
            scaled = type(policy)(**{**policy.shown_params(), "sigma": 2.0**power})
            assert play(scaled, (table * 2.0**power).tolist(), horizon) == chosen, (name, power)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0]), min_size=1, max_size=40), st.floats(0.0, 10.0))
def test_the_line_of_an_arm_is_the_bound_of_one_of_its_windows(rewards: list[float], level: float) -> None:
    """At least the index, whatever reward came last: a line that starts at a vertex that was dropped moves to an older one."""
    s = new_state(RAWUCBWithHistory(), 1, len(rewards))
    for t, reward in enumerate(rewards, 1):
        s_before = copy(s)
        full_scan._update(RAWUCB().params, s, t, 0, reward)
        h = round(s.lines.root[0] ** 2)
        assert s.lines.mean[0] == window_mean(s.history, 0, h)
        assert hull.line_window(s, 0) == h
        kept = t - 1 - round(s_before.lines.root[0] ** 2) if t > 1 else 0
        assert t - h <= kept
        if t % 3 == 0:
            assert search_hull(RAWUCB().params, s, level, 0, math.inf) == lowest_bound(RAWUCB().params, s, level, 0).value


def test_tables_of_games_with_many_arms_equal_the_reference() -> None:
    n_arms = 35
    for name, table in tables(n_arms, 3 * n_arms).items():
        assert play(RAWUCB(), table.tolist(), 3 * n_arms) == play_naive(RAWUCB(), table.tolist(), 3 * n_arms), name


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_million_rounds_equal_the_search_of_blocks(offset: float) -> None:
    """Steadily falling arms, whose hulls are long, at every thousandth round."""
    arms = [Linear(offset + 1.0 - 0.05 * i, slope=-1e-6) for i in range(2)]
    problem, marks = Problem.restless(arms, Gaussian(0.1)), range(1_000, 1_000_001, 1_000)
    policies = [RAWUCB(sigma=0.1), RAWUCBByBlocks(sigma=0.1)]
    result = simulate(policies, problem, 1_000_000, runs=1, checkpoints=marks, progress=False)
    assert np.array_equal(result.regret[0], result.regret[1])
    assert np.array_equal(result.pulls[0], result.pulls[1])
