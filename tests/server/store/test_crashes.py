"""What survives a power cut, a sync that fails, and a full disk."""

from pathlib import Path

import pytest

import rotting
from rotting.errors import StoreError, StoreFullError
from rotting.server.store.database import open_database
from rotting.server.store.verify import verify
from tests.helpers.disks import failing_disk

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
