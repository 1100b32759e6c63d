"""The OpenAPI document says what the code does; tests/server/http/test_fuzz.py compares its responses with it."""

import json
import re
from typing import Any

import pytest

from rotting.errors import InvalidValueError
from rotting.server.http import routes
from rotting.server.http.problem_documents import KINDS
from rotting.server.http.routes import Route, check_parameters, document, problems_of
from tests.helpers.services import Client

ROUTES = [each for each in routes.ROUTES if not each.is_page]


@pytest.fixture(scope="module")
def api_document() -> dict[str, Any]:
    """The document."""
    return document()


def test_the_document_is_served(client: Client, api_document: dict[str, Any]) -> None:
    response = client("GET", "/openapi.json")
    assert response.status == 200
    assert response.body == json.loads(json.dumps(api_document))


def test_the_document_has_every_route_and_no_other(api_document: dict[str, Any]) -> None:
    documented = {(method.upper(), path) for path, methods in api_document["paths"].items() for method in methods}
    assert documented == {(route.method, route.path) for route in ROUTES}
    assert len(documented) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda each: each.operation)
def test_every_operation_is_documented_completely(route: Route, api_document: dict[str, Any]) -> None:
    operation = api_document["paths"][route.path][route.method.lower()]
    assert operation["operationId"] == route.operation
    statuses = {*map(str, route.statuses), *(str(KINDS[kind][0]) for kind in problems_of(route))}
    assert set(operation["responses"]) == statuses
    named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
    assert named == set(re.findall(r"{(\w+)}", route.path))
    kinds = {kind for each in operation["responses"].values() for kind in re.findall(r"\(`([\w-]+)`\)", each["description"])}
    assert kinds == set(problems_of(route))
    assert all(each["description"] for each in operation["responses"].values())
    assert ("requestBody" in operation) == (route.body is not None)
    assert operation.get("requestBody", {}).get("required", True) == route.needs_body
    assert ("security" in operation) == (route.scope is not None)
    assert all(each["description"] for each in operation["parameters"])


def test_every_reference_leads_somewhere_and_every_schema_is_used(api_document: dict[str, Any]) -> None:
    text = json.dumps(api_document)
    used = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert used == set(api_document["components"]["schemas"])
    assert all(each.get("description") for each in api_document["components"]["schemas"].values())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"name": "a b"}, "name in the path must be 1 to 100 letters, digits or ._~-, and not . or .., got 'a b'"),
        ({"name": ".."}, "name in the path must be 1 to 100 letters"),
        ({"name": "a", "arm": "b" * 201}, "arm in the path must be 1 to 200 characters, got"),
    ],
)
def test_an_invalid_name_is_refused_with_the_rule(parameters: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        check_parameters(parameters)
    assert str(caught.value).startswith(message)
