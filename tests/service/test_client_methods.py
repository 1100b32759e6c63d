"""The requests that the methods of a client make, and the arguments they refuse."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError, RottingError
from rotting.service.retries import Call
from tests.helpers.calls import bandits, call_of, create


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: call_of(lambda bandit: bandit.show(), name=3), InvalidTypeError, "^name must be a string, got 3$"),  # type: ignore[arg-type]
        (lambda: call_of(lambda bandit: bandit.show(), name="\ud800"), InvalidValueError, "^name must be valid Unicode"),
        (lambda: call_of(lambda bandit: bandit.add_arm(b"a")), InvalidTypeError, "^arm must be a string"),  # type: ignore[arg-type]
        (lambda: bandits("\ud800"), InvalidValueError, "^the query must be valid Unicode"),
        (lambda: create("n", "ucb1"), InvalidTypeError, "^policy must be a policy"),  # type: ignore[arg-type]
        (lambda: create("n", arms=3), InvalidTypeError, "^arms must be a list of arms, got 3$"),  # type: ignore[arg-type]
        (lambda: create("n", arms="rock"), InvalidTypeError, "^arms must be a list of arms, got 'rock'$"),
        (lambda: call_of(lambda bandit: bandit.decide("rock")), InvalidTypeError, "^arms must be a list of arms, got 'rock'$"),
        (lambda: call_of(lambda bandit: bandit.decide(without="rock")), InvalidTypeError, "^without must be a list of arms"),
        (lambda: create("n", arms=[{1}]), InvalidTypeError, "must hold only what JSON can"),  # type: ignore[list-item]
        (lambda: call_of(lambda bandit: bandit.decide(3)), InvalidTypeError, "^arms must be a list"),  # type: ignore[call-overload]
        (lambda: call_of(lambda bandit: bandit.reward_many([1])), InvalidTypeError, "^rewards must be pairs"),  # type: ignore[list-item]
        (lambda: call_of(lambda bandit: bandit.reward_many([(1, 1.0)])), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[list-item]
        (lambda: call_of(lambda bandit: bandit.reward(1, 1.0)), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[arg-type]
        (lambda: call_of(lambda bandit: bandit.cancel(b"4f")), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[arg-type]
        (lambda: call_of(lambda bandit: bandit.expire(1)), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_cannot_be_sent_raise_exceptions_of_the_library(
    make: Callable[[], Call[Any]], error: type[RottingError], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_name_of_dots_stays_a_segment_of_the_path() -> None:
    assert call_of(lambda bandit: bandit.add_arm("..")).request.path == "/v1/bandits/songs/arms/%2E%2E"
    assert call_of(lambda bandit: bandit.add_arm("a.b")).request.path == "/v1/bandits/songs/arms/a.b"


def test_every_decision_has_a_key_of_its_own() -> None:
    bodies = [json.loads(call_of(lambda bandit: bandit.decide()).request.content or b"") for _ in range(100)]
    assert len({each["idempotency_key"] for each in bodies}) == 100
    assert json.loads(call_of(lambda bandit: bandit.decide(key="mine")).request.content or b"")["idempotency_key"] == "mine"


NAN = float("nan")
LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: call_of(lambda bandit: bandit.reward("x", NAN)), "^reward must be a finite number of .*, got nan$"),
        (
            lambda: call_of(lambda bandit: bandit.reward("x", True)),
            "^reward must be a finite number, got True; pass 1.0 or 0.0",
        ),
        (
            lambda: call_of(lambda bandit: bandit.reward_many([("x", 1.0), ("y", float("inf"))])),
            r"^rewards\[1\].reward must be a finite number of .*, got inf$",
        ),
        (lambda: call_of(lambda bandit: bandit.expire("x", missing=NAN)), "^missing must be a finite number, got nan$"),
        (lambda: call_of(lambda bandit: bandit.add_arm("a", prior=(NAN, 3))), r"^prior\[0\] must be a finite number, got nan$"),
        (lambda: create("n", probe=NAN), "^probe must be a finite number, got nan$"),
        (lambda: create("n", arms=LOOP), "^the request must hold only what JSON can carry, got a loop$"),
    ],
)
def test_what_json_cannot_carry_is_refused_by_the_name_of_its_parameter(make: Callable[[], Call[Any]], message: str) -> None:
    with pytest.raises((InvalidValueError, InvalidTypeError), match=message):
        make()


def test_a_policy_is_sent_as_it_is_made() -> None:
    sent = json.loads(create("songs", rotting.UCB1(sigma=0.25), ["a"], seed=3).request.content or b"")
    assert sent == {"policy": "ucb1", "params": rotting.UCB1(sigma=0.25).to_json()["params"], "arms": ["a"], "seed": 3}


def test_a_request_names_arms_and_rewards_as_bandit_does() -> None:
    decide = call_of(lambda bandit: bandit.decide(["a", "b"], count=1, without=("b",), key="k")).request
    sent = {"count": 1, "arms": ["a", "b"], "without": ["b"], "idempotency_key": "k"}
    assert json.loads(decide.content or b"") == sent
    preview = call_of(lambda bandit: bandit.decide(key="k", dry_run=True)).request
    assert json.loads(preview.content or b"") == {"idempotency_key": "k", "dry_run": True}
    wrong = call_of(lambda bandit: bandit.decide(key="k", dry_run=0)).request  # type: ignore[call-overload]
    assert json.loads(wrong.content or b"") == {"idempotency_key": "k", "dry_run": 0}  # which the service refuses
    reward = call_of(lambda bandit: bandit.reward("id", 0.5)).request
    assert json.loads(reward.content or b"") == [{"id": "id", "reward": 0.5}]
