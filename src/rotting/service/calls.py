"""What a client asks a service, without a connection: requests, what their answers mean, and when to ask again.

Nothing here waits. `asking` is a generator: it yields what to do next, a request or a pause, and is sent what came of it. So
the client that waits and the one that does not are the same but for that.
"""

import json
import math
import random
import secrets
from collections.abc import Callable, Generator, Hashable, Iterable
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from rotting.errors import (
    InvalidValueError,
    RottingError,
    ServiceDeniedError,
    ServiceError,
    ServiceUnreachableError,
    StoreFailedError,
    StoreFullError,
)
from rotting.live.decisions import Decision, Outcome
from rotting.live.explanations import ArmExplanation, Explanation
from rotting.policy import Policy
from rotting.store.protocol import Event

T = TypeVar("T")

_FIRST, _LONGEST = 0.1, 5.0  # seconds before the second attempt, and before any
_BUSY = {408, 429, 502, 503, 504, 507}  # of answers that may be another one soon
_ERRORS: dict[int, type[RottingError]] = {
    401: ServiceDeniedError,
    403: ServiceDeniedError,
    429: ServiceError,
    503: StoreFailedError,
    507: StoreFullError,
}


class Request(NamedTuple):
    """What is sent."""

    method: str
    path: str
    content: bytes | None
    headers: dict[str, str]


class Answer(NamedTuple):
    """What came back."""

    status: int
    content: bytes
    headers: dict[str, str]
    """With names in small letters."""


class NoAnswer(NamedTuple):
    """What was heard instead of an answer."""

    why: str


class Call(NamedTuple, Generic[T]):
    """A request, and what its answer means.

    Args:
        request: what is sent; to send it twice is the same as to send it once.
        meaning: makes the result of the answer's JSON.
        gone: whether a second attempt may find that there is nothing left to do (404).
    """

    request: Request
    meaning: Callable[[Any], T]
    gone: bool = False


Step = Request | float
"""What to do next: send a request, or wait for some seconds."""


def _error(answer: Answer) -> RottingError:
    """Return what an answer that is a problem says; the sentence names the field, the rule and the value."""
    try:
        detail = str(json.loads(answer.content)["detail"])
    except (ValueError, KeyError, TypeError):
        start = answer.content[:60]
        return ServiceError(f"the service must answer with JSON, got status {answer.status} and {start!r}")
    kind = _ERRORS.get(answer.status, InvalidValueError if answer.status < 500 else ServiceError)
    return kind(detail)


def _pause(attempt: int, answer: Answer | NoAnswer, chance: Callable[[], float]) -> float:
    """Return how long to wait: longer each time, never the same for all who wait, and as long as the service asks for."""
    wanted = answer.headers.get("retry-after", "") if isinstance(answer, Answer) else ""
    least = float(wanted) if wanted.isdigit() else 0.0
    most = min(_LONGEST, _FIRST * 2.0**attempt)
    return min(_LONGEST, least + chance() * most)


def asking(
    call: Call[T], retries: int, chance: Callable[[], float] = random.random
) -> Generator[Step, Answer | NoAnswer | None, T]:
    """Ask until there is an answer; yield what to do next, and return the result.

    Example:
        >>> steps = asking(Call(Request("GET", "/livez", None, {}), lambda told: told["status"]), retries=1, chance=lambda: 0.5)
        >>> next(steps).path
        '/livez'
        >>> steps.send(NoAnswer("the line is dead"))
        0.05
        >>> next(steps).path
        '/livez'
        >>> try:
        ...     steps.send(Answer(200, b'{"status": "alive"}', {}))
        ... except StopIteration as done:
        ...     print(done.value)
        alive
    """
    attempt = 0
    while True:
        answer = yield call.request
        assert answer is not None
        if isinstance(answer, Answer) and answer.status not in _BUSY:
            if answer.status < 300:
                return call.meaning(json.loads(answer.content))
            if answer.status == 404 and call.gone and attempt:
                return call.meaning(None)
            raise _error(answer)
        if attempt == retries:
            if isinstance(answer, Answer):
                raise _error(answer)
            raise ServiceUnreachableError(f"the service gave no answer in {attempt + 1} attempts: {answer.why}")
        yield _pause(attempt, answer, chance)
        attempt += 1


# --- What can be asked ------------------------------------------------------------------------------------------------------


def _call(method: str, path: str, meaning: Callable[[Any], T], body: Any = None, gone: bool = False, **query: Any) -> Call[T]:
    try:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
    except ValueError:
        raise InvalidValueError("body must hold finite numbers only, got one that is not") from None
    headers = {} if content is None else {"Content-Type": "application/json"}
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    target = f"{path}?{urlencode(given)}" if given else path
    return Call(Request(method, target, content, headers), meaning, gone)


def _nothing(told: Any) -> None:
    """An answer that says no more than that it is done."""


