"""When a client tries again and what it makes of responses, without a connection and on a fake clock."""

import json
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from rotting.server.client import retries
from rotting.server.client.retries import (
    ClientCall,
    ClientRequest,
    ClientResponse,
    NoResponse,
    RetryLimits,
    run_blocking,
    send_with_retries,
)
from rotting.server.http.problem_documents import KINDS, ProblemError
from rotting.server.keys import key_time
from tests.helpers.calls import bandits, call_of, create

Result = ClientResponse | NoResponse | BaseException
LOST = NoResponse("the line is dead")
NOT_SENT = NoResponse("nobody listens", sent=False)
PAUSED = KeyboardInterrupt("raised in a pause")
SEVEN = ClientResponse(200, b"7", {})
GARBLED = ClientResponse(200, b"<html>", {})
CALL: ClientCall[Any] = ClientCall(ClientRequest("GET", "/x", None), lambda data: data)
DECISION = {"id": "d1", "arm": "jazz", "round": 1, "propensity": 1.0}
REASON = {"index": None, "mean": None, "window": 0, "width": None, "pulls": 0, "pending": 0, "rule": ""}
DECIDED = ClientResponse(200, json.dumps({"decisions": [{**DECISION, "reason": REASON}]}).encode(), {})


def busy(status: int = 503, **headers: str) -> ClientResponse:
    return ClientResponse(status, b'{"detail": "too busy"}', {name.replace("_", "-"): value for name, value in headers.items()})


class Play:
    """The transport of a call, on a fake clock; each attempt takes `seconds`, unless its timeout is shorter."""

    def __init__(self, seconds: float = 0.0, chance: float = 1.0) -> None:
        self.now = 1_000.0
        self.requests: list[ClientRequest] = []
        self.timeouts: list[float] = []
        self.pauses: list[float] = []
        self.cleanups: list[ClientCall[Any]] = []
        self._seconds, self._chance = seconds, chance
        self._left: list[Result] = []

    def __call__(self, call: ClientCall[Any], results: list[Result], retries: int = 5, deadline: float | None = 30.0) -> Any:
        """Make a call whose attempts have these results; return its result, and check that all were used."""
        self._left = list(results)
        limits = RetryLimits(10.0, retries, deadline)
        try:
            return run_blocking(send_with_retries(call, self, limits, lambda: self.now, lambda: self._chance))
        finally:
            assert self._left == []

    async def exchange(self, request: ClientRequest, timeout: float) -> ClientResponse | NoResponse:
        self.requests.append(request)
        self.timeouts.append(timeout)
        self.now += min(self._seconds, timeout)
        result = self._left.pop(0)
        if isinstance(result, BaseException):
            raise result
        return result

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        if self._left == [PAUSED]:
            raise self._left.pop()  # type: ignore[misc]

    def clean_up(self, call: ClientCall[Any]) -> None:
        self.cleanups.append(call)


def problem(kind: str) -> ClientResponse:
    found = ProblemError(kind, InvalidValueError("count", "be 1 or more", 0))
    return ClientResponse(found.status, found.body(), {})


def test_pauses_double_up_to_five_seconds() -> None:
    play = Play()
    assert play(CALL, [*[LOST] * 7, SEVEN], retries=7) == 7
    assert play.pauses == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0]
    assert play.requests == [CALL.request] * 8
    shortest = Play(chance=0.0)
    shortest(CALL, [*[LOST] * 7, SEVEN], retries=7)
    assert shortest.pauses == [0.25, 0.5, 1.0, 2.0, 2.5, 2.5, 2.5]


def test_the_default_number_of_attempts_takes_seconds_not_fractions() -> None:
    play = Play(chance=0.0)
    with pytest.raises(ServiceUnreachableError, match="^the service did not respond in 6 attempts: the line is dead$"):
        play(CALL, [LOST] * 6)
    assert sum(play.pauses) == 6.25


@pytest.mark.parametrize(
    ("asked_for", "pause"),
    [("0", 0.5), ("1", 1.0), ("20", 20.0), ("soon", 0.5), ("1.5", 0.5), ("-3", 0.5), ("\u00b2", 0.5), ("9" * 400, 0.5)],
)
def test_retry_after_makes_a_pause_longer_never_shorter(asked_for: str, pause: float) -> None:
    play = Play()
    assert play(CALL, [busy(retry_after=asked_for), SEVEN]) == 7
    assert play.pauses == [pause]


def test_a_pause_that_would_reach_the_deadline_is_not_made() -> None:
    play = Play(seconds=1.0)
    message = r"within the deadline of 30 s \(1 attempt\); last response: status 503: too busy$"
    with pytest.raises(ServiceUnreachableError, match=message):
        play(CALL, [busy(retry_after="29")])
    assert (play.pauses, play.now) == ([], 1_001.0)


