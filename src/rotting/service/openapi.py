"""The OpenAPI document, generated from the table of routes and the types of the bodies."""

from http import HTTPStatus
from typing import Any

import msgspec

from rotting.common.version import __version__
from rotting.service.problem_documents import KINDS, ProblemDocument
from rotting.service.routes import PARAMETERS, ROUTES, Route, problems_of

_REF = "#/components/schemas/{name}"
_ETAG = {"ETag": {"description": "The revision of the arms, for If-Match.", "schema": {"type": "string"}}}


def _content(kind: str, schema: Any) -> dict[str, Any]:
    return {"content": {kind: {"schema": schema}}}


def _query(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    _, components = msgspec.json.schema_components([route.query], ref_template=_REF)
    (schema,) = components.values()
    return [
        {"name": name, "in": "query", "required": False, "description": each.pop("description", ""), "schema": each}
        for name, each in schema["properties"].items()
    ]


def _operation(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status in route.statuses:
        content = _content(route.response, {"type": "string"}) if isinstance(route.response, str) else None
        found = content or _content("application/json", schemas[route.response])
        responses[str(status)] = {"description": HTTPStatus(status).phrase, **found}
        if "arms" in getattr(route.response, "__struct_fields__", ()) and "retired" in route.response.__struct_fields__:
            responses[str(status)]["headers"] = _ETAG
    for kind in problems_of(route):
        status, title = KINDS[kind]
        known = responses.setdefault(
            str(status), {"description": "", **_content("application/problem+json", schemas[ProblemDocument])}
        )
        known["description"] = "; ".join(filter(None, [known["description"], f"{title} (`{kind}`)"]))
    parameters = [
        {"name": name, "in": "path", "required": True, **PARAMETERS[name]} for name in PARAMETERS if f"{{{name}}}" in route.path
    ]
    if route.conditional:
        description = "Change the arms only if this is their revision."
        parameters.append(
            {"name": "If-Match", "in": "header", "required": False, "description": description, "schema": {"type": "string"}}
        )
    operation: dict[str, Any] = {
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


def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    types = [ProblemDocument]
    types += [
        each for route in ROUTES for each in (route.body, route.response) if each is not None and not isinstance(each, str)
    ]
    distinct = list(dict.fromkeys(types))
    found, components = msgspec.json.schema_components(distinct, ref_template=_REF)
    schemas = dict(zip(distinct, found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    about = "Decisions of bandits whose arms wear out. Errors are problem documents (RFC 9457)."
    return {
        "openapi": "3.1.0",
        "info": {"title": "rotting", "version": __version__, "description": about},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
