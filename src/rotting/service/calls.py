"""What a client asks a service: requests, what their answers mean, and when to try again. Nothing here does I/O.

`asking` is a generator: it yields what to do next (send a request, pause, clean up) and is sent what came of it. `Client` and
`AsyncClient` both drive it; they differ only in how they wait.
"""

import json
import math
import random
import re
import secrets
import time
from collections.abc import Callable, Generator, Hashable, Iterable
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from rotting.errors import (
    InvalidTypeError,
    InvalidValueError,
    RottingError,
    ServiceDeniedError,
    ServiceError,
    ServiceUnreachableError,
    StoreFailedError,
    StoreFullError,
    brief,
)
from rotting.live.decisions import Decision, Outcome, id_of
from rotting.live.explanations import ArmExplanation, Explanation
from rotting.policy import Policy
from rotting.store.protocol import Event

T = TypeVar("T")

_PORTION = 10_000  # decisions that a service expires with one request, at most

PAUSE_UNIT, LONGEST_PAUSE = 0.25, 5.0  # seconds
LONGEST_CONTENT = 64 * 2**20
"""The most bytes of a response body that are read."""

_TRY_AGAIN = {408, 429, 502, 503, 504, 507}  # statuses of problems that may pass
_ERRORS_BY_STATUS: dict[int, type[RottingError]] = {401: ServiceDeniedError, 403: ServiceDeniedError, 429: ServiceError}
_ERRORS_BY_TYPE: dict[str, type[RottingError]] = {
    "urn:rotting:problem:store-failed": StoreFailedError,
    "urn:rotting:problem:store-full": StoreFullError,
}


class Request(NamedTuple):
    """An HTTP request; `path` is relative to the address of the service."""

    method: str
    path: str
    content: bytes | None
    headers: dict[str, str]


class Answer(NamedTuple):
    """An HTTP response; the names of its headers are in lower case."""

    status: int
    content: bytes
    headers: dict[str, str]


class NoAnswer(NamedTuple):
    """An attempt without a response; `sent` is False if the request cannot have reached the service."""

    why: str
    sent: bool = True


class Interrupted(NamedTuple):
    """An exception that ended a step from outside, such as `KeyboardInterrupt`; `sent` as for `NoAnswer`."""

    error: BaseException
    sent: bool


class Call(NamedTuple, Generic[T]):
    """A request, and what its answer means.

    Args:
        request: what is sent; sending it twice has the effect of sending it once.
        meaning: makes the result from the JSON of the answer, or returns the next call where several are needed.
        gone: whether a second attempt may find that there is nothing left to do (404).
        cleanup: what to ask if the caller gives up while the service may have done what was asked.
    """

    request: Request
    meaning: "Callable[[Any], T | Call[T]]"
    gone: bool = False
    cleanup: "Call[Any] | None" = None


class Limits(NamedTuple):
    """How long and how often to try.

    Args:
        timeout: seconds for each attempt.
        retries: attempts after the first one, for each request.
        deadline: seconds for the call as a whole, pauses included; None for no limit.
    """

    timeout: float
    retries: int
    deadline: float | None


class Send(NamedTuple):
    """Step: send a request, and report the `Answer` or `NoAnswer`."""

    request: Request
    timeout: float


class Pause(NamedTuple):
    """Step: wait for some seconds."""

    seconds: float


class CleanUp(NamedTuple):
    """Step: make another call if that is possible without delay; nobody needs its result."""

    call: Call[Any]


Step = Send | Pause | CleanUp
Heard = Answer | NoAnswer | Interrupted | None


# --- What an answer means ---------------------------------------------------------------------------------------------------


def _unreadable(answer: Answer) -> ServiceError:
    length = f" ({len(answer.content)} bytes)" if len(answer.content) > 60 else ""
    return ServiceError(
        f"the service must answer with JSON as documented, got status {answer.status} and {answer.content[:60]!r}{length}"
    )