def test_the_deadline_limits_attempts_and_pauses_together() -> None:
    play = Play(seconds=60.0)
    message = r"within the deadline of 26 s \(3 attempts\); no response: the line is dead$"
    with pytest.raises(ServiceUnreachableError, match=message):
        play(CALL, [LOST] * 3, retries=99, deadline=26.0)
    assert play.timeouts == [10.0, 10.0, 4.5]
    assert play.pauses == [0.5, 1.0]
    assert play.now == 1_026.0


def test_without_a_deadline_only_the_attempts_are_limited() -> None:
    play = Play(seconds=10.0)
    with pytest.raises(ServiceUnreachableError, match="in 100 attempts"):
        play(CALL, [LOST] * 100, retries=99, deadline=None)


def test_an_attempt_that_ends_after_the_deadline_counts_if_it_succeeds() -> None:
    assert Play(seconds=5.0)(CALL, [SEVEN], deadline=5.0) == 7


def cancelled_key(play: Play) -> str:
    """The idempotency key of a decision, which the cleanup has to cancel."""
    [cleanup] = play.cleanups
    key = json.loads(play.requests[0].content or b"")["idempotency_key"]
    assert cleanup.request is not None
    assert cleanup.request.method == "POST"
    assert cleanup.request.path == "/v1/bandits/songs/cancellations"
    assert json.loads(cleanup.request.content or b"") == {"keys": [key]}
    assert cleanup.cleanup is None
    return str(key)


def decide(key: str | None = None, dry_run: bool = False, fallback: list[str] | None = None, count: int = 1) -> ClientCall[Any]:
    return call_of(lambda bandit: bandit.decide(count=count, key=key, dry_run=dry_run, fallback=fallback))


GIVEN_UP: list[list[Result]] = [
    [LOST, LOST],
    [LOST, NOT_SENT],
    [busy(504), busy(504)],
    [problem("internal")],
    [LOST, problem("archived")],
    [GARBLED],
]


@pytest.mark.parametrize("results", GIVEN_UP)
def test_a_decision_that_may_have_been_made_is_cancelled_when_the_client_gives_up(results: list[Result]) -> None:
    play = Play()
    with pytest.raises(RottingError):
        play(decide(), results, retries=1)
    assert time.time() - 60 < key_time(cancelled_key(play)) <= time.time()


@pytest.mark.parametrize("results", GIVEN_UP)
@pytest.mark.parametrize("call", [decide(key="mine"), decide(dry_run=True), call_of(lambda bandit: bandit.show())])
def test_a_key_of_the_caller_and_calls_that_decide_nothing_need_no_cleanup(
    call: ClientCall[Any], results: list[Result]
) -> None:
    play = Play()
    with pytest.raises(RottingError):
        play(call, results, retries=1)
    assert play.cleanups == []


@pytest.mark.parametrize(
    "results",
    [[NOT_SENT, NOT_SENT], [problem("invalid-value")], [busy(429), busy(429)], [problem("store-full"), NOT_SENT]],
)
def test_a_decision_that_cannot_have_been_made_is_not_cancelled(results: list[Result]) -> None:
    play = Play()
    with pytest.raises(RottingError):
        play(decide(), results, retries=1)
    assert play.cleanups == []


def test_a_decision_that_was_made_at_the_second_attempt_is_not_cancelled() -> None:
    play = Play()
    assert play(decide(), [LOST, DECIDED])[0].id == "d1"
    assert play.cleanups == []


@pytest.mark.parametrize("before", [[], [LOST]])
def test_an_interruption_goes_on_unchanged_after_the_cleanup(before: list[Result]) -> None:
    play, error = Play(), KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt) as caught:
        play(decide(fallback=["a"]), [*before, error])
    assert caught.value is error
    cancelled_key(play)


def test_an_interrupted_pause_is_cleaned_up_if_an_attempt_before_it_was_sent() -> None:
    for first, cleanups in ((LOST, 1), (NOT_SENT, 0)):
        play = Play()
        with pytest.raises(KeyboardInterrupt, match="in a pause"):
            play(decide(), [first, PAUSED])
        assert len(play.cleanups) == cleanups


OUTAGES: list[list[Result]] = [
    [NOT_SENT] * 2,
    [LOST] * 2,
    [busy(503)] * 2,
    [busy(504)] * 2,
    [busy(507)] * 2,
    [problem("internal")],
]


