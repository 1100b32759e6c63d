"""The table of routes: the path, operation, scope and bodies of each request. The OpenAPI document is made from it."""

import re
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct

from rotting.errors import InvalidValueError
from rotting.server.http import dashboard_files
from rotting.server.http import messages as m
from rotting.server.http.tokens import TokenScope

_NAMES = {"name": re.compile(m.NAME), "arm": re.compile(r"(?s).{1,200}\Z")}
_RULES = {"name": "1 to 100 letters, digits or ._~-, and not . or ..", "arm": "1 to 200 characters"}
_RESOLVED = {".", ".."}  # path segments that clients and proxies resolve before the request arrives
PARAMETERS: dict[str, dict[str, object]] = {
    "name": {"description": "The name of a bandit.", "schema": {"type": "string", "pattern": m.NAME.replace(r"\Z", "$")}},
    "arm": {"description": "The name of an arm.", "schema": {"type": "string", "minLength": 1, "maxLength": 200}},
}
"""The parameters of paths, for the OpenAPI document."""


class ListQuery(Struct, forbid_unknown_fields=True):
    """Which bandits to list."""

    after: Annotated[str, Meta(pattern=r"^[^\x00]*\Z", description="Only names after this one.")] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many at most.")] = 100


class LogQuery(Struct, forbid_unknown_fields=True):
    """Which events to read."""

    after: Annotated[int, Meta(ge=0, le=2**53, description="Only events after this number.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many at most.")] = 100


class DeleteArmQuery(Struct, forbid_unknown_fields=True):
    """How to remove an arm."""

    keep: Annotated[bool, Meta(description="Keep the rewards of the arm, for `resume`.")] = False


class HistoryQuery(Struct, forbid_unknown_fields=True):
    """How many arms the history lists."""

    top: Annotated[int, Meta(ge=1, le=20, description="How many arms to list one by one.")] = 8


ArmOrder = Literal["plays", "share", "index", "overall", "worn", "name"]


