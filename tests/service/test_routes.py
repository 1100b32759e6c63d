"""Paths and methods find their routes."""

from pathlib import Path
from typing import get_args

import pytest

from rotting.errors import InvalidValueError
from rotting.service.application import Application
from rotting.service.problem_documents import ProblemError
from rotting.service.routes import ALL, ROUTES, Operation, match


@pytest.mark.parametrize("route", ROUTES, ids=lambda each: f"{each.method} {each.path}")
def test_every_route_is_found(route: object) -> None:
    assert isinstance(route, tuple)
    method, path = route[0], route[1].format(name="a.b-c_~1", arm="x%2Fy")
    found, parameters = match(method, path)
    assert found == route
    assert parameters == {name: value for name, value in (("name", "a.b-c_~1"), ("arm", "x/y")) if f"{{{name}}}" in route[1]}


def test_every_operation_has_a_handler_and_no_other(tmp_path: Path) -> None:
    app = Application(tmp_path / "songs.rot")
    app.host.close()
    assert {*app.handlers, "watch"} == {*get_args(Operation)} == {route.operation for route in ALL}


def test_what_may_change_a_bandit_waits_until_it_is_written() -> None:
    """Else a client would get a response for changes that a crash takes back, or that a store in trouble refuses."""
    assert [(route.method, route.path) for route in ROUTES if route.writes != (route.method != "GET")] == []


@pytest.mark.parametrize("path", ["", "//", "/v1/bandits/", "/v1/bandits/%ff", "/v1/bandits/a/arms/"])
def test_other_paths_are_not_found(path: str) -> None:
    with pytest.raises(ProblemError, match="^path must be one of those of /openapi.json, got") as caught:
        match("GET", path)
    assert caught.value.status == 404


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/v1/bandits/a%20b", "name in the path must be 1 to 100 letters, digits or ._~-, and not . or .., got 'a b'"),
        ("/v1/bandits/%00", r"name in the path must be 1 to 100 letters, digits or ._~-, and not . or .., got '\x00'"),
        (f"/v1/bandits/a/arms/{'b' * 201}", "arm in the path must be 1 to 200 characters, got"),
    ],
)
def test_an_invalid_name_is_refused_with_the_rule(path: str, message: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        match("PUT", path)
    assert str(caught.value).startswith(message)


def test_a_wrong_method_gets_the_allowed_ones() -> None:
    with pytest.raises(ProblemError) as caught:
        match("POST", "/v1/bandits/a/arms/b")
    assert caught.value.status == 405
    assert caught.value.headers == [(b"allow", b"DELETE, PUT")]