@pytest.mark.parametrize("results", OUTAGES)
def test_a_fallback_is_chosen_here_when_the_service_cannot_be_reached(results: list[Result]) -> None:
    play = Play()
    [chosen] = play(decide(fallback=["a", "b", "c"]), results, retries=1)
    assert (chosen.id, chosen.round, chosen.propensity) == ("", 0, 1 / 3)
    assert chosen.arm in {"a", "b", "c"}
    assert len(play.cleanups) == (results[0] != NOT_SENT and results[0] != busy(507))
    page = Play()(decide(fallback=["a", "b", "c"], count=3), results, retries=1)
    assert sorted(each.arm for each in page) == ["a", "b", "c"]
    assert [each.propensity for each in page] == [1 / 3, 1 / 2, 1.0]


def test_a_fallback_is_chosen_when_the_deadline_passes() -> None:
    for seconds, result in ((0.1, LOST), (0.0, NOT_SENT), (0.0, busy(retry_after="1"))):
        play = Play(seconds)
        [chosen] = play(decide(fallback=["a"]), [result], deadline=0.1)
        assert (chosen.arm, play.pauses) == ("a", [])


def test_fallbacks_are_chosen_uniformly() -> None:
    call = decide(fallback=["a", "b"])
    counts = Counter(Play()(call, [NOT_SENT], retries=0)[0].arm for _ in range(1_000))
    assert counts.total() == 1_000
    assert abs(counts["a"] - 500) < 110  # 7 standard deviations: fails once in 1e11 runs


@pytest.mark.parametrize("refusal", [problem("invalid-value"), problem("forbidden"), problem("not-found"), busy(429), GARBLED])
def test_a_request_that_is_refused_has_no_fallback(refusal: ClientResponse) -> None:
    with pytest.raises(RottingError):
        Play()(decide(fallback=["a"]), [LOST, refusal], retries=1)


def test_a_closed_client_has_no_fallback() -> None:
    with pytest.raises(ServiceError, match="closed"):
        Play()(decide(fallback=["a"]), [LOST, ServiceError("the client is closed")])


def expired(count: int, **more: bool) -> ClientResponse:
    return ClientResponse(200, json.dumps({"results": [], "expired": count, **more}).encode(), {})


def test_expiring_is_repeated_while_there_are_more() -> None:
    call = call_of(lambda bandit: bandit.expire(older_than_rounds=5))
    play = Play()
    assert play(call, [expired(10_000, more=True), LOST, expired(10_000, more=True), expired(3, more=False)]) == 20_003
    assert play.requests == [call.request] * 4
    assert play.pauses == [0.5]
    assert Play()(call, [expired(8)]) == 8  # a service that knows nothing of `more`


def test_each_portion_has_attempts_of_its_own_and_all_share_the_deadline() -> None:
    call = call_of(lambda bandit: bandit.expire(older_than_rounds=5))
    portion: list[Result] = [LOST, expired(1, more=True)]
    assert Play()(call, [*portion * 20, expired(0)], retries=1) == 20
    with pytest.raises(ServiceUnreachableError, match="deadline of 30 s"):
        Play(seconds=3.0)(call, [expired(1, more=True)] * 10)


def test_a_service_that_has_more_but_expires_none_is_not_asked_for_ever() -> None:
    with pytest.raises(ServiceError, match="^the response is not JSON as documented"):
        Play()(call_of(lambda bandit: bandit.expire(older_than_rounds=5)), [expired(0, more=True)])


@pytest.mark.parametrize("kind", KINDS)
def test_every_problem_becomes_an_exception_with_its_sentence(kind: str) -> None:
    response = problem(kind)
    is_busy = response.status in {408, 429, 503, 507}
    with pytest.raises(RottingError, match="^(the store )?count must be 1 or more, got 0$") as caught:
        Play()(CALL, [response] * (2 if is_busy else 1), retries=1)
    expected: dict[str, type[RottingError]] = {"store-failed": StoreFailedError, "store-full": StoreFullError}
    by_status = {401: ServiceDeniedError, 403: ServiceDeniedError, 429: ServiceError, 500: ServiceError, 503: ServiceError}
    assert type(caught.value) is expected.get(kind, by_status.get(response.status, InvalidValueError))


def test_a_busy_service_is_not_mistaken_for_a_broken_store() -> None:
    with pytest.raises(ServiceError, match="^too busy$"):
        Play()(CALL, [busy(503)], retries=0)


UNREADABLE = [
    (500, b"<html>"),
    (418, b""),
    (404, b"[1]"),
    (400, b'{"detail": 3}'),
    (422, b'"detail"'),
    (503, b"\xff\xfe\x00"),
    (500, b"[" * 100_000),
    (200, b""),
    (200, b"\x80"),
    (200, b"[" * 100_000),
    (201, b"9" * 10_000),
    (199, b"{}"),
    (600, b""),
]


