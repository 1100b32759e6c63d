"""The store in memory, where it is not like the others: what was changed behind its back is found."""

import pytest

from rotting.errors import StoreDamagedError
from rotting.store.memory import Medium, MemoryStore
from rotting.store.verify import verify
from tests.helpers.stores import numbered, says


def test_a_changed_event_is_found() -> None:
    medium = Medium()
    store = MemoryStore(medium)
    store.add_bandit("songs", {})
    store.append(numbered(1, 5))
    medium.log[2] = medium.log[2]._replace(payload=b"{}")
    with pytest.raises(StoreDamagedError, match="^the store is damaged: event 3 is not what was written$"):
        says(store)
    assert verify(store).events == 2
    assert says(store, after=3) == [4, 5]


def test_stores_of_their_own_share_nothing() -> None:
    first, second = MemoryStore(), MemoryStore()
    first.add_bandit("songs", {})
    assert second.bandits() == {}
    assert first.id != second.id


def test_a_state_is_kept_as_it_was() -> None:
    store = MemoryStore()
    store.add_bandit("songs", {})
    state = {"arms": [1]}
    store.save_snapshot("songs", 0, state)
    state["arms"].append(2)
    for _ in range(2):
        kept = store.snapshot("songs")
        assert kept is not None
        assert kept.state == {"arms": [1]}
        kept.state["arms"].append(3)
