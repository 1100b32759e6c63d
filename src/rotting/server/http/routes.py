"""The routes of the service: what `handlers` says about each operation, and the OpenAPI document that is made from it."""

import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.responses import Response

from rotting.common.version import __version__
from rotting.errors import InvalidValueError
from rotting.server.http import messages as m
from rotting.server.http.problem_documents import KINDS, ProblemDocument
from rotting.server.http.tokens import TokenScope

if TYPE_CHECKING:
    from rotting.server.http.service import RequestContext

Handler = Callable[["RequestContext"], Awaitable[Response]]
_NAMES = {"name": re.compile(m.NAME), "arm": re.compile(r"(?s).{1,200}\Z")}
_RULES = {"name": "1 to 100 letters, digits or ._~-, and not . or ..", "arm": "1 to 200 characters"}
_RESOLVED = {".", ".."}  # path segments that clients and proxies resolve before the request arrives
PARAMETERS: dict[str, dict[str, object]] = {
    "name": {"description": "The name of a bandit.", "schema": {"type": "string", "pattern": m.NAME.replace(r"\Z", "$")}},
    "arm": {"description": "The name of an arm.", "schema": {"type": "string", "minLength": 1, "maxLength": 200}},
}
"""The parameters of paths, for the OpenAPI document."""


class Route(NamedTuple):
    """A method and a path, and how to respond to them."""

    method: str
    path: str  # with parameters in braces
    handler: Handler
    scope: TokenScope | None  # that a token needs; None if no token is needed
    body: Any = None  # the type of the request body; None if there must be none
    needs_body: bool = True  # whether the request must have a body
    query: object = None  # the type of the query; None if there must be none
    response: object = None  # the type of the response body, or its content type
    statuses: tuple[int, ...] = (200,)  # of successful responses
    problems: tuple[str, ...] = ()  # kinds of problems, besides those that every route has
    is_page: bool = False  # whether it is a file of the dashboard, which is no part of the API

    @property
    def operation(self) -> str:
        """The name of what a request asks for: its `operationId` in the OpenAPI document."""
        return self.handler.__name__

    @property
    def writes(self) -> bool:
        """Whether it changes a bandit."""
        return self.method != "GET"


ROUTES: list[Route] = []
"""The routes of all `handlers`."""


def route(method: str, path: str, scope: TokenScope | None, **options: Any) -> Callable[[Handler], Handler]:
    """Decorator of a handler; the options are those of `Route`."""

    def add(handler: Handler) -> Handler:
        ROUTES.append(Route(method, path, handler, scope, **options))
        return handler

    return add


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


# --- OpenAPI ------------------------------------------------------------------------------------------------------------------

JsonObject = dict[str, object]

_REF = "#/components/schemas/{name}"


def _content(kind: str, schema: object) -> JsonObject:
    return {"content": {kind: {"schema": schema}}}


def _query(route: Route) -> list[JsonObject]:
    if route.query is None:
        return []
    _, components = msgspec.json.schema_components([route.query], ref_template=_REF)
    (schema,) = components.values()
    return [
        {"name": name, "in": "query", "required": False, "description": each.pop("description", ""), "schema": each}
        for name, each in schema["properties"].items()
    ]


def _operation(route: Route, schemas: dict[object, JsonObject]) -> JsonObject:
    responses: dict[str, JsonObject] = {}
    for status in route.statuses:
        if isinstance(route.response, str):
            content = _content(route.response, {"type": "string"})
        else:
            content = _content("application/json", schemas[route.response])
        responses[str(status)] = {"description": HTTPStatus(status).phrase, **content}
    problems: dict[int, list[str]] = {}
    for kind in problems_of(route):
        status, title = KINDS[kind]
        problems.setdefault(status, []).append(f"{title} (`{kind}`)")
    for status, titles in problems.items():
        content = _content("application/problem+json", schemas[ProblemDocument])
        responses[str(status)] = {"description": "; ".join(titles), **content}
    parameters = [
        {"name": name, "in": "path", "required": True, **PARAMETERS[name]} for name in PARAMETERS if f"{{{name}}}" in route.path
    ]
    operation: JsonObject = {
        "operationId": route.operation,
        "summary": (route.handler.__doc__ or "").partition("\n")[0].removesuffix("."),
        "parameters": [*parameters, *_query(route)],
        "responses": dict(sorted(responses.items())),
    }
    if route.body is not None:
        operation["requestBody"] = {"required": route.needs_body, **_content("application/json", schemas[route.body])}
    if route.scope is not None:
        operation["description"] = f"Needs a token with the scope `{route.scope}` if the service uses tokens."
        operation["security"] = [{"token": []}, {}]
    return operation


def document() -> JsonObject:
    """Return the OpenAPI document."""
    routes = [each for each in ROUTES if not each.is_page]
    types: list[object] = [ProblemDocument]
    types += [
        each for route in routes for each in (route.body, route.response) if each is not None and not isinstance(each, str)
    ]
    distinct = list(dict.fromkeys(types))
    found, components = msgspec.json.schema_components(distinct, ref_template=_REF)
    schemas = dict(zip(distinct, found, strict=True))
    paths: dict[str, JsonObject] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    about = "Decisions of bandits whose arms wear out. Errors are problem documents (RFC 9457)."
    return {
        "openapi": "3.1.0",
        "info": {"title": "rotting", "version": __version__, "description": about},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