class ArmsQuery(Struct, forbid_unknown_fields=True):
    """Which arms to list."""

    search: Annotated[str, Meta(max_length=200, description="Only arms with this text in their name, in any case.")] = ""
    order: Annotated[ArmOrder, Meta(description="The sort order: largest first, worn arms first, or by name.")] = "plays"
    offset: Annotated[int, Meta(ge=0, le=2**53, description="How many to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=100, description="How many at most.")] = 25


class EventsQuery(Struct, forbid_unknown_fields=True):
    """Which events to watch."""

    bandit: Annotated[str, Meta(pattern=m.NAME, description="The bandit whose events to watch.")]


Operation = Literal[
    "list_bandits", "make_bandit", "show_bandit", "archive", "delete_bandit", "put_arm", "delete_arm",
    "decide", "reward", "cancel", "expire",
    "explain", "show_history", "list_arms", "read_log", "watch",
    "live", "ready", "show_metrics", "show_openapi", "show_page",
]  # fmt: skip
"""The name of what a request asks for: its `operationId` in the OpenAPI document."""


class Route(NamedTuple):
    """A method and a path, and how to respond to them."""

    method: str
    path: str  # with parameters in braces
    operation: Operation
    summary: str  # one line for the OpenAPI document
    scope: TokenScope | None  # that a token needs; None if no token is needed
    body: Any = None  # the type of the request body; None if there must be none
    needs_body: bool = True  # whether the request must have a body
    query: object = None  # the type of the query; None if there must be none
    response: object = None  # the type of the response body, or its content type
    statuses: tuple[int, ...] = (200,)  # of successful responses
    problems: tuple[str, ...] = ()  # kinds of problems, besides those that every route has
    writes: bool = False  # whether it changes a bandit
    conditional: bool = False  # whether the header If-Match is checked
    max_body: int = 1 << 19  # most bytes of the request body


_MAX_BODY_WITH_ARMS = 4 << 20  # bytes: room for 100,000 arms
_BANDIT = "/v1/bandits/{name}"
_ARM = f"{_BANDIT}/arms/{{arm}}"
_TO_BANDIT = ("not-found", "archived")

ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/bandits", "list_bandits", "List the bandits", "read", query=ListQuery, response=m.BanditsResponse),
    Route(
        "PUT", _BANDIT, "make_bandit", "Create a bandit; repeating the request changes nothing", "admin", body=m.NewBandit,
        response=m.BanditResponse, statuses=(200, 201), problems=("not-found", "bandit-differs"), writes=True,
        max_body=_MAX_BODY_WITH_ARMS,
    ),
    Route("GET", _BANDIT, "show_bandit", "Show a bandit", "read", response=m.BanditResponse, problems=("not-found",)),
    Route(
        "POST", f"{_BANDIT}/archive", "archive", "Archive a bandit: it makes no more decisions, but can be read", "admin",
        response=m.ArchiveResponse, problems=("not-found",), writes=True,
    ),
    Route(
        "DELETE", _BANDIT, "delete_bandit", "Delete an archived bandit with its log", "admin",
        response=m.DeletedResponse, problems=("not-found", "not-archived"), writes=True,
    ),
    Route(
        "POST", f"{_BANDIT}/decisions", "decide", "Choose one arm, or several", "decide", body=m.DecisionRequest,
        needs_body=False, response=m.DecisionsResponse, problems=(*_TO_BANDIT, "key-reused", "key-cancelled", "key-expired"),
        writes=True, max_body=_MAX_BODY_WITH_ARMS,
    ),
    Route(
        "POST", f"{_BANDIT}/rewards", "reward", "Report rewards; if one of them is refused, none is applied", "reward",
        body=m.Rewards, response=m.ResultsResponse, problems=_TO_BANDIT, writes=True,
    ),
    Route(
        "POST", f"{_BANDIT}/cancellations", "cancel", "Cancel decisions that were never shown", "decide",
        body=m.CancellationRequest, response=m.ResultsResponse, problems=_TO_BANDIT, writes=True,
    ),
    Route(
        "POST", f"{_BANDIT}/expirations", "expire", "Expire decisions that will get no reward", "reward",
        body=m.ExpirationRequest, response=m.ExpirationResponse, problems=_TO_BANDIT, writes=True,
    ),
    Route(
        "PUT", _ARM, "put_arm", "Add an arm; an existing arm is not changed", "admin", body=m.ArmRequest,
        needs_body=False, response=m.ArmsResponse, statuses=(200, 201), problems=(*_TO_BANDIT, "arms-changed"), writes=True,
        conditional=True,
    ),
    Route(
        "DELETE", _ARM, "delete_arm", "Remove an arm", "admin", query=DeleteArmQuery, response=m.ArmsResponse,
        problems=(*_TO_BANDIT, "last-arm", "arms-changed"), writes=True, conditional=True,
    ),
    Route(
        "GET", f"{_BANDIT}/explain", "explain", "Return the index, mean, window and width of each arm", "read",
        response=m.ExplainResponse, problems=("not-found",),
    ),
    Route(
        "GET", f"{_BANDIT}/history", "show_history", "Return choices and rewards over time, in buckets", "read",
        query=HistoryQuery, response=m.HistoryResponse, problems=("not-found",),
    ),
    Route(
        "GET", f"{_BANDIT}/arms", "list_arms", "List arms with their choices, rewards and estimates", "read", query=ArmsQuery,
        response=m.ArmListResponse, problems=("not-found",),
    ),
    Route(
        "GET", f"{_BANDIT}/log", "read_log", "Read the events of a bandit", "read", query=LogQuery, response=m.LogResponse,
        problems=("not-found",),
    ),
    Route(
        "GET", "/v1/events", "watch", "Stream events as they happen (server-sent events); slow clients miss some", "read",
        query=EventsQuery, response="text/event-stream", problems=("not-found",),
    ),
    Route("GET", "/livez", "live", "Return whether the process is alive", None, response=m.HealthResponse),
    Route(
        "GET", "/readyz", "ready", "Return whether decisions can be stored", None, response=m.HealthResponse,
        problems=("stopping", "store-full", "store-failed"),
    ),
    Route("GET", "/metrics", "show_metrics", "Return metrics for Prometheus", "read", response="text/plain"),
    Route("GET", "/openapi.json", "show_openapi", "Return the OpenAPI document", None, response=dict),
)  # fmt: skip


PAGES: tuple[Route, ...] = tuple(
    Route("GET", path, "show_page", "Return a file of the dashboard", None, response=page.content_type)
    for path, page in dashboard_files.FILES.items()
)
"""The files of the dashboard, which are not part of the API."""
ALL = (*ROUTES, *PAGES)


def problems_of(route: Route) -> list[str]:
    """Return the kinds of problems that a route may respond with."""
    kinds = ["bad-request", "invalid-value", "too-many-requests", "forbidden", "overloaded", "timed-out"]
    kinds += route.problems
    kinds += ["unauthorized"] if route.scope is not None else []
    kinds += ["malformed-json", "too-large", "unsupported-media-type"] if route.body is not None else []
    kinds += ["outcome-unknown", "store-full", "store-failed"] if route.writes else []
    kinds += ["store-failed"] if "{name}" in route.path else []
    return sorted(set(kinds))


def check_parameters(parameters: dict[str, str]) -> None:
    """Check the names of a bandit and of an arm in a path."""
    for name, value in parameters.items():
        if not _NAMES[name].match(value) or (name == "name" and value in _RESOLVED):
            raise InvalidValueError(f"{name} in the path", f"be {_RULES[name]}", value)
