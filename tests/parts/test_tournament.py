"""Many arms: the tournament chooses as looking at every arm does, ties included."""

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.engines.compile import compiled
from rotting.kernels.binding import bind_all
from rotting.kernels.nested_state import flatten
from rotting.live import policy_state as states
from rotting.live.arms import Complement
from rotting.live.bandit import Bandit
from rotting.parts import tournament
from rotting.parts.tournament import MANY, champion, height, new_tournament, replay_path, runners_up
from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED, STRESS
from tests.helpers.games import compiled_kernels, play, play_naive, tables
from tests.reference import full_scan

ARMS = [MANY, MANY + 1, 2 * MANY - 1, 100]


@pytest.mark.parametrize("policy", [make("raw-ucb"), make("raw-ucb", alpha=0.1), make("eff-raw-ucb")], ids=repr)
@pytest.mark.parametrize("n_arms", ARMS[:1] if INTERPRETED else ARMS)
def test_choices_equal_the_reference(policy: Policy, n_arms: int) -> None:
    horizon = (6 if n_arms < 100 or STRESS else 3) * n_arms
    for name, table in tables(n_arms, horizon).items():
        assert play(policy, table.tolist(), horizon) == play_naive(policy, table.tolist(), horizon), name


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.1, 1.4])
def test_long_games_equal_the_scan_of_all_arms_and_windows(alpha: float) -> None:
    policy = full_scan.RAWUCBWithHistory(alpha=alpha)
    n_arms, horizon = 70, 8_000
    rng = np.random.default_rng(1)
    rows = (
        rng.normal(size=(n_arms, horizon)) + rng.normal(size=(n_arms, 1)) - rng.random((n_arms, 1)) * np.arange(horizon) / 500
    )
    choose, update = compiled_kernels(policy)
    scan = compiled(full_scan.raw_ucb_choice, policy)
    s, arms, pulls = states.new_state(policy, n_arms, horizon), np.arange(n_arms), [0] * n_arms
    for t in range(1, horizon + 1):
        arm = int(choose(policy.params, s, t, 0, arms))
        if t > n_arms and t % 7 == 0:
            assert arm == scan(policy.params, s, t, 0, arms), t
        update(policy.params, s, t, arm, rows[arm, pulls[arm]])
        pulls[arm] += 1


@pytest.mark.parametrize("policy", [make("raw-ucb"), make("eff-raw-ucb")], ids=repr)
def test_arms_come_and_go_around_the_tournament(policy: Policy) -> None:
    """Masks, additions and removals leave it and come back to it; a twin that is always masked looks at every arm."""
    rng = np.random.default_rng(3)
    names: list[int | str] = list(range(MANY + 4))
    bandit, twin = Bandit(policy, arms=names), Bandit(policy, arms=names)
    twin.add_arm("never")
    for k in range(200):
        if k == 90:
            for each in (bandit, twin):
                each.remove_arm(3)
                each.remove_arm(MANY)
        if k == 130:
            for each in (bandit, twin):
                each.add_arm(3)
                each.add_arm("new")
        available = [arm for arm in twin.arms if arm != "never"]
        arm = bandit.pull()
        assert twin.pull(arms=available) == arm
        reward = float(rng.normal())
        bandit.update(arm, reward)
        twin.update(arm, reward)


@pytest.mark.parametrize("policy", [make("raw-ucb", alpha=0.3), make("eff-raw-ucb", alpha=0.3)], ids=repr)
def test_whatever_moves_a_line_reaches_the_tournament(policy: Policy) -> None:
    """Explanations, masked pulls and pulls whose reward comes late, against a twin that looks at every arm."""
    rng = np.random.default_rng(4)
    names: list[int | str] = list(range(MANY + 3))
    bandit, twin = Bandit(policy, arms=names), Bandit(policy, arms=names)
    twin.add_arm("never")
    owed = []
    for k in range(1_200):
        available = names[k % 5 :: 2] if k % 3 == 0 else names
        before = bandit.get_state() if k % 50 == 0 else None
        if k % 4 == 1:
            bandit.explain()
        assert before is None or bandit.get_state() == before
        arm = bandit.pull(arms=available) if k % 3 == 0 else bandit.pull()
        assert twin.pull(arms=available) == arm, k
        owed.append(arm)
        if len(owed) > 3:
            late = owed.pop(int(rng.integers(len(owed))))
            reward = float(rng.normal()) - 0.002 * k
            bandit.update(late, reward)
            twin.update(late, reward)


