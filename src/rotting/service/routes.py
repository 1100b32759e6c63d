"""The routes of the API: what is served where, to whom, with which bodies. The OpenAPI document is made of this table."""

import re
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from rotting.errors import InvalidValueError
from rotting.service import messages as m
from rotting.service import pages
from rotting.service.problems import ProblemError
from rotting.service.requests import decoded
from rotting.service.tokens import Scope

_NAMES = {"name": re.compile(m.NAME), "arm": re.compile(r"(?s).{1,200}\Z")}
_RULES = {"name": "1 to 100 letters, digits or ._~-, and not . or ..", "arm": "1 to 200 characters"}
_RESOLVED = {".", ".."}  # by clients and proxies, before the path arrives here
PARAMETERS: dict[str, dict[str, Any]] = {
    "name": {"description": "The name of a bandit.", "schema": {"type": "string", "pattern": m.NAME.replace(r"\Z", "$")}},
    "arm": {"description": "The name of an arm.", "schema": {"type": "string", "minLength": 1, "maxLength": 200}},
}
"""What stands in a path."""


class ListQuery(Struct, forbid_unknown_fields=True):
    """Which bandits to list."""

    after: Annotated[str, Meta(description="Only names after this one.")] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many at most.")] = 100


class LogQuery(Struct, forbid_unknown_fields=True):
    """Which events to read."""

    after: Annotated[int, Meta(ge=0, le=2**53, description="Only events after this number.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many at most.")] = 100


class DeleteArmQuery(Struct, forbid_unknown_fields=True):
    """How to remove an arm."""

    keep: Annotated[bool, Meta(description="Keep what was learned, for `resume`.")] = False


class HistoryQuery(Struct, forbid_unknown_fields=True):
    """How much of the history to see."""

    top: Annotated[int, Meta(ge=1, le=20, description="How many arms to tell apart.")] = 8


ArmOrder = Literal["plays", "share", "index", "overall", "worn", "name"]