def _problem(answer: Answer) -> RottingError:
    """Return the exception for an answer that is a problem document, or should be one."""
    if 300 <= answer.status < 400:
        place = brief(answer.headers.get("location", ""))
        return ServiceError(
            f"url must be the address of the service itself, got a redirect (status {answer.status}) to {place}"
        )
    try:
        document = json.loads(answer.content)
        detail = _field(document, "detail", str)
        by_type = _ERRORS_BY_TYPE.get(str(document.get("type")))
    except (ValueError, LookupError, TypeError, RecursionError):
        return _unreadable(answer)
    kind = by_type or _ERRORS_BY_STATUS.get(answer.status)
    if kind is None and 400 <= answer.status < 500:
        return _invalid_value(document, answer.status)
    return (kind or ServiceError)(detail)


def _invalid_value(document: dict[str, Any], status: int) -> InvalidValueError:
    field, rule, value = (document.get(name) for name in ("field", "rule", "value"))
    if not (isinstance(field, str) and isinstance(rule, str) and isinstance(value, str)):  # from a proxy
        got = f"status {status}: {document['detail']}"
        return InvalidValueError("request", "be accepted by the service", status, got=got)
    return InvalidValueError(field, rule, value, got=value, hint=str(document.get("hint") or ""))


def _result(call: Call[T], answer: Answer, is_retry: bool) -> T | Call[T]:
    """Return what an answer means, or raise what it says is wrong."""
    if len(answer.content) > LONGEST_CONTENT:
        raise ServiceError(f"the service must answer with at most {LONGEST_CONTENT} bytes, got more")
    if answer.status == 404 and call.gone and is_retry:
        return call.meaning(None)
    if not 200 <= answer.status < 300:
        raise _problem(answer)
    try:
        return call.meaning(json.loads(answer.content))
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        raise _unreadable(answer) from None


# --- When to try again ------------------------------------------------------------------------------------------------------


def _may_have_acted(heard: Heard) -> bool:
    """Return whether the service may have done what was asked, for all that is known after this step.

    A server error does not exclude it: a proxy may have given up before the service did, or a write may have failed halfway. A
    full disk (507) does: nothing was written.
    """
    if isinstance(heard, Answer):
        return heard.status < 300 or (heard.status >= 500 and heard.status != 507)
    return heard is not None and heard.sent


def _pause(attempt: int, heard: Answer | NoAnswer, chance: Callable[[], float]) -> float:
    """Return how many seconds to wait after some attempts, of which the first is number 1."""
    backoff = min(LONGEST_PAUSE, PAUSE_UNIT * 2.0**attempt) * (0.5 + 0.5 * chance())
    asked_for = heard.headers.get("retry-after", "") if isinstance(heard, Answer) else ""
    return max(backoff, float(asked_for)) if re.fullmatch("[0-9]{1,9}", asked_for) else backoff


def _out_of_time(limits: Limits, attempt: int, last: Answer | NoAnswer | None) -> ServiceUnreachableError:
    if isinstance(last, Answer):
        heard = f"status {last.status}: {_problem(last)}"
    else:
        heard = "nothing" if last is None else last.why
    attempts = "1 attempt" if attempt == 1 else f"{attempt} attempts"
    return ServiceUnreachableError(
        f"the service did not do what was asked within the deadline of {limits.deadline:g} s ({attempts}); last heard: {heard}"
    )


def _out_of_attempts(attempt: int, last: Answer | NoAnswer) -> RottingError:
    if isinstance(last, Answer):
        return _problem(last)
    return ServiceUnreachableError(f"the service gave no answer in {attempt} attempts: {last.why}")


