"""The OpenAPI document says what the code does; tests/service/test_fuzz.py compares its answers with it."""

import json
import re

import pytest

from rotting.service.handlers import Handlers
from rotting.service.openapi import document
from rotting.service.problems import KINDS
from rotting.service.routes import ROUTES, Route, problems_of
from tests.helpers.services import Client

DOCUMENT = document()


def test_the_document_is_served(client: Client) -> None:
    answer = client("GET", "/openapi.json")
    assert answer.status == 200
    assert answer.body == json.loads(json.dumps(DOCUMENT))


def test_the_document_has_every_route_and_no_other() -> None:
    said = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert said == {(route.method, route.path) for route in ROUTES}
    assert len(said) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda each: each.handler)
def test_every_operation_is_whole(route: Route) -> None:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    assert operation["operationId"] == route.handler
    assert route.handler == "watch" or callable(getattr(Handlers, route.handler))
    statuses = {*map(str, route.statuses), *(str(KINDS[kind][0]) for kind in problems_of(route))}
    assert set(operation["responses"]) == statuses
    named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
    assert named == set(re.findall(r"{(\w+)}", route.path))
    assert ("requestBody" in operation) == (route.body is not None)
    assert ("security" in operation) == (route.scope is not None)
    assert all(each["description"] for each in operation["parameters"])


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    text = json.dumps(DOCUMENT)
    used = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert used == set(DOCUMENT["components"]["schemas"])
    assert all(each.get("description") for each in DOCUMENT["components"]["schemas"].values())
