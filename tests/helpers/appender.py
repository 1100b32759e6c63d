"""A program that appends to a store: `python -m tests.helpers.appender FILE [DURABILITY]`.

After each append, it prints the number of the last event.
"""

import random
import sys
from typing import Any

from rotting.store.sqlite import SQLiteStore
from tests.helpers.stores import numbered_events


def main(path: str, durability: Any = "disk") -> None:
    store = SQLiteStore(path, durability=durability)
    if not store.bandits():
        store.add_bandit("songs", {})
    size = random.Random(store.last)
    while True:
        last = store.append(numbered_events(store.last + 1, store.last + size.choice([1, 1, 1, 2, 5, 20])))
        sys.stdout.write(f"{last}\n")
        sys.stdout.flush()
        if last % 10 == 0:
            store.save_snapshot("songs", last, {"n": last})


if __name__ == "__main__":
    main(*sys.argv[1:])
