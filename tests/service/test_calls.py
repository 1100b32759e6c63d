"""What a client asks, and when it asks again: without a connection."""

import json
from typing import Any

import pytest

import rotting
from rotting.errors import (
    InvalidValueError,
    RottingError,
    ServiceDeniedError,
    ServiceError,
    ServiceUnreachableError,
    StoreFailedError,
    StoreFullError,
)
from rotting.service import calls
from rotting.service.calls import Answer, Call, NoAnswer, Request, asking
from rotting.service.problems import KINDS, ProblemError

LOST = NoAnswer("the line is dead")
ASK = Call(Request("GET", "/x", None, {}), lambda told: told)


def played(call: Call[Any], heard: list[Answer | NoAnswer], retries: int = 5, chance: float = 1.0) -> tuple[Any, list[float]]:
    """Give the answers one after the other; return the result and the pauses, and check that the same is asked every time."""
    steps, pauses, given = asking(call, retries, lambda: chance), [], list(heard)
    step = next(steps)
    try:
        while True:
            if isinstance(step, float):
                pauses.append(step)
                step = next(steps)
            else:
                assert step == call.request
                step = steps.send(given.pop(0))
    except StopIteration as done:
        assert given == []
        return done.value, pauses


def problem(kind: str, detail: str = "count must be 1 or more, got 0") -> Answer:
    found = ProblemError(kind, detail)
    return Answer(found.status, found.body(), {})


def test_what_is_lost_is_asked_again_with_pauses_that_grow_and_end() -> None:
    result, pauses = played(ASK, [LOST] * 8 + [Answer(200, b"7", {})], retries=8)
    assert result == 7
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert played(ASK, [LOST, Answer(200, b"7", {})], chance=0.0)[1] == [0.0]
    with pytest.raises(ServiceUnreachableError, match="^the service gave no answer in 3 attempts: the line is dead$"):
        played(ASK, [LOST] * 3, retries=2)


def test_a_service_may_ask_for_a_longer_pause_but_not_for_any() -> None:
    for wanted, pause in (("1", 1.1), ("100", 5.0), ("soon", 0.1)):
        busy = Answer(503, b"{}", {"retry-after": wanted})
        assert played(ASK, [busy, Answer(200, b"1", {})])[1] == [pytest.approx(pause)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_problem_becomes_an_exception_with_its_sentence(kind: str) -> None:
    told = problem(kind)
    busy = told.status in {408, 429, 503, 507}
    with pytest.raises(RottingError, match="^count must be 1 or more, got 0$") as caught:
        played(ASK, [told] * (2 if busy else 1), retries=1)
    expected = {401: ServiceDeniedError, 403: ServiceDeniedError, 500: ServiceError, 503: StoreFailedError, 507: StoreFullError}
    assert type(caught.value) is expected.get(told.status, ServiceError if told.status == 429 else InvalidValueError)


def test_an_answer_that_is_no_document_is_told() -> None:
    with pytest.raises(ServiceError, match="^the service must answer with JSON, got status 500 and b'<html>'$"):
        played(ASK, [Answer(500, b"<html>", {})])


def test_what_is_gone_at_a_second_attempt_was_removed_at_the_first() -> None:
    call = calls.remove_arm("songs", "hip/hop", keep=True)
    assert call.request == Request("DELETE", "/v1/bandits/songs/arms/hip%2Fhop?keep=true", None, {})
    assert played(call, [LOST, problem("not-found")])[0] is None
    with pytest.raises(InvalidValueError):
        played(call, [problem("not-found")])


def test_every_decision_has_a_key_of_its_own() -> None:
    bodies = [json.loads(calls.decide("songs", None, 1, None, None).request.content or b"") for _ in range(100)]
    assert len({each["idempotency_key"] for each in bodies}) == 100
    assert json.loads(calls.decide("songs", None, 1, None, "mine").request.content or b"")["idempotency_key"] == "mine"


def test_what_json_cannot_carry_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidValueError, match="must hold finite numbers"):
        calls.reward("songs", [("x", float("nan"))])


def test_a_policy_is_sent_as_it_is_made() -> None:
    sent = json.loads(calls.create("songs", rotting.UCB1(sigma=0.25), ["a"], seed=3).request.content or b"")
    assert sent == {"policy": "ucb1", "params": rotting.UCB1(sigma=0.25).to_json()["params"], "arms": ["a"], "seed": 3}