def _attempts(
    call: Call[T], limits: Limits, clock: Callable[[], float], chance: Callable[[], float]
) -> Generator[Step, Heard, T]:
    """Send a request until there is an answer that settles it, and the requests that follow from its answer."""
    end = math.inf if limits.deadline is None else clock() + limits.deadline
    last: Answer | NoAnswer | None = None
    attempt = 0
    while True:
        left = end - clock()
        if left <= 0.0:
            raise _out_of_time(limits, attempt, last)
        heard = yield Send(call.request, min(limits.timeout, left))
        if isinstance(heard, Interrupted):
            raise heard.error
        assert heard is not None
        attempt, last = attempt + 1, heard
        if isinstance(heard, Answer) and heard.status not in _TRY_AGAIN:
            result = _result(call, heard, is_retry=attempt > 1)
            if not isinstance(result, Call):
                return result
            call, attempt = result, 0
            continue
        if attempt > limits.retries and clock() < end:
            raise _out_of_attempts(attempt, heard)
        pause = _pause(attempt, heard, chance)
        if clock() + pause >= end:
            raise _out_of_time(limits, attempt, heard)
        interruption = yield Pause(pause)
        if isinstance(interruption, Interrupted):
            raise interruption.error


def asking(
    call: Call[T], limits: Limits, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
) -> Generator[Step, Heard, T]:
    """Ask until there is an answer that settles the call; yield what to do next, and return the result.

    Before attempt k + 1 (k = 1, 2, ...) there is a pause of `min(5, 0.25 * 2**k)` seconds times a random factor from [0.5, 1],
    or as long as the `Retry-After` header asks for if that is longer. If the pause would not end before the deadline, the call
    fails at once. The last step of a call that fails may be to clean up.

    Example:
        >>> call = Call(Request("GET", "/livez", None, {}), lambda data: data["status"])
        >>> steps = asking(call, Limits(timeout=10.0, retries=1, deadline=None), chance=lambda: 1.0)
        >>> next(steps).request.path
        '/livez'
        >>> steps.send(NoAnswer("connection reset"))
        Pause(seconds=0.5)
        >>> next(steps).request.path
        '/livez'
        >>> try:
        ...     steps.send(Answer(200, b'{"status": "alive"}', {}))
        ... except StopIteration as done:
        ...     print(done.value)
        alive
    """
    steps = _attempts(call, limits, clock, chance)
    heard: Heard = None
    may_have_acted = False
    try:
        while True:
            heard = yield steps.send(heard)
            may_have_acted = may_have_acted or _may_have_acted(heard)
    except StopIteration as done:
        result: T = done.value
        return result
    except GeneratorExit:
        raise
    except BaseException:
        if may_have_acted and call.cleanup is not None:
            yield CleanUp(call.cleanup)
        raise


# --- What can be asked ------------------------------------------------------------------------------------------------------


def _call(method: str, path: str, meaning: Callable[[Any], T | Call[T]], body: Any = None, **query: Any) -> Call[T]:
    try:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
    except TypeError as error:
        raise InvalidTypeError("the request", "hold only what JSON can carry", body, hint=f": {error}") from None
    except (ValueError, RecursionError):
        raise InvalidValueError(
            "the request", "hold only what JSON can carry", body, got="NaN, an infinite number or a loop"
        ) from None
    headers = {} if content is None else {"Content-Type": "application/json"}
    given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
    return Call(Request(method, f"{path}?{_encoded(given)}" if given else path, content, headers), meaning)


def _encoded(query: dict[str, str]) -> str:
    try:
        return urlencode(query)
    except UnicodeEncodeError:
        raise InvalidValueError("the query", "be valid Unicode", query) from None


def _segment(field: str, text: object) -> str:
    """Return a name as one segment of a path."""
    if not isinstance(text, str):
        raise InvalidTypeError(field, "be a string", text)
    try:
        quoted = quote(text, safe="")
    except UnicodeEncodeError:
        raise InvalidValueError(field, "be valid Unicode", text) from None
    # HTTP clients and proxies resolve the segments "." and "..".
    return quoted.replace(".", "%2E") if quoted in {".", ".."} else quoted


def _bandit_path(name: str, *more: str) -> str:
    return "/".join(["/v1/bandits", _segment("name", name), *more])


def _listed(field: str, values: Iterable[Any] | None) -> list[Any] | None:
    try:
        return None if values is None else list(values)
    except TypeError:
        raise InvalidTypeError(field, "be a list", values) from None


def _field(data: Any, name: str, *kinds: type) -> Any:
    """Return a field of a JSON object; raise TypeError or KeyError, which `_result` reports, if it is not as documented."""
    value = data[name]
    if not isinstance(value, kinds):
        raise TypeError(name)
    return value


