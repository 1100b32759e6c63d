"""The service as an ASGI application: it admits requests, decodes them, calls their handlers and sends the responses.

`rotting serve` runs it on uvicorn. It can be mounted in an application of your own as well: run it inside `async with
application`, or let the server send it lifespan events.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

import msgspec

from rotting.errors import InvalidArgumentError, InvalidValueError, StoreError, StoreFullError
from rotting.service import messages as m
from rotting.service import routes
from rotting.service.access_log import AccessLog
from rotting.service.admission import Admission
from rotting.service.bandits import Bandits
from rotting.service.broadcast import MAX_READERS, Broadcast, Reader
from rotting.service.committer import Committer
from rotting.service.compiling import CompileReport
from rotting.service.handlers import Handlers
from rotting.service.metrics import Metrics
from rotting.service.problems import ProblemError, of_body
from rotting.service.requests import (
    JSON,
    ByteBudget,
    ClientGoneError,
    Receive,
    Reply,
    Request,
    Scope,
    Send,
    send_reply,
    start_stream,
)
from rotting.service.routes import Route
from rotting.service.tokens import TokenFile
from rotting.store.host import Batch, Host, Hosted
from rotting.store.protocol import Durability

_log = logging.getLogger("rotting.service")
_PROBLEM = b"application/problem+json"
_TICK = 0.5  # seconds between two checks of deadlines, the token file and the access log
_STALLED = 5.0  # seconds after which a batch that is still being written makes the service not ready
_MAX_REQUESTS = 512  # at the same time; more are refused
_MAYBE_DONE = "; the request may have been carried out"
_CLIENT_GONE = 499  # the status in the access log if nothing could be sent
_MEMORY = 256 << 20  # bytes of request bodies, and as many of large responses, at the same time
_LARGE = 65_536  # bytes from which on a response counts for that, and a request body is decoded in a worker thread


class Application:
    """The decision service of one store, an ASGI application.

    Run it with any ASGI server, or mount it in an application of your own, which then runs it inside `async with`. Only one
    process may serve a store: run one worker. `rotting serve` adds limits for connections to it.

    Args:
        path: the store.
        durability: what a response means, as for `rotting.open`.
        create: make the store if it is missing.
        token_file: who may do what; None: every client that can connect may do everything.
        rate: requests per second of each token, or of each address without tokens; None: any number.
        deadline: seconds that a request may take, after which the client gets status 503.
        max_body: bytes of a request body.
        access_log: a file to which a line is appended for every request; `-` is standard error.
        say: called with a line about what the service does, such as compiling a policy.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        durability: Durability = "disk",
        create: bool = True,
        token_file: str | PathLike[str] | None = None,
        rate: float | None = None,
        deadline: float = 30.0,
        max_body: int = 4 << 20,
        access_log: str | None = None,
        say: Callable[[str], None] = _log.info,
    ) -> None:
        self._tokens = None if token_file is None else TokenFile(Path(token_file))
        self._access_log = None if access_log is None else AccessLog(access_log)
        self._deadline, self._max_body = deadline, max_body
        self.host = Host(path, durability, create)
        self.compiling = CompileReport(say)
        self.gauges: dict[str, Callable[[], float]] = {}
        """Numbers of the server itself, for the metrics, by name."""
        self._metrics = Metrics(self.host)
        self._admission = Admission(self._tokens, rate)
        self.broadcast = Broadcast()
        self._memory = ByteBudget(_MEMORY)
        self._responses = ByteBudget(_MEMORY)
        self._bandits = Bandits(self.host, self.compiling)
        self._handlers = Handlers(self._bandits, self._metrics, self._check_ready, self._measure)
        self._by_route = {
            route.handler: getattr(self._handlers, route.handler)
            for route in (*routes.ROUTES, *routes.PAGES)
            if route.handler != "watch"
        }
        self._decoders = routes.decoders()
        self._running: dict[asyncio.Task[Any], tuple[Request, float]] = {}
        self._committer: Committer
        self._ticking: asyncio.Task[None]
        self._stopping = asyncio.Event()

    # --- Life -------------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._committer = Committer(self.host, self._written)
        self._bandits.commit = self._committer.commit
        self._ticking = asyncio.ensure_future(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what has collected, save the bandits and close the store; raises a `StoreError` if that fails."""
        self.stop()
        self._ticking.cancel()
        try:
            await self._bandits.finish()
            await self._committer.close()
            await self._bandits.close()
            await self._handlers.close()
            if self._access_log is not None:
                self._access_log.close()
        finally:
            await asyncio.get_running_loop().run_in_executor(None, self.host.close)

    def stop(self) -> None:
        """Report the service as not ready and end the event streams; other requests are still answered."""
        self._stopping.set()

    def reload(self) -> None:
        """Read the token file again, and open the access log again."""
        if self._tokens is not None:
            self._tokens.reload()
        if self._access_log is not None:
            try:
                self._access_log.reopen()
            except InvalidValueError as error:
                _log.error("the access log was not opened again: %s", error)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            try:
                self._check_deadlines()
                if self._tokens is not None:
                    self._tokens.reload_if_changed()
                if self._access_log is not None:
                    self._access_log.flush()
            except Exception:  # noqa: BLE001 - the deadlines of later requests must not depend on it
                _log.exception("a regular check failed")

    def _check_deadlines(self) -> None:
        late = time.monotonic() - self._deadline
        for task, (request, began) in list(self._running.items()):
            if began < late and not (request.is_stream or request.timed_out):
                request.timed_out = True
                task.cancel()

    def _check_ready(self) -> None:
        """Raise an error if decisions cannot be kept."""
        if self.host.trouble is not None:
            raise self.host.trouble.with_traceback(None)
        if self._committer.stalled > _STALLED:
            raise ProblemError(
                "store-failed",
                InvalidValueError("a write", f"end within {_STALLED:g} s", None, got="one that is still under way"),
            )
        if self._stopping.is_set():
            raise ProblemError("stopping", InvalidValueError("the service", "be running", None, got="a signal to end"))

    def _measure(self) -> dict[str, float]:
        own = {"requests_running": float(len(self._running)), "commit_stalled_seconds": self._committer.stalled}
        return own | {name: read() for name, read in self.gauges.items()}

    def _written(self, batch: Batch, seconds: float, due: list[Hosted]) -> None:
        """Count and publish a batch that was written, and save bandits that have changed much."""
        for hosted in due:
            self._bandits.save(hosted)
        self._metrics.commit_seconds.observe(seconds)
        self._metrics.commit_events.observe(len(batch.events))
        self.broadcast.publish(batch)

    # --- Requests ---------------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or a lifespan event of the server."""
        if scope["type"] == "http":
            request = Request(scope, receive)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        else:
            await send({"type": "websocket.close", "code": 1000})
            return
        began, task = time.monotonic(), asyncio.current_task()
        assert task is not None
        self._running[task] = (request, began)
        reserved, status = 0, _CLIENT_GONE
        try:
            try:
                reply = await self._answer(request, send)
                if reply is not None and len(reply.body) > _LARGE:
                    self._responses.take(len(reply.body))
                    reserved = len(reply.body)
            except ClientGoneError:
                return
            except asyncio.CancelledError:
                if request.is_stream or not (request.timed_out or self._stopping.is_set()):
                    raise
                reply = self._cut_off(request, task)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client must get a response
                reply = _refusal(request, error)
            if reply is None:
                status = 200
                return
            close = reply.status >= 400 and not await request.drop_body()
            await send_reply(send, reply, close)
            status = reply.status
        except asyncio.CancelledError:
            if not request.timed_out:
                raise
        finally:
            self._responses.give_back(reserved)
            del self._running[task]
            self._count(request, status, began)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start and stop when the server says so."""
        await receive()
        await self.__aenter__()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        try:
            await self.__aexit__(None, None, None)
        except StoreError as error:
            await send({"type": "lifespan.shutdown.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    def _count(self, request: Request, status: int, began: float) -> None:
        responses = self._metrics.responses
        responses[status] = responses.get(status, 0) + 1
        if self._access_log is not None:
            self._access_log.add(request, status, time.monotonic() - began)

    def _cut_off(self, request: Request, task: asyncio.Task[Any]) -> Reply:
        """Return the response to a request that was cancelled: its deadline has passed, or the server stops."""
        task.uncancel()
        if not request.timed_out:
            stopping = InvalidValueError("the service", "be running", None, got="a signal to end", hint=_MAYBE_DONE)
            return _refusal(request, ProblemError("stopping", stopping, retry_after="1"))
        if not request.body_read and request.has_body:
            return _refusal(
                request,
                ProblemError(
                    "too-slow", InvalidValueError("body", f"arrive within {self._deadline:g} s", None, got="a part of it")
                ),
            )
        rule = f"be ready within {self._deadline:g} s"
        late = InvalidValueError("response", rule, None, got="none", hint=_MAYBE_DONE)
        return _refusal(request, ProblemError("timed-out", late, retry_after="1"))

    async def _answer(self, request: Request, send: Send) -> Reply | None:
        """Check a request, call its handler, and wait until the changes are written. None: the response was a stream."""
        request.check_headers()
        route, request.parameters = routes.match(request.method, request.path)
        self._admission.check(request, route, request.parameters.get("name"))
        if len(self._running) > _MAX_REQUESTS and route.scope is not None:
            raise ProblemError(
                "overloaded", InvalidValueError("requests", "be fewer", None, got="too many at the same time"), retry_after="1"
            )
        request.query = _query(request, route)
        if request.has_body:
            await self._read_body(request, route)
        elif route.body is not None:
            if route.needs_body:
                raise ProblemError("malformed-json", InvalidValueError("body", "be JSON", None, got="nothing"))
            request.body = route.body()
        if route.handler == "watch":
            return await self._stream(request, send)
        if route.writes and self.host.trouble is not None:
            raise self.host.trouble.with_traceback(None)
        reply: Reply = await self._by_route[route.handler](request)
        if route.writes:
            await self._committer.commit()
        return reply

    async def _read_body(self, request: Request, route: Route) -> None:
        if route.body is None:
            raise ProblemError("bad-request", InvalidValueError("body", "be left out here", None, got="one"))
        kind = request.headers.get(b"content-type", b"")
        if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
            error = InvalidValueError("Content-Type", "be application/json", kind.decode("latin-1"))
            raise ProblemError("unsupported-media-type", error)
        limit = min(route.max_body, self._max_body)
        request.check_body_length(limit)
        body = b""
        try:
            body = await request.read_body(limit, self._memory)
            decoder = self._decoders[route.handler]
            if len(body) > _LARGE:
                request.body = await self._bandits.in_thread(lambda: _decode(decoder, body))
            else:
                request.body = _decode(decoder, body)
        finally:
            self._memory.give_back(len(body))

    async def _stream(self, request: Request, send: Send) -> Reply | None:
        """Send events as they happen, until the client goes or the service stops."""
        bandit, readers = request.query.bandit, self.broadcast.readers
        if request.holder.bandits is not None and (bandit is None or not request.holder.may_use(bandit)):
            raise ProblemError(
                "forbidden",
                InvalidValueError("query", "name a bandit that the token is for", bandit, hint="; add ?bandit=NAME"),
            )
        if bandit is not None:
            self._bandits.check_known(bandit)
        if len(readers) >= MAX_READERS:
            raise ProblemError(
                "too-many-requests",
                InvalidValueError("readers", f"be at most {MAX_READERS}", None, got="one more"),
                retry_after="10",
            )
        request.is_stream = True
        await start_stream(send)
        if request.method != "HEAD":
            reader = self.broadcast.add_reader(bandit)
            ends = [asyncio.ensure_future(request.disconnected()), asyncio.ensure_future(self._stopping.wait())]
            try:
                await send({"type": "http.response.body", "body": b"retry: 1000\n\n", "more_body": True})
                await _forward(reader, send, ends, lambda: self._admission.still_admits(request))
            finally:
                readers.discard(reader)
                for each in ends:
                    each.cancel()
        await send({"type": "http.response.body", "body": b""})
        return None


async def _forward(reader: Reader, send: Send, ends: Sequence[asyncio.Future[Any]], is_admitted: Callable[[], bool]) -> None:
    """Send what a reader gets, until one of `ends` is done or the client's token is revoked."""
    while is_admitted():
        part = asyncio.ensure_future(reader.next_part())
        try:
            await asyncio.wait([part, *ends], return_when=asyncio.FIRST_COMPLETED)
            if any(each.done() for each in ends):
                return
            await send({"type": "http.response.body", "body": part.result(), "more_body": True})
        finally:
            part.cancel()


def _decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (ValueError, RecursionError) as error:
        raise of_body(error, body) from error


def _query(request: Request, route: Route) -> Any:
    """Return what follows the question mark, checked."""
    text = request.query_string
    if route.query is None:
        if text:
            raise InvalidValueError("query", "be left out here", text[:60])
        return None
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
    except ValueError as error:
        raise ProblemError("bad-request", InvalidValueError("query", "be name=value&name=value", text[:60])) from error
    if len(dict(pairs)) < len(pairs):
        raise InvalidValueError("query", "have each name once", text[:60])
    try:
        return msgspec.convert(dict(pairs), route.query, strict=False)
    except msgspec.ValidationError as error:
        raise of_body(error, m.encode(dict(pairs)), "query") from error


def _refusal(request: Request, error: Exception) -> Reply:
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
        problem = ProblemError("internal", f"something went wrong: {type(error).__name__}; see the log of the service")
    return Reply(problem.body(), problem.status, tuple(problem.headers), _PROBLEM)
