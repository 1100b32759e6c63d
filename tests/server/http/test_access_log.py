"""One line per request: when, who, what, with which status."""

import re
from pathlib import Path

import pytest

from rotting.errors import InvalidValueError
from rotting.server.http.access_log import AccessLog
from rotting.server.http.tokens import new_token
from tests.helpers.services import running


def test_every_request_has_a_line(tmp_path: Path) -> None:
    file, log = tmp_path / "tokens", tmp_path / "access.log"
    token = new_token(file, "web shop", ["read"])
    with running(tmp_path / "songs.rot", token_file=str(file), access_log=str(log)) as service:
        service.client(token)("GET", "/v1/bandits")
        service.client()("GET", "/v1/bandits/a%20b?x=secret")
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00"
    first, second = log.read_text().splitlines()
    assert re.fullmatch(rf"{time} 127\.0\.0\.1 web_shop GET /v1/bandits 200 \d+\.\d+ms", first)
    assert re.fullmatch(rf"{time} 127\.0\.0\.1 - GET /v1/bandits/a%20b 422 \d+\.\d+ms", second)
    assert token not in log.read_text()


def test_a_file_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="^access log must be a file that can be written to, got "):
        AccessLog(str(tmp_path / "none" / "access.log"))