@pytest.mark.parametrize("policy", [make("raw-ucb"), make("eff-raw-ucb")], ids=repr)
def test_an_arm_in_the_place_of_another_enters_the_tournament(policy: Policy) -> None:
    """No pull in between: what is kept of the matches is still that of the arm that left, whether it won or lost them."""
    names: list[int | str] = list(range(MANY + 8))
    for gone in names:
        bandit = Bandit(policy, arms=names)
        for k in range(2 * len(names)):
            arm = bandit.pull()
            bandit.update(arm, 1.0 if arm == 5 else k % 7 / 10)
        bandit.remove_arm(gone)
        bandit.add_arm("new")
        assert bandit.pull() == "new", gone


def intercept(s: Any, i: int) -> float:
    return float(s.intercepts[i])


def root(s: Any, i: int) -> float:
    return float(s.roots[i])


roots = {"champion": champion, "height": height, "replay_path": replay_path, "runners_up": runners_up}
bound = bind_all(roots, {tournament.intercept: intercept, tournament.root: root})


@given(st.integers(2, 70), st.integers(0, 10**6))
def test_the_winner_and_its_runners_up_are_those_of_looking_at_every_line(n: int, seed: int) -> None:
    """Few values, so that ties abound; the champion's neighbours are told apart, since the lower one wins a tie."""
    rng = np.random.default_rng(seed)
    s = SimpleNamespace(intercepts=rng.integers(0, 3, n) / 4, roots=rng.integers(1, 3, n), tournament=new_tournament(n))
    for level in (0.25, 0.5, 0.5, 1.0, 3.0):
        heights = [bound["height"](s, level, i) for i in range(n)]
        first = bound["champion"](s, level)
        assert first == heights.index(max(heights))
        before, after = bound["runners_up"](s, level, first)
        below, above = max(heights[:first], default=-np.inf), max(heights[first + 1 :], default=-np.inf)
        for value in heights:  # what matters is which values keep the champion ahead
            assert (value > before and value >= after) == (value > below and value >= above)


ULP = 2.0**-52
OFFSETS = {"ties": [0.0, 0.25, 0.5], "one unit apart": [1.0, 1.0 + ULP, 1.0 + 2 * ULP], "large": [2.0**53, 2.0**53 + 2]}
LEVELS = [0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 3.5, 8.0, 20.0, 100.0]


def lines(rng: np.random.Generator, n: int, intercepts: list[float]) -> Any:
    return SimpleNamespace(
        intercepts=rng.choice(intercepts, n),
        roots=rng.choice([1.0, 2.0, 3.0], n),
        tournament=new_tournament(n),
    )


def highest(s: Any, level: float) -> int:
    """The lowest of the arms whose line is highest."""
    return int(np.argmax([bound["height"](s, level, i) for i in range(s.roots.size)]))


