"""Memory, stalls and compiling, each measured in a process of its own: `python -m benchmarks.resources WHAT ARGUMENTS`.

A process that did other things before has memory to reuse, and code that is compiled.
"""

import functools
import gc
import json
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import rotting
from benchmarks import processes
from benchmarks.drift import resident
from benchmarks.measure import Finding, Size
from rotting.common.arrays import Ints
from rotting.problems import stationary, ten_arms

_NOISE = 100_000  # draws, used again and again: the noise of a live game must not take memory that counts
_COMPILED = ("RAWUCB", "EffRAWUCB", "RAWKLUCB", "RAWUCBpp", "GLRUCB", "FEWA", "UCB1")


_in_new_process = functools.partial(processes.run, "benchmarks.resources")


# --- In the new process -------------------------------------------------------------------------------------------------------


def _peak(call: Callable[[], object]) -> int:
    """Return by how many bytes the process grew at most during a call."""
    gc.collect()
    before, highest, over = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not over.wait(0.001):
            highest = max(highest, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    call()
    over.set()
    watcher.join()
    return max(highest, resident()) - before


def simulated(horizon: int) -> int:
    """Return the peak growth of a simulation on ten arms."""

    def play(rounds: int) -> None:
        rotting.simulate(rotting.RAWUCB(), ten_arms(horizon=rounds), runs=2, workers=2, progress=False)

    play(min(1_000, horizon))  # compiles
    return _peak(lambda: play(horizon))


class _Arms:
    """Live arms, each of a mean that depends on its own pulls; the noise repeats after a while."""

    def __init__(self, n_arms: int, mean: Callable[[int, int], float], sigma: float) -> None:
        self._mean, self._pulls = mean, [0] * n_arms
        self._noise: list[float] = (np.random.default_rng(0).standard_normal(_NOISE) * sigma).tolist()
        self._drawn = 0

    def pay(self, i: int) -> float:
        """Return the reward of one more pull."""
        self._drawn = (self._drawn + 1) % _NOISE
        self._pulls[i] += 1
        return self._mean(i, self._pulls[i]) + self._noise[self._drawn]


def _abrupt(n_arms: int) -> _Arms:
    sizes = np.random.default_rng(1).permutation(np.linspace(0.0, 1.0, n_arms)).tolist()
    return _Arms(n_arms, lambda i, n: sizes[i] if n <= 1_000 else -sizes[i], 1.0)


def _falling(n_arms: int, rounds: int) -> _Arms:
    """Return arms that fall by 1 in all if they are pulled equally often, which they nearly are: with little noise."""
    return _Arms(n_arms, lambda i, n: -n * n_arms / rounds, 0.1)


def _play(bandit: rotting.Bandit, arms: _Arms, rounds: int) -> None:
    for _ in range(rounds):
        arm: Any = bandit.pull()
        bandit.update(arm, arms.pay(arm))


def live(n_arms: int, rounds: int) -> int:
    """Return by how many bytes a live bandit of so many arms makes the process grow."""
    bandit = rotting.Bandit(rotting.RAWUCB(), range(2))
    bandit.warm_up()
    _play(bandit, _abrupt(2), 10)  # leaves little memory to reuse
    arms = _abrupt(n_arms)
    gc.collect()
    before = resident()
    bandit = rotting.Bandit(rotting.RAWUCB(), range(n_arms))
    _play(bandit, arms, rounds)
    return resident() - before


def saved(n_arms: int, rounds: int) -> dict[str, int]:
    """Return the length of a live bandit's state as JSON, on arms that drop and on arms that fall steadily."""
    sizes = {}
    for name, arms, sigma in (("abrupt", _abrupt(n_arms), 1.0), ("falling", _falling(n_arms, rounds), 0.1)):
        bandit = rotting.Bandit(rotting.RAWUCB(sigma=sigma), range(n_arms))
        _play(bandit, arms, rounds)
        sizes[name] = len(json.dumps(bandit.get_state()))
    return sizes


def stalls(n_arms: int, rounds: int, repeats: int) -> dict[str, Any]:
    """Return median and worst of the nanoseconds of a pull and of an update, and how often the state was enlarged."""
    shortest = np.full((2, rounds), np.iinfo(np.int64).max)
    for _ in range(repeats):
        times, enlarged = _timed_game(n_arms, rounds)
        np.minimum(shortest, times, out=shortest)
    found: dict[str, Any] = {"enlarged": enlarged}
    for name, each in zip(("pull", "update"), shortest, strict=True):
        found[name] = {"median": float(np.median(each)), "worst": int(each.max()), "round": int(each.argmax()) + 1}
    return found


def _timed_game(n_arms: int, rounds: int) -> tuple[Ints, int]:
    bandit, arms = rotting.Bandit(rotting.RAWUCB(sigma=0.1), range(n_arms)), _falling(n_arms, rounds)
    times = np.zeros((2, rounds), np.int64)
    clock, capacity, enlarged = time.perf_counter_ns, bandit.get_state()["capacity"], 0
    gc.disable()
    for k in range(rounds):
        began = clock()
        arm: Any = bandit.pull()
        chosen = clock()
        reward = arms.pay(arm)
        paid = clock()
        bandit.update(arm, reward)
        times[1, k] = clock() - paid
        times[0, k] = chosen - began
    gc.enable()
    last = bandit.get_state()["capacity"]
    while capacity < last:
        capacity, enlarged = 2 * capacity, enlarged + 1
    return times, enlarged


def compiling(name: str) -> float:
    """Return the CPU-seconds of this process, which imports, and plays a game and a live round for the first time."""
    policy = _make(name)
    rotting.simulate(policy, stationary([0.5, 0.4], rotting.Bernoulli()), 100, runs=1, workers=1, progress=False)
    bandit = rotting.Bandit(policy, [0, 1])
    bandit.update(bandit.pull(), 1.0)
    bandit.explain()
    return time.process_time()


def _make(name: str) -> rotting.Policy:
    policy_class: Any = getattr(rotting, name)
    tuned = policy_class.needs_horizon and hasattr(policy_class, "from_horizon")
    policy: rotting.Policy = policy_class.from_horizon(1_000) if tuned else policy_class()
    return policy


# --- In the benchmark ---------------------------------------------------------------------------------------------------------


def memory(size: Size) -> list[Finding]:
    """Measure what RAW-UCB takes in memory, simulated, live and saved."""
    rounds = size.live_rounds
    grown = min(_in_new_process("simulated", rounds) for _ in range(2))  # the first may compile
    held = _in_new_process("live", 1_000, rounds)
    texts = _in_new_process("saved", 10, rounds)
    figures = {
        f"simulate(RAWUCB(), ten_arms, T = {rounds:,}, runs=2, workers=2): peak growth of the process": (
            grown / 1e6,
            20.0,
            "MB",
        ),
        f"live RAWUCB, K = 1,000, after {rounds:,} rounds: growth of the process": (held / 1e6, 50.0, "MB"),
        f"live RAWUCB, K = 10, after {rounds:,} rounds: its state as JSON": (texts["abrupt"] / 1e3, 100.0, "kB"),
    }
    found = [Finding(what, value, "at most", most, None, unit) for what, (value, most, unit) in figures.items()]
    found[-1].detail = f"on arms that drop; {texts['falling'] / 1e3:.0f} kB on arms that fall steadily, sigma 0.1"
    return found


def growth(size: Size) -> list[Finding]:
    """Measure the worst pull and update of a live RAW-UCB whose hulls outgrow their room."""
    findings = []
    for n_arms in (10, 1_000):
        rounds = size.live_rounds // 2
        found = _in_new_process("stalls", n_arms, rounds, max(3, size.repeats))
        for call in ("pull", "update"):
            worst, median = found[call]["worst"], found[call]["median"]
            detail = (
                f"median {median / 1e3:.3g} us, worst {worst / 1e3:.3g} us in round {found[call]['round']:,} of {rounds:,}; "
                f"enlarged {found['enlarged']} times"
            )
            what = f"live RAWUCB, K = {n_arms:,}, {call}: worst over median"
            findings.append(Finding(what, worst / median, "at most", 100.0, None, "x", detail))
    return findings


def cold(size: Size) -> list[Finding]:
    """Measure what compiling costs a new process without a cache."""
    seconds = {}
    for name in _COMPILED if size.repeats > 1 else _COMPILED[:1]:
        with tempfile.TemporaryDirectory() as folder:
            seconds[name] = _in_new_process("compiling", name, NUMBA_CACHE_DIR=folder)
    table = ", ".join(f"{name} {each:.1f}" for name, each in seconds.items())
    what = "RAWUCB, simulated and live: CPU-seconds of a new process without a cache"
    return [Finding(what, seconds["RAWUCB"], "at most", 11.5, None, "s", f"all: {table}")]


if __name__ == "__main__":
    processes.answer(simulated, live, saved, stalls, compiling)
