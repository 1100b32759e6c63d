"""Checks whether a request is admitted: its Host and Origin, the scope and bandits of its token, and its rate."""

import ipaddress
import math
import time
from functools import lru_cache

from rotting.service.problem_documents import ProblemError, broken_rule
from rotting.service.rates import Rates
from rotting.service.requests import Request
from rotting.service.routes import Route
from rotting.service.tokens import Holder, TokenFile

_WRONG_TOKENS = 100.0  # per second from one address


@lru_cache(1_000)
def is_loopback(host: str) -> bool:
    """Return whether a host name or address is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


@lru_cache(1_000)
def _names_this_machine(header: bytes) -> bool:
    """Return whether a Host header names this machine, with or without a port."""
    host = header.decode("latin-1")
    name, _, port = host.rpartition(":")
    return is_loopback(host) or (port.isdigit() and is_loopback(name))


class Admission:
    """Checks requests before their bodies are read.

    Args:
        tokens: the tokens of the clients; if None, every client may do everything.
        rate: most requests per second of each token, or of each address without tokens; None for no limit.
    """

    def __init__(self, tokens: TokenFile | None, rate: float | None) -> None:
        self._tokens = tokens
        self._rates = None if rate is None else Rates(rate)
        self._wrong = Rates(_WRONG_TOKENS)

    def check(self, request: Request, route: Route, bandit: str | None) -> None:
        """Check the Host and Origin headers, the caller's scope, and the rate limit."""
        host, caller = request.headers.get(b"host", b""), request.peer
        if self._tokens is None:
            if not _names_this_machine(host):  # DNS rebinding: a page of another site may use its own name for this machine
                rule = "be localhost or a loopback address without tokens"
                raise broken_rule("forbidden", "Host", rule, host.decode("latin-1"))
        elif route.scope is not None:
            holder = self._holder(request, self._tokens)
            _check_scope(holder, route, bandit)
            request.holder, caller = holder, holder.key
        origin = request.headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise broken_rule("forbidden", "Origin", "be this service", origin.decode("latin-1"))
        if self._rates is not None and route.scope is not None:
            wait = self._rates.wait(caller, time.monotonic())
            if wait > 0.0:
                reason = f"too many requests: the next one is accepted in {wait:.3g} s"
                raise ProblemError("too-many-requests", reason, retry_after=str(min(60, math.ceil(wait))))

    def still_admits(self, request: Request) -> bool:
        """Return whether the token of a request that was admitted is still valid."""
        return self._tokens is None or self._tokens.holder(request.headers.get(b"authorization", b"")) == request.holder

    def _holder(self, request: Request, tokens: TokenFile) -> Holder:
        header = request.headers.get(b"authorization")
        holder = None if header is None else tokens.holder(header)
        if holder is not None:
            return holder
        if header is not None and self._wrong.wait(request.peer, time.monotonic()) > 0.0:
            raise ProblemError("too-many-requests", "this address has sent too many unknown tokens", retry_after="1")
        got = "no token" if header is None else "an unknown one"
        rule = "be Bearer and a token of this service"
        raise broken_rule("unauthorized", "Authorization", rule, got=got, www_authenticate="Bearer")


def _check_scope(holder: Holder, route: Route, bandit: str | None) -> None:
    if route.scope not in holder.scopes:
        got = f"a token for {', '.join(sorted(holder.scopes))}"
        raise broken_rule("forbidden", "scope", f"be {route.scope} for this", got=got)
    if bandit is not None and not holder.may_use(bandit):
        raise broken_rule("forbidden", "bandit", "be one that the token is for", bandit)
