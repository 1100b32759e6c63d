"""Checks whether a request is admitted: its Host and Origin, the scope and bandits of its token, and its rate."""

import ipaddress
import math
import time
from collections import OrderedDict

from starlette.requests import Request

from rotting.server.http.problem_documents import ProblemError, broken_rule
from rotting.server.http.tokens import ANYBODY, Holder, TokenFile, TokenScope

_MAX_CALLERS = 10_000  # with more, the caller whose last request is oldest is forgotten
_NOT_REPEATED = ("authorization", "content-length", "content-type", "host", "origin")


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def _names_this_machine(host: str) -> bool:
    """Return whether a Host header names this machine, with or without a port."""
    name, _, port = host.rpartition(":")
    return is_loopback(host) or (port.isdigit() and is_loopback(name))


class Rates:
    """A token bucket for each caller, which holds the requests of one second.

    Args:
        rate: requests per second.

    Example:
        >>> rates = Rates(2.0)
        >>> [rates.wait("a", now) for now in (0.0, 0.0, 0.0, 0.5, 0.5)]
        [0.0, 0.0, 0.5, 0.0, 0.5]
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and the time of that count

    def wait(self, caller: str, now: float) -> float:
        """Count a request and return 0.0, or return how many seconds the caller must wait."""
        full = max(1.0, self._rate)
        left, since = self._buckets.pop(caller, (full, now))
        left = min(full, left + (now - since) * self._rate)
        allowed = left >= 1.0
        self._buckets[caller] = (left - 1.0 if allowed else left, now)
        if len(self._buckets) > _MAX_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self._rate


class Admission:
    """Checks requests before their bodies are read.

    Args:
        tokens: the tokens of the clients; if None, every client may do everything.
        rate: most requests per second of each token, or of each address without tokens; None for no limit.
    """

    def __init__(self, tokens: TokenFile | None, rate: float | None) -> None:
        self._tokens = tokens
        self._rates = None if rate is None else Rates(rate)

    def check(self, request: Request, scope: TokenScope | None, bandit: str | None) -> Holder:
        """Check the headers, the token and the rate of a request; return the holder of its token."""
        headers = request.headers
        for name in _NOT_REPEATED:  # a proxy may use the first of two headers, and this server the last
            if len(headers.getlist(name)) > 1:
                raise broken_rule("bad-request", name, "be sent once", None, got="it several times")
        host, holder = headers.get("host", ""), ANYBODY
        caller = request.client.host if request.client else ""
        if self._tokens is None:
            if not _names_this_machine(host):  # DNS rebinding: a page of another site may use its own name for this machine
                raise broken_rule("forbidden", "Host", "be localhost or a loopback address without tokens", host)
        elif scope is not None:
            holder = _find_holder(headers.get("authorization"), self._tokens)
            _check_scope(holder, scope, bandit)
            caller = holder.key
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise broken_rule("forbidden", "Origin", "be this service", origin)
        if self._rates is not None and scope is not None:
            wait = self._rates.wait(caller, time.monotonic())
            if wait > 0.0:
                reason = f"too many requests: the next one is accepted in {wait:.3g} s"
                raise ProblemError("too-many-requests", reason, retry_after=str(min(60, math.ceil(wait))))
        return holder

    def still_admits(self, request: Request, holder: Holder) -> bool:
        """Return whether the token of a request that was admitted is still valid."""
        header = request.headers.get("authorization", "")
        return self._tokens is None or self._tokens.holder(header.encode("latin-1")) == holder


def _find_holder(header: str | None, tokens: TokenFile) -> Holder:
    holder = None if header is None else tokens.holder(header.encode("latin-1"))
    if holder is None:
        got = "no token" if header is None else "an unknown one"
        rule = "be Bearer and a token of this service"
        raise broken_rule("unauthorized", "Authorization", rule, got=got, www_authenticate="Bearer")
    return holder


def _check_scope(holder: Holder, scope: TokenScope, bandit: str | None) -> None:
    if scope not in holder.scopes:
        raise broken_rule("forbidden", "scope", f"be {scope} for this", got=f"a token for {', '.join(sorted(holder.scopes))}")
    if bandit is not None and not holder.may_use(bandit):
        raise broken_rule("forbidden", "bandit", "be one that the token is for", bandit)
