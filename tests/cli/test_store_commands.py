"""The commands about stores; tests/server/http/test_server.py runs the service."""

import csv
import io
import re
from pathlib import Path

import apsw
import pytest

import rotting
from rotting import cli
from rotting.cli import command_line
from rotting.server.http.tokens import TokenFile
from tests.helpers.command import assert_refused_in_one_line, parse_strict_json, run_command


@pytest.fixture
def store() -> str:
    """A store with two bandits in the folder of the test."""
    with rotting.open("songs.rot", rotting.UCB1(), arms=["jazz", "rock"], name="songs") as bandit:
        first = bandit.decide(unit="fr")
        bandit.decide(["jazz"], unit="de")
        bandit.reward(first, 0.5)
    with rotting.open("songs.rot", rotting.UCB1(), arms=["x", "y"], name="films") as bandit:
        bandit.update("x", 0.25)
    return "songs.rot"


def test_events_are_printed_one_a_line(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", store]) == 0
    head, *lines = [re.sub(r"\d{4}-\d\d-\d\d [\d:.]{12}", "TIME", line) for line in capsys.readouterr().out.splitlines()]
    assert head == "  number  time                     bandit  event         id"
    assert [re.sub(r"(decided|rewarded)( +)[\w-]{8} ", r"\1\2ID ", line) for line in lines] == [
        '       1  TIME  films   learned                 arm="x" reward=0.25',
        '       1  TIME  songs   decided       ID  arm="jazz" round=1 unit="fr"',
        '       2  TIME  songs   decided       ID  arm="jazz" round=2 arms=["jazz"] unit="de"',
        "       3  TIME  songs   rewarded      ID  reward=0.5",
    ]


def test_a_terminal_gets_lines_that_fit(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli.main(["log", store]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == 80
    assert [line.endswith("...") for line in lines] == [False, True, True, True, False]


def test_events_can_be_chosen_and_come_as_json(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", store, "--bandit", "songs", "--after", "2", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    event = parse_strict_json(line)
    assert (event["bandit"], event["number"], event["caller"], event["event"], event["reward"]) == (
        "songs", 3, "", "rewarded", 0.5
    )  # fmt: skip
    assert event["time"] > 1_700_000_000_000_000


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_decisions_are_printed_one_a_row(store: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["log", store, "--to", form, "--bandit", "songs"]) == 0
    out = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(out))) if form == "csv" else [parse_strict_json(each) for each in out.splitlines()]
    assert [(row["unit"], row["arm"], row["state"]) for row in rows] == [
        ("fr", "jazz", "settled"),
        ("de", "jazz", "pending"),
    ]
    assert [str(row["reward"] or "") for row in rows] == ["0.5", ""]
    assert rows[1]["available"] in (["jazz"], '["jazz"]')
    if form == "csv":
        Path("log.csv").write_text(out)
        again = rotting.Log("log.csv", unit="unit", propensity="propensity", available="available")
        assert (len(again), again.missing, again.arms) == (2, 1, ("jazz",))


def test_a_store_is_a_log(store: str) -> None:
    log = rotting.Log(store, name="songs")
    assert (len(log), log.missing, log.arms, log.units, log.has_times) == (2, 1, ("jazz",), ("fr", "de"), True)
    assert log.available is not None
    assert log.propensity is not None


def test_a_whole_store_verifies(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", store]) == 0
    out = capsys.readouterr().out
    assert out == f"{Path(store).resolve()}: 4 events, all intact, and all choices are the same when they are made again\n"


def test_a_damaged_event_does_not_verify(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    connection = apsw.Connection(store)
    connection.execute(
        "UPDATE events SET payload = CAST(replace(CAST(payload AS TEXT), '0.5', '0.6') AS BLOB) WHERE number = 3"
    )
    connection.close()
    assert cli.main(["verify", store]) == command_line.FAILED
    out, err = capsys.readouterr()
    assert out == "bandit 'songs': event 3 is not what was written\n"
    assert err == f"rotting: error: {Path(store).resolve()} is damaged: 1 problem\n"
    with pytest.raises(rotting.errors.StoreDamagedError, match="event 3 of bandit 'songs' is not what was written"):
        rotting.open(store, name="songs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log", "nowhere.rot"], "no such store: "),
        (["log", "."], "is not a store: it is a folder"),
        (["log", "songs.rot", "--bandit", "song"], "bandit must be one of the store, got 'song'"),
        (["log", "songs.rot", "--after", "-1"], "after must be a number of an event, or 0, got '-1'"),
        (["log", "songs.rot", "--after", "x"], "after must be a number of an event, or 0, got 'x'"),
        (["log", "songs.rot", "--to", "xls"], "invalid choice: 'xls'"),
        (["verify", "nowhere.rot"], "no such store: "),
        (["copy", "nowhere.rot", "other.rot"], "no such store: "),
        (["copy", "songs.rot", "songs.rot"], "bandit must be new to the store that is copied to, got 'films', which has it"),
        (["backup", "nowhere.rot", "copy.rot"], "no such store: "),
        (["backup", ".", "copy.rot"], "is not a store: it is a folder"),
        (["backup", "songs.rot", "songs.rot"], "COPY must be new, but 'songs.rot' exists"),
        (["backup", "songs.rot", "nowhere/copy.rot"], "no such folder: "),
        (["backup", "songs.rot"], "the following arguments are required: COPY"),
    ],
)
def test_bad_input_gets_one_line(store: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(store).read_bytes()
    assert_refused_in_one_line(arguments, message, capsys)
    assert Path(store).read_bytes() == before
    assert all(each.name.startswith(store) for each in Path().iterdir())  # SQLite has files of its own beside the store


def test_without_apsw_the_command_says_what_to_install(store: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['apsw'] = None")
    done = run_command("log", store, env={"PYTHONPATH": f"{tmp_path}:{Path(cli.__file__).parents[2]}"})
    assert (done.returncode, done.stdout) == (command_line.REFUSED, "")
    assert done.stderr == "rotting: error: a store needs apsw, which brings SQLite: pip install 'rotting[store]'\n"


def test_a_backup_verifies_and_goes_on(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with rotting.open(store, name="songs") as bandit:  # while it is used
        assert cli.main(["backup", store, "monday.rot"]) == 0
        bandit.decide()
    assert capsys.readouterr() == ("", "copied songs.rot to monday.rot; check it with: rotting verify monday.rot\n")
    assert cli.main(["verify", "monday.rot"]) == 0
    with rotting.open("monday.rot", name="songs") as bandit:
        assert bandit.rounds == 2


def test_a_copy_has_every_bandit_with_its_log(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["copy", store, "other.rot"]) == 0
    message = f"copied 2 bandits with 4 events to {Path('other.rot').resolve()}, and checked them\n"
    assert capsys.readouterr().err == message
    for name in ("songs", "films"):
        with rotting.open(store, name=name) as old, rotting.open("other.rot", name=name) as new:
            assert old.get_state() == new.get_state()


NO_TOKENS = (
    "host must be an address of this machine alone, such as 127.0.0.1, as long as there are no tokens, got '0.0.0.0'; "
    "see rotting token"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--port", "x"), "port must be a whole number, 0 or more, got 'x'"),
        (("--port", "70000"), "port must be at most 65535, got 70000"),
        (("--rate", "0"), "rate must be a positive finite number, got 0"),
        (("--durability", "paper"), "durability must be one of 'disk', 'os', got 'paper'"),
        (("--token-file", "{folder}/none"), "no such token file: {folder}/none; `rotting token {folder}/none` makes one"),
        (("--host", "0.0.0.0"), NO_TOKENS),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    given = [each.format(folder=tmp_path) for each in arguments]
    assert cli.main(["serve", str(tmp_path / "songs.rot"), *given]) == 2
    assert capsys.readouterr().err == f"rotting: error: {message.format(folder=tmp_path)}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "songs.rot").write_text("songs")
    assert cli.main(["serve", str(tmp_path / "songs.rot")]) == 2
    assert "is not a store" in capsys.readouterr().err


def test_a_token_is_printed_once_and_kept_as_a_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tokens"
    assert cli.main(["token", str(file), "--name", "web", "--scopes", "read,decide"]) == 0
    printed = capsys.readouterr()
    token = printed.out.strip()
    assert token not in printed.err
    assert token not in file.read_text()
    holder = TokenFile(file).holder(f"Bearer {token}".encode())
    assert holder is not None
    assert holder.scopes == {"read", "decide"}
    assert cli.main(["token", str(file), "--scopes", "all"]) == 2
    assert capsys.readouterr().err == "rotting: error: scopes must be among decide, reward, admin, read, got 'all'\n"