class ArmsQuery(Struct, forbid_unknown_fields=True):
    """Which arms to list."""

    search: Annotated[str, Meta(max_length=200, description="Only arms with this in their name, in any case.")] = ""
    order: Annotated[ArmOrder, Meta(description="What comes first: the largest, those that wear out, or by name.")] = "plays"
    offset: Annotated[int, Meta(ge=0, le=2**53, description="How many to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=100, description="How many at most.")] = 25


class EventsQuery(Struct, forbid_unknown_fields=True):
    """Which events to watch."""

    bandit: Annotated[str | None, Meta(description="Only those of this bandit.")] = None


class Route(NamedTuple):
    """A method and a path, and what they mean.

    Args:
        method: GET, PUT, POST or DELETE.
        path: with parameters in braces.
        handler: the method of the application that answers.
        summary: what it does.
        scope: which tokens may; None: everybody.
        body: the type of the body, if there may be one.
        needs_body: whether it must be there.
        query: the type of what follows the question mark.
        answer: the type of the answer, or the kind of text.
        statuses: of answers that are no problem.
        problems: kinds of problems of its own; those that every route has are added.
        writes: whether the answer waits until the changes are kept.
        conditional: whether If-Match is looked at.
        max_body: bytes of the body.
    """

    method: str
    path: str
    handler: str
    summary: str
    scope: Scope | None
    body: Any = None
    needs_body: bool = True
    query: Any = None
    answer: Any = None
    statuses: tuple[int, ...] = (200,)
    problems: tuple[str, ...] = ()
    writes: bool = False
    conditional: bool = False
    max_body: int = 1 << 19


_LISTS_OF_ARMS = 4 << 20  # bytes of a body that may name 100,000 arms
_BANDIT = "/v1/bandits/{name}"
_ARM = f"{_BANDIT}/arms/{{arm}}"
_TO_BANDIT = ("not-found", "archived")

ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/bandits", "list_bandits", "List the bandits", "read", query=ListQuery, answer=m.BanditsResponse),
    Route(
        "PUT", _BANDIT, "make_bandit", "Make a bandit; the same again does nothing", "admin", body=m.NewBandit,
        answer=m.BanditResponse, statuses=(200, 201), problems=("not-found", "bandit-differs"), writes=True,
        max_body=_LISTS_OF_ARMS,
    ),
    Route("GET", _BANDIT, "show_bandit", "Show a bandit", "read", answer=m.BanditResponse, problems=("not-found",)),
    Route(
        "POST", f"{_BANDIT}/archive", "archive", "Let a bandit decide no more; it can still be read", "admin",
        answer=m.ArchiveResponse, problems=("not-found",), writes=True,
    ),
    Route(
        "POST", f"{_BANDIT}/decisions", "decide", "Decide on an arm, or on several", "decide", body=m.DecisionRequest,
        needs_body=False, answer=m.DecisionsResponse, problems=(*_TO_BANDIT, "key-reused", "key-cancelled"), writes=True,
        max_body=_LISTS_OF_ARMS,
    ),
    Route(
        "POST", f"{_BANDIT}/rewards", "reward", "Say what decisions paid: all or, if one is refused, none", "reward",
        body=m.Rewards, answer=m.ResultsResponse, problems=_TO_BANDIT, writes=True,
    ),
    Route(
        "POST", f"{_BANDIT}/cancellations", "cancel", "End decisions that were never shown", "decide",
        body=m.CancellationRequest, answer=m.ResultsResponse, problems=_TO_BANDIT, writes=True,
    ),
    Route(
        "POST", f"{_BANDIT}/expirations", "expire", "End decisions that will have no answer", "reward",
        body=m.ExpirationRequest, answer=m.ExpirationResponse, problems=_TO_BANDIT, writes=True,
    ),
    Route(
        "PUT", _ARM, "put_arm", "Let an arm be chosen; one that is there already stays as it is", "admin", body=m.ArmRequest,
        needs_body=False, answer=m.ArmsResponse, statuses=(200, 201), problems=(*_TO_BANDIT, "arms-changed"), writes=True,
        conditional=True,
    ),
    Route(
        "DELETE", _ARM, "delete_arm", "Do not choose an arm any more", "admin", query=DeleteArmQuery, answer=m.ArmsResponse,
        problems=(*_TO_BANDIT, "last-arm", "arms-changed"), writes=True, conditional=True,
    ),
    Route(
        "GET", f"{_BANDIT}/explain", "explain", "Say for each arm what decides whether it is chosen next", "read",
        answer=m.ExplainResponse, problems=("not-found",),
    ),
    Route(
        "GET", f"{_BANDIT}/history", "show_history", "Tell what was chosen and what it paid, over time, in few numbers", "read",
        query=HistoryQuery, answer=m.HistoryResponse, problems=("not-found",),
    ),
    Route(
        "GET", f"{_BANDIT}/arms", "list_arms", "List arms, with what was chosen, paid and learned", "read", query=ArmsQuery,
        answer=m.ArmListResponse, problems=("not-found",),
    ),
    Route(
        "GET", f"{_BANDIT}/log", "read_log", "Read the events of a bandit", "read", query=LogQuery, answer=m.LogResponse,
        problems=("not-found",),
    ),
    Route(
        "GET", "/v1/events", "watch", "Watch events as they happen (server-sent events); slow readers miss some", "read",
        query=EventsQuery, answer="text/event-stream", problems=("not-found",),
    ),
    Route("GET", "/livez", "live", "Say whether the process is alive", None, answer=m.HealthResponse),
    Route(
        "GET", "/readyz", "ready", "Say whether decisions can be kept", None, answer=m.HealthResponse,
        problems=("store-full", "store-failed"),
    ),
    Route("GET", "/metrics", "show_metrics", "Count everything, for Prometheus", "read", answer="text/plain"),
    Route("GET", "/openapi.json", "show_openapi", "Describe this API", None, answer=dict[str, Any]),
)  # fmt: skip


PAGES: tuple[Route, ...] = tuple(
    Route("GET", path, "show_page", "A file of the dashboard", None, answer=page.content_type)
    for path, page in pages.FILES.items()
)
"""What a browser shows; no part of the API."""


def problems_of(route: Route) -> list[str]:
    """Return the kinds of problems that a route may answer with."""
    kinds = [
        "bad-request",
        "invalid-value",
        "too-many-requests",
        "forbidden",
        "overloaded",
        "stopping",
        "timed-out",
        *route.problems,
    ]
    kinds += ["unauthorized"] if route.scope is not None else []
    kinds += ["malformed-json", "too-large", "too-slow", "unsupported-media-type"] if route.body is not None else []
    kinds += ["store-full", "store-failed"] if route.writes else []
    kinds += ["store-failed"] if "{name}" in route.path else []
    return sorted(set(kinds))


class _Pattern(NamedTuple):
    steps: tuple[str, ...]
    routes: dict[str, Route]


def _patterns() -> list[_Pattern]:
    found: dict[str, _Pattern] = {}
    for route in (*ROUTES, *PAGES):
        pattern = found.setdefault(route.path, _Pattern(tuple(route.path.split("/")), {}))
        pattern.routes[route.method] = route
    return list(found.values())


_PATTERNS = _patterns()


@lru_cache(1_000)
def match(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Return the route of a request and the parameters in its path.

    Example:
        >>> route, parameters = match("DELETE", "/v1/bandits/songs/arms/hip%20hop")
        >>> route.handler, parameters
        ('delete_arm', {'name': 'songs', 'arm': 'hip hop'})
    """
    steps = path.split("/")
    for pattern in _PATTERNS:
        parameters = _parameters(pattern.steps, steps)
        if parameters is None:
            continue
        for name, value in parameters.items():
            if not _NAMES[name].match(value) or (name == "name" and value in _RESOLVED):
                raise InvalidValueError(f"{name} in the path", f"be {_RULES[name]}", value)
        route = pattern.routes.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = ", ".join(sorted({*pattern.routes, *(["HEAD"] if "GET" in pattern.routes else [])}))
            raise ProblemError(
                "method-not-allowed",
                InvalidValueError("method", f"be one of {allowed} here", method, got=method),
                allow=allowed,
            )
        return route, parameters
    raise ProblemError("not-found", InvalidValueError("path", "be one of those of /openapi.json", path, got=path[:200]))


def _parameters(pattern: tuple[str, ...], steps: list[str]) -> dict[str, str] | None:
    if len(pattern) != len(steps):
        return None
    found = {}
    for wanted, given in zip(pattern, steps, strict=True):
        if wanted.startswith("{"):
            try:
                value, name = decoded(given), wanted[1:-1]
            except UnicodeDecodeError:
                return None
            if not value:
                return None
            found[name] = value
        elif wanted != given:
            return None
    return found


def decoders() -> dict[Any, msgspec.json.Decoder[Any]]:
    """Return a decoder for each type of body."""
    return {route.handler: msgspec.json.Decoder(route.body) for route in ROUTES if route.body is not None}
