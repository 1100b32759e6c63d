"""Compares the journals of clients with the store: every acknowledged call must be in it exactly once."""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rotting.store.sqlite import SQLiteStore

Call = dict[str, Any]
"""A line of a journal: an acknowledged call, or one that was refused."""

_NOT_ACKNOWLEDGED = {"refused", "unexpected"}


def read_journal(path: Path) -> list[Call]:
    """Return the calls in a journal, in their order."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [json.loads(line) for line in lines[:-1]]  # the last one is empty, or was cut by a kill


def acknowledged(calls: Iterable[Call]) -> list[Call]:
    """Return the calls that the service has acknowledged."""
    return [call for call in calls if call["call"] not in _NOT_ACKNOWLEDGED]


class Log:
    """The events of a store, by kind."""

    def __init__(self, path: Path) -> None:
        with SQLiteStore(path, readonly=True) as store:
            self.bandits = set(store.bandits())
            events = list(store.read())
        self.numbers = [event.number for event in events]
        self.rounds: dict[str, list[int]] = defaultdict(list)
        self.decided: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self.ended: dict[tuple[str, str], list[float | None]] = defaultdict(list)
        self.arms: Counter[tuple[str, str, str]] = Counter()
        self.expired: Counter[str] = Counter()
        for event in events:
            self._add(event.bandit, event.payload)

    def _add(self, bandit: str, payload: dict[str, Any]) -> None:
        kind = payload.get("event")
        if kind == "decided":
            self.rounds[bandit].append(payload["round"])
            self.decided[payload["id"]].append((payload["arm"], payload["round"]))
        elif kind in {"rewarded", "cancelled", "expired"}:
            self.ended[kind, payload["id"]].append(payload.get("reward"))
            self.expired[bandit] += kind == "expired"
        elif kind in {"added", "retired", "forgotten"}:
            self.arms[kind, bandit, payload["arm"]] += 1


def problems(log: Log, calls: list[Call]) -> Iterator[str]:
    """Yield everything that is wrong with a log: in itself, or compared with the calls that were acknowledged."""
    if log.numbers != list(range(1, len(log.numbers) + 1)):
        yield "the event numbers have gaps"
    for bandit, rounds in log.rounds.items():
        if rounds != list(range(1, len(rounds) + 1)):
            wrong = next(k for k, number in enumerate(rounds, 1) if number != k)
            yield f"bandit {bandit}: round {rounds[wrong - 1]} follows round {wrong - 1}"
    for key, made in log.decided.items():
        if len(made) > 1:
            yield f"decision {key} was made {len(made)} times"
    for (kind, key), values in log.ended.items():
        if len(values) > 1:
            yield f"decision {key} was {kind} {len(values)} times"
    for call in calls:
        yield from _missing(log, call)
    yield from _changed_keys(calls)
    yield from _too_few_expired(log, calls)


def _missing(log: Log, call: Call) -> Iterator[str]:
    """Yield a sentence for each part of an acknowledged call that is missing from the log."""
    kind, bandit = call["call"], call["bandit"]
    if kind == "unexpected":
        yield f"unexpected response: {call}"
    elif kind == "create" and bandit not in log.bandits:
        yield f"bandit {bandit} is missing"
    elif kind == "decide":
        for key, arm, number in call["decisions"]:
            if log.decided.get(key) != [(arm, number)]:
                yield f"decision {key} of arm {arm!r} in round {number} is missing: found {log.decided.get(key)}"
    elif kind in {"reward", "cancel", "expire"}:
        yield from _missing_end(log, call)
    elif kind == "add_arm" and log.arms["added", bandit, call["arm"]] != 1:
        yield f"arm {call['arm']} of {bandit} was added {log.arms['added', bandit, call['arm']]} times"
    elif kind == "remove_arm":
        event = "retired" if call["keep"] else "forgotten"
        if log.arms[event, bandit, call["arm"]] != 1:
            yield f"arm {call['arm']} of {bandit} was {event} {log.arms[event, bandit, call['arm']]} times"


def _missing_end(log: Log, call: Call) -> Iterator[str]:
    """Yield a sentence if the acknowledged end of a decision is missing from the log."""
    key, outcome = call["id"], call["outcome"]
    event, value = {
        "reward": ("rewarded", call.get("value")),
        "cancel": ("cancelled", None),
        "expire": ("expired", None if call.get("missing") == "drop" else call.get("missing")),
    }[call["call"]]
    if outcome not in {"applied", "duplicate", "expired"}:
        yield f"{call['call']} of decision {key}, which was acknowledged before, had the outcome {outcome}"
    elif outcome in {"applied", "duplicate"} and log.ended.get((event, key)) != [value]:
        yield f"decision {key} was not {event} with {value}: found {log.ended.get((event, key))}"


def _changed_keys(calls: list[Call]) -> Iterator[str]:
    """Yield a sentence for each response that differs from the first one to its idempotency key."""
    responses: dict[tuple[str, str], Any] = {}
    for call in calls:
        if call["call"] == "decide" and call["key"] is not None:
            first = responses.setdefault((call["bandit"], call["key"]), call["decisions"])
            if first != call["decisions"]:
                yield f"key {call['key']} gave {first}, then {call['decisions']}"


def _too_few_expired(log: Log, calls: list[Call]) -> Iterator[str]:
    """Yield a sentence for each bandit whose log has fewer expired decisions than were reported."""
    reported: Counter[str] = Counter()
    for call in calls:
        if call["call"] == "expire_old":
            reported[call["bandit"]] += call["expired"]
    for bandit, count in reported.items():
        if log.expired[bandit] < count:
            yield f"bandit {bandit}: {count} decisions were reported as expired, the log has {log.expired[bandit]}"


def verify(path: Path) -> tuple[int, str]:
    """Return the exit code of `rotting log PATH --verify` and its output."""
    command = [sys.executable, "-m", "rotting", "log", str(path), "--verify"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    found = subprocess.run(command, capture_output=True, text=True, timeout=1_200, check=False, env=environment)
    return found.returncode, found.stdout + found.stderr


def check(path: Path, calls: list[Call]) -> None:
    """Fail unless the store is intact and has every acknowledged call exactly once."""
    code, output = verify(path)
    assert code == 0, output
    found = list(problems(Log(path), calls))
    assert not found, "\n".join([f"{len(found)} problems:", *found[:20]])


def check_or_refused(path: Path, calls: list[Call]) -> bool:
    """Return whether the store is refused as damaged; if it is not, fail unless it has every acknowledged call."""
    code, output = verify(path)
    if code != 0:
        assert "rotting: error: " in output, f"the store is refused without a reason: {output}"
        return True
    check(path, calls)
    return False