def _bandit(name: str, *more: str) -> str:
    return "/".join(["/v1/bandits", *(quote(each, safe="") for each in (name, *more))])


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _reason(told: dict[str, Any]) -> ArmExplanation:
    index, mean, width = (_number(told[field]) for field in ("index", "mean", "width"))
    return ArmExplanation(index, mean, told["window"], width, told["pulls"], told["pending"])


def _decision(told: dict[str, Any]) -> Decision:
    return Decision(told["id"] or "", told["arm"], told["round"], told["propensity"], _reason(told["reason"]))


def _outcomes(told: Any) -> list[Outcome]:
    return [each["outcome"] for each in told["results"]]


def create(
    name: str,
    policy: Policy | None = None,
    arms: Iterable[str] | None = None,
    *,
    like: str | None = None,
    seed: int | None = None,
    pending: Literal["young", "ignore"] | None = None,
    max_pending: int | None = None,
) -> Call[None]:
    """Make a bandit; the same again does nothing."""
    made = {} if policy is None else policy.to_json()
    given = {
        "policy": made.get("policy"),
        "params": made.get("params"),
        "arms": None if arms is None else list(arms),
        "like": like,
        "seed": seed,
        "pending": pending,
        "max_pending": max_pending,
    }
    return _call("PUT", _bandit(name), _nothing, {key: value for key, value in given.items() if value is not None})


class BanditPage(NamedTuple):
    """Some of the bandits."""

    names: list[str]
    next: str | None


def bandits(after: str = "", limit: int = 1_000) -> Call[BanditPage]:
    """List names of bandits, in their order."""

    def page(told: Any) -> BanditPage:
        return BanditPage([each["name"] for each in told["bandits"]], told["next"])

    return _call("GET", "/v1/bandits", page, after=after, limit=limit)


def show(name: str) -> Call[dict[str, Any]]:
    """Tell all about a bandit."""
    return _call("GET", _bandit(name), dict)


def archive(name: str) -> Call[None]:
    """Let a bandit decide no more."""
    return _call("POST", _bandit(name, "archive"), _nothing)


def decide(
    name: str,
    arms: Iterable[str] | None,
    count: int | None,
    without: Iterable[str] | None,
    key: str | None,
    dry_run: bool = False,
) -> Call[tuple[Decision, ...]]:
    """Decide; without a key it gets one here, so that a second attempt finds what the first one decided."""
    body = {
        "count": 1 if count is None else count,
        "allow": None if arms is None else list(arms),
        "exclude": None if without is None else list(without),
        "idempotency_key": secrets.token_hex(16) if key is None else key,
        "dry_run": dry_run,
    }
    return _call("POST", _bandit(name, "decisions"), lambda told: tuple(map(_decision, told["decisions"])), body)


def reward(name: str, rewards: Iterable[tuple[str, float]]) -> Call[list[Outcome]]:
    """Say what decisions paid."""
    body = [{"id": key, "value": value} for key, value in rewards]
    return _call("POST", _bandit(name, "rewards"), _outcomes, body)


def cancel(name: str, key: str) -> Call[Outcome]:
    """End a decision that was never shown."""
    return _call("POST", _bandit(name, "cancellations"), lambda told: _outcomes(told)[0], {"ids": [key]})


def expire(name: str, key: str | None, older_than_rounds: int | None, missing: float | Literal["drop"]) -> Call[Outcome | int]:
    """End a decision that will have no answer, or all that are older than some rounds."""
    body: dict[str, Any] = {"ids": None if key is None else [key], "older_than_rounds": older_than_rounds, "missing": missing}

    def meaning(told: Any) -> Outcome | int:
        return int(told["expired"]) if key is None else _outcomes(told)[0]

    return _call("POST", _bandit(name, "expirations"), meaning, body)


def add_arm(
    name: str, arm: str, resume: bool = False, prior: tuple[float, int] | Literal["like the others"] | None = None
) -> Call[None]:
    """Let an arm be chosen."""
    return _call("PUT", _bandit(name, "arms", arm), _nothing, {"resume": resume, "prior": prior})


def remove_arm(name: str, arm: str, keep: bool) -> Call[None]:
    """Do not choose an arm any more."""
    return _call("DELETE", _bandit(name, "arms", arm), _nothing, gone=True, keep=keep)


def explain(name: str) -> Call[Explanation]:
    """Say for each arm what decides whether it is chosen next."""

    def meaning(told: Any) -> Explanation:
        found: dict[Hashable, ArmExplanation] = {each["arm"]: _reason(each) for each in told["arms"]}
        return Explanation(found)

    return _call("GET", _bandit(name, "explain"), meaning)


def log(name: str, after: int = 0, limit: int = 1_000) -> Call[list[Event]]:
    """Read events."""

    def meaning(told: Any) -> list[Event]:
        return [Event(each["number"], each["epoch"], name, each["payload"]) for each in told["events"]]

    return _call("GET", _bandit(name, "log"), meaning, after=after, limit=limit)
