"""Where a client sends its requests, for URLs, tokens and proxies of all kinds."""

import pytest

from rotting.errors import InvalidValueError
from rotting.service.address import Address, parse_address


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def header(address: Address, name: str) -> str | None:
    lines = dict(line.split(": ", 1) for line in address.headers.split("\r\n") if line)
    return lines.get(name)


@pytest.mark.parametrize(
    ("url", "host", "port", "host_header", "prefix"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1", 8000, "127.0.0.1:8000", ""),
        ("http://127.0.0.1:8000/", "127.0.0.1", 8000, "127.0.0.1:8000", ""),
        ("http://example.org", "example.org", 80, "example.org", ""),
        ("HTTP://Example.org:80/rot/", "example.org", 80, "example.org", "/rot"),
        ("https://example.org/a%20b/c", "example.org", 443, "example.org", "/a%20b/c"),
        ("http://example.org/é", "example.org", 80, "example.org", "/%C3%A9"),
        ("http://[::1]:8000/rot", "::1", 8000, "[::1]:8000", "/rot"),
        ("http://[fe80::1%eth0]", "fe80::1%eth0", 80, "[fe80::1]", ""),
        ("http://bücher.example", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", ""),
        ("http://rotting_service:8000", "rotting_service", 8000, "rotting_service:8000", ""),
    ],
)
def test_urls(url: str, host: str, port: int, host_header: str, prefix: str) -> None:
    address = parse_address(url, "secret")
    assert (address.host, address.port, header(address, "Host"), address.prefix) == (host, port, host_header, prefix)
    assert header(address, "Authorization") == "Bearer secret"
    assert (address.tls is not None) == url.startswith("https")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org",
        "http://",
        "http:///path",
        "http://example.org:0",
        "http://example.org:x",
        "http://[127.0.0.1]",
        "http://.example.org",
        "http://a..b",
        "http://exa mple.org",
        "http://example.org/\r\nX-Injected: 1",
        "http://example.org\r\nX-Injected:1",
        "http://example.org\t",
        "http://example.org?query",
        "http://example.org/#fragment",
        "http://" + "a" * 64 + ".org",
        "http://\ud800.org",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidValueError, match="^url must be an address such as"):
        parse_address(url, None)


def test_a_user_and_a_password_are_sent_instead_of_a_token() -> None:
    assert header(parse_address("http://user:p%40ss@example.org", None), "Authorization") == "Basic dXNlcjpwQHNz"
    with pytest.raises(InvalidValueError, match="^token must be None if the url has a user and a password, got both$"):
        parse_address("http://user:pass@example.org", "secret")


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://user:pass@proxy.example:3128")
    monkeypatch.setenv("https_proxy", "proxy.example:3129")
    monkeypatch.setenv("no_proxy", "localhost,.internal")
    plain, encrypted = parse_address("http://example.org/rot", None), parse_address("https://example.org/rot", "secret")
    assert (plain.host, plain.port, plain.prefix, plain.tunnel) == ("proxy.example", 3128, "http://example.org/rot", None)
    assert (header(plain, "Host"), header(plain, "Proxy-Authorization")) == ("example.org", "Basic dXNlcjpwYXNz")
    assert (encrypted.host, encrypted.port, encrypted.prefix) == ("proxy.example", 3129, "/rot")
    assert encrypted.tunnel == b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n"
    assert encrypted.tls_name == "example.org"
    assert parse_address("http://songs.internal:8000", None).host == "songs.internal"


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "https://127.0.0.1:3128", "http://"])
def test_a_proxy_of_another_kind_is_refused(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(InvalidValueError, match="^the proxy in the environment must be an address such as"):
        parse_address("http://example.org", None)