@pytest.mark.parametrize("intercepts", OFFSETS.values(), ids=OFFSETS)
@pytest.mark.parametrize("seed", range(40))
def test_the_champion_is_the_highest_line_at_every_level(intercepts: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = lines(rng, int(rng.integers(2, 70)), intercepts)
    for level in LEVELS:
        assert bound["champion"](s, level) == highest(s, level), level


@pytest.mark.parametrize("seed", range(40))
def test_a_few_steep_lines_overtake_many(seed: int) -> None:
    """Each pair of lines crosses at a level of its own: after a match is played anew, so are all above it."""
    rng = np.random.default_rng(seed)
    s = lines(rng, int(rng.integers(30, 70)), [0.0])
    s.intercepts[:] = -rng.random(s.roots.size)
    s.roots[:] = 1.0 / rng.random(s.roots.size)
    for level in np.linspace(0.0, 4.0, 60):
        assert bound["champion"](s, level) == highest(s, level), level


@pytest.mark.parametrize("seed", range(20))
def test_an_arm_with_a_new_line_enters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = lines(rng, 40, OFFSETS["one unit apart"])
    for level in LEVELS:
        for i in rng.integers(0, 40, 3):
            s.intercepts[i] = rng.choice(OFFSETS["one unit apart"])
            if s.tournament.entrants[0]:
                bound["replay_path"](s, level, i)
        assert bound["champion"](s, level) == highest(s, level), level


@pytest.mark.parametrize("name", ["raw-ucb", "eff-raw-ucb"])
@settings(max_examples=10)
@given(st.lists(st.integers(0, 4), min_size=40, max_size=40))
def test_masks_and_removals_stay_in_the_tournament_and_keep_the_choices(name: str, order: list[int]) -> None:
    """Against a bandit that does not admit: it looks at every arm when some are masked."""
    policy = make(name, sigma=0.3)
    fast, slow = Bandit(policy, arms=range(MANY + 8)), Bandit(policy, arms=range(MANY + 8))
    functions = slow._state.learner._functions = copy.copy(slow._state.learner._functions)
    functions.admit = None
    every = tuple(range(MANY + 8))
    masks = [every, every[2:], every[:-6], every[:3] + every[5:], every[::2]]
    for k in range(4 * len(order)):
        if k == 100:
            fast.remove_arm(0)
            slow.remove_arm(0)
        mask = tuple(arm for arm in masks[order[k // 4]] if arm in fast.arms)
        arm = fast.pull(arms=mask)
        assert slow.pull(arms=mask) == arm
        for each in (fast, slow):
            each.update(arm, (hash((arm, k // 3)) % 7) / 6)
        if len(mask) >= MANY:
            assert fast._state.learner.state.tournament.missing[0] == len(every) - len(mask)
            assert fast._state.learner.state.tournament.entrants[0] == len(every)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["raw-ucb", "eff-raw-ucb", "ucb1", "uniform"])
@pytest.mark.parametrize("sigma", [0.3, "estimate"])
@settings(max_examples=10)
@given(st.lists(st.sets(st.integers(1, MANY + 8), max_size=12), min_size=30, max_size=30))
def test_to_leave_out_a_few_is_to_list_all_others(name: str, sigma: float | str, left_out: list[set[int]]) -> None:
    policy = make(name) if name == "uniform" else make(name, sigma=sigma)
    every = range(MANY + 9)
    fast, slow = Bandit(policy, arms=every), Bandit(policy, arms=every)
    for k in range(5 * len(left_out)):
        if k == 60:
            fast.retire(0)
            slow.retire(0)
        hidden = [arm for arm in left_out[k // 5] if arm in fast.arms]
        listed = [arm for arm in fast.arms if arm not in hidden]
        arm = fast.pull(without=hidden) if k % 3 else fast.decide(without=tuple(hidden)).arm
        assert slow.pull(arms=listed) == arm
        for each in (fast, slow):
            each.update(arm, (hash((arm, k // 3)) % 7) / 6)
        if k % 7 == 0:
            assert fast.pull() == slow.pull()
    assert flatten(fast._state.learner.state).keys() == flatten(slow._state.learner.state).keys()
    for name_of, array in flatten(fast._state.learner.state).items():
        assert np.array_equal(array, flatten(slow._state.learner.state)[name_of], equal_nan=True), name_of


def test_to_leave_out_a_few_of_many_lists_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, listed = Bandit(make("raw-ucb"), arms=range(200)), []  # type: tuple[Bandit, list[int]]
    bandit.update(bandit.pull(), 0.5)
    listing = Complement.slots

    def counted(among: Complement) -> Any:
        listed.append(among.size)
        return listing.__get__(among)

    monkeypatch.setattr(Complement, "slots", property(counted))
    for k in range(300):
        bandit.update(bandit.pull(without=[k % 200, (k + 9) % 200]), 0.5)
    assert len(listed) <= 1
