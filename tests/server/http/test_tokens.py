"""Tokens are kept as digests, and open what their scopes say."""

import stat
from pathlib import Path

import pytest

from rotting.errors import InvalidValueError, PathMissingError
from rotting.server.http.tokens import TokenFile, new_token


def test_a_token_is_known_by_its_digest_alone(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    first = new_token(file, "web shop", ["reward", "decide", "reward"])
    second = new_token(file, "me", ["admin", "read"])
    assert first != second
    assert len(first) > 40
    text = file.read_text()
    assert first not in text
    assert second not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text(f"# of the shop\n\n{text}")
    tokens = TokenFile(file)
    holder = tokens.holder(f"Bearer {first}".encode())
    assert holder is not None
    assert (holder.name, holder.scopes) == ("web shop", frozenset({"decide", "reward"}))
    holder = tokens.holder(f"BEARER   {second} ".encode())
    assert holder is not None
    assert holder.scopes == {"admin", "read"}
    for wrong in (b"", b"Bearer", b"Bearer ", b"Basic " + first.encode(), first.encode(), f"Bearer {first}x".encode(), b"\xff"):
        assert tokens.holder(wrong) is None
    digest = text.split()[0]
    assert tokens.holder(f"Bearer {digest}".encode()) is None  # who reads the file has no token


@pytest.mark.parametrize("scopes", [["all"], [], [""], ["decide", "Admin"]])
def test_other_scopes_are_refused(tmp_path: Path, scopes: list[str]) -> None:
    with pytest.raises(InvalidValueError, match=r"^scopes must .*, got "):
        new_token(tmp_path / "tokens", "a", scopes)
    assert not (tmp_path / "tokens").exists()


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\nb"])
def test_names_are_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValueError, match="^name must "):
        new_token(tmp_path / "tokens", name, ["read"])


def test_a_file_that_holds_something_else_is_refused_without_showing_it(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    with pytest.raises(PathMissingError, match="^no such token file: "):
        TokenFile(file)
    file.write_text("# nothing\n")
    with pytest.raises(InvalidValueError, match="^token file must hold at least one token, got "):
        TokenFile(file)
    file.write_text("rot_secret read me\n")
    with pytest.raises(InvalidValueError, match="^line 1 of .* must be a digest, scopes and a name") as caught:
        TokenFile(file)
    assert "rot_secret" not in str(caught.value)
