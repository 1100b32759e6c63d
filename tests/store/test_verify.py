"""A log is read whole: epochs that fall, and where a damage begins."""

from rotting.store.verify import Verification, verify
from tests.helpers.memory_store import Medium, MemoryStore
from tests.helpers.stores import numbered_events


def log_of(*epochs: int) -> MemoryStore:
    """A store whose events were appended in these epochs."""
    medium = Medium()
    for epoch in epochs:
        medium.epoch = epoch - 1
        with MemoryStore(medium) as store:
            if not medium.bandits:
                store.add_bandit("songs", {})
            store.append(numbered_events(store.last + 1, store.last + 1))
    return MemoryStore(medium, readonly=True)


def test_an_intact_log_has_no_problems() -> None:
    assert verify(log_of(1, 2, 2, 7)) == Verification(4, ())


def test_an_epoch_that_falls_is_a_problem() -> None:
    assert verify(log_of(1, 3, 2, 4)).problems == ("event 3: its epoch is 2, but that of the event before is 3",)


def test_an_epoch_that_no_writer_had_is_a_problem() -> None:
    store = log_of(1, 3)
    store.medium.epoch = 2
    assert verify(store).problems == ("event 2: its epoch is 3, but that of the latest writer is 2",)


def test_progress_is_reported_after_each_event() -> None:
    steps = list[None]()
    assert verify(log_of(1, 1, 1), progress=lambda: steps.append(None)).events == len(steps) == 3
