"""Who does not report rewards of 0 is told so, early and once; who reports late is not."""

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex

import numpy as np
import pytest

from rotting.live.bandit import Bandit
from rotting.live.bandit_state import MissingZeros
from rotting.registry import make

Step = Callable[[Bandit, int], Any]
"""What a program does in a round, with its number."""


def rounds_with_warning(step: Step, rounds: int) -> list[int]:
    """Play so many rounds, and return those in which a warning asks for zeros to be reported."""
    bandit, found = Bandit(make("exp3", gamma=0.2), arms=range(3)), []
    for k in range(1, rounds + 1):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step(bandit, k)
        for each in caught:
            assert "a decision that paid nothing must be rewarded with 0, else all arms look good" in str(each.message)
            found.append(k)
    return found


def some(value: Callable[[int], float], share: float = 0.1, delay: int = 0, by_arm: bool = False) -> Step:
    """Report the rewards of some decisions, at random, after a delay; nothing of the others."""
    clicks = np.random.default_rng(1).random(100_000) < share
    made: list[Any] = []

    def step(bandit: Bandit, k: int) -> None:
        made.append(bandit.pull() if by_arm else bandit.decide().id)
        if k > delay and clicks[k]:
            (bandit.update if by_arm else bandit.reward)(made[k - delay - 1], value(k))

    return step


def a_click(k: int) -> float:
    return 1.0


def seconds_watched(k: int) -> float:
    return (1 + k % 7) / 10


CLICKS: list[tuple[str, Step, int]] = [
    ("by id", some(a_click), 120),
    ("by arm", some(a_click, by_arm=True), 150),
    ("after some rounds", some(a_click, delay=10), 150),
    ("few", some(a_click, share=0.03), 400),
    ("of any size", some(seconds_watched), 300),
    ("almost half", some(a_click, share=0.4), 120),
]


@pytest.mark.parametrize(("step", "soon"), [each[1:] for each in CLICKS], ids=[each[0] for each in CLICKS])
def test_reporting_only_clicks_warns_early_and_once(step: Step, soon: int) -> None:
    found = rounds_with_warning(step, 600)
    assert len(found) == 1
    assert found[0] <= soon


def late(delays: Iterator[int], by_arm: bool = False, value: Callable[[int], float] = seconds_watched) -> Step:
    """Report every reward, each after a delay of its own; by arm in the order in which they come."""
    due: dict[int, list[tuple[Any, float]]] = {}

    def step(bandit: Bandit, k: int) -> None:
        made = bandit.pull() if by_arm else bandit.decide().id
        due.setdefault(k + next(delays), []).append((made, value(k)))
        for each, reward in due.pop(k, []):
            (bandit.update if by_arm else bandit.reward)(each, reward)

    return step


def constant() -> Iterator[int]:
    while True:
        yield 500


def drawn(draw: Callable[[np.random.Generator], float], seed: int) -> Iterator[int]:
    rng = np.random.default_rng(seed)
    while True:
        yield int(draw(rng))


DELAYS: dict[str, Callable[[int], Iterator[int]]] = {
    "constant": lambda seed: constant(),
    "uniform": lambda seed: drawn(lambda rng: rng.uniform(60, 1_800), seed),
    "exponential": lambda seed: drawn(lambda rng: rng.exponential(400), seed),
    "normal": lambda seed: drawn(lambda rng: abs(rng.normal(0, 1_000)), seed),
}


