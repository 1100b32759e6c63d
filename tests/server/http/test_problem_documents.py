"""Problem documents name the field, the rule and the value."""

import json

import msgspec
import pytest

from rotting.errors import InvalidValueError
from rotting.server.http.problem_documents import KINDS, ProblemError, of_body


class Thing(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    sizes: list[float] = []


@pytest.mark.parametrize(
    ("body", "status", "field", "rule", "value"),
    [
        (b'{"name": 1}', 422, "name", "be a string", "1"),
        (b'{"name": "a", "sizes": [1, "2"]}', 422, "sizes[1]", "be a finite number", '"2"'),
        (b'{"name": "a", "sizes": [1, NaN]}', 422, "sizes[1]", "be a finite number", "NaN"),
        (b'{"name": "a", "sizes": [-Infinity]}', 422, "sizes[0]", "be a finite number", "-Infinity"),
        (b'{"name": "a", "sizes": 1e999}', 422, "sizes", None, None),
        (b"{}", 422, "body", "have the field 'name'", "{}"),
        (b'{"name": "a", "x": 1}', 422, "body", "have fields of the API only, not 'x'", None),
        (b"[]", 422, "body", "be an object", "[]"),
        (b"NaN", 422, "body", "be a finite number", "NaN"),
        (b'{"\\ud800": [1e999]}', 422, "\\ud800[0]", "be a finite number", "Infinity"),
        (b"{", 400, "body", "be JSON", None),
        (b"\xff", 400, "body", "be JSON", None),
    ],
)
def test_errors_in_a_body_name_field_rule_and_value(
    body: bytes, status: int, field: str, rule: str | None, value: str | None
) -> None:
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)) as caught:
        msgspec.json.decode(body, type=Thing)
    problem = of_body(caught.value, body)
    document = json.loads(problem.body())
    assert (problem.status, document["status"], document["field"]) == (status, status, field)
    assert rule is None or document["rule"] == rule
    assert value is None or document["value"] == value


def test_long_values_are_cut() -> None:
    body = json.dumps({"name": ["a" * 1_000]}).encode()
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(body, type=Thing)
    assert len(of_body(caught.value, body).body()) < 500


def test_every_kind_has_a_status_and_a_title() -> None:
    for kind, (status, title) in KINDS.items():
        document = json.loads(
            ProblemError(kind, InvalidValueError("a", "be b", None, got="c", hint="; did you mean d?")).body()
        )
        assert document == {
            "type": f"urn:rotting:problem:{kind}",
            "title": title,
            "status": status,
            "detail": "a must be b, got c; did you mean d?",
            "field": "a",
            "rule": "be b",
            "value": "c",
            "hint": "; did you mean d?",
        }
        assert 400 <= status < 600
