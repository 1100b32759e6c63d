"""The service as an ASGI application: it admits requests, decodes them and calls their handlers.

`rotting serve` runs it on uvicorn. It can be mounted in an application of your own as well: run it inside `async with
application`, or let the server send it lifespan events.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from os import PathLike
from pathlib import Path
from typing import Self

from rotting.engines.tiers import CompileMode, resolve_mode
from rotting.errors import InvalidValueError, StoreError
from rotting.service import routes
from rotting.service.access_log import AccessLog
from rotting.service.admission import Admission
from rotting.service.bandit_handlers import BanditHandlers
from rotting.service.bandits import Bandits
from rotting.service.broadcast import Broadcast
from rotting.service.committer import Committer
from rotting.service.compile_report import CompileReport
from rotting.service.decision_handlers import DecisionHandlers
from rotting.service.decoding import BodyDecoder, decode_query
from rotting.service.event_stream import EventStreams
from rotting.service.metrics import Metrics
from rotting.service.problem_documents import ProblemError, broken_rule
from rotting.service.read_handlers import ReadHandlers
from rotting.service.requests import ByteBudget, Receive, Request, Response, Scope, Send
from rotting.service.routes import Operation
from rotting.service.tokens import TokenFile
from rotting.service.transport import Transport
from rotting.store.host import MAX_LOADED, Host
from rotting.store.hosted import Batch, Hosted
from rotting.store.protocol import Durability

_log = logging.getLogger("rotting.service")
_TICK = 0.5  # seconds between two checks of deadlines, the token file and the access log
_STALLED = 5.0  # seconds after which a batch that is still being written makes the service not ready
_MEMORY = 256 << 20  # bytes of large request bodies, and as many of large responses, at the same time

Handler = Callable[[Request], Awaitable[Response]]


def _handlers(bandits: BanditHandlers, decisions: DecisionHandlers, readers: ReadHandlers) -> dict[Operation, Handler]:
    return {
        "list_bandits": bandits.list_bandits,
        "make_bandit": bandits.make_bandit,
        "show_bandit": bandits.show_bandit,
        "archive": bandits.archive,
        "put_arm": bandits.put_arm,
        "delete_arm": bandits.delete_arm,
        "decide": decisions.decide,
        "reward": decisions.reward,
        "cancel": decisions.cancel,
        "expire": decisions.expire,
        "explain": readers.explain,
        "show_history": readers.show_history,
        "list_arms": readers.list_arms,
        "read_log": readers.read_log,
        "live": readers.live,
        "ready": readers.ready,
        "show_metrics": readers.show_metrics,
        "show_openapi": readers.show_openapi,
        "show_page": readers.show_page,
    }


class Application:
    """The decision service of one store, an ASGI application.

    Run it with any ASGI server, or mount it in your own application and run that inside `async with`. Only one process may
    serve a store: run one worker. `rotting serve` adds limits on connections.

    Args:
        path: the store.
        durability: where a change is stored before the response is sent, as for `rotting.open`; "memory" is the same as "os".
        create: create the store if it is missing.
        token_file: the tokens of the clients; without it, every client that can connect may do everything.
        max_loaded: the number of bandits in memory beyond which those that were not used for a while are unloaded.
        rate: most requests per second of each token, or of each address without tokens; None for no limit.
        deadline: seconds after which a request gets status 503.
        max_body: the most bytes of a request body.
        access_log: the file to which a line is appended for each request; `-` is standard error.
        compile: when the policies are compiled, as for `rotting.Bandit`.
        say: called with a line of text when the service does something notable, such as compiling a policy.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        durability: Durability = "disk",
        create: bool = True,
        max_loaded: int = MAX_LOADED,
        token_file: str | PathLike[str] | None = None,
        rate: float | None = None,
        deadline: float = 30.0,
        max_body: int = 4 << 20,
        access_log: str | None = None,
        compile: CompileMode = "auto",
        say: Callable[[str], None] = _log.info,
    ) -> None:
        self._tokens = None if token_file is None else TokenFile(Path(token_file))
        self._access_log = None if access_log is None else AccessLog(access_log)
        self.host = Host(path, durability, create, max_loaded, resolve_mode(compile))
        self.compiling = CompileReport(say)
        self.gauges: dict[str, Callable[[], float]] = {}
        """Metrics of the server itself, by name."""
        self._stopping = asyncio.Event()
        self._metrics = Metrics(self.host)
        self._admission = Admission(self._tokens, rate)
        self._bandits = Bandits(self.host, self.compiling)
        self.broadcast = Broadcast()
        self._streams = EventStreams(self._bandits, self.broadcast, self._admission, self._stopping)
        self._bodies = BodyDecoder(max_body, ByteBudget(_MEMORY), self._bandits.in_thread)
        self._transport = Transport(
            self._respond, deadline, ByteBudget(_MEMORY), self._metrics, self._access_log, self._stopping
        )
        decisions = DecisionHandlers(self._bandits, self._metrics)
        self._readers = ReadHandlers(self._bandits, self._metrics, self._check_ready, self._read_gauges)
        self.handlers = _handlers(BanditHandlers(self._bandits), decisions, self._readers)
        """The function that responds to each operation, except to "watch", which responds with a stream."""
        self._committer: Committer
        self._ticking: asyncio.Task[None]

    # --- Start and stop -------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._committer = Committer(self.host, self._written)
        self._bandits.commit = self._committer.commit
        self._ticking = asyncio.ensure_future(self._tick())
        return self

    async def __aexit__(self, *error: object) -> None:
        """Write the last batch, save snapshots and close the store; raises a `StoreError` if that fails."""
        self.stop()
        self._ticking.cancel()
        try:
            await self._bandits.finish()
            await self._committer.close()
            await self._bandits.close()
            await self._readers.close()
            if self._access_log is not None:
                self._access_log.close()
        finally:
            await asyncio.get_running_loop().run_in_executor(None, self.host.close)

    def stop(self) -> None:
        """Report the service as not ready and end the event streams; other requests still get responses."""
        self._stopping.set()

    def reload(self) -> None:
        """Reload the token file and reopen the access log."""
        if self._tokens is not None:
            self._tokens.reload()
        if self._access_log is not None:
            try:
                self._access_log.reopen()
            except InvalidValueError as error:
                _log.error("the access log was not reopened: %s", error)

    async def _tick(self) -> None:
        """Check deadlines, idle bandits and the token file, and write the access log, twice per second."""
        while True:
            await asyncio.sleep(_TICK)
            try:
                self._transport.cancel_late_requests()
                self._bandits.unload_idle()
                if self._tokens is not None:
                    self._tokens.reload_if_changed()
                if self._access_log is not None:
                    self._access_log.flush()
            except Exception:  # noqa: BLE001 - the deadlines of later requests must not depend on it
                _log.exception("a regular check failed")

    def _check_ready(self) -> None:
        """Raise an error if decisions cannot be stored."""
        if self.host.trouble is not None:
            raise self.host.trouble.with_traceback(None)
        if self._committer.write_seconds > _STALLED:
            raise ProblemError("store-failed", f"a write to the store has been running for more than {_STALLED:g} s")
        if self._stopping.is_set():
            raise ProblemError("stopping", "the service is shutting down")

    def _read_gauges(self) -> dict[str, float]:
        own = {"requests_running": float(self._transport.running), "commit_stalled_seconds": self._committer.write_seconds}
        return own | {name: read() for name, read in self.gauges.items()}

    def _written(self, batch: Batch, seconds: float, due: list[Hosted]) -> None:
        """Count and publish a written batch, and save snapshots that are due."""
        for hosted in due:
            self._bandits.save(hosted)
        self._metrics.commit_seconds.observe(seconds)
        self._metrics.commit_events.observe(len(batch.events))
        self.broadcast.publish(batch)

    # --- Requests -------------------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request, or to the lifespan events of the server."""
        if scope["type"] == "http":
            await self._transport.run(Request(scope, receive), send)
        elif scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        """Start and stop with the server, by the lifespan events of ASGI."""
        await receive()
        await self.__aenter__()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        try:
            await self.__aexit__()
        except StoreError as error:
            await send({"type": "lifespan.shutdown.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    async def _respond(self, request: Request, send: Send) -> Response | None:
        """Check a request, call its handler, and wait until its changes are written. Returns None after a stream."""
        request.check_headers()
        route, request.parameters = routes.match(request.method, request.path)
        self._admission.check(request, route, request.parameters.get("name"))
        if route.scope is not None:
            self._transport.check_room()
        request.query = decode_query(request, route)
        if request.has_body:
            request.body = await self._bodies.read(request, route)
        elif route.body is not None:
            if route.needs_body:
                raise broken_rule("malformed-json", "body", "be JSON", got="nothing")
            request.body = route.body()
        if route.operation == "watch":
            await self._streams.stream(request, send)
            return None
        if route.writes and self.host.trouble is not None:
            raise self.host.trouble.with_traceback(None)
        response = await self.handlers[route.operation](request)
        if route.writes:
            await self._committer.commit()
        return response
