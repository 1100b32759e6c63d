"""The table of operations."""

from typing import get_args

import pytest

from rotting.errors import InvalidValueError
from rotting.server.http import handlers
from rotting.server.http.routes import ALL, ROUTES, Operation, check_parameters


def test_every_operation_has_a_handler() -> None:
    assert {*get_args(Operation)} == {route.operation for route in ALL}
    assert all(callable(getattr(handlers, operation)) for operation in get_args(Operation))


def test_every_method_but_get_changes_something() -> None:
    assert [(route.method, route.path) for route in ROUTES if route.writes != (route.method != "GET")] == []


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
