"""Copies, pickles, forks, failing records, and locks that nothing slow holds."""

import copy
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rotting.errors import RottingError
from rotting.live import policy_state
from rotting.live.bandit import Bandit
from rotting.live.learner import Learner
from rotting.live.pending import Chooser
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import learners

LEARNERS = learners()
COPIES: list[Callable[[Bandit], Bandit]] = [copy.copy, copy.deepcopy, lambda bandit: pickle.loads(pickle.dumps(bandit))]


def bandit_in_use(policy: Policy) -> Bandit:
    bandit = Bandit(policy, arms=range(3), seed=2)
    for k in range(20):
        bandit.update(bandit.pull(), (k % 4) / 3)
    bandit.decide()
    return bandit


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("name", ["raw-ucb", "eff-raw-ucb", "exp3", "thompson-sampling"])
def test_a_copy_is_a_bandit_of_its_own(copied: Callable[[Bandit], Bandit], name: str) -> None:
    bandit = bandit_in_use(make(name))
    before, twin = bandit.get_state(), copied(bandit)
    assert twin.get_state() == before
    assert twin.pull() == bandit.pull()
    before = bandit.get_state()
    decisions = [twin.decide() for _ in range(10)]
    twin.reward_many([(decision.id, decision.round % 3 / 2) for decision in decisions])
    twin.add_arm("new")
    assert bandit.get_state() == before
    assert bandit.reward(decisions[0].id, 1.0) == "unknown"


def in_a_child(work: Callable[[], Any]) -> str:
    """Run it in a forked process, and return what it returns or raises."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            try:
                result = str(work())
            except RottingError as error:
                result = f"{type(error).__name__}: {error}"
            os.write(writing, result.encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(process, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


@forking
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_draws_for_itself() -> None:
    bandit = Bandit(make("uniform"), arms=range(1_000), seed=2)
    drawn = [in_a_child(lambda: [bandit.pull() for _ in range(5)]) for _ in range(2)]
    drawn.append(str([bandit.pull() for _ in range(5)]))
    assert len(set(drawn)) == 3  # alike by chance once in 1e15
    assert all(each.count(",") == 4 for each in drawn)


@forking
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_makes_its_own_ids() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    bandit.decide()  # which makes ids for the next decisions, too
    there = in_a_child(lambda: " ".join(bandit.decide().id for _ in range(20))).split()
    assert len({*there, *(bandit.decide().id for _ in range(20))}) == 40


@forking
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_a_change_and_the_child_is_consistent() -> None:
    bandit, done = Bandit(make("ucb1"), arms=range(3), seed=2), threading.Event()

    def decide() -> None:
        while not done.is_set():
            bandit.reward(bandit.decide().id, 0.5)

    def counts() -> bool:
        rewarded = sum(each.pulls for each in bandit.explain().values())
        return bandit.rounds - bandit.pending == rewarded

    threads = [threading.Thread(target=decide) for _ in range(3)]
    for thread in threads:
        thread.start()
    children = {in_a_child(counts) for _ in range(30)}
    done.set()
    for thread in threads:
        thread.join()
    assert children == {"True"}


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_to_warm_up_changes_nothing(policy: Policy) -> None:
    bandit = bandit_in_use(policy)
    before = bandit.get_state()
    bandit.warm_up()
    assert bandit.get_state() == before
    Bandit(policy, arms=["a"]).warm_up()


@pytest.mark.parametrize("slow", ["get_state", "explain", "propensities"])
def test_decisions_go_on_while_another_thread_asks(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long happens without the lock: here it waits until a decision was made meanwhile."""
    bandit = bandit_in_use(make("thompson-sampling"))
    requested, decided = threading.Event(), threading.Event()

    def wait(function: Any) -> Any:
        def waiting(*arguments: Any, **more: Any) -> Any:
            requested.set()
            assert decided.wait(60), "no decision was possible meanwhile"
            return function(*arguments, **more)

        return waiting

    if slow == "get_state":
        monkeypatch.setattr(policy_state, "to_json", wait(policy_state.to_json))
    elif slow == "explain":
        monkeypatch.setattr(Learner, "explain", wait(Learner.explain))
    else:
        monkeypatch.setattr(Chooser, "probabilities", wait(Chooser.probabilities))
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(getattr(bandit, slow)()))
    thread.start()
    assert requested.wait(60)
    bandit.pull()
    decided.set()
    thread.join()
    assert len(results) == 1
