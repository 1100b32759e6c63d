"""Connections: which are used again, what servers that misbehave can do to a call, TLS and proxies."""

import asyncio
import re
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError, ServiceError, ServiceUnreachableError
from rotting.server.client import retries
from tests.helpers.raw_service import RawConnection, names, raw_service

Caller = Callable[..., list[Any]]


def call_blocking(url: str, afters: list[str], **settings: Any) -> list[Any]:
    """Ask for names, one call after another; return what each call returned or raised."""
    results: list[Any] = []
    with rotting.Client(url, **{"retries": 0, "timeout": 20.0, **settings}) as client:
        for after in afters:
            try:
                results.append(client.bandits(after).names)
            except ServiceError as error:
                results.append(error)
    return results


def call_in_a_thread(*args: Any, **settings: Any) -> list[Any]:
    """Do the same outside the main thread."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call_blocking, *args, **settings).result(60)


def call_async(url: str, afters: list[str], **settings: Any) -> list[Any]:
    """Do the same with an `AsyncClient`."""

    async def work() -> list[Any]:
        results: list[Any] = []
        async with rotting.AsyncClient(url, **{"retries": 0, "timeout": 20.0, **settings}) as client:
            for after in afters:
                try:
                    results.append((await client.bandits(after)).names)
                except ServiceError as error:
                    results.append(error)
        return results

    return asyncio.run(work())


all_ways = pytest.mark.parametrize("call", [call_blocking, call_in_a_thread, call_async], ids=["main", "thread", "async"])
both = pytest.mark.parametrize("call", [call_blocking, call_async], ids=["blocking", "async"])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "request_method"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def respond_to_all(connection: RawConnection) -> None:
    while True:
        connection.respond(connection.request())


# --- Addresses and tokensX---


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1",
        "ftp://example.org",
        "http://",
        "http://example.org:x",
        "http://127.0.0.1:99999",
        "http://[::1",
        "http://exa mple.org",
        "http://example.org/\r\nX-Injected: 1",
        "http://example.org\t",
        "http://example.org?query",
        "http://example.org/#fragment",
        "http://\ud800.org",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    for kind in (rotting.Client, rotting.AsyncClient):
        with pytest.raises(InvalidValueError, match="^url must be an address such as http://127.0.0.1:8000, got"):
            kind(url)


def test_errors_show_no_secrets() -> None:
    with pytest.raises(
        InvalidValueError, match="^url must be an address .*, without a user and a password, got one with"
    ) as caught:
        rotting.Client("http://user:secret@example.org")
    assert "secret" not in repr(vars(caught.value))
    for token in ("secret\nline", "secr\u00e9t"):
        with pytest.raises(InvalidValueError, match="^token must be printable ASCII, got other characters in it$"):
            rotting.Client("http://x", token)
    with pytest.raises(InvalidTypeError, match="^token must be a string or None, got a bytes$"):
        rotting.AsyncClient("http://x", b"secret")  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="^url must be an address"):
        rotting.Client(8000)  # type: ignore[arg-type]
    with rotting.Client("http://127.0.0.1:1", "secret", retries=0) as client:
        with pytest.raises(
            ServiceUnreachableError, match="^the service did not respond in 1 attempt: connection error: "
        ) as failed:
            client.bandits()
        assert "secret" not in f"{failed.value!r} {client!r} {client.bandit('a')!r}"


@both
def test_requests_go_below_the_path_of_the_address_with_the_token(call: Caller) -> None:
    requests: list[bytes] = []

    def serve(connection: RawConnection) -> None:
        requests.append(connection.request())
        connection.respond(requests[-1])

    with raw_service(serve) as service:
        assert call(service.url + "/a%20b/\u00e9/", ["a"], token="secret") == [["a"]]
    line, *headers = requests[0].decode().split("\r\n")
    assert line == "GET /a%20b/%C3%A9/v1/bandits?after=a&limit=1000 HTTP/1.1"
    sent = {name.lower(): value for name, _, value in (each.partition(": ") for each in headers if each)}
    assert sent == {
        "host": service.url.removeprefix("http://"),
        "authorization": "Bearer secret",
        "accept": "application/json",
        "user-agent": f"rotting/{rotting.__version__}",
    }


# --- ConnectionsX------------


def test_threads_share_connections_and_get_their_own_responses() -> None:
    def work(k: int) -> None:
        assert client.bandits(f"{k}").names == [f"{k}"]

    with raw_service(respond_to_all) as service, rotting.Client(service.url) as client, ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(800)))
        # A call that finds no idle connection opens one, although another call may return its own meanwhile.
        assert len(service.connections) <= 2 * 16


@both
def test_closing_a_client_closes_its_connections(call: Caller) -> None:
    ended = threading.Event()

    def serve(connection: RawConnection) -> None:
        connection.respond(connection.request())
        if connection.socket.recv(1) == b"":
            ended.set()

    with raw_service(serve) as service:
        assert call(service.url, ["a"]) == [["a"]]
        assert ended.wait(60)


def test_more_calls_than_connections_wait_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotting.server.client.transport._MAX_CONNECTIONS", 2)

    def respond_late(connection: RawConnection) -> None:
        while True:
            request = connection.request()
            time.sleep(0.02)
            connection.respond(request)

    async def work(url: str) -> list[list[str]]:
        async with rotting.AsyncClient(url, retries=0) as client:
            return [each.names for each in await asyncio.gather(*map(client.bandits, "abcdefgh"))]

    with raw_service(respond_late) as service:
        assert asyncio.run(work(service.url)) == [[each] for each in "abcdefgh"]
        assert len(service.connections) == 2


@all_ways
def test_a_response_that_does_not_end_is_given_up_in_time(call: Caller) -> None:
    """Each byte that comes must not start the time anew."""

    def serve(connection: RawConnection) -> None:
        connection.respond(connection.request())
        connection.request()
        for byte in names(b"after=slow"):
            connection.send(bytes([byte]))
            time.sleep(0.02)

    with raw_service(serve) as service:
        began = time.monotonic()
        first, late = call(service.url, ["a", "b"], timeout=0.3)
        assert first == ["a"]
        assert "no complete response within 0.3 s" in str(late)
        assert 0.3 <= time.monotonic() - began < 1.0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_signals_are_handled_during_a_call_and_do_not_extend_it() -> None:
    def serve(connection: RawConnection) -> None:
        connection.request()
        connection.request()  # waits until the client closes the connection

    interrupted: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: interrupted.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        with raw_service(serve) as service:
            [late] = call_blocking(service.url, ["a"], timeout=0.3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert "no complete response within 0.3 s" in str(late)
    assert interrupted


# --- Servers that misbehave -------------------------------------------------------------------------------------------------

OK = b"HTTP/1.1 200 OK\r\n"


@both
@pytest.mark.parametrize(
    "data", [b"", b"HTT", OK, OK + b"Content-Length: 99\r\n\r\n{}", OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"]
)
def test_a_connection_that_ends_early_is_no_response(call: Caller, data: bytes) -> None:
    def serve(connection: RawConnection) -> None:
        connection.request()
        connection.send(data)

    with raw_service(serve) as service:
        [failed] = call(service.url, ["a"])
        assert isinstance(failed, ServiceUnreachableError)
        assert re.search("connection closed before message completed|end of file before|unexpected EOF", str(failed))


@both
def test_a_connection_lost_while_its_response_was_awaited_is_retried(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSE_UNIT", 0.01)

    def serve(connection: RawConnection) -> None:
        connection.respond(connection.request())
        connection.request()

    with raw_service(serve) as service:
        assert call(service.url, ["a", "b", "c"], retries=1) == [["a"], ["b"], ["c"]]
        assert len(service.connections) == 3


@both
@pytest.mark.parametrize("start", [OK + b"\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n", OK + b"X: "])
def test_a_response_without_end_is_not_read_to_its_end(call: Caller, start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "MAX_CONTENT", 100_000)

    def serve(connection: RawConnection) -> None:
        connection.request()
        connection.send(start)
        while True:
            connection.send(b" " * 1_000)

    with raw_service(serve) as service:
        [failed] = call(service.url, ["a"])
        assert isinstance(failed, ServiceError)


@both
def test_cookies_and_redirects_are_ignored(call: Caller) -> None:
    requests: list[bytes] = []

    def serve(connection: RawConnection) -> None:
        while True:
            requests.append(connection.request())
            head = b"HTTP/1.1 307 Elsewhere\r\nLocation: /elsewhere\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
            connection.send(head)

    with raw_service(serve) as service:
        results = call(service.url + "/rot", ["a", "b"], token="secret")
        assert all("got a redirect (status 307) to '/elsewhere'" in str(each) for each in results)
    assert [each.split(b"\r\n")[0] for each in requests] == [
        b"GET /rot/v1/bandits?after=%b&limit=1000 HTTP/1.1" % after for after in (b"a", b"b")
    ]
    assert all(b"\r\nAuthorization: Bearer secret\r\n" in each and b"Cookie" not in each for each in requests)


def test_a_response_that_says_why_the_request_was_not_read_is_used() -> None:
    body = b'{"detail": "too large"}'

    def serve(connection: RawConnection) -> None:
        connection.socket.recv(1)
        connection.send(b"HTTP/1.1 413 No\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        connection.request()

    with (
        raw_service(serve) as service,
        rotting.Client(service.url, retries=0) as client,
        pytest.raises(InvalidValueError, match="got status 413: too large$"),
    ):
        client.bandit("songs").decide(["x" * 1_000] * 10_000)


# --- Other ways to connect --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and its certificate for localhost, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    key, path = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    for extension in ("subjectAltName=DNS:localhost", "basicConstraints=critical,CA:FALSE"):
        command += ["-addext", extension]
    subprocess.run([*command, "-keyout", str(key), "-out", str(path)], check=True, capture_output=True)
    path.write_text(key.read_text() + path.read_text())
    return path


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@both
def test_https(call: Caller, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_service(respond_to_all, tls=server_context(certificate)) as service:
        url = f"https://localhost:{service.port}"
        [refused] = call(url, ["a"])
        assert "invalid peer certificate" in str(refused)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert call(url, ["a", "b", "c"]) == [["a"], ["b"], ["c"]]
        [other_name] = call(f"https://127.0.0.1:{service.port}", ["a"])
        assert "invalid peer certificate" in str(other_name)
        assert len(service.connections) == 1


@both
def test_a_proxy_forwards_requests(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[bytes] = []

    def forward(connection: RawConnection) -> None:
        while True:
            requests.append(connection.request())
            connection.respond(requests[-1])

    with raw_service(forward) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert call("http://songs.example:8000/rot", ["a"]) == [["a"]]
    assert requests[0].startswith(b"GET http://songs.example:8000/rot/v1/bandits?after=a&limit=1000 HTTP/1.1\r\n")
