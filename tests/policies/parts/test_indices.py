"""Widths, arms without rewards, and the largest index: by every index, and lazily, where few arms are searched."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.policies.kernels.binding import bind
from rotting.policies.parts.indices import by_index, first_new, largest_index, line, search, width
from rotting.policy import Reason
from rotting.registry import make
from tests.helpers.games import Player, reference
from tests.reference import windows

ROUNDS = st.integers(1, 10**9)
SCALES = st.floats(1e-3, 1e3)


@given(alpha=SCALES, sigma=SCALES, t=ROUNDS, h=ROUNDS)
def test_it_is_that_of_the_paper(alpha: float, sigma: float, t: int, h: int) -> None:
    """`sqrt(2 sigma^2 ln(2 / delta_t) / h)` with `delta_t = 2 t^-alpha`, and that of the reference to the last bit."""
    assert width(alpha, sigma, t, h) == windows.width(t, h, alpha, sigma)
    if alpha * math.log(t) < 700:  # else delta_t is no float
        delta = 2 * t**-alpha
        assert width(alpha, sigma, t, h) == pytest.approx(math.sqrt(2 * sigma**2 * math.log(2 / delta) / h), abs=1e-6 * sigma)


@given(alpha=SCALES, sigma=SCALES, t=ROUNDS, h=ROUNDS)
def test_it_falls_with_the_window_and_grows_with_the_round(alpha: float, sigma: float, t: int, h: int) -> None:
    assert width(alpha, sigma, t, h + 1) <= width(alpha, sigma, t, h) <= width(alpha, sigma, t + 1, h)


@given(st.lists(st.integers(0, 2), min_size=10, max_size=10), st.sets(st.integers(0, 9), min_size=1).map(sorted))
def test_the_first_new_arm_is_the_lowest_without_rewards(pulls: list[int], arms: list[int]) -> None:
    s = SimpleNamespace(pulls=np.array(pulls))
    assert first_new(s, np.array(arms)) == next((i for i in arms if pulls[i] == 0), -1)


def index(p: Any, s: Any, t: int, i: int) -> Reason:
    return Reason(s[i] * t, s[i], 1, 0.0)


KERNEL = by_index(index)
INDICES = st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, math.inf]), min_size=1, max_size=8)


@given(indices=INDICES, t=st.integers(1, 9), data=st.data())
def test_the_first_of_the_largest_is_chosen(indices: list[float], t: int, data: st.DataObject) -> None:
    arms = sorted(data.draw(st.sets(st.integers(0, len(indices) - 1), min_size=1)))
    chosen = KERNEL["choose"](None, indices, t, 0, np.array(arms))
    assert chosen == max(arms, key=lambda i: (indices[i], -i))
    assert type(chosen) is int


def test_a_kernel_keeps_its_own_index() -> None:
    other = by_index(lambda p, s, t, i: Reason(-s[i], s[i], 1, 0.0))
    arms = np.arange(2)
    assert [kernel["choose"](None, [0.25, 0.5], 4, 0, arms) for kernel in (KERNEL, other, KERNEL)] == [1, 0, 1]


def kept_bound(p: Any, s: Any, lev: float, i: int) -> float:
    return float(s.bounds[i][s.line[i]])


def first_below(p: Any, s: Any, lev: float, i: int, threshold: float) -> float:
    """The tightest bound, or the first one above the threshold that improves the line, as lazily as is allowed."""
    s.searched.append(i)
    s.line[i] = int(np.argmin(s.bounds[i]))
    return float(s.bounds[i][s.line[i]])


CHOOSE: Any = bind(largest_index, {line: kept_bound, search: first_below})
VALUES = st.sampled_from([0.0, 0.1, 0.5, 1.0, -1.0, 1 / 3])
BOUNDS = st.lists(st.lists(VALUES, min_size=1, max_size=5), min_size=1, max_size=6)


@given(bounds=BOUNDS, data=st.data())
def test_the_choice_is_that_of_every_index(bounds: list[list[float]], data: st.DataObject) -> None:
    """Whatever window each arm keeps: its bound is at least the index."""
    kept = [data.draw(st.integers(0, len(each) - 1)) for each in bounds]
    arms = sorted(data.draw(st.sets(st.integers(0, len(bounds) - 1), min_size=1)))
    s = SimpleNamespace(bounds=bounds, line=kept, pulls=[1] * len(bounds), searched=[])
    assert CHOOSE(None, s, 0.0, np.array(arms)) == max(arms, key=lambda i: (min(bounds[i]), -i))
    assert len(s.searched) <= len(arms) + 1
    assert set(s.searched) <= set(arms)


def test_an_arm_never_pulled_is_chosen_without_a_search() -> None:
    s = SimpleNamespace(bounds=[[math.inf], [1.0], [0.0]], line=[0, 0, 0], pulls=[3, 0, 0], searched=[])
    assert CHOOSE(None, s, 0.0, np.arange(3)) == 1
    assert CHOOSE(None, s, 0.0, np.array([0, 2])) == 2
    assert s.searched == []


def test_only_the_leader_is_searched_when_it_stays_ahead() -> None:
    s = SimpleNamespace(bounds=[[0.25, 0.5], [2.0, 1.0], [0.0]], line=[1, 0, 0], pulls=[1, 1, 1], searched=[])
    assert CHOOSE(None, s, 0.0, np.arange(3)) == 1
    assert s.searched == [1]


N_ARMS, LIKELY = 34, 4


@pytest.mark.parametrize(("name", "seed"), [("eff-raw-ucb", seed) for seed in range(8, 18)] + [("raw-ucb", 1), ("raw-ucb", 2)])
def test_choices_equal_the_reference(name: str, seed: int) -> None:
    """Of a few arms that are worth a pull, a steep line overtakes the one that is pulled and pulled, and pays nothing yet."""
    policy = make(name)
    rng = np.random.default_rng(seed)
    player, slow, arms = Player(policy, N_ARMS, 600, fast=False), reference(policy, N_ARMS), np.arange(N_ARMS)

    def learn(t: int, arm: int, reward: float) -> None:
        player.update(t, arm, reward)
        slow.update(t, arm, reward)

    past = [i for i in range(N_ARMS) for _ in range(2 ** int(rng.integers(0, 7)) if i < LIKELY else 1)]
    rng.shuffle(past)
    for t, arm in enumerate(past, 1):
        learn(t, arm, float(rng.integers(-8, 8) / 4) if arm < LIKELY else -100.0)
    t = len(past)
    while t < 10**9:
        t = int(t * 1.03) + 1  # pulls in between were not answered either
        arm = player.choose(t, arms)
        assert arm == slow.choose(t), t
        if rng.random() < 0.04:
            learn(t, arm, float(rng.integers(-8, 8) / 4))
