"""`rotting log`: prints, exports and verifies the events of a store."""

import io
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting import cli
from rotting.cli import command_line
from rotting.store.sqlite import SQLiteStore
from tests.helpers.command import assert_refused_in_one_line, parse_strict_json, run_command

EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("songs", {"event": "decided", "id": "x1", "arm": "jazz", "round": 1, "propensity": 0.1 + 0.2}),
    ("films", {"event": "decided", "id": "x2", "arm": ["a", 1], "round": 1, "propensity": 1}),
    ("songs", {"event": "rewarded", "id": "x1", "reward": 0, "number": "own"}),
    ("songs", {"event": "decided", "id": "x3", "arm": 7, "round": 2**70, "propensity": None}),
]


@pytest.fixture
def store() -> str:
    """A store in the folder of the test."""
    with SQLiteStore("songs.rot") as store:
        for name in ("songs", "films"):
            store.add_bandit(name, {})
        store.append(EVENTS)
    return "songs.rot"


def test_events_are_printed_one_a_line(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", store]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "  number  epoch  bandit  event         id",
        '       1      1  songs   decided       x1        arm="jazz" round=1 propensity=0.30000000000000004',
        '       2      1  films   decided       x2        arm=["a", 1] round=1 propensity=1',
        '       3      1  songs   rewarded      x1        reward=0 number="own"',
        "       4      1  songs   decided       x3        arm=7 round=1180591620717411303424",
    ]


def test_a_terminal_gets_lines_that_fit(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli.main(["log", store]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == 80
    assert [line.endswith("...") for line in lines] == [False, True, True, False, True]


def test_events_can_be_chosen_and_come_as_json(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", store, "--bandit", "songs", "--after", "1", "--json"]) == 0
    events = [parse_strict_json(line) for line in capsys.readouterr().out.splitlines()]
    assert events == [{"number": number, "epoch": 1, "bandit": "songs", "payload": EVENTS[number - 1][1]} for number in (3, 4)]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_events_are_exported(store: str, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    pl = pytest.importorskip("polars")
    assert cli.main(["log", store, "--out", f"log{suffix}"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"saved 4 events to log{suffix}\n")
    content = io.BytesIO(Path(f"log{suffix}").read_bytes())
    table = pl.read_csv(content) if suffix == ".csv" else pl.read_parquet(content)
    assert table.columns == [
        *("number", "epoch", "bandit", "event", "id", "arm", "round", "propensity", "reward", "payload_number"),
    ]
    assert table["number"].to_list() == [1, 2, 3, 4]
    assert table["propensity"].to_list() == [0.1 + 0.2, 1.0, None, None]
    assert table["arm"].to_list() == ['"jazz"', '["a", 1]', None, "7"]
    assert [None if each is None else int(each) for each in table["round"].to_list()] == [1, 1, None, 2**70]
    assert table["payload_number"].to_list() == [None, None, "own", None]


@pytest.fixture
def played() -> str:
    """The store of a bandit with three events."""
    with rotting.open("songs.rot", rotting.UCB1(), arms=["a", "b"]) as bandit:
        for reward in (0.25, 0.5, 0.75):
            bandit.update("a", reward)
    return "songs.rot"


def test_a_whole_store_verifies(played: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", played, "--verify"]) == 0
    assert capsys.readouterr().out == "songs.rot: 3 events, all intact, and all choices are the same when replayed\n"


def test_what_other_code_decided_is_a_note_and_no_damage(capsys: pytest.CaptureFixture[str]) -> None:
    """A decision of UCB1 for an arm that it would not choose, by this code and by that of another version."""
    with rotting.open("songs.rot", rotting.UCB1(), arms=["a", "b"]):
        pass
    with SQLiteStore("songs.rot", readonly=True) as store:
        description = store.bandits()["bandit"]
    decision = {"event": "decided", "id": "1" * 32, "round": 1, "arm": "b", "arms": None, "without": None, "propensity": 1.0}
    for version, code in ((description["version"], 1), ("0.0.9", 0)):
        path = f"{version}.rot"
        with SQLiteStore(path) as store:
            store.append([("songs", decision)], [("songs", {**description, "version": version})])
        assert cli.main(["log", path, "--verify"]) == code
        out, err = capsys.readouterr()
        assert ("is damaged: 1 problem" in err) == (code == 1)
        assert "the decision of round 1 was 'b', and is 'a' now" in out
    assert out.startswith("ucb1: epoch 1 was written by rotting 0.0.9 with policy code ")
    assert out.endswith("0.0.9.rot: 1 event, all intact; see above what other versions wrote\n")


def test_a_damaged_store_does_not_verify(played: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = played
    content = Path(store).read_bytes()
    place = content.index(b'"reward":0.5')
    Path(store).write_bytes(content[: place + 11] + b"6" + content[place + 12 :])
    assert cli.main(["log", store, "--verify"]) == command_line.FAILED
    out, err = capsys.readouterr()
    assert out == f"{Path(store).resolve()} is damaged: event 2 is not what was written\n"
    assert err == "rotting: error: songs.rot is damaged: 1 problem, events read: 1\n"


def test_a_store_that_is_too_damaged_to_be_opened_failed(played: str, capsys: pytest.CaptureFixture[str]) -> None:
    content = Path(played).read_bytes()
    place = content.rindex(b'"reward":0.75')
    Path(played).write_bytes(content[: place + 11] + b"6" + content[place + 12 :])
    for way in ([], ["--verify"], ["--json"]):
        assert cli.main(["log", played, *way]) == command_line.FAILED
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"rotting: error: {Path(played).resolve()} is damaged: event 3 is not what was written\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.rot"], "no such store: "),
        (["."], "is not a store: it is a folder"),
        (["songs.rot", "--bandit", "song"], "bandit must be one of ['films', 'songs'], got 'song'"),
        (["songs.rot", "--after", "-1"], "after must be a whole number, 0 or more, got -1"),
        (["songs.rot", "--after", "x"], "after must be a whole number, 0 or more, got 'x'"),
        (["songs.rot", "--out", "log.txt"], "out must end in one of .csv, .parquet, got 'log.txt'"),
        (["songs.rot", "--out", "songs.rot"], "out must be new, but 'songs.rot' exists"),
        (["songs.rot", "--out", "a.csv", "--verify"], "not allowed with argument"),
        (["songs.rot", "--verify", "--bandit", "songs"], "verify must be given without --bandit and --after"),
        (["songs.rot", "--verify", "--after", "1"], "verify must be given without --bandit and --after"),
    ],
)
def test_bad_input_gets_one_line(store: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(store).read_bytes()
    assert_refused_in_one_line(["log", *arguments], message, capsys)
    assert Path(store).read_bytes() == before


def test_without_apsw_the_command_says_what_to_install(store: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['apsw'] = None")
    done = run_command("log", store, env={"PYTHONPATH": f"{tmp_path}:{Path(cli.__file__).parents[2]}"})
    assert (done.returncode, done.stdout) == (command_line.REFUSED, "")
    assert done.stderr == "rotting: error: a store needs apsw, which brings SQLite: pip install 'rotting[store]'\n"