def _no_result(data: Any) -> None:
    """Ignore what the answer says beyond that the request was carried out."""


def _number(data: Any, name: str) -> float:
    value = _field(data, name, int, float, type(None))
    return math.nan if value is None else value


def _reason(data: Any) -> ArmExplanation:
    index, mean, width = (_number(data, name) for name in ("index", "mean", "width"))
    window, pulls, pending = (_field(data, name, int) for name in ("window", "pulls", "pending"))
    return ArmExplanation(index, mean, window, width, pulls, pending)


def _decision(data: Any) -> Decision:
    key = _field(data, "id", str, type(None)) or ""
    return Decision(key, data["arm"], _field(data, "round", int), _number(data, "propensity"), _reason(data["reason"]))


def _outcomes(data: Any, count: int) -> list[Outcome]:
    found = [_field(each, "outcome", str) for each in _field(data, "results", list)]
    if len(found) != count:
        raise ValueError("results")
    return found


def create(
    name: str,
    policy: Policy | None = None,
    arms: Iterable[str] | None = None,
    *,
    like: str | None = None,
    seed: int | None = None,
    pending: Literal["shrink", "ignore"] | None = None,
    max_pending: int | None = None,
) -> Call[None]:
    """Make a bandit; the same request again changes nothing."""
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidTypeError("policy", "be a policy such as rotting.UCB1()", policy)
    made = {} if policy is None else policy.to_json()
    given = {
        "policy": made.get("policy"),
        "params": made.get("params"),
        "arms": _listed("arms", arms),
        "like": like,
        "seed": seed,
        "pending": pending,
        "max_pending": max_pending,
    }
    return _call("PUT", _bandit_path(name), _no_result, {key: value for key, value in given.items() if value is not None})


class BanditPage(NamedTuple):
    """Names of some bandits, and the `after` of the next page; None on the last one."""

    names: list[str]
    next: str | None


def bandits(after: str = "", limit: int = 1_000) -> Call[BanditPage]:
    """List names of bandits, in their order."""

    def page(data: Any) -> BanditPage:
        return BanditPage([_field(each, "name", str) for each in data["bandits"]], _field(data, "next", str, type(None)))

    return _call("GET", "/v1/bandits", page, after=after, limit=limit)


