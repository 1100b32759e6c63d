"""Databases for the tests of the server: each test that asks for `place` runs on SQLite and on PostgreSQL."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from rotting.server.store.database import Database, open_database
from tests.helpers.postgres import Postgres, postgres

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests of this process."""
    with postgres() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or the address of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "songs.rot")
    found: Postgres = request.getfixturevalue("server")
    return f"{found.url}?schema=test_{next(_numbers)}"


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    found = open_database(place)
    yield found
    found.close()
