"""Sends a request until it succeeds, is refused, or its attempts or its deadline run out. Nothing here does I/O.

`send_with_retries` is a generator: it yields the next step (send a request, pause, clean up) and is sent the result of it.
`Client` and `AsyncClient` both drive it; they differ only in how they wait.
"""

import json
import math
import random
import re
import time
from collections.abc import Callable, Generator
from typing import Generic, NamedTuple, TypeVar

from rotting.common.short_numbers import plural
from rotting.errors import (
    InvalidValueError,
    RottingError,
    ServiceDeniedError,
    ServiceError,
    ServiceUnreachableError,
    StoreFailedError,
    StoreFullError,
    brief,
)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

PAUSE_UNIT, MAX_PAUSE = 0.25, 5.0  # seconds
MAX_CONTENT = 64 * 2**20
"""The most bytes of a response body that are read."""

_TEMPORARY = {408, 429, 502, 503, 504, 507}  # statuses of problems that another attempt may not meet
_ERRORS_BY_STATUS: dict[int, type[RottingError]] = {401: ServiceDeniedError, 403: ServiceDeniedError, 429: ServiceError}
_ERRORS_BY_TYPE: dict[str, type[RottingError]] = {
    "urn:rotting:problem:store-failed": StoreFailedError,
    "urn:rotting:problem:store-full": StoreFullError,
}


class ClientRequest(NamedTuple):
    """An HTTP request; `path` is relative to the address of the service, and `content` is JSON."""

    method: str
    path: str
    content: bytes | None


class ClientResponse(NamedTuple):
    """An HTTP response; the names of its headers are in lower case."""

    status: int
    content: bytes
    headers: dict[str, str]


class NoResponse(NamedTuple):
    """An attempt without a response; `sent` is False if the request cannot have reached the service."""

    reason: str
    sent: bool = True


class Interrupted(NamedTuple):
    """An exception that ended a step from outside, such as `KeyboardInterrupt`; `sent` as for `NoResponse`."""

    error: BaseException
    sent: bool


class Call(NamedTuple, Generic[T_co]):
    """A request, and how to read its response. Sending the request twice has the same effect as sending it once."""

    request: ClientRequest
    parse: "Callable[[object], T_co | Call[T_co]]"  # makes the result from the JSON of the response, or returns the next call
    missing_is_done: bool = False  # whether status 404 to a second attempt means that the first attempt did the work
    cleanup: "Callable[[], Call[object]] | None" = None  # for a caller who gives up when the service may have acted already
    renamed: tuple[str, str] = ("", "")  # errors replace the first prefix, of fields of the body, by the second, of parameters


class RetryLimits(NamedTuple):
    """How long and how often to try."""

    timeout: float  # seconds for each attempt
    retries: int  # attempts after the first one, for each request
    deadline: float | None  # seconds for the call as a whole, pauses included; None for no limit


class SendRequest(NamedTuple):
    """Step: send a request; its result is a `ClientResponse` or a `NoResponse`."""

    request: ClientRequest
    timeout: float


class Pause(NamedTuple):
    """Step: wait for some seconds."""

    seconds: float


class CleanUp(NamedTuple):
    """Step: make another call if that is possible without delay; its result is ignored."""

    call: Call[object]


Step = SendRequest | Pause | CleanUp
StepResult = ClientResponse | NoResponse | Interrupted | None


# --- Reading responses ------------------------------------------------------------------------------------------------------


def field(data: object, name: str, kind: type[T]) -> T:
    """Return a field of a JSON object; raises TypeError or KeyError, which `_result` reports, if it is not as documented."""
    if not isinstance(data, dict):
        raise TypeError(name)
    value = data[name]
    if not isinstance(value, kind):
        raise TypeError(name)
    return value


_read_value = json.JSONDecoder().raw_decode


def _decode(content: bytes) -> object:
    """Decode UTF-8 JSON as `json.loads` does, in less time: that guesses the encoding, and searches for white space."""
    text = content.decode().strip(" \t\r\n")
    value, end = _read_value(text)
    if end < len(text):
        raise ValueError(text[end:])
    return value


def _unreadable(response: ClientResponse) -> ServiceError:
    length = f" ({len(response.content)} bytes)" if len(response.content) > 60 else ""
    return ServiceError(
        f"the response is not JSON as documented: status {response.status} and {response.content[:60]!r}{length}"
    )


def _problem(response: ClientResponse) -> RottingError:
    """Return the exception for a response that is a problem document, or should be one."""
    if 300 <= response.status < 400:
        target = brief(response.headers.get("location", ""))
        return ServiceError(
            f"url must be the address of the service itself, got a redirect (status {response.status}) to {target}"
        )
    try:
        document = json.loads(response.content)
        detail = field(document, "detail", str)
        by_type = _ERRORS_BY_TYPE.get(str(document.get("type")))
    except (ValueError, LookupError, TypeError, RecursionError):
        return _unreadable(response)
    kind = by_type or _ERRORS_BY_STATUS.get(response.status)
    if kind is None and 400 <= response.status < 500:
        return _invalid_value(document, response.status)
    return (kind or ServiceError)(detail)


def _invalid_value(document: dict[str, object], status: int) -> InvalidValueError:
    name, rule, value = (document.get(key) for key in ("field", "rule", "value"))
    if not (isinstance(name, str) and isinstance(rule, str) and isinstance(value, str)):  # from a proxy
        got = f"status {status}: {document['detail']}"
        return InvalidValueError("request", "be accepted by the service", status, got=got)
    return InvalidValueError(name, rule, value, got=value, hint=str(document.get("hint") or ""))


