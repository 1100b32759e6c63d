"""Two versions of the library use one store, as during a rolling upgrade."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rotting
from rotting.errors import StoreFormatError
from rotting.live.bandit_state import REVISION
from rotting.live.saved_state import VERSION
from rotting.server.store.database import FORMAT, Database, open_database
from rotting.server.store.rows import decision_rows
from rotting.server.store.snapshots import remove_old_events, sweep
from rotting.server.store.turns import load
from rotting.server.store.verify import verify
from tests.helpers.deciders import read, start, wait_for_more
from tests.helpers.services import SONGS, running

SOURCE = Path(rotting.__file__).parent
SNAPSHOTS = ("server/store/snapshots.py", "SNAPSHOT_EVENTS = 10_000", "SNAPSHOT_EVENTS = 40")


def version(folder: Path, *changes: tuple[str, str, str]) -> Path:
    """Copy the package into a folder and change some of its files; return the folder."""
    shutil.copytree(SOURCE, folder / "rotting", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in changes:
        file = folder / "rotting" / name
        text = file.read_text("utf-8")
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), "utf-8")
    return folder


def test_versions_that_decide_differently_share_a_bandit(place: str, tmp_path: Path) -> None:
    old = version(tmp_path / "old", SNAPSHOTS)
    new = version(
        tmp_path / "new",
        SNAPSHOTS,
        ("live/bandit_state.py", f"REVISION = {REVISION}", f"REVISION = {REVISION + 1}"),
        ("policies/ucb1.py", "return Reason(mean + c, mean, n, c)", "return Reason(mean - c, mean, n, c)"),
    )
    rotting.open(place, rotting.UCB1(), arms=["a", "b", "c"], name="songs").close()
    files, stop = [tmp_path / "one", tmp_path / "two"], tmp_path / "stop"
    for file in files:
        file.touch()
    processes = [start(place, file, stop, source) for file, source in zip(files, (new, old), strict=True)]
    for k, source in ((0, old), (1, new)):  # each goes on with what the other version has left
        for file in files:
            wait_for_more(file, 50)
        processes[k].kill()
        processes[k].communicate()
        processes[k] = start(place, files[k], stop, source)
    for file in files:
        wait_for_more(file, 50)
    stop.touch()
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
    states = [json.loads(process.communicate(timeout=60)[0]) for process in processes]

    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    assert states[0] == json.loads(json.dumps(load(database, record, "never").bandit.get_state()))
    assert states[1]["rounds"] == states[0]["rounds"]
    rows = list(decision_rows(database, record))
    by_id = {row.id: row for row in rows}
    acknowledged = [line for file in files for line in read(file)]
    assert len({line.id for line in acknowledged}) == len(acknowledged)
    for line in acknowledged:
        assert (by_id[line.id].round, by_id[line.id].arm, by_id[line.id].reward) == (line.round, line.arm, 0.25)
    assert [row.round for row in rows] == list(range(1, len(rows) + 1))
    found = verify(database)
    assert found.problems == ()
    assert "decisions would differ today" in found.notes[0]  # those of the other version
    database.close()


def test_an_event_of_a_newer_version_stops_its_bandit_alone(place: str, tmp_path: Path) -> None:
    added, praised = '        elif kind == "added":\n', '        elif kind == "praised":\n            pass\n'
    new = version(
        tmp_path / "new",
        ("live/bandit_state.py", added, praised + added),
        (
            "live/events.py",
            '    "learned": {"arm", "reward"},\n',
            '    "learned": {"arm", "reward"},\n    "praised": {"arm"},\n',
        ),
    )
    program = tmp_path / "praise.py"
    program.write_text(
        "import sys, rotting\n"
        "with rotting.open(sys.argv[1], name='songs', compile='never') as songs:\n"
        "    event = {'event': 'praised', 'arm': 'jazz'}\n"
        "    songs._turns.change('songs', lambda folded: folded.bandit.state.events.append(event))\n"
        "    print(songs.decide().round)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(new)}
    with running(place) as service:
        client = service.client()
        for name in ("songs", "films"):
            assert client("PUT", f"/v1/bandits/{name}", SONGS).status == 201
        assert client("POST", "/v1/bandits/songs/decisions").status == 200
        praise = [sys.executable, str(program), place]
        for round in (2, 3):
            assert subprocess.run(praise, env=environment, capture_output=True, text=True, check=True).stdout == f"{round}\n"
            refused = client("POST", "/v1/bandits/songs/decisions")
            assert (refused.status, refused.body["type"]) == (503, "urn:rotting:problem:store-failed")
            assert "does not know ('praised', number 2): upgrade it" in refused.body["detail"]
            assert client("GET", "/v1/bandits/songs").status == 503
            assert client("POST", "/v1/bandits/films/decisions").status == 200


def test_a_later_version_reads_a_base(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is all that is left of the events that were removed."""
    monkeypatch.setattr("rotting.server.store.snapshots._LEAST_REMOVED", 1)
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"], name="songs", keep="1d", compile="never") as bandit:
        for k in range(20):
            bandit.reward(bandit.decide(), float(k % 3 == 0))
        assert remove_old_events(bandit._turns.database, "songs", time.time() + 100_000) == 40
        sweep(bandit._turns.database)
        wanted = str(bandit.preview()[0].arm)
    later = version(
        tmp_path / "later",
        ("live/bandit_state.py", f"REVISION = {REVISION}", f"REVISION = {REVISION + 1}"),
        ("live/saved_state.py", f'"rotting-bandit", {VERSION}', f'"rotting-bandit", {VERSION + 1}'),
    )
    program = (
        "import sys, rotting; b = rotting.open(sys.argv[1], name='songs', compile='never'); print(b.rounds, b.decide().arm)"
    )
    command = [sys.executable, "-c", program, place]
    found = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(later)}, capture_output=True, text=True, check=True
    ).stdout
    assert found == f"20 {wanted}\n"


def set_format(database: Database, number: int) -> None:
    """Change the format of a store, as the `migrate` of a newer version would."""
    with database.transaction() as transaction:
        connection = transaction._connection  # type: ignore[attr-defined]
        if database.one_lane:
            connection.pragma("user_version", number)
        else:
            transaction.record("songs")
            connection.execute(database.statement("UPDATE {format} SET format = %s"), (number,))  # type: ignore[attr-defined]


def test_a_format_that_is_raised_meanwhile_is_noticed_by_the_next_turn(place: str) -> None:
    database = open_database(place)
    with rotting.open(place, rotting.UCB1(), arms=["a", "b"], name="songs") as bandit:
        assert bandit.decide().round == 1
        set_format(database, FORMAT + 1)
        for _ in range(2):
            with pytest.raises(StoreFormatError, match=f"format {FORMAT + 1}, of a newer version"):
                bandit.decide()
    database.close()
