"""The OpenAPI document, generated from the table of routes and the types of the bodies."""

from http import HTTPStatus

import msgspec

from rotting.common.version import __version__
from rotting.server.http.problem_documents import KINDS, ProblemDocument
from rotting.server.http.routes import PARAMETERS, ROUTES, Route, problems_of

JsonObject = dict[str, object]

_REF = "#/components/schemas/{name}"
_ETAG = {"ETag": {"description": "The revision of the arms, for If-Match.", "schema": {"type": "string"}}}


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
        if {"arms", "retired"} <= set(getattr(route.response, "__struct_fields__", ())):
            responses[str(status)]["headers"] = _ETAG
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
    if route.conditional:
        description = "Change the arms only if this is their revision."
        parameters.append(
            {"name": "If-Match", "in": "header", "required": False, "description": description, "schema": {"type": "string"}}
        )
    operation: JsonObject = {
        "operationId": route.operation,
        "summary": route.summary,
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
    types: list[object] = [ProblemDocument]
    types += [
        each for route in ROUTES for each in (route.body, route.response) if each is not None and not isinstance(each, str)
    ]
    distinct = list(dict.fromkeys(types))
    found, components = msgspec.json.schema_components(distinct, ref_template=_REF)
    schemas = dict(zip(distinct, found, strict=True))
    paths: dict[str, JsonObject] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    about = "Decisions of bandits whose arms wear out. Errors are problem documents (RFC 9457)."
    return {
        "openapi": "3.1.0",
        "info": {"title": "rotting", "version": __version__, "description": about},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
