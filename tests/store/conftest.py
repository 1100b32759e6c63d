"""What several tests of stores begin with."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rotting.store.sqlite import SQLiteStore
from tests.helpers.stores import numbered_events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of 90 events that was closed in order."""
    with SQLiteStore(tmp_path / "songs.rot") as store:
        store.add_bandit("songs", {"seed": 1})
        store.append(numbered_events(1, 90))
        for number in (30, 60, 90):
            store.save_snapshot("songs", number, {"n": number})
    return tmp_path / "songs.rot"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can enter."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
        Path(name).chmod(0o755)
