"""Sends a request until it succeeds, is refused, or its attempts or its deadline run out. Nothing here does I/O.

`send_with_retries` is a coroutine, which awaits the methods of a `Transport`. Those of the blocking one block instead of
suspending it, so that `run_blocking` gets its result at once.
"""

import json
import math
import random
import re
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Generic, NamedTuple, NoReturn, Protocol, TypeVar, cast

import msgspec

from rotting.common.short_numbers import plural
from rotting.errors import (
    InvalidValueError,
    RottingError,
    ServiceDeniedError,
    ServiceError,
    ServiceUnreachableError,
    StoreError,
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
_STORE_ERRORS: dict[str, type[StoreError]] = {
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
    """An attempt without a response; `sent` is False only if the request cannot have reached the service."""

    reason: str
    sent: bool = True


def _same_name(field: str) -> str:
    return field


@dataclass(frozen=True, slots=True)
class ClientCall(Generic[T_co]):
    """A request, and how to read its response. Sending the request twice has the same effect as sending it once.

    Args:
        request: the request; None if the result is known without one: `parse` gets None.
        parse: makes the result from the JSON of the response, or returns the next call.
        missing_is_done: whether status 404 to a second attempt means that the first attempt did the work.
        cleanup: returns a call to make if the caller gives up when the service may have acted already.
        fallback: returns a result to use if the service cannot be reached.
        parameter: returns the name of a parameter, given the name of a field of the body, for errors.
    """

    request: ClientRequest | None
    parse: "Callable[[object], T_co | ClientCall[T_co]]"
    missing_is_done: bool = False
    cleanup: "Callable[[], ClientCall[object]] | None" = None
    fallback: Callable[[], T_co] | None = None
    parameter: Callable[[str], str] = _same_name


class RetryLimits(NamedTuple):
    """How long and how often to try."""

    timeout: float  # seconds for each attempt
    retries: int  # attempts after the first one, for each request
    deadline: float | None  # seconds for the call as a whole, pauses included; None for no limit


class Transport(Protocol):
    """Sends requests for a client, and waits."""

    async def exchange(self, request: ClientRequest, timeout: float) -> ClientResponse | NoResponse:
        """Send a request and return its response."""

    async def pause(self, seconds: float) -> None:
        """Wait for some seconds."""

    def clean_up(self, call: ClientCall[object]) -> None:
        """Make a call in the background, and ignore its result."""


# --- Reading responses ------------------------------------------------------------------------------------------------------


class _Problem(msgspec.Struct):
    """What is read of a problem document."""

    detail: str
    type: str = ""
    field: str | None = None
    rule: str | None = None
    value: str | None = None
    hint: str | None = None


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
        document = msgspec.json.decode(response.content, type=_Problem)
    except (ValueError, RecursionError):
        return _unreadable(response)
    store_error = _STORE_ERRORS.get(document.type)
    if store_error is not None:
        return store_error(document.detail.removeprefix("the store "))
    kind = _ERRORS_BY_STATUS.get(response.status)
    if kind is not None or not 400 <= response.status < 500:
        return (kind or ServiceError)(document.detail)
    if document.field is None or document.rule is None or document.value is None:  # from a proxy
        got = f"status {response.status}: {document.detail}"
        return InvalidValueError("request", "be accepted by the service", response.status, got=got)
    return InvalidValueError(document.field, document.rule, document.value, got=document.value, hint=document.hint or "")


def _result(call: ClientCall[T], response: ClientResponse, is_retry: bool) -> T | ClientCall[T]:
    """Return the result in a response, or raise the exception for a problem."""
    if len(response.content) > MAX_CONTENT:
        raise ServiceError(f"the response has more than {MAX_CONTENT} bytes")
    if response.status == 404 and call.missing_is_done and is_retry:
        return call.parse(None)
    if not 200 <= response.status < 300:
        error = _problem(response)
        raise error.replace(field=call.parameter(error.field)) if isinstance(error, InvalidValueError) else error
    try:
        return call.parse(json.loads(response.content))
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        raise _unreadable(response) from None


# --- Retries ----------------------------------------------------------------------------------------------------------------


def _may_have_acted(result: ClientResponse | NoResponse) -> bool:
    """Return whether the service may have carried out the request, judging by the result of this attempt.

    A server error does not exclude it: a proxy may have given up before the service did, or a write may have failed halfway. A
    full disk (507) does: nothing was written.
    """
    if isinstance(result, ClientResponse):
        return result.status < 300 or (result.status >= 500 and result.status != 507)
    return result.sent


def _pause(attempt: int, last: ClientResponse | NoResponse, chance: Callable[[], float]) -> float:
    """Return how many seconds to wait after an attempt; the first attempt is number 1."""
    backoff = min(MAX_PAUSE, PAUSE_UNIT * 2.0**attempt) * (0.5 + 0.5 * chance())
    retry_after = last.headers.get("retry-after", "") if isinstance(last, ClientResponse) else ""
    return max(backoff, float(retry_after)) if re.fullmatch("[0-9]{1,9}", retry_after) else backoff


def _checked_time(left: float, limits: RetryLimits, attempt: int, last: ClientResponse | NoResponse | None) -> float:
    """Return how many seconds are left, or raise the error that none are."""
    if left > 0.0:
        return left
    if isinstance(last, ClientResponse):
        shown = f"last response: status {last.status}: {_problem(last)}"
    else:
        shown = "no response" if last is None else f"no response: {last.reason}"
    tried = f"within the deadline of {limits.deadline:g} s ({plural(attempt, 'attempt')})"
    raise ServiceUnreachableError(f"the request did not succeed {tried}; {shown}")


def _give_up(attempt: int, last: ClientResponse | NoResponse) -> NoReturn:
    if isinstance(last, ClientResponse):
        raise _problem(last)
    raise ServiceUnreachableError(f"the service did not respond in {plural(attempt, 'attempt')}: {last.reason}")


async def send_with_retries(
    call: ClientCall[T],
    transport: Transport,
    limits: RetryLimits,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> T:
    """Make a call and return its result, with all requests that its results ask for.

    `Client` documents the pauses between attempts. If the call fails although the service may have acted, it is cleaned up. If
    the service cannot be reached, the result is the fallback of the call, if it has one.
    """
    end = math.inf if limits.deadline is None else clock() + limits.deadline
    current, last, attempt = call, None, 0  # type: ClientCall[T], ClientResponse | NoResponse | None, int
    may_have_acted, is_outage = False, True
    try:
        while True:
            if current.request is None:
                return cast("T", current.parse(None))
            left = _checked_time(end - clock(), limits, attempt, last)
            had_acted, is_outage, may_have_acted = may_have_acted, False, True  # if it is interrupted
            last = await transport.exchange(current.request, min(limits.timeout, left))
            attempt += 1
            may_have_acted = had_acted or _may_have_acted(last)
            is_outage = last.status >= 500 if isinstance(last, ClientResponse) else True
            if isinstance(last, ClientResponse) and last.status not in _TEMPORARY:
                result = _result(current, last, is_retry=attempt > 1)
                if not isinstance(result, ClientCall):
                    return result
                current, attempt = result, 0
                continue
            left = end - clock()
            if attempt > limits.retries and left > 0.0:
                _give_up(attempt, last)
            pause = _pause(attempt, last, chance)
            _checked_time(left - pause, limits, attempt, last)
            await transport.pause(pause)
    except GeneratorExit:  # the event loop has ended
        raise
    except BaseException as error:
        if may_have_acted and call.cleanup is not None:
            transport.clean_up(call.cleanup())
        if call.fallback is None or not is_outage or not isinstance(error, RottingError):
            raise
        return call.fallback()


def run_blocking(coroutine: Coroutine[object, object, T]) -> T:
    """Return the result of a coroutine that never suspends.

    Example:
        >>> async def seven():
        ...     return 7
        >>> run_blocking(seven())
        7
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("the coroutine was suspended")
