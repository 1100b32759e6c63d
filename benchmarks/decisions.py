"""Decisions with ids, rewards and reasons: what they cost beside a bare choice, among many arms, and while a state is saved."""

import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import rotting
from benchmarks.measure import Finding, Size
from benchmarks.packages import Live
from rotting.live.learner import Learner

MANY = 100_000
_MASKED = 1_000


def bare(policy: rotting.Policy) -> Callable[[int], Live]:
    """Return what pull and update were before decisions had ids: compiled calls under a lock, names, and a count for each arm.

    There were no ids, no memory of what was answered, no order of rewards, no reasons: the least that a live bandit can do.
    """

    def make(n_arms: int) -> Live:
        learner, lock, pending = Learner.new(policy, n_arms), threading.RLock(), [0] * n_arms
        bandit: Any = rotting.Bandit(policy, arms=range(n_arms))
        slots, known, key, rounds = bandit._arms.slots, bandit._arms.active, bandit._key, 0

        def pull() -> int:
            nonlocal rounds
            with lock:
                rounds += 1
                slot = learner.choose(rounds, key, slots)
                pending[slot] += 1
                return slot

        def update(arm: int, reward: float) -> None:
            value = bandit._checked(reward)
            with lock:
                slot = known[arm]
                learner.learn(rounds, slot, value)
                pending[slot] -= 1

        return pull, update

    return make


def deciding(policy: rotting.Policy) -> Callable[[int], Live]:
    """Return decide and reward, as pull and update are called; what lies between is timed, too."""

    def make(n_arms: int) -> Live:
        bandit, asked = rotting.Bandit(policy, arms=range(n_arms)), ""
        decide, reward = bandit.decide, bandit.reward

        def pull() -> int:
            nonlocal asked
            asked, arm, *_ = decide()
            return arm  # type: ignore[return-value]

        return pull, lambda arm, value: reward(asked, value)

    return make


def many_arms(size: Size) -> list[Finding]:
    """Start with many arms, and decide while some of them are left out."""
    n_arms = MANY if size.repeats > 1 else 2_000
    rotting.Bandit(rotting.EffRAWUCB(), arms=range(2))  # compiling is not timed
    began = time.perf_counter()
    bandit = rotting.Bandit(rotting.EffRAWUCB(), arms=range(n_arms))
    started = time.perf_counter() - began
    for arm in range(n_arms):
        bandit.update(arm, arm * 7 % 11 / 11)
    masked, spent = tuple(range(0, n_arms, n_arms // _MASKED)), []
    for k in range(20 * size.repeats):
        for _ in range(50):
            began = time.perf_counter()
            decision = bandit.decide(without=masked)
            spent.append(time.perf_counter() - began)
            bandit.reward(decision.id, k % 3 / 2)
    return [
        Finding(f"start with {n_arms:,} arms, after compiling", started, "at most", 1.0, unit="s"),
        Finding(f"decide without {_MASKED:,} of {n_arms:,} arms", statistics.median(spent) * 1e6, "at most", 20.0, unit="us"),
    ]


def snapshots(size: Size) -> list[Finding]:
    """Decide alone, and while another thread takes one state after the other."""
    found = []
    for n_arms in (10, 1_000):
        bandit = rotting.Bandit(rotting.EffRAWUCB(), arms=range(n_arms))
        _latencies(bandit, size.rounds // 20)
        alone = _latencies(bandit, size.rounds // 10)
        done = threading.Event()
        saver = threading.Thread(target=_save_again_and_again, args=(bandit, done))
        saver.start()
        try:
            beside = _latencies(bandit, size.rounds // 10)
        finally:
            done.set()
            saver.join()
        detail = f"{_told(beside)}; with nothing beside: {_told(alone)}"
        what = f"K = {n_arms:,}: p99.9 of decide while states are taken, over its median"
        found.append(Finding(what, _late(beside) / statistics.median(beside), "at most", 10.0, detail=detail))
    return found


def _save_again_and_again(bandit: rotting.Bandit, done: threading.Event) -> None:
    while not done.is_set():
        bandit.get_state()


def _latencies(bandit: rotting.Bandit, rounds: int) -> list[float]:
    spent = []
    for k in range(rounds):
        began = time.perf_counter()
        decision = bandit.decide()
        spent.append((time.perf_counter() - began) * 1e6)
        bandit.reward(decision.id, k % 3 / 2)
    return spent


def _late(spent: list[float]) -> float:
    return sorted(spent)[int(0.999 * len(spent))]


def _told(spent: list[float]) -> str:
    return f"median {statistics.median(spent):.3g}, p99.9 {_late(spent):.3g}, longest {max(spent):.3g} us"
