"""The service as a Starlette application: it admits requests, decodes them, and calls their handlers.

`rotting serve` runs it on uvicorn. It can be mounted in an application of your own as well.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from rotting.errors import (
    InvalidArgumentError,
    InvalidValueError,
    MissingExtraError,
    OutcomeUnknownError,
    StoreBusyError,
    StoreError,
    StoreFullError,
)
from rotting.server.http import handlers as _handlers  # noqa: F401 - fills the table of routes
from rotting.server.http import messages as m
from rotting.server.http.problem_documents import ProblemError, broken_rule, of_body
from rotting.server.http.routes import ROUTES, Route, check_parameters
from rotting.server.http.service import RequestContext, Service, ServiceOptions
from rotting.server.http.tokens import Holder, TokenFile
from rotting.server.store.database import Durability, open_database

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route as StarletteRoute
except ImportError as error:
    raise MissingExtraError("the service needs Starlette: pip install 'rotting[service]'") from error

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_MAYBE_DONE = "; the request may have been carried out"
_OF_STORES: tuple[tuple[type[StoreError], str, str], ...] = (
    (OutcomeUnknownError, "outcome-unknown", ": ask again with the same key"),
    (StoreFullError, "store-full", "; nothing was changed"),
    (StoreBusyError, "overloaded", ""),
    (StoreError, "store-failed", ""),
)
_MAX_BODY = 4 << 20  # bytes of a request: room for 100,000 arms
_CLIENT_GONE = 499  # the status in the metrics if nobody waits for the response
_log = logging.getLogger("rotting.server")


def create_application(
    store: str | PathLike[str],
    *,
    durability: Durability = "disk",
    create: bool = True,
    **options: Any,
) -> Starlette:
    """Return the service of a store as an ASGI application.

    Run it with any ASGI server, in any number of processes, or mount it in your own application.

    Args:
        store: the path of an SQLite file, or the address of a PostgreSQL database, as for `rotting.open`.
        durability: as for `rotting.open`.
        create: create the file or the tables if they are missing.
        options: see `ServiceOptions`.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> application = create_application(f"{folder.name}/songs.rot")
        >>> application.state.service.close()
        >>> folder.cleanup()
    """
    settings = ServiceOptions(**options)
    if settings.token_file is not None:
        TokenFile(Path(settings.token_file))  # refused before anything is created
    service = Service(open_database(store, durability, create=create), settings)
    paths: dict[str, dict[str, Route]] = {}
    for route in ROUTES:
        paths.setdefault(route.path.replace("{arm}", "{arm:path}"), {})[route.method] = route
    endpoints = [
        StarletteRoute(path, partial(_endpoint, service, by_method), methods=list(by_method))
        for path, by_method in sorted(paths.items(), key=lambda each: each[0].count("/{arm"))
    ]

    @asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    application = Starlette(routes=endpoints, lifespan=lifespan, exception_handlers={HTTPException: partial(_refused, service)})
    application.router.redirect_slashes = False
    application.state.service = service
    return application


async def _refused(service: Service, request: Request, error: Exception) -> Response:
    """Respond to a path or a method that does not exist."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        rule, method = f"be one of {allowed} here", request.method
        problem = broken_rule("method-not-allowed", "method", rule, method, got=method, allow=allowed)
    else:
        problem = broken_rule("not-found", "path", "be one of those of /openapi.json", request.url.path[:200])
    return _count(service, problem_response(problem), time.monotonic())


async def _endpoint(service: Service, by_method: dict[str, Route], request: Request) -> Response:
    """Respond to a request, whatever happens."""
    began = time.monotonic()
    route = by_method["GET" if request.method == "HEAD" else request.method]
    await service.start()  # in an application that is mounted in another one, nobody else does
    try:
        check_parameters(request.path_params)
        holder = service.admission.check(request, route.scope, request.path_params.get("name"))
        async with asyncio.timeout(service.options.deadline):
            response = await _respond(service, route, request, holder)
    except ClientDisconnect:
        response = Response(status_code=_CLIENT_GONE)
    except Exception as error:  # noqa: BLE001 - whatever it is, the client must get a response
        response = problem_response(_problem(request, error))
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return _count(service, response, began, route.path)


def _count(service: Service, response: Response, began: float, path: str = "other") -> Response:
    service.metrics.responded(path, response.status_code, time.monotonic() - began)
    return response


async def _respond(service: Service, route: Route, request: Request, holder: Holder) -> Response:
    parameters = request.path_params
    query = _decode_query(route, request)
    body = await _decode_body(route, request)
    context = RequestContext(service, request, holder, parameters.get("name", ""), parameters.get("arm", ""), query, body)
    return await route.handler(context)


def _decode_query(route: Route, request: Request) -> object:
    text = request.scope["query_string"].decode("latin-1")
    if route.query is None:
        if text:
            raise InvalidValueError("query", "be left out here", text[:60])
        return None
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
    except ValueError as error:
        raise broken_rule("bad-request", "query", "be name=value&name=value", text[:60]) from error
    if len(dict(pairs)) < len(pairs):
        raise InvalidValueError("query", "have each name once", text[:60])
    try:
        return msgspec.convert(dict(pairs), route.query, strict=False)
    except msgspec.ValidationError as error:
        raise of_body(error, m.encode(dict(pairs)), "query") from error


async def _decode_body(route: Route, request: Request) -> object:
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        if route.body is None:
            return None
        if route.needs_body:
            raise broken_rule("malformed-json", "body", "be JSON", got="nothing")
        return route.body()
    if route.body is None:
        raise broken_rule("bad-request", "body", "be left out here", got="one")
    kind = headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise broken_rule("unsupported-media-type", "Content-Type", "be application/json", kind)
    body = await _read_body(request)
    try:
        return msgspec.json.decode(body, type=route.body)
    except (ValueError, RecursionError) as error:
        raise of_body(error, body) from error


async def _read_body(request: Request) -> bytes:
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or len(length) > 18:
        raise broken_rule("bad-request", "Content-Length", "be a whole number", length[:20])
    if int(length) > _MAX_BODY:
        raise broken_rule("too-large", "body", f"be at most {_MAX_BODY} bytes", int(length))
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > _MAX_BODY:
            raise broken_rule("too-large", "body", f"be at most {_MAX_BODY} bytes", got="more")
    return b"".join(parts)


def _problem(request: Request, error: Exception) -> ProblemError:
    """Return the problem document for an error."""
    if isinstance(error, ProblemError):
        return error
    for kind, name, hint in _OF_STORES:
        if isinstance(error, kind):
            return ProblemError(name, f"the store {error.reason}{hint}", retry_after="1")
    if isinstance(error, InvalidArgumentError):
        missing = error.field == "bandit" and error.rule == "exist"
        return ProblemError("not-found" if missing else "invalid-value", error)
    if isinstance(error, TimeoutError):
        return ProblemError("timed-out", f"the response was not ready in time{_MAYBE_DONE}", retry_after="1")
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return ProblemError("internal", f"the service failed: {type(error).__name__}; see its log")


def problem_response(problem: ProblemError) -> Response:
    """Return a problem document as a response."""
    return Response(problem.body(), problem.status, {**_HEADERS, **problem.headers}, "application/problem+json")
