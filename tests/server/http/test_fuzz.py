"""Requests that nobody thought of: no error of the server, and what is refused changes nothing.

`ROTTING_STRESS=1` asks 10,000 times in each way.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from rotting.server.http.routes import document
from rotting.server.store.database import open_database
from rotting.server.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.services import SONGS, Running, running

_DOCUMENT = json.loads(json.dumps(document()))
_SCHEMA = schemathesis.openapi.from_dict(_DOCUMENT)
_ALL: list[Any] = list(_SCHEMA.get_all_operations())
OPERATIONS = [each.ok() for each in _ALL if each.ok().path != "/v1/events"]  # which does not end
_ENDING = {"POST /v1/bandits/{name}/archive", "DELETE /v1/bandits/{name}"}
CASES = 5_000 // len(OPERATIONS) + 1 if STRESS else 8
BODIES = 10_000 if STRESS else 300
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    path = tmp_path_factory.mktemp("fuzz") / "songs.rot"
    with running(path) as service:
        client = service.client()
        assert client("PUT", "/v1/bandits/songs", SONGS).status == 201
        yield service
    database = open_database(path, readonly=True)
    assert verify(database).problems == ()
    database.close()


def state(service: Running) -> tuple[Any, ...]:
    """What a refused request must not change."""
    database = service.service.database
    return tuple((each.name, each.archived, database.last(each)) for each in database.records())


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: str(each.label))
def test_generated_requests_get_documented_responses(fuzzed: Running, operation: Any, mode: GenerationMode) -> None:
    if mode.is_negative and not (operation.body or operation.path_parameters or operation.query):
        return  # there is nothing to get wrong

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=CASES, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def ask(case: Any) -> None:
        if mode.is_positive and "name" in (case.path_parameters or {}) and operation.label not in _ENDING:
            case.path_parameters["name"] = "songs"
        before = state(fuzzed)
        response = case.call(base_url=f"http://127.0.0.1:{fuzzed.port}")
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400:
            assert state(fuzzed) == before
            assert response.headers["content-type"] == ["application/problem+json"]

    ask()


def mutated(chance: random.Random, body: bytes) -> bytes:
    """A body with some bytes changed, lost, doubled, or of another kind."""
    data = bytearray(body)
    words = (b"NaN", b"1e999", b"-0", b"null", b"true", b'"', b"{", b"]", b"\\ud800", b"\xff", b"\x00", b",", b"1" * 50)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data) + 1)
        how = chance.randrange(4)
        if how == 0:
            data[at : at + 1] = bytes([chance.randrange(256)])
        elif how == 1:
            del data[at : at + chance.randrange(1, 9)]
        elif how == 2:
            data[at:at] = data[at : at + chance.randrange(1, 9)]
        else:
            data[at:at] = chance.choice(words)
    return bytes(data)


def test_bodies_with_wrong_bytes(fuzzed: Running) -> None:
    client, chance = fuzzed.client(), random.Random(5)
    bandit = "/v1/bandits/bytes"
    assert client("PUT", bandit, SONGS).status == 201
    (made,) = client("POST", f"{bandit}/decisions").body["decisions"]
    bodies: list[tuple[str, str, Any]] = [
        ("PUT", "/v1/bandits/more", {**SONGS, "seed": 5, "max_pending": 50, "pending": "shrink"}),
        ("POST", f"{bandit}/decisions", {"count": 2, "arms": ["jazz", "rock"], "without": [], "idempotency_key": "k"}),
        ("POST", f"{bandit}/rewards", [{"id": made["id"], "reward": 0.5}, {"id": "b", "reward": 1}]),
        ("POST", f"{bandit}/expirations", {"ids": [made["id"]], "missing": 0.25}),
        ("PUT", f"{bandit}/arms/jazz", {"resume": False, "prior": [0.5, 2]}),
    ]
    seen: Counter[int] = Counter()
    for _ in range(BODIES):
        method, path, body = chance.choice(bodies)
        before = state(fuzzed)
        response = client(method, path, mutated(chance, json.dumps(body).encode()))
        seen[response.status] += 1
        assert response.status in {200, 201, 400, 409, 422}, response
        if response.status >= 400:
            assert state(fuzzed) == before
            assert set(response.body) >= {"type", "title", "status", "detail", "field", "rule", "value"}, response.body
    assert {200, 400, 422} <= set(seen)