def _result(call: Call[T], response: ClientResponse, is_retry: bool) -> T | Call[T]:
    """Return the result in a response, or raise the exception for a problem."""
    if len(response.content) > MAX_CONTENT:
        raise ServiceError(f"the response has more than {MAX_CONTENT} bytes")
    if response.status == 404 and call.missing_is_done and is_retry:
        return call.parse(None)
    if not 200 <= response.status < 300:
        error = _problem(response)
        in_body, by_caller = call.renamed
        if isinstance(error, InvalidValueError) and in_body and error.field.startswith(in_body):
            error = error.replace(field=by_caller + error.field.removeprefix(in_body))
        raise error
    try:
        return call.parse(_decode(response.content))
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        raise _unreadable(response) from None


# --- Retries ----------------------------------------------------------------------------------------------------------------


def _may_have_acted(result: StepResult) -> bool:
    """Return whether the service may have carried out the request, judging by the result of this step.

    A server error does not exclude it: a proxy may have given up before the service did, or a write may have failed halfway. A
    full disk (507) does: nothing was written.
    """
    if isinstance(result, ClientResponse):
        return result.status < 300 or (result.status >= 500 and result.status != 507)
    return result is not None and result.sent


def _pause(attempt: int, last: ClientResponse | NoResponse, chance: Callable[[], float]) -> float:
    """Return how many seconds to wait after an attempt; the first attempt is number 1."""
    backoff = min(MAX_PAUSE, PAUSE_UNIT * 2.0**attempt) * (0.5 + 0.5 * chance())
    retry_after = last.headers.get("retry-after", "") if isinstance(last, ClientResponse) else ""
    return max(backoff, float(retry_after)) if re.fullmatch("[0-9]{1,9}", retry_after) else backoff


def _out_of_time(limits: RetryLimits, attempt: int, last: ClientResponse | NoResponse | None) -> ServiceUnreachableError:
    if isinstance(last, ClientResponse):
        shown = f"last response: status {last.status}: {_problem(last)}"
    else:
        shown = "no response" if last is None else f"no response: {last.reason}"
    attempts = plural(attempt, "attempt")
    return ServiceUnreachableError(
        f"the request did not succeed within the deadline of {limits.deadline:g} s ({attempts}); {shown}"
    )


def _out_of_attempts(attempt: int, last: ClientResponse | NoResponse) -> RottingError:
    if isinstance(last, ClientResponse):
        return _problem(last)
    return ServiceUnreachableError(f"the service did not respond in {plural(attempt, 'attempt')}: {last.reason}")


def _attempts(
    call: Call[T], limits: RetryLimits, clock: Callable[[], float], chance: Callable[[], float]
) -> Generator[Step, StepResult, T]:
    """Send a request until there is a final response, then any further requests that its result asks for."""
    end = math.inf if limits.deadline is None else clock() + limits.deadline
    last: ClientResponse | NoResponse | None = None
    attempt = 0
    while True:
        left = end - clock()
        if left <= 0.0:
            raise _out_of_time(limits, attempt, last)
        sent = yield SendRequest(call.request, min(limits.timeout, left))
        if isinstance(sent, Interrupted):
            raise sent.error
        assert sent is not None
        attempt, last = attempt + 1, sent
        if isinstance(sent, ClientResponse) and sent.status not in _TEMPORARY:
            result = _result(call, sent, is_retry=attempt > 1)
            if not isinstance(result, Call):
                return result
            call, attempt = result, 0
            continue
        if attempt > limits.retries and clock() < end:
            raise _out_of_attempts(attempt, sent)
        pause = _pause(attempt, sent, chance)
        if clock() + pause >= end:
            raise _out_of_time(limits, attempt, sent)
        waited = yield Pause(pause)
        if isinstance(waited, Interrupted):
            raise waited.error


def send_with_retries(
    call: Call[T], limits: RetryLimits, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
) -> Generator[Step, StepResult, T]:
    """Return a generator of the steps of a call, which ends when the call succeeds or fails for good, with its result.

    `Client` documents the pauses between attempts. The last step of a call that fails may be to clean up.

    Example:
        >>> call = Call(ClientRequest("GET", "/livez", None), lambda data: data["status"])
        >>> steps = send_with_retries(call, RetryLimits(timeout=10.0, retries=1, deadline=None), chance=lambda: 1.0)
        >>> next(steps).request.path
        '/livez'
        >>> steps.send(NoResponse("connection reset"))
        Pause(seconds=0.5)
        >>> next(steps).request.path
        '/livez'
        >>> try:
        ...     steps.send(ClientResponse(200, b'{"status": "alive"}', {}))
        ... except StopIteration as done:
        ...     print(done.value)
        alive
    """
    steps = _attempts(call, limits, clock, chance)
    return steps if call.cleanup is None else _clean_up_after(steps, call.cleanup)


def _clean_up_after(
    steps: Generator[Step, StepResult, T], cleanup: Callable[[], Call[object]]
) -> Generator[Step, StepResult, T]:
    """Yield the steps of a call, and one more to clean up if the call fails although the service may have acted."""
    step_result: StepResult = None
    may_have_acted = False
    try:
        while True:
            step_result = yield steps.send(step_result)
            may_have_acted = may_have_acted or _may_have_acted(step_result)
    except StopIteration as done:
        result: T = done.value
        return result
    except GeneratorExit:
        raise
    except BaseException:
        if may_have_acted:
            yield CleanUp(cleanup())
        raise
