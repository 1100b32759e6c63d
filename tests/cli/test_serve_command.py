"""`rotting serve` and `rotting token`; tests/service/test_server.py runs the service."""

from pathlib import Path

import pytest

from rotting.cli import main
from rotting.service.tokens import TokenFile

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
        (("--durability", "paper"), "durability must be one of 'disk', 'os', 'memory', got 'paper'"),
        (("--token-file", "{folder}/none"), "no such token file: {folder}/none; `rotting token {folder}/none` makes one"),
        (("--host", "0.0.0.0"), NO_TOKENS),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    given = [each.format(folder=tmp_path) for each in arguments]
    assert main(["serve", str(tmp_path / "songs.rot"), *given]) == 2
    assert capsys.readouterr().err == f"rotting: error: {message.format(folder=tmp_path)}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "songs.rot").write_text("songs")
    assert main(["serve", str(tmp_path / "songs.rot")]) == 2
    assert "is not a store" in capsys.readouterr().err


def test_a_token_is_printed_once_and_kept_as_a_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tokens"
    assert main(["token", str(file), "--name", "web", "--scopes", "read,decide"]) == 0
    printed = capsys.readouterr()
    token = printed.out.strip()
    assert token not in printed.err
    assert token not in file.read_text()
    holder = TokenFile(file).holder(f"Bearer {token}".encode())
    assert holder is not None
    assert holder.scopes == {"read", "decide"}
    assert main(["token", str(file), "--scopes", "all"]) == 2
    assert capsys.readouterr().err == "rotting: error: scopes must be among decide, reward, admin, read, got 'all'\n"