@pytest.mark.parametrize(("status", "content"), UNREADABLE)
def test_a_response_that_is_not_as_documented_is_a_service_error(status: int, content: bytes) -> None:
    start = f"^the response is not JSON as documented: status {status} and "
    with pytest.raises(ServiceError, match=start):
        Play()(CALL, [ClientResponse(status, content, {})], retries=0)


NO_REASONS: list[object] = [None, "text", [1, 2, 3, 4, 5, 6], {}]
WRONG_DECISIONS: list[object] = [
    *({**DECISION, "reason": REASON, **wrong} for wrong in ({"id": 1}, {"round": "1"}, {"round": None}, {"propensity": "1"})),
    *({**DECISION, "reason": {**REASON, name: ["1"]}} for name in REASON),
    *({**DECISION, "reason": {**REASON, name: None}} for name in ("window", "pulls", "pending")),
    *({**DECISION, "reason": reason} for reason in NO_REASONS),
    DECISION,
    list(DECISION),
    None,
]


@pytest.mark.parametrize("wrong", WRONG_DECISIONS)
def test_a_decision_with_a_wrong_field_is_a_service_error(wrong: object) -> None:
    decide = call_of(lambda bandit: bandit.decide(key="key"))
    response = ClientResponse(200, json.dumps({"decisions": [wrong]}).encode(), {})
    with pytest.raises(ServiceError, match="^the response is not JSON as documented"):
        Play()(decide, [response])


def test_a_redirect_is_not_followed_and_names_its_target() -> None:
    message = r"^url must be the address of the service itself, got a redirect \(status 302\) to 'https://x/'$"
    with pytest.raises(ServiceError, match=message):
        Play()(CALL, [ClientResponse(302, b"", {"location": "https://x/"})])


def test_a_response_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "MAX_CONTENT", 3)
    assert Play()(CALL, [ClientResponse(200, b"123", {})]) == 123
    with pytest.raises(ServiceError, match="^the response has more than 3 bytes$"):
        Play()(CALL, [ClientResponse(200, b"1234", {})])


EVERY_CALL: list[ClientCall[Any]] = [
    create("n", rotting.UCB1(), ["a"]),
    bandits(),
    call_of(lambda bandit: bandit.show()),
    call_of(lambda bandit: bandit.archive()),
    call_of(lambda bandit: bandit.decide()),
    call_of(lambda bandit: bandit.decide(count=2, key="key")),
    call_of(lambda bandit: bandit.reward_many([("id", 1.0)])),
    call_of(lambda bandit: bandit.reward("id", 1.0)),
    call_of(lambda bandit: bandit.cancel("id")),
    call_of(lambda bandit: bandit.expire("id")),
    call_of(lambda bandit: bandit.expire(older_than_rounds=3, missing=0.5)),
    call_of(lambda bandit: bandit.add_arm("a")),
    call_of(lambda bandit: bandit.retire("a")),
    call_of(lambda bandit: bandit.explain()),
    call_of(lambda bandit: bandit.log()),
]
FIELDS = ["bandits", "name", "next", "decisions", "id", "arm", "round", "propensity", "reason", "results", "outcome", "detail"]
FIELDS += ["expired", "more", "arms", "index", "mean", "window", "width", "pulls", "pending", "events", "number", "epoch"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), children, max_size=8)


CONTENT = st.binary(max_size=50) | st.recursive(SCALARS, nested).map(lambda value: json.dumps(value).encode())
HEADERS = st.dictionaries(st.sampled_from(["retry-after", "location", "content-type"]), st.text(max_size=10))
RESPONSES = st.builds(ClientResponse, st.integers(100, 999) | st.sampled_from([200, 422, 503]), CONTENT, HEADERS)


@given(st.sampled_from(EVERY_CALL), RESPONSES)
def test_no_response_raises_a_foreign_exception(call: ClientCall[Any], response: ClientResponse) -> None:
    with suppress(RottingError, IndexError):  # IndexError: the next portion has no response
        Play()(call, [response], retries=0)


def test_what_is_gone_at_a_second_attempt_was_removed_at_the_first() -> None:
    call = call_of(lambda bandit: bandit.retire("hip/hop"))
    assert call.request == ClientRequest("DELETE", "/v1/bandits/songs/arms/hip%2Fhop?keep=true", None)
    assert Play()(call, [LOST, problem("not-found")]) is None
    with pytest.raises(InvalidValueError):
        Play()(call, [problem("not-found")])


@pytest.mark.parametrize("call", [call_of(lambda bandit: bandit.delete()), call_of(lambda bandit: bandit.remove_arm("a"))])
def test_what_the_first_attempt_has_deleted_is_not_missing(call: ClientCall[Any]) -> None:
    assert Play()(call, [LOST, problem("not-found")]) is None
    with pytest.raises(InvalidValueError):
        Play()(call, [problem("not-found")])
