"""Decisions with ids, rewards and reasons: what they cost beside a bare choice, among many arms, and while a state is saved."""

import math
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import rotting
from benchmarks.durable import NO_STORE, project_folder
from benchmarks.measure import Finding, Size
from benchmarks.packages import Live
from rotting.common.rules import LARGEST

MANY = 100_000
_MASKED = 1_000
_ROUNDS = 1 << 20  # of a bare bandit, whose state does not grow
_SAVED = (10, 1_000)  # arms


class _Before:
    """What a live bandit was before decisions had ids: the same steps around the compiled calls, in the same order.

    There were no ids, no memory of what was answered, no order of rewards, and no reasons.
    """

    def __init__(self, policy: rotting.Policy, n_arms: int) -> None:
        bandit = rotting.Bandit(policy, arms=range(n_arms))
        learner = bandit._state.learner
        learner.make_room(_ROUNDS)
        self._functions, self._policy, self._state = learner._functions, policy, learner.state
        self._may_be_full, self._is_own, self._weighs = learner._may_be_full, learner.is_trusted, learner.uses_propensity
        self._key, self._slots, self._slot_of = bandit._state.random_key, bandit._state.arms.slots, bandit._state.arms.active
        self._names, self._max_rounds, self._range = (
            bandit._state.arms.names,
            bandit._state.max_rounds,
            (bandit._reward_rule.least, bandit._reward_rule.most),
        )
        self._lock, self._rounds, self._capacity = threading.RLock(), 0, math.inf
        self._pending, self._pulls = [0] * n_arms, [0] * n_arms
        self._propensities: list[list[float]] = [[] for _ in range(n_arms)]

    def _available(self, arms: object) -> Any:
        if arms is None:
            return self._slots
        raise NotImplementedError

    def _check_round(self, rounds: int) -> None:
        limit = self._max_rounds
        if rounds > limit:
            raise NotImplementedError

    def _make_room(self, rounds: int) -> None:
        if rounds > self._capacity and not self._may_be_full:
            raise NotImplementedError

    def _known(self, arm: Any, kept: bool = False) -> int:
        try:
            slot = self._slot_of.get(arm)
            if slot is None and kept:
                raise NotImplementedError
        except TypeError:
            slot = None
        if slot is None:
            raise NotImplementedError
        return slot

    def pull(self, arms: object = None) -> Any:
        with self._lock:
            available = self._available(arms)
            self._check_round(self._rounds + 1)
            self._make_room(self._rounds + 1)
            slot = self._functions.choose(self._policy.params, self._state, self._rounds + 1, self._key, available)
            if not self._is_own:
                raise NotImplementedError
            slot = int(slot)
            self._rounds += 1
            self._pending[slot] += 1
            if self._weighs:
                self._propensities[slot].append(float(self._state.propensity[slot]))
            return self._names[slot]

    def update(self, arm: Any, reward: float) -> None:
        value = _checked(reward)
        low, high = self._range
        if not low <= value <= high:
            raise NotImplementedError
        with self._lock:
            slot = self._known(arm, kept=True)
            pulled = self._pending[slot] > 0
            if self._weighs and not pulled:
                raise NotImplementedError
            rounds = self._rounds if pulled else self._rounds + 1
            self._check_round(rounds)
            self._make_room(rounds)
            if self._weighs:
                self._state.propensity[slot] = self._propensities[slot][0]
            self._functions.learn(self._policy.params, self._state, rounds, slot, value)
            if self._may_be_full and self._state.full[0]:
                raise NotImplementedError
            self._rounds = rounds
            self._pulls[slot] += 1
            if pulled:
                self._pending[slot] -= 1
                del self._propensities[slot][:1]


def _checked(reward: object) -> float:
    if type(reward) is not float:
        raise NotImplementedError
    try:
        value = float(reward)
    except OverflowError:
        value = math.inf
    if not abs(value) <= LARGEST:
        raise NotImplementedError
    return value


def bare(policy: rotting.Policy) -> Callable[[int], Live]:
    """Return pull and update as they were before decisions had ids, for a policy whose state need not grow."""

    def make(n_arms: int) -> Live:
        before = _Before(policy, n_arms)
        return before.pull, before.update

    return make


def deciding(policy: rotting.Policy) -> Callable[[int], Live]:
    """Return decide and reward, as pull and update are called; what lies between is timed, too."""

    def make(n_arms: int) -> Live:
        bandit, asked = rotting.Bandit(policy, arms=range(n_arms)), ""
        decide, reward = bandit.decide, bandit.reward

        def pull() -> int:
            nonlocal asked
            decision = decide()
            asked = decision.id
            return decision.arm

        return pull, lambda arm, value: reward(asked, value)

    return make


def many_arms(size: Size) -> list[Finding]:
    """Start with many arms, and decide while some of them are left out."""
    n_arms = MANY if size.repeats > 1 else 2_000
    rotting.Bandit(rotting.EffRAWUCB(), arms=range(2)).warm_up()  # compiling is not timed
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


