"""What the observer judges: a bounded sample of decisions, in which what arms paid at first is not forgotten."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rotting
from rotting.server.http.history import Histories
from rotting.server.http.observer import Observer, Sample
from rotting.server.store.database import open_database
from rotting.server.store.durable import create
from rotting.server.store.rows import DecisionRow
from rotting.server.store.turns import Turns


def rows(arms: Iterator[str] | list[str], first: int = 1, **more: object) -> list[DecisionRow]:
    return [
        DecisionRow(**{"round": first + k, "time": float(first + k), "caller": "", "unit": None, "arm": arm, "propensity": None,
                       "reward": float(first + k), "available": (), "id": "x", **more})  # type: ignore[arg-type]
        for k, arm in enumerate(arms)
    ]  # fmt: skip


def judged(sample: Sample) -> dict[str, list[float]]:
    """Return the rewards, which are the rounds, of each arm."""
    found = sample.diagnosis()
    if found is None:
        return {}
    log = found.log
    return {str(log.arms[arm]): log.reward[log.arm == arm].tolist() for arm in range(len(log.arms))}


def test_a_sample_has_the_first_decisions_of_each_arm_and_the_newest_ones() -> None:
    sample, size = Sample(400), 10_000
    arms = np.random.default_rng(0).choice(["a", "b", "c", "d"], size).tolist()
    for first in range(0, size, 100):
        sample.add(rows(arms[first : first + 100], first + 1))
    found = judged(sample)
    assert sum(map(len, found.values())) == len(sample) <= 400
    for place, arm in enumerate(dict.fromkeys(arms)):
        own = [k + 1.0 for k, each in enumerate(arms) if each == arm]
        assert found[str(place)][:25] == own[:25]
        assert found[str(place)][-30:] == own[-30:]
    assert sorted(each for kept in found.values() for each in kept)[-200:] == [float(k) for k in range(size - 199, size + 1)]


def test_a_damaged_log_does_not_keep_other_bandits_from_being_looked_at(tmp_path: Path) -> None:
    turns = Turns(open_database(tmp_path / "songs.rot"), "never")
    for name in ("first", "second"):
        create(turns, name, rotting.UCB1(), ["a", "b"])
        turns.change(name, lambda folded: folded.bandit.decide())
    with turns.database.transaction() as transaction:
        transaction.write("UPDATE {events} SET payload = %s WHERE bandit = %s", b"{", 1)
    observer = Observer(turns.database, histories := Histories(turns.database))
    observer.look(at_once=True)
    second = turns.database.find("second")
    assert second is not None
    assert observer.verdicts(second) is not None
    assert (counted := histories.known(second)) is not None
    assert counted.rounds == 1
    turns.close()


def test_decisions_that_are_read_again_count_once() -> None:
    sample = Sample()
    sample.add(rows(list("aab")))
    sample.add(rows(list("ab"), first=2))
    assert judged(sample) == {"0": [1.0, 2.0], "1": [3.0]}
    sample.add([])
    assert len(sample) == 3


def test_pending_decisions_and_those_of_forgotten_arms_are_left_out() -> None:
    sample = Sample()
    sample.add([*rows(list("ab")), *rows(["a"], first=3, reward=None), *rows(["a"], first=4, id="")])
    assert judged(sample) == {"0": [1.0], "1": [2.0]}
    sample.add([*rows(["a"], first=5, forgotten=True), *rows(["a"], first=6)])  # a new arm under the same id
    assert judged(sample) == {"0": [2.0], "1": [6.0]} or judged(sample) == {"1": [2.0], "0": [6.0]}
    assert Sample().wearing_out() == {}
