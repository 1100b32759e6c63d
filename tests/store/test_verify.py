"""A log is read whole: epochs that fall, events that differ when they are played again, and where a damage begins."""

from rotting.store.memory import Medium, MemoryStore
from rotting.store.protocol import Event
from rotting.store.verify import Verification, verify
from tests.helpers.stores import numbered


def log_of(*epochs: int) -> MemoryStore:
    """A store whose events were appended in these epochs."""
    medium = Medium()
    for epoch in epochs:
        medium.epoch = epoch - 1
        with MemoryStore(medium) as store:
            if not medium.bandits:
                store.add_bandit("songs", {})
            store.append(numbered(store.last + 1, store.last + 1))
    return MemoryStore(medium, readonly=True)


def test_a_whole_log_has_no_problems() -> None:
    assert verify(log_of(1, 2, 2, 7)) == Verification(4, ())


def test_an_epoch_that_falls_is_a_problem() -> None:
    assert verify(log_of(1, 3, 2, 4)).problems == ("event 3: its epoch is 2, after one of 3",)


def test_an_epoch_that_no_writer_had_is_a_problem() -> None:
    store = log_of(1, 3)
    store._medium.epoch = 2
    assert verify(store).problems == ("event 2: its epoch is 3, and the latest writer had 2",)


def test_every_event_is_played_again_in_order() -> None:
    class Watcher:
        """Says what it sees."""

        def __init__(self) -> None:
            self.seen: list[int] = []
            self.notes: list[str] = []

        def play(self, event: Event) -> list[str]:
            self.seen.append(event.payload["n"])
            return ["event 2: another arm"] if event.number == 2 else []

        def finish(self) -> list[str]:
            self.notes.append("an upgrade")
            return [f"{len(self.seen)} events"]

    watcher, steps = Watcher(), list[None]()
    found = verify(log_of(1, 1, 1), watcher, lambda: steps.append(None))
    assert found == Verification(3, ("event 2: another arm", "3 events"), ("an upgrade",))
    assert watcher.seen == [1, 2, 3]
    assert len(steps) == 3
