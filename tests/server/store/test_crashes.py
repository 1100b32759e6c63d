"""What survives a power cut, a sync that fails, a full disk, and a standby that is not waited for."""

from pathlib import Path

import psycopg
import pytest

import rotting
from rotting.errors import StoreError, StoreFullError
from rotting.server.store.database import open_database
from rotting.server.store.verify import verify
from tests.helpers.disks import failing_disk
from tests.helpers.postgres import Postgres

WALS = ("songs.rot", "songs.rot-wal")


def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with failing_disk() as disk, rotting.open(tmp_path / "songs.rot", rotting.UCB1(), arms=["a", "b"]) as bandit:
        for k in range(30):
            decision = bandit.decide()
            bandit.reward(decision, 0.5)
            if k % 10 == 9:
                cut = tmp_path / f"cut {k}"
                cut.mkdir()
                disk.after_power_cut(cut)
                for name in cut.iterdir():
                    if name.name not in WALS:
                        name.unlink()
    for cut, rounds in ((tmp_path / f"cut {k}", k + 1) for k in (9, 19, 29)):
        with rotting.open(cut / "songs.rot") as after:
            assert (after.rounds, after.pending) == (rounds, 0)
        database = open_database(cut / "songs.rot", readonly=True)
        assert verify(database).problems == ()
        database.close()


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    with failing_disk() as disk, rotting.open(tmp_path / "songs.rot", rotting.UCB1(), arms=["a", "b"]) as bandit:
        bandit.decide()
        disk.full = True
        with pytest.raises(StoreFullError, match="nothing was written"):
            bandit.decide()
        disk.full = False
        assert bandit.decide().round == 2


def test_what_cannot_be_synced_is_not_acknowledged(tmp_path: Path) -> None:
    with failing_disk() as disk, rotting.open(tmp_path / "songs.rot", rotting.UCB1(), arms=["a", "b"], timeout=1.0) as bandit:
        bandit.decide()
        disk.syncs_fail = True
        with pytest.raises(StoreError):
            bandit.decide()
        disk.syncs_fail = False
        assert bandit.decide().round >= 2


def test_a_commit_with_a_warning_is_looked_up_before_its_caller_is_answered(server: Postgres) -> None:
    """PostgreSQL warns if a commit has stopped waiting for its standby; here a trigger warns in place of it."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE quiet SUPERUSER LOGIN")
        connection.execute("ALTER ROLE quiet SET client_min_messages = error")
    place = f"{server.url.replace('rotting@', 'quiet@')}?schema=warnings"
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"], compile="never") as bandit:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(
                "CREATE FUNCTION warnings.warn() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NEW; END$$"
            )
            connection.execute(
                "CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON warnings.rotting_events DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW EXECUTE FUNCTION warnings.warn()"
            )
        assert [bandit.decide().round for _ in range(3)] == [1, 2, 3]
        database = bandit._turns.database
        begun = database._idle[:]  # type: ignore[attr-defined]
        assert bandit.decide().round == 4
        assert database._idle != begun  # type: ignore[attr-defined]  # the connection was closed
        record = database.find("bandit")
        assert record is not None
        assert [each.number for each in database.events(record, 1)] == [1, 2, 3, 4]