@pytest.mark.parametrize("by_arm", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", DELAYS)
def test_late_complete_reporting_does_not_warn(name: str, seed: int, by_arm: bool) -> None:
    assert rounds_with_warning(late(DELAYS[name](seed), by_arm), 2_400) == []


def test_late_complete_reporting_of_equal_clicks_does_not_warn() -> None:
    assert rounds_with_warning(late(constant(), value=a_click), 1_500) == []
    assert rounds_with_warning(late(constant(), by_arm=True, value=a_click), 1_500) == []


def test_a_stop_of_most_reports_warns_when_most_are_long_pending() -> None:
    """Rewards that took 500 rounds: after two more times that, and when those are more than all the others."""
    every, ids = 1_000, []  # type: tuple[int, list[str]]

    def step(bandit: Bandit, k: int) -> None:
        ids.append(bandit.decide().id)
        if k > 500 and (k <= every or k % 10 == 0):
            bandit.reward(ids[k - 501], seconds_watched(k))

    found = rounds_with_warning(step, 4_500)
    assert len(found) == 1
    rewarded = every - 500 + (found[0] - every) // 10
    waiting = found[0] - rewarded
    assert waiting > rewarded + 2 * 2 * 501
    assert waiting - 10 <= rewarded + 2 * 2 * 501  # and not later


@pytest.mark.parametrize(
    ("value", "share", "watched"), [(seconds_watched, 1.0, False), (seconds_watched, 0.9, True), (a_click, 1.0, True)]
)
def test_the_check_ends_once_nearly_all_decisions_are_rewarded(
    value: Callable[[int], float], share: float, watched: bool
) -> None:
    watch = MissingZeros()
    for k in range(1, 1_001):
        assert not watch.done
        assert not watch.add_reward(value(k), 0, True, int((1.0 - share) / share * k))
    assert watch.done != watched


@pytest.mark.parametrize("zero", ["reported", "taken for missing"])
def test_a_reported_zero_prevents_the_warning(zero: str) -> None:
    clicks = some(a_click)

    def step(bandit: Bandit, k: int) -> None:
        if k == 5 and zero == "reported":
            bandit.reward(bandit.decide().id, 0.0)
        elif k == 5:
            bandit.expire(bandit.decide().id, missing=0.0)
        clicks(bandit, k)

    assert rounds_with_warning(step, 600) == []


def test_few_rewards_do_not_warn() -> None:
    watch = MissingZeros()
    assert not any(watch.add_reward(1.0, 0, True, 10_000) for _ in range(7))
    assert watch.add_reward(1.0, 0, True, 10_000)


def test_different_rewards_warn_after_twenty_of_them() -> None:
    watch = MissingZeros()
    assert not any(watch.add_reward(seconds_watched(k), 0, True, 10_000) for k in range(19))
    assert watch.add_reward(seconds_watched(19), 0, True, 10_000)


REWARDING: dict[str, tuple[Callable[[Bandit], Any], Callable[[Bandit, Any], Any]]] = {
    "update": (Bandit.pull, lambda bandit, arm: bandit.update(arm, 1.0)),
    "reward": (Bandit.decide, lambda bandit, decision: bandit.reward(decision, 1.0)),
    "reward_many": (Bandit.decide, lambda bandit, decision: bandit.reward_many([(decision, 1.0)])),
}


@pytest.mark.parametrize("verb", REWARDING)
def test_the_call_with_the_deciding_reward_warns(verb: str) -> None:
    choose, reward = REWARDING[verb]
    bandit = Bandit(make("uniform"), arms=["a"])
    reward(bandit, choose(bandit))
    made = [choose(bandit) for _ in range(50)]
    for _ in range(6):
        reward(bandit, made.pop())  # a warning would be an error
    with pytest.warns(match="no reward was 0 so far, and 43 decisions have none"):
        reward(bandit, made.pop())


def test_the_warning_is_not_repeated_after_a_restart() -> None:
    bandit = Bandit(make("uniform"), arms=range(3))
    ids = [bandit.decide().id for _ in range(50)]
    with pytest.warns(match="no reward was 0 so far, and 42 decisions have none"):
        bandit.reward_many([(each, 1.0) for each in ids[-8:]])
    twin = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    for _ in range(200):
        twin.reward(twin.decide().id, 1.0)  # a warning would be an error
        twin.decide()


def test_a_warning_of_another_thread_is_not_repeated() -> None:
    class StolenWarnings(list[str]):
        """Warnings of which another thread takes the last one just before this one does."""

        def pop(self, index: SupportsIndex = -1) -> str:
            self.clear()
            return super().pop(index)

    bandit = Bandit(make("ucb1"), arms=["a"])
    bandit._state.warnings = StolenWarnings(["a warning"])
    bandit.decide()


def test_as_many_decisions_may_wait_as_there_are_rewards_and_decisions_that_are_not_overdue() -> None:
    """With a longest delay of 5, twelve decisions may be in time: there must be twelve more than rewards that are overdue."""
    for n_pending, warns in ((8 + 24, False), (8 + 24 + 1, True)):
        watched = MissingZeros()
        assert not any(watched.add_reward(1.0, delay=5, by_id=True, n_pending=n_pending) for _ in range(7))
        assert watched.add_reward(1.0, delay=5, by_id=True, n_pending=n_pending) == warns
