"""The requests that the methods of a client make, and the arguments they refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError, RottingError
from rotting.live.values import ArmExplanation, Decision
from rotting.server.client.retries import ClientCall
from tests.helpers.calls import call_of, create
from tests.helpers.services import running

NAN = float("nan")
FALLBACK = Decision("", "a", 0, 0.5, ArmExplanation(NAN, NAN, 0, NAN, 0, 0))


def body_of(call: ClientCall[Any]) -> Any:
    assert call.request is not None
    return json.loads(call.request.content or b"")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: call_of(lambda bandit: bandit.show(), name=3), InvalidTypeError, "^name must be a string, got 3$"),  # type: ignore[arg-type]
        (lambda: call_of(lambda bandit: bandit.add_arm(b"a")), InvalidTypeError, "^arm must be a string"),  # type: ignore[arg-type]
        (lambda: create("n", "ucb1", ["a"]), InvalidTypeError, "^policy must be a policy"),  # type: ignore[arg-type]
        (lambda: create("n", rotting.UCB1(), 3), InvalidTypeError, "^arms must be a list of arms, got 3$"),  # type: ignore[arg-type]
        (lambda: create("n", rotting.UCB1(), "rock"), InvalidTypeError, "^arms must be a list of arms, got 'rock'$"),
        (lambda: call_of(lambda bandit: bandit.decide("rock")), InvalidTypeError, "^arms must be a list of arms, got 'rock'$"),
        (lambda: call_of(lambda bandit: bandit.decide(without="rock")), InvalidTypeError, "^without must be a list of arms"),
        (lambda: create("n", rotting.UCB1(), [{1}]), InvalidTypeError, "must hold only what JSON can"),  # type: ignore[list-item]
        (lambda: call_of(lambda bandit: bandit.decide(3)), InvalidTypeError, "^arms must be a list"),  # type: ignore[call-overload]
        (lambda: call_of(lambda bandit: bandit.reward_many([1])), InvalidTypeError, "^rewards must be pairs"),  # type: ignore[list-item]
        (lambda: call_of(lambda bandit: bandit.reward_many([(1, 1.0)])), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[list-item]
        (lambda: call_of(lambda bandit: bandit.reward(1, 1.0)), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[arg-type]
        (lambda: call_of(lambda bandit: bandit.cancel(b"4f")), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[arg-type]
        (lambda: call_of(lambda bandit: bandit.expire(1)), InvalidTypeError, "^id must be a Decision or its id"),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_cannot_be_sent_raise_exceptions_of_the_library(
    make: Callable[[], ClientCall[Any]], error: type[RottingError], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_name_is_one_segment_of_the_path() -> None:
    request = call_of(lambda bandit: bandit.add_arm("a.b/..")).request
    assert request is not None
    assert request.path == "/v1/bandits/songs/arms/a.b%2F.."
    with pytest.raises(InvalidValueError, match="^arm must not be '.' or '..', which mean something else in a URL, got '..'$"):
        call_of(lambda bandit: bandit.forget(".."))


def test_every_decision_has_a_key_of_its_own() -> None:
    bodies = [body_of(call_of(lambda bandit: bandit.decide())) for _ in range(100)]
    assert len({each["idempotency_key"] for each in bodies}) == 100
    assert body_of(call_of(lambda bandit: bandit.decide(key="mine")))["idempotency_key"] == "mine"


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
        (lambda: create("n", rotting.UCB1(), LOOP), "^the request must hold only what JSON can carry, got .*: Circular"),
    ],
)
def test_what_json_cannot_carry_is_refused_by_the_name_of_its_parameter(
    make: Callable[[], ClientCall[Any]], message: str
) -> None:
    with pytest.raises((InvalidValueError, InvalidTypeError), match=message):
        make()


def test_a_policy_is_sent_as_it_is_made() -> None:
    sent = body_of(create("songs", rotting.UCB1(sigma=0.25), ["a"], seed=3))
    assert sent == {"policy": "ucb1", "params": rotting.UCB1(sigma=0.25).to_json()["params"], "arms": ["a"], "seed": 3}


def test_a_request_names_arms_and_rewards_as_bandit_does() -> None:
    sent = {"count": 1, "arms": ["a", "b"], "without": ["b"], "idempotency_key": "k"}
    assert body_of(call_of(lambda bandit: bandit.decide(["a", "b"], count=1, without=("b",), key="k", fallback=["c"]))) == sent
    preview = call_of(lambda bandit: bandit.decide(key="k", dry_run=True))
    assert body_of(preview) == {"idempotency_key": "k", "dry_run": True}
    wrong = call_of(lambda bandit: bandit.decide(key="k", dry_run=0))  # type: ignore[call-overload]
    assert body_of(wrong) == {"idempotency_key": "k", "dry_run": 0}  # which the service refuses
    assert body_of(call_of(lambda bandit: bandit.reward("id", 0.5))) == [{"id": "id", "reward": 0.5}]


@pytest.mark.parametrize(
    ("fallback", "count", "message"),
    [
        ("rock", None, "^fallback must be a list of arms, got 'rock'$"),
        ([], None, r"^fallback must name at least 1 arm, got \[\]$"),
        (["a", "b"], 3, r"^fallback must name at least 3 arms, got \['a', 'b'\]$"),
        (["a", "b", "a"], 2, r"^fallback must name each arm once, got \['a', 'b', 'a'\]$"),
        (["a"], 0, "^count must be .*, got 0$"),
    ],
)
def test_a_fallback_that_could_not_be_used_is_refused_at_once(fallback: Any, count: Any, message: str) -> None:
    with pytest.raises((InvalidValueError, InvalidTypeError), match=message):
        call_of(lambda bandit: bandit.decide(count=count, fallback=fallback))


def test_what_is_said_about_a_fallback_is_not_sent() -> None:
    for call in (
        call_of(lambda bandit: bandit.reward(FALLBACK, 1.0)),
        call_of(lambda bandit: bandit.cancel(FALLBACK)),
        call_of(lambda bandit: bandit.expire("")),
    ):
        assert (call.request, call.parse(None)) == (None, "unknown")
    none = call_of(lambda bandit: bandit.reward_many([(FALLBACK, 1.0), ("", 0.0)]))
    assert (none.request, none.parse(None)) == (None, ["unknown", "unknown"])
    some = call_of(lambda bandit: bandit.reward_many([(FALLBACK, 1.0), ("a", 1.0)]))
    assert body_of(some) == [{"id": "", "reward": 1.0}, {"id": "a", "reward": 1.0}]  # a service knows no "" either
    assert some.parameter("[1].id") == "rewards[1].id"
    with pytest.raises(InvalidValueError, match="^reward must be a finite number"):
        call_of(lambda bandit: bandit.reward(FALLBACK, NAN))


def test_a_remote_bandit_is_changed_like_one_in_memory(tmp_path: Path) -> None:
    with running(tmp_path / "ads.rot") as service, rotting.Client(f"http://127.0.0.1:{service.port}") as client:
        client.create("ads", rotting.RAWUCB(alpha=1.4), arms=["a", "b", "c"], holdout=0.2)
        bandit = client.bandit("ads")
        assert bandit.learn(("abc"[k % 3], 0.5) for k in range(2_500)) == 2_500
        assert bandit.learn([]) == 0
        bandit.change(alpha=0.7, reward_window="30min", caps={"a": 0.5}, reason="less exploration")
        bandit.pause("b", reason="broken")
        shown = bandit.show()
        assert (shown["params"]["alpha"], shown["reward_window"]) == (0.7, 1_800)
        assert (shown["caps"], shown["paused"]) == ({"a": 0.5}, ["b"])
        bandit.resume("b")
        assert bandit.uplift().verdict == "too early to tell"
        assert bandit.uplift(reward_range=(0.0, 5.0)).high == 5.0
        bandit.change(policy=rotting.UCB1(), paused=["c"], reward_window=None)
        assert bandit.show()["policy"] == "ucb1"
        assert bandit.explain()["c"].rule == "paused"
        with pytest.raises(rotting.errors.InvalidValueError, match="^alpha must be a positive"):
            bandit.change(policy=rotting.RAWUCB(), alpha=-1.0)
        with pytest.raises(rotting.errors.InvalidTypeError, match="^policy must be a policy"):
            bandit.change(policy="ucb1")
