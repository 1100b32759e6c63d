"""Where a client sends its requests: `parse_address` checks the URL and the token, and finds the proxy, if there is one."""

import base64
import ipaddress
import re
import ssl
import urllib.request
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from rotting.common.version import __version__
from rotting.errors import InvalidTypeError, InvalidValueError

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[0-9A-Za-z_~-]+(\.[0-9A-Za-z_~-]+)*\.?", re.ASCII)


class Address(NamedTuple):
    """Where to connect, and what all requests have in common."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    tls_name: str  # whose certificate is expected
    tunnel: bytes | None  # the request that opens a connection through a proxy
    prefix: str  # comes before the path of a request
    headers: str  # lines, each with its line end


class _Origin(NamedTuple):
    """The parts of a URL."""

    scheme: str
    host: str
    port: int
    path: str
    credentials: str | None  # for the scheme "Basic"

    @property
    def authority(self) -> str:
        """Host and port as a Host header has them, without the port if it is the default."""
        host = f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_address(url: object, token: object) -> Address:
    """Check the URL and the token of a client, and return where it sends its requests.

    As most HTTP clients do, this uses the proxy that the environment names (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`), except
    for the hosts in `NO_PROXY`. Certificates are checked against those of the system, or those that `SSL_CERT_FILE` names.
    """
    if not isinstance(url, str):
        raise InvalidTypeError("url", "be an address such as http://127.0.0.1:8000", url)
    origin = _parse_url(url)
    if origin is None:
        raise InvalidValueError("url", "be an address such as http://127.0.0.1:8000", url)
    if token is not None and not isinstance(token, str):
        raise InvalidTypeError("token", "be a string or None", None, got=f"a {type(token).__name__}")
    if token is not None and not (token.isascii() and token.isprintable()):
        raise InvalidValueError("token", "be printable ASCII", None, got="other characters in it")
    if token is not None and origin.credentials is not None:
        raise InvalidValueError("token", "be None if the url has a user and a password", None, got="both")
    return _address(origin, _authorization("Authorization", origin, token), _find_proxy(origin))


def _parse_url(url: str) -> _Origin | None:
    if not url.isprintable() or " " in url:  # `urlsplit` would remove some of these characters
        return None
    try:
        parts = urlsplit(url)
        host, port = _parse_host(parts.hostname or ""), parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or host is None or port == 0 or parts.query or parts.fragment:
        return None
    path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    return _Origin(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, path, _credentials(parts))


def _parse_host(host: str) -> str | None:
    """Return a host as DNS and TLS expect it; raises ValueError or returns None if it is not one."""
    if ":" in host:
        ipaddress.IPv6Address(host)
        return host
    encoded = host.encode("idna")
    encoded.decode("idna")
    name = encoded.decode("ascii")
    return name if _HOST.fullmatch(name) else None


def _credentials(parts: SplitResult) -> str | None:
    if parts.username is None and parts.password is None:
        return None
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return base64.b64encode(pair.encode()).decode("ascii")


def _authorization(header: str, origin: _Origin, token: str | None = None) -> str:
    if token is not None:
        return f"{header}: Bearer {token}\r\n"
    return "" if origin.credentials is None else f"{header}: Basic {origin.credentials}\r\n"


def _find_proxy(origin: _Origin) -> _Origin | None:
    proxies = urllib.request.getproxies()
    found = proxies.get(origin.scheme) or proxies.get("all")
    if not found or urllib.request.proxy_bypass(f"{origin.host}:{origin.port}"):
        return None
    proxy = _parse_url(found if "://" in found else f"http://{found}")
    if proxy is None or proxy.scheme != "http":
        raise InvalidValueError("the proxy in the environment", "be an address such as http://127.0.0.1:3128", found)
    return proxy


def _address(origin: _Origin, authorization: str, proxy: _Origin | None) -> Address:
    # "identity", so that the limit on the bytes read is a limit on memory
    headers = (
        f"Host: {origin.authority}\r\nUser-Agent: rotting/{__version__}\r\nAccept: application/json\r\n"
        f"Accept-Encoding: identity\r\n{authorization}"
    )
    tls = ssl.create_default_context() if origin.scheme == "https" else None
    there = proxy or origin
    address = Address(there.host, there.port, tls, origin.host, None, origin.path, headers)
    if proxy is None:
        return address
    proxy_authorization = _authorization("Proxy-Authorization", proxy)
    if tls is None:
        prefix = f"http://{origin.authority}{origin.path}"
        return address._replace(prefix=prefix, headers=headers + proxy_authorization)
    target = origin.authority if origin.authority.endswith(f":{origin.port}") else f"{origin.authority}:{origin.port}"
    tunnel = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{proxy_authorization}\r\n"
    return address._replace(tunnel=tunnel.encode("ascii"))
