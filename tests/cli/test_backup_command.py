"""`rotting backup`: copies a store, and refuses in one line."""

from pathlib import Path

import pytest

import rotting
from rotting import cli
from rotting.cli import command_line
from tests.helpers.command import assert_refused_in_one_line


@pytest.fixture
def played() -> str:
    """The store of a bandit with two events."""
    with rotting.open("songs.rot", rotting.UCB1(), arms=["a", "b"]) as bandit:
        bandit.update("a", 0.25)
        bandit.update("b", 0.5)
    return "songs.rot"


def test_a_copy_verifies_and_goes_on(played: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["backup", played, "monday.rot"]) == 0
    assert capsys.readouterr() == ("", "copied 2 events to monday.rot; check it with: rotting log monday.rot --verify\n")
    assert cli.main(["log", "monday.rot", "--verify"]) == 0
    with rotting.open("monday.rot") as bandit:
        assert bandit.rounds == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.rot", "copy.rot"], "no such store: "),
        ([".", "copy.rot"], "is not a store: it is a folder"),
        (["songs.rot", "songs.rot"], "COPY must be new, but 'songs.rot' exists"),
        (["songs.rot", "nowhere/copy.rot"], "no such folder: "),
        (["songs.rot"], "the following arguments are required: COPY"),
    ],
)
def test_bad_input_gets_one_line(played: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {each.name for each in Path().iterdir()}
    assert_refused_in_one_line(["backup", *arguments], message, capsys)
    assert {each.name for each in Path().iterdir()} == before


def test_a_damaged_store_is_not_copied(played: str, capsys: pytest.CaptureFixture[str]) -> None:
    content = Path(played).read_bytes()
    place = content.rindex(b'"reward":0.5')
    Path(played).write_bytes(content[: place + 11] + b"6" + content[place + 12 :])
    assert cli.main(["backup", played, "copy.rot"]) == command_line.FAILED
    assert "is damaged: event 2 is not what was written" in capsys.readouterr().err
    assert not Path("copy.rot").exists()
