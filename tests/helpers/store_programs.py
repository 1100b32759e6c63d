"""Programs that decide and reward in a store until they are killed: `python -m tests.helpers.store_programs`.

For each line `live STORE NOTES SEED` on standard input, it forks such a program, and prints its process id and, at its end, its
exit code. The program writes to the file NOTES what it is doing, and each answer of the store. A line `check STORE NOTES SEED`
replays the whole log instead, and notes its problems.
"""

import itertools
import os
import random
import sys
import traceback
from pathlib import Path
from typing import Any

import rotting
from rotting.store import limits
from rotting.store.snapshots import Snapshots
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify


class Notes:
    """Lines in a file, each written at once."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, *words: object) -> None:
        os.write(self.file, (" ".join(map(str, words)) + "\n").encode())

    def tell(self, doing: str, owner: type, method: str) -> None:
        """Make a method of the store note when it starts and when it has finished."""
        done = getattr(owner, method)

        def noted(*arguments: Any) -> None:
            self.write("doing", doing)
            done(*arguments)
            self.write("doing", "events")

        setattr(owner, method, noted)


def live(store: str, path: str, seed: str) -> None:
    lines = [line.split() for line in Path(path).read_text().splitlines()] if Path(path).exists() else []
    rewarded = [words[1] for words in lines if words[0] == "rewarded"]
    unsure = [words[1] for words in lines if words[0] == "decided" and words[1] not in {*rewarded}]
    notes, chance = Notes(path), random.Random(seed)
    limits.SNAPSHOT_EVENTS, limits.WAL_PAGES, limits.PIECE_BYTES, limits.PIECES = 25, 30, 100, 4  # it all happens often
    notes.tell("a snapshot", SQLiteStore, "save_snapshot")
    notes.tell("a copy of the WAL", Snapshots, "copy_wal")
    notes.tell("the end", SQLiteStore, "close")
    for k in itertools.count():
        notes.write("doing", "the beginning")
        with rotting.open(store, rotting.EffRAWUCB(sigma=0.5), arms=["a", "b", "c"]) as bandit:
            notes.write("doing", "events")
            for what, keys in [("again", rewarded), ("rewarded", unsure)] if k == 0 else []:
                for key in keys[-3:]:  # who does not know whether it was heard says it again
                    notes.write(what, key, bandit.reward(key, 1.0))
            for _ in range(chance.randrange(20)):
                decisions = bandit.decide(count=chance.randrange(1, 4))
                for each in decisions:
                    notes.write("decided", each.id, each.round, each.arm)
                some = [each.id for each in decisions if chance.random() < 0.7]
                if chance.random() < 0.5:
                    for key, outcome in zip(some, bandit.reward_many([(key, 1.0) for key in some]), strict=True):
                        notes.write("rewarded", key, outcome)
                else:
                    for key in some:
                        notes.write("rewarded", key, bandit.reward(key, 1.0))


def check(store: str, path: str, seed: str) -> None:
    notes = Notes(path)
    with SQLiteStore(store, readonly=seed == "0") as opened:
        found = verify(opened, replay=True)
    for problem in found.problems:
        notes.write("wrong", problem)
    notes.write("checked", found.events)


def main() -> None:
    for line in sys.stdin:
        what, *arguments = line.split()
        child = os.fork()  # nothing is open here
        if child == 0:
            try:
                {"live": live, "check": check}[what](*arguments)
                os._exit(0)
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
                os._exit(1)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
