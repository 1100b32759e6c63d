"""One decision at a time: in memory beside River, and on the disk beside SQLite."""

import importlib
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import rotting
from benchmarks import ROOT
from benchmarks.measure import Size, Turn, figure, race
from docs.page_tables import table

K = 10
WARM_UP = 1_000  # rounds before the clock starts: compiling, growing, first pulls

Player = tuple[Callable[[], int], Callable[[int, float], object]]
"""What pulls an arm, and what learns its reward."""


def plain(policy: rotting.Policy) -> Player:
    """Return `pull` and `update` of a bandit."""
    bandit = rotting.Bandit(policy, arms=range(K), compile="now")
    return bandit.pull, bandit.update


def deciding(policy: rotting.Policy) -> Player:
    """Return `decide` and `reward` of a bandit."""
    bandit, asked = rotting.Bandit(policy, arms=range(K), compile="now"), [""]

    def pull() -> int:
        decision = bandit.decide()
        asked[0] = decision.id
        return decision.arm

    return pull, lambda arm, reward: bandit.reward(asked[0], reward)


def river() -> Player:
    """Return River's UCB."""
    policy = importlib.import_module("river.bandit").UCB(delta=1, seed=0)
    arms = list(range(K))
    return (lambda: int(policy.pull(arms))), policy.update


def game(make: Callable[[], Player], rounds: int) -> Turn:
    """Return rounds of one object, with rewards of 0 and 1 from a table."""
    chances = np.linspace(0.1, 0.6, K)
    rewards = (np.random.default_rng(2).random((K, WARM_UP + rounds)) < chances[:, None]).astype(float).tolist()

    def play() -> float:
        pull, update = make()
        pulls, began = [0] * K, 0.0
        for t in range(WARM_UP + rounds):
            if t == WARM_UP:
                began = time.thread_time()
            arm = pull()
            update(arm, rewards[arm][pulls[arm]])
            pulls[arm] += 1
        return (time.thread_time() - began) * 1e6 / rounds

    return play


def against_river(size: Size) -> str:
    """Return the table of a choice and its reward in memory; without River, ours alone."""
    makers: dict[str, Callable[[], Player]] = {
        "EffRAWUCB, pull and update": lambda: plain(rotting.EffRAWUCB()),
        "EffRAWUCB, decide and reward": lambda: deciding(rotting.EffRAWUCB()),
        "RAWUCB, decide and reward": lambda: deciding(rotting.RAWUCB()),
    }
    if importlib.util.find_spec("river"):
        makers["River's UCB, pull and update"] = river
    players = {name: game(make, size.live_rounds) for name, make in makers.items()}
    rows = [[name, figure(us)] for name, us in race(size.turns, players).items()]
    return table([f"K = {K}", "microseconds"], rows, "lr")


def durable(size: Size) -> str:
    """Return the table of calls that are on the disk when they return, beside SQLite with one row a transaction.

    They take turns call by call, since a disk is fast now and slow then.
    """
    apsw: Any = importlib.import_module("apsw")
    with tempfile.TemporaryDirectory(dir=_build()) as name, ExitStack() as stack:
        folder = Path(name)
        raw = apsw.Connection(str(folder / "raw.db"))
        stack.callback(raw.close)
        raw.pragma("journal_mode", "wal")
        raw.pragma("synchronous", "full")
        raw.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, payload BLOB)")
        one, page = (
            stack.enter_context(rotting.open(folder / f"{each}.rot", rotting.EffRAWUCB(), arms=range(K)))
            for each in ("one", "page")
        )
        made: list[rotting.Decision[int]] = []
        calls: dict[str, tuple[Callable[[], object], int]] = {
            "SQLite, a row": (lambda: raw.execute("INSERT INTO events (payload) VALUES (?)", (b"x" * 150,)), 1),
            "a decision": (lambda: made.append(one.decide()), 1),
            "a reward": (lambda: one.reward(made.pop(), 0.5), 1),
            "each of a page of 10 decisions": (lambda: page.decide(count=10), 10),
        }
        spent: dict[str, list[float]] = {name: [] for name in calls}
        order = random.Random(0)  # noqa: S311 - no secret
        for _ in range(size.calls):
            first = order.sample(["SQLite, a row", "a decision", "each of a page of 10 decisions"], 3)
            for what in [*first, "a reward"]:
                call, events = calls[what]
                began = time.perf_counter()
                call()
                spent[what].append((time.perf_counter() - began) * 1e6 / events)
    medians = {name: statistics.median(times) for name, times in spent.items()}
    base = medians["SQLite, a row"]
    rows = [[name, figure(median), f"{figure(median / base)}x"] for name, median in medians.items()]
    return table(["call", "microseconds, median", "times SQLite"], rows, "lrr")


def _build() -> Path:
    """Return a folder on the disk of the project: a temporary one may be in memory."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    return build
