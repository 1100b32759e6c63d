"""Which requests are let in: by their Host, their token with its bandits, and how often they come."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from rotting.server.http import admission
from rotting.server.http.admission import is_loopback
from rotting.server.http.problem_documents import ProblemError
from rotting.server.http.tokens import new_token
from tests.helpers.services import SONGS, Running, running

BANDIT = "/v1/bandits/songs"


def test_callers_share_no_rate() -> None:
    rates = admission.Rates(1.0)
    assert [rates.wait(caller, 0.0) for caller in ("a", "b", "a")] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.2:8000", "[::1]:8000", "[::1]"])
def test_without_tokens_every_name_of_this_machine_is_served(shared: Running, host: str) -> None:
    assert shared.client()("GET", "/v1/bandits", Host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil:80", "", "[::2]"]
)
def test_without_tokens_other_names_are_refused(shared: Running, host: str) -> None:
    assert shared.client()("GET", "/v1/bandits", Host=host).status == 403


def test_addresses_of_this_machine_are_known() -> None:
    assert [is_loopback(each) for each in ("127.8.9.1", "::1", "0.0.0.0", "10.0.0.1")] == [True, True, False, False]


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://evil{host}",
        "http://evil.example/http://{host}",
        "http://{host}.evil.example",
        "http://{host}0",
        "http://localhost",
        "{host}",
        "null",
        "",
    ],
)
def test_an_origin_is_this_service_or_refused(shared: Running, origin: str) -> None:
    host = f"127.0.0.1:{shared.port}"
    client = shared.client()
    assert client("GET", "/v1/bandits", Origin=origin.format(host=host)).status == 403
    for scheme in ("http", "https"):  # which of them is known only to a proxy in front of the service
        assert client("GET", "/v1/bandits", Origin=f"{scheme}://{host}").status == 200


def test_a_token_may_be_for_some_bandits(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    everything = new_token(file, "me", ["admin", "read"])
    some = new_token(file, "shop", ["decide", "read", "admin"], ["songs", "radio-*"])
    with running(tmp_path / "songs.rot", token_file=str(file)) as service:
        me, shop = service.client(everything), service.client(some)
        for name in ("songs", "radio-1", "news"):
            assert me("PUT", f"/v1/bandits/{name}", SONGS).status == 201
        assert shop("POST", f"{BANDIT}/decisions").status == 200
        assert shop("POST", "/v1/bandits/radio-1/decisions").status == 200
        for method, path, body in (
            ("POST", "/v1/bandits/news/decisions", None),
            ("GET", "/v1/bandits/news/log", None),
            ("PUT", "/v1/bandits/radio", SONGS),
            ("GET", "/v1/events?bandit=news", None),
            ("GET", "/metrics", None),
        ):
            refused = shop(method, path, body)
            assert (refused.status, refused.body["type"]) == (403, "urn:rotting:problem:forbidden"), path
        assert [each["name"] for each in shop("GET", "/v1/bandits").body["bandits"]] == ["radio-1", "songs"]
        assert len(me("GET", "/v1/bandits").body["bandits"]) == 3


def test_tokens_are_read_again_when_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    old = new_token(file, "old", ["read"])
    with running(tmp_path / "songs.rot", token_file=str(file)) as service:
        assert service.client(old)("GET", "/v1/bandits").status == 200

        def until(token: str, status: int) -> None:
            deadline = time.monotonic() + 30.0
            while service.client(token)("GET", "/v1/bandits").status != status:
                assert time.monotonic() < deadline
                time.sleep(0.05)

        added = new_token(file, "added", ["read"])
        until(added, 200)
        lines = file.read_text().splitlines(keepends=True)
        (tmp_path / "next").write_text(lines[1])
        os.replace(tmp_path / "next", file)  # noqa: PTH105 - in one step
        until(old, 401)
        file.write_text("not a token file\n")
        time.sleep(1.2)
        assert service.client(added)("GET", "/v1/bandits").status == 200  # a broken file changes nothing
        file.unlink()
        time.sleep(1.2)
        assert service.client(added)("GET", "/v1/bandits").status == 200


def test_the_rate_is_that_of_a_token_and_not_of_its_name(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    tokens = [new_token(file, "shop", ["read"]) for _ in range(2)]
    with running(tmp_path / "songs.rot", token_file=str(file), rate=0.001) as service:
        assert [service.client(each)("GET", "/v1/bandits").status for each in (*tokens, *tokens)] == [200, 200, 429, 429]
        assert service.client()("GET", "/livez").status == 200  # a probe needs no token, and has no limit


def test_retry_after_is_at_least_one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of a second early at four requests per second: the header counts whole seconds."""
    now = 5.0
    monkeypatch.setattr(admission, "time", SimpleNamespace(monotonic=lambda: now))
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": "/v1/bandits", "headers": headers, "client": ("127.0.0.1", 1)}
    request = Request(scope)
    admits = admission.Admission(None, rate=4.0)
    for _ in range(4):
        admits.check(request, "read", None)
    with pytest.raises(ProblemError, match=r"^too many requests: the next one is accepted in 0\.25 s$") as caught:
        admits.check(request, "read", None)
    assert (caught.value.status, caught.value.headers) == (429, {"retry-after": "1"})
    now += 0.25
    admits.check(request, "read", None)


def test_a_header_that_comes_twice_is_refused(shared: Running) -> None:
    for name in (b"Host: localhost", b"Origin: http://localhost", b"Authorization: Bearer a"):
        found = shared.raw(
            b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + name + b"\r\n" + name + b"\r\nConnection: close\r\n\r\n"
        )
        assert found.startswith(b"HTTP/1.1 400 "), name