def show(name: str) -> Call[dict[str, Any]]:
    """Return all that is known of a bandit."""

    def meaning(data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise TypeError
        return data

    return _call("GET", _bandit_path(name), meaning)


def archive(name: str) -> Call[None]:
    """End the decisions of a bandit for good; it can still be read."""
    return _call("POST", _bandit_path(name, "archive"), _no_result)


def decide(
    name: str,
    arms: Iterable[str] | None,
    count: int | None,
    without: Iterable[str] | None,
    key: str | None,
    dry_run: bool = False,
) -> Call[tuple[Decision, ...]]:
    """Decide.

    Without a key the call gets a random one, so that a second attempt finds what the first one decided. Nobody else knows that
    key. If the caller gives up, nobody can ask for the decisions again, and the key is cancelled.
    """
    wanted = 1 if count is None else count
    own_key = secrets.token_hex(16)
    body = {
        "count": wanted,
        "allow": _listed("arms", arms),
        "exclude": _listed("without", without),
        "idempotency_key": own_key if key is None else key,
        "dry_run": dry_run,
    }

    def meaning(data: Any) -> tuple[Decision, ...]:
        made = tuple(map(_decision, _field(data, "decisions", list)))
        if len(made) != wanted:
            raise ValueError("decisions")
        return made

    call = _call("POST", _bandit_path(name, "decisions"), meaning, body)
    return call._replace(cleanup=cancel_key(name, own_key)) if key is None and not dry_run else call


def reward(name: str, rewards: Iterable[tuple[str | Decision, float]]) -> Call[list[Outcome]]:
    """Report the rewards of decisions."""
    try:
        pairs = [(decision, value) for decision, value in rewards]
    except (TypeError, ValueError):
        raise InvalidTypeError("rewards", "be pairs of a decision and a reward", rewards) from None
    body = [{"id": id_of(decision), "value": value} for decision, value in pairs]
    return _call("POST", _bandit_path(name, "rewards"), lambda data: _outcomes(data, len(body)), body)


def reward_one(name: str, decision: str | Decision, value: float) -> Call[Outcome]:
    """Report the reward of one decision."""
    body = [{"id": id_of(decision), "value": value}]
    return _call("POST", _bandit_path(name, "rewards"), lambda data: _outcomes(data, 1)[0], body)


def cancel(name: str, decision: str | Decision) -> Call[Outcome]:
    """End a decision that was never shown."""
    body = {"ids": [id_of(decision)]}
    return _call("POST", _bandit_path(name, "cancellations"), lambda data: _outcomes(data, 1)[0], body)


def cancel_key(name: str, key: str) -> Call[Outcome]:
    """End the decisions that were made with an idempotency key, and make the key unusable if there are none."""
    return _call("POST", _bandit_path(name, "cancellations"), lambda data: _outcomes(data, 1)[0], {"keys": [key]})


def expire(
    name: str,
    decision: str | Decision | None,
    older_than_rounds: int | None,
    missing: float | Literal["drop"],
    limit: int | None = None,
) -> Call[Outcome | int]:
    """End a decision that will have no reward, or those that are older than some rounds."""
    if decision is None:
        return _expire_older(name, older_than_rounds, missing, limit, so_far=0)
    body = {"ids": [id_of(decision)], "older_than_rounds": older_than_rounds, "missing": missing}
    return _call("POST", _bandit_path(name, "expirations"), lambda data: _outcomes(data, 1)[0], body)


def _expire_older(
    name: str, older_than_rounds: int | None, missing: float | Literal["drop"], limit: int | None, so_far: int
) -> Call[Outcome | int]:
    """End old decisions; a service that ends some of them with each request says that there are `more`."""

    def meaning(data: Any) -> int | Call[Outcome | int]:
        expired = _field(data, "expired", int)
        if not data.get("more", False) or (limit is not None and so_far + expired >= limit):
            return int(so_far + expired)
        if expired < 1:
            raise ValueError("more, but none expired")  # would repeat for ever
        return _expire_older(name, older_than_rounds, missing, limit, so_far + expired)

    body = {"ids": None, "older_than_rounds": older_than_rounds, "missing": missing}
    if limit is not None:
        body["limit"] = min(_PORTION, limit - so_far)
    return _call("POST", _bandit_path(name, "expirations"), meaning, body)


def add_arm(
    name: str, arm: str, resume: bool = False, prior: tuple[float, int] | Literal["pooled"] | None = None
) -> Call[None]:
    """Add an arm, or let one that was retired be chosen again."""
    return _call("PUT", _bandit_path(name, "arms", _segment("arm", arm)), _no_result, {"resume": resume, "prior": prior})


def remove_arm(name: str, arm: str, keep: bool) -> Call[None]:
    """Remove an arm; `keep` what was learned of it for later, or not."""
    call = _call("DELETE", _bandit_path(name, "arms", _segment("arm", arm)), _no_result, keep=keep)
    return call._replace(gone=True)


def explain(name: str) -> Call[Explanation]:
    """Return for each arm what decides whether it is chosen next."""

    def meaning(data: Any) -> Explanation:
        found: dict[Hashable, ArmExplanation] = {each["arm"]: _reason(each) for each in _field(data, "arms", list)}
        return Explanation(found)

    return _call("GET", _bandit_path(name, "explain"), meaning)


def log(name: str, after: int = 0, limit: int = 1_000) -> Call[list[Event]]:
    """Read events."""

    def event(data: Any) -> Event:
        return Event(_field(data, "number", int), _field(data, "epoch", int), name, _field(data, "payload", dict))

    def meaning(data: Any) -> list[Event]:
        return [event(each) for each in _field(data, "events", list)]

    return _call("GET", _bandit_path(name, "log"), meaning, after=after, limit=limit)