def many_pending(size: Size) -> list[Finding]:
    """Decide and reward with many pending decisions, and with none, in turn: in memory, and in a store."""
    number = 1_000_000 if size.repeats > 1 else 1_000
    options: dict[str, Any] = {"arms": range(10), "max_pending": 2 * number}
    found: list[Finding] = []
    for rule in ("shrink", "ignore"):
        pair = [rotting.Bandit(rotting.EffRAWUCB(), pending=rule, **options) for _ in range(2)]
        found += _pending_findings(f'in memory, pending="{rule}"', pair, number, size)
    if NO_STORE:
        return [*found, Finding("in a store", None, "at most", 2.0, detail=NO_STORE)]
    with project_folder() as folder:
        stored = [rotting.open(folder / f"{k}.rot", rotting.EffRAWUCB(), durability="os", **options) for k in ("none", "many")]
        found += _pending_findings("in a store", stored, number, size)
        for bandit in stored:
            bandit.close()
    return found


def _pending_findings(where: str, pair: Sequence[rotting.Bandit], number: int, size: Size) -> list[Finding]:
    """Compare the fastest of many medians of a bandit without pending decisions and of one with many."""
    for bandit in pair:
        bandit.learn([(k % 10, k * 7 % 11 / 11) for k in range(200)])
    late = pair[1]
    waiting = [late.decide().id for _ in range(number)]
    late.reward_many([(each, 0.5) for each in waiting[1::2]])  # every other reward came before those of older decisions
    for _ in range(number // 2):
        late.decide()
    spent: dict[tuple[int, str], list[float]] = {(k, verb): [] for k in range(2) for verb in ("decide", "reward")}
    for _ in range(10 * size.repeats):
        for k, bandit in enumerate(pair):
            times: dict[str, list[float]] = {"decide": [], "reward": []}
            for _ in range(100):
                began = time.perf_counter()
                decision = bandit.decide()
                times["decide"].append(time.perf_counter() - began)
                began = time.perf_counter()
                bandit.reward(decision.id, 0.5)
                times["reward"].append(time.perf_counter() - began)
            for verb, values in times.items():
                spent[k, verb].append(statistics.median(values) * 1e6)
    findings = []
    for verb in ("decide", "reward"):
        none, many = min(spent[0, verb]), min(spent[1, verb])
        what = f"{verb} with {number:,} pending decisions over {verb} with none, {where}"
        findings.append(Finding(what, many / none, "at most", 2.0, detail=f"{none:.3g} and {many:.3g} us"))
    return findings


def snapshots(size: Size) -> list[Finding]:
    """Decide alone, and while another thread takes one state after the other, in turns."""
    found = []
    for n_arms in _SAVED:
        bandit, rounds = rotting.Bandit(rotting.EffRAWUCB(), arms=range(n_arms)), size.rounds // 10
        _latencies(bandit, rounds // 2)
        turns = [(_latencies(bandit, rounds), _latencies_beside_snapshots(bandit, rounds)) for _ in range(size.repeats)]
        alone, beside = min(turns, key=lambda turn: _tail(turn[1]))
        worst = max(_tail(turn[1]) for turn in turns)
        detail = f"best of {size.repeats}, the worst {worst:.3g}x; {_told(beside)}; without snapshots: {_told(alone)}"
        what = f"K = {n_arms:,}: p99.9 of decide while states are taken, over its median"
        found.append(Finding(what, _tail(beside), "at most", 10.0, detail=detail))
    return found


def _latencies_beside_snapshots(bandit: rotting.Bandit, rounds: int) -> list[float]:
    done = threading.Event()
    saver = threading.Thread(target=_save_again_and_again, args=(bandit, done))
    saver.start()
    try:
        return _latencies(bandit, rounds)
    finally:
        done.set()
        saver.join()


def stored_snapshots(size: Size) -> list[Finding]:
    """Decide with a durable bandit while one snapshot after the other is written to its store."""
    what = "K = {:,}: p99.9 of a durable decide while snapshots are written, over its median"
    if NO_STORE:
        return [Finding(what.format(n_arms), None, "at most", 10.0, detail=NO_STORE) for n_arms in _SAVED]
    from rotting.store import limits  # noqa: PLC0415 - needs the extra

    found, usual = [], limits.SNAPSHOT_EVENTS
    try:
        for n_arms in _SAVED:
            spent = {}
            for every in (usual, 1):  # with one at each event, the next begins when the last is written
                limits.SNAPSHOT_EVENTS = every
                with (
                    project_folder() as folder,
                    rotting.open(folder / "songs.rot", rotting.EffRAWUCB(), range(n_arms)) as bandit,
                ):
                    _latencies(bandit, size.rounds // 1_000)
                    spent[every] = _latencies(bandit, size.rounds // 100)
            detail = f"{_told(spent[1])}; with no snapshot: {_told(spent[usual])}"
            found.append(Finding(what.format(n_arms), _tail(spent[1]), "at most", 10.0, detail=detail))
    finally:
        limits.SNAPSHOT_EVENTS = usual
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


def _tail(spent: list[float]) -> float:
    return _late(spent) / statistics.median(spent)


def _told(spent: list[float]) -> str:
    return f"median {statistics.median(spent):.3g}, p99.9 {_late(spent):.3g}, longest {max(spent):.3g} us"
