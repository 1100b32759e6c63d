"""Runs requests under the limits of the service: how many at a time, how long, and how much memory for their responses.

It registers a request, calls the application, turns errors into problem documents, sends the response, and counts it. It knows
neither routes nor bandits.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from rotting.errors import InvalidArgumentError, StoreError, StoreFullError
from rotting.service.access_log import AccessLog
from rotting.service.metrics import Metrics
from rotting.service.problem_documents import ProblemError, broken_rule
from rotting.service.requests import LARGE_BODY, ByteBudget, ClientGoneError, Request, Response, Send, send_response

_log = logging.getLogger("rotting.service")
_PROBLEM = b"application/problem+json"
_MAX_REQUESTS = 512  # at the same time; more are refused
_MAYBE_DONE = "; the request may have been carried out"
_CLIENT_GONE = 499  # the status in the access log if no response could be sent

Respond = Callable[[Request, Send], Awaitable[Response | None]]


class Transport:
    """Runs requests and sends their responses.

    Args:
        respond: returns the response to a request, or None if it was sent as a stream.
        deadline: seconds after which a request gets status 503.
        memory: for large responses that are being sent.
        metrics: counts responses.
        access_log: gets a line for each response.
        stopping: set when the service stops.
    """

    def __init__(
        self,
        respond: Respond,
        deadline: float,
        memory: ByteBudget,
        metrics: Metrics,
        access_log: AccessLog | None,
        stopping: asyncio.Event,
    ) -> None:
        self._respond, self._deadline, self._memory = respond, deadline, memory
        self._metrics, self._access_log, self._stopping = metrics, access_log, stopping
        self._running: dict[asyncio.Task[object], tuple[Request, float]] = {}

    @property
    def running(self) -> int:
        """How many requests are running."""
        return len(self._running)

    def check_room(self) -> None:
        """Refuse a request if too many are running."""
        if len(self._running) > _MAX_REQUESTS:
            raise ProblemError("overloaded", f"{_MAX_REQUESTS} requests are running already", retry_after="1")

    def cancel_late_requests(self) -> None:
        """Cancel the requests whose deadline has passed; to be called regularly."""
        late = time.monotonic() - self._deadline
        for task, (request, began) in list(self._running.items()):
            if began < late and not (request.is_stream or request.timed_out):
                request.timed_out = True
                task.cancel()

    async def run(self, request: Request, send: Send) -> None:
        """Send the response to a request, whatever happens while it is made."""
        began, task = time.monotonic(), asyncio.current_task()
        assert task is not None
        self._running[task] = (request, began)
        status = _CLIENT_GONE
        try:
            status = await self._send_response(request, send, task)
        except asyncio.CancelledError:
            if not request.timed_out:
                raise
        finally:
            del self._running[task]
            self._count(request, status, began)

    async def _send_response(self, request: Request, send: Send, task: asyncio.Task[object]) -> int:
        """Send the response, and return its status."""
        reserved = 0
        try:
            try:
                response = await self._respond(request, send)
                if response is not None and len(response.body) > LARGE_BODY:
                    self._memory.take(len(response.body))
                    reserved = len(response.body)
            except ClientGoneError:
                return _CLIENT_GONE
            except asyncio.CancelledError:
                if request.is_stream or not (request.timed_out or self._stopping.is_set()):
                    raise
                task.uncancel()
                response = self._cancelled(request)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client must get a response
                response = _error_response(request, error)
            if response is None:
                return 200
            close = response.status >= 400 and not await request.drop_body()
            await send_response(send, response, close)
            return response.status
        finally:
            self._memory.give_back(reserved)

    def _count(self, request: Request, status: int, began: float) -> None:
        responses = self._metrics.responses
        responses[status] = responses.get(status, 0) + 1
        if self._access_log is not None:
            self._access_log.add(request, status, time.monotonic() - began)

    def _cancelled(self, request: Request) -> Response:
        """Return the response to a request that was cancelled: its deadline has passed, or the server stops."""
        limit = f"within {self._deadline:g} s"
        if not request.timed_out:
            problem = ProblemError("stopping", f"the service is shutting down{_MAYBE_DONE}", retry_after="1")
        elif not request.body_read and request.has_body:
            problem = broken_rule("too-slow", "body", f"arrive {limit}", got="a part of it")
        else:
            problem = ProblemError("timed-out", f"the response was not ready {limit}{_MAYBE_DONE}", retry_after="1")
        return _error_response(request, problem)


def _error_response(request: Request, error: Exception) -> Response:
    """Return the response to a request that failed."""
    if isinstance(error, ProblemError):
        problem = error
    elif isinstance(error, StoreFullError):
        problem = ProblemError("store-full", f"the store {error.reason}; nothing was changed", retry_after="1")
    elif isinstance(error, StoreError):
        problem = ProblemError("store-failed", f"the store {error.reason}", retry_after="1")
    elif isinstance(error, InvalidArgumentError):
        problem = ProblemError("invalid-value", error)
    else:
        _log.error("%s %s failed", request.method, request.path, exc_info=error)
        problem = ProblemError("internal", f"the service failed: {type(error).__name__}; see its log")
    return Response(problem.body(), problem.status, tuple(problem.headers), _PROBLEM)
