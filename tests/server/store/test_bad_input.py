"""Stores that cannot be used are refused with a sentence that says why, and never with a password."""

import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

import rotting
from rotting.errors import (
    InvalidValueError,
    RottingError,
    StoreFailedError,
    StoreFormatError,
    StoreReadOnlyError,
)
from rotting.server.store.copying import backup, copy
from rotting.server.store.database import open_database
from tests.helpers.postgres import Postgres, postgres

PASSWORD = "s3cret-of-ann"


@pytest.fixture(scope="module")
def strict() -> Iterator[Postgres]:
    """A server that asks for a password, and has a role without rights and one that must use TLS."""
    with postgres() as server:
        rules = "host all ann 127.0.0.1/32 scram-sha-256\nhostssl all eve 127.0.0.1/32 trust\nhostnossl all eve all reject\n"
        place = server.folder / "data" / "pg_hba.conf"
        place.write_text(rules + place.read_text("utf-8"), "utf-8")
        server.run("pg_ctl", "-D", str(server.folder / "data"), "reload")
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'")
            connection.execute("CREATE ROLE eve LOGIN")
            connection.execute("CREATE SCHEMA other")
            connection.execute("CREATE TABLE other.rotting_format (format integer)")
            connection.execute("INSERT INTO other.rotting_format VALUES (99)")
        open_database(f"{server.url}?schema=songs").close()
        yield server


def refused(place: str, error: type[RottingError]) -> str:
    """Return why a store is refused; the message is one line, and has no password."""
    with pytest.raises(error) as caught:
        rotting.open(place, rotting.UCB1(), arms=["a", "b"], timeout=3.0).decide()
    message = str(caught.value)
    assert PASSWORD not in message
    assert "\n" not in message
    assert "connection to server" not in message  # a service passes the reason on to its clients
    return message


def test_a_server_that_cannot_be_reached() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"postgresql://ann:{PASSWORD}@127.0.0.1:{unused.getsockname()[1]}/songs"
        assert "cannot be reached" in refused(place, StoreFailedError)
    assert "cannot be reached" in refused(f"postgresql://ann:{PASSWORD}@no-such-host.invalid/songs", StoreFailedError)


@pytest.mark.parametrize(
    ("user", "query", "error", "reason"),
    [
        ("ann:wrong", "", StoreFailedError, "password authentication failed"),
        ("eve", "", StoreFailedError, "no encryption"),
        (f"ann:{PASSWORD}", "sslmode=require", StoreFailedError, "SSL"),
        (f"ann:{PASSWORD}", "schema=songs", StoreReadOnlyError, "refuses this role: permission denied"),
        (f"ann:{PASSWORD}", "schema=new", StoreReadOnlyError, "refuses this role: permission denied"),
        (f"ann:{PASSWORD}", "nonsense=1", InvalidValueError, "store must be an address"),
        ("rotting", "schema=other", StoreFormatError, "format 99, of a newer version"),
    ],
)
def test_a_server_that_refuses(strict: Postgres, user: str, query: str, error: type[RottingError], reason: str) -> None:
    assert reason in refused(f"postgresql://{user}@127.0.0.1:{strict.port}/postgres?{query}", error)


def test_a_role_that_may_only_read_can_read(strict: Postgres) -> None:
    with rotting.open(f"{strict.url}?schema=read", rotting.UCB1(), arms=["a", "b"]) as bandit:
        bandit.decide()
    with psycopg.connect(strict.url, autocommit=True) as connection:
        connection.execute("GRANT USAGE ON SCHEMA read TO ann")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA read TO ann")
    place = f"postgresql://ann:{PASSWORD}@127.0.0.1:{strict.port}/postgres?schema=read"
    reader = open_database(place, create=False, readonly=True)
    assert reader.count() == 1
    reader.close()
    assert "refuses this role" in refused(place, StoreReadOnlyError)


@contextmanager
def unprivileged() -> Iterator[None]:
    """Let root be another user for a while, for whom the rights of files count."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(before)


def read_rounds(place: Path) -> int:
    database = open_database(place, readonly=True)
    record = database.find("bandit")
    assert record is not None
    found = len(database.events(record, 1))
    database.close()
    return found


@pytest.mark.parametrize(("of_file", "of_folder"), [(0o444, 0o777), (0o444, 0o555)], ids=["file", "folder"])
def test_a_file_that_may_only_be_read(of_file: int, of_folder: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "songs.rot"
        with rotting.open(place, rotting.UCB1(), arms=["a", "b"]) as bandit:
            bandit.decide()
        place.with_name("songs.rot-gate").unlink()
        place.chmod(of_file)
        Path(name).chmod(of_folder)
        with unprivileged():
            assert "readonly database" in refused(str(place), StoreReadOnlyError)
            assert read_rounds(place) == 1
        Path(name).chmod(0o700)


def test_a_folder_that_may_not_be_opened() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o000)
        with unprivileged():
            assert "this user may not open" in refused(f"{name}/songs.rot", StoreReadOnlyError)
        Path(name).chmod(0o700)


def test_only_files_are_backed_up(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=re.escape("use pg_dump")):
        backup("postgresql://ann@db/songs", tmp_path / "copy.rot")


def test_a_copy_has_the_snapshots_and_no_store_is_copied_onto_itself(place: str, tmp_path: Path, snapshots: int) -> None:
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"]) as bandit:
        for _ in range(25):
            bandit.decide()
    source, target = open_database(place), open_database(tmp_path / "copy.rot")
    assert copy(source, target) == 25
    record = target.find("bandit")
    assert record is not None
    saved = source.snapshots(record)
    assert saved
    assert target.snapshots(record) == saved
    with pytest.raises(InvalidValueError, match="be new to the store"):
        copy(source, source)
    source.close()
    target.close()


@pytest.fixture
def snapshots(monkeypatch: pytest.MonkeyPatch) -> int:
    """Save a snapshot every ten events."""
    monkeypatch.setattr("rotting.server.store.turns.SNAPSHOT_EVENTS", 10)
    return 10
