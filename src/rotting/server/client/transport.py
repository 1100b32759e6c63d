"""Sends requests with pyreqwest: `BlockingTransport` for threads, `AsyncTransport` for event loops."""

import asyncio
import atexit
import os
import time
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from datetime import timedelta
from functools import cache, partial
from threading import Lock, Thread, current_thread, main_thread
from typing import Any, Generic, TypeVar

from pyreqwest.bytes import Bytes
from pyreqwest.client import Client, ClientBuilder, SyncClient, SyncClientBuilder
from pyreqwest.exceptions import ClientClosedError, PoolTimeoutError, PyreqwestError
from pyreqwest.http import Url
from pyreqwest.request import RequestBuilder, SyncRequestBuilder
from pyreqwest.response import BaseResponse

from rotting.common.version import __version__
from rotting.errors import InvalidTypeError, InvalidValueError, RottingError, ServiceError
from rotting.server.client import retries
from rotting.server.client.retries import ClientCall, ClientRequest, ClientResponse, NoResponse, RetryLimits

T = TypeVar("T")
C = TypeVar("C", Client, SyncClient)
B = TypeVar("B", ClientBuilder, SyncClientBuilder)
R = TypeVar("R", RequestBuilder, SyncRequestBuilder)

_MAX_CONNECTIONS = 100  # further calls wait until one of them is free
_MAX_IDLE = timedelta(seconds=4)  # servers close idle connections too, most of them later
_MAX_TIMEOUT = 1e6  # seconds
_CLEANUP = RetryLimits(timeout=5.0, retries=3, deadline=10.0)
_MAX_CLEANUPS = 1_000  # at the same time; without its cleanup, a lost decision waits for a reward until it expires
_CLOSING = 5.0  # seconds that `close` waits for cleanups


# --- Requests and responses -------------------------------------------------------------------------------------------------


def _checked_url(url: object) -> str:
    """Return the address of a service, without a slash at its end."""
    rule = "be an address such as http://127.0.0.1:8000"
    if not isinstance(url, str):
        raise InvalidTypeError("url", rule, url)
    if "@" in url:  # an error must not show the password
        raise InvalidValueError("url", f"{rule}, without a user and a password", None, got="one with an '@'; pass a token")
    try:
        parsed = Url.parse(url) if url.isprintable() and " " not in url and "://" in url else None
    except ValueError:
        parsed = None
    if parsed is None or parsed.scheme not in {"http", "https"} or "?" in url or "#" in url:
        raise InvalidValueError("url", rule, url)
    return str(parsed).rstrip("/")


def _checked_token(token: object) -> str | None:
    if token is not None and not isinstance(token, str):
        raise InvalidTypeError("token", "be a string or None", None, got=f"a {type(token).__name__}")
    if token is not None and not (token.isascii() and token.isprintable()):
        raise InvalidValueError("token", "be printable ASCII", None, got="other characters in it")
    return token


def _configure(builder: B, is_second: bool, token: str | None) -> B:
    """Follow no redirects, which could send the token to another host, and decompress nothing, which could fill the memory."""
    headers = {"Accept": "application/json", "User-Agent": f"rotting/{__version__}"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    builder = builder.follow_redirects(False).gzip(False).brotli(False).zstd(False).deflate(False).default_headers(headers)
    return builder.runtime_multithreaded(is_second).max_connections(_MAX_CONNECTIONS).pool_idle_timeout(_MAX_IDLE)


def _prepare(builder: R, content: bytes | None, timeout: float) -> R:
    if content is not None:
        builder = builder.header("Content-Type", "application/json").body_bytes(content)
    builder = builder.timeout(timedelta(seconds=min(timeout, _MAX_TIMEOUT)))
    return builder.streamed_read_buffer_limit(retries.MAX_CONTENT + 1)  # nothing is read after these bytes


def _response(response: BaseResponse, content: Bytes | None) -> ClientResponse:
    headers = {}
    for name in ("retry-after", "location"):
        with suppress(ValueError):  # not ASCII
            headers[name] = response.get_header(name) or ""
    return ClientResponse(response.status, b"" if content is None else bytes(content), headers)


def _no_response(error: PyreqwestError, timeout: float) -> NoResponse:
    if isinstance(error, ClientClosedError):
        raise _closed_error()
    if isinstance(error, PoolTimeoutError):
        return NoResponse(f"no connection was free within {timeout:.3g} s", sent=False)
    if isinstance(error, TimeoutError):
        return NoResponse(f"no complete response within {timeout:.3g} s")
    details: dict[str, Any] = getattr(error, "details", {})
    causes = [each["message"] for each in details.get("causes") or []]
    return NoResponse(": ".join([error.message, *causes[-1:]]), sent="client error (Connect)" not in causes)


def _closed_error() -> ServiceError:
    return ServiceError("the client is closed: make a new one")


# --- Processes and threads --------------------------------------------------------------------------------------------------


class _Process(Generic[C]):
    """What a transport has in one process: a process that was forked opens connections and starts threads of its own."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.client: C | None = None
        self.cleanups: set[Any] = set()  # futures, or tasks


def _in_thread(work: Callable[[], T]) -> futures.Future[T]:
    """Work in a new thread. Unlike those of an executor, it does not outlast the program."""
    future: futures.Future[T] = futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised by `Future.result`
            future.set_exception(error)

    Thread(target=run, daemon=True, name="rotting-client").start()
    return future


@cache
def _wait_at_exit() -> None:
    """Give the thread of pyreqwest a moment at the end of the program.

    It may just be waking up an event loop. If it waits for Python's lock while the interpreter ends, Python 3.11 aborts.
    """
    atexit.register(time.sleep, 0.05)


# --- Transports -------------------------------------------------------------------------------------------------------------


class _BaseTransport(Generic[C]):
    """What both transports share.

    Args:
        url: address of the service.
        token: token of the caller, or None.
    """

    def __init__(self, url: object, token: object) -> None:
        self._url, self._token = _checked_url(url), _checked_token(token)
        self._processes: dict[int, _Process[C]] = {}  # a child keeps those of its parents, because it must not close them
        self._is_closed = False

    def check_open(self) -> None:
        """Refuse a call of a client that is closed."""
        if self._is_closed:
            raise _closed_error()

    def _process(self) -> _Process[C]:
        number = os.getpid()
        found = self._processes.get(number)
        return self._processes.setdefault(number, _Process()) if found is None else found

    def _client(self) -> C:
        process = self._process()
        if process.client is not None:
            return process.client
        with process.lock:
            if process.client is None:
                self.check_open()
                process.client = self._open()
            return process.client

    def _open(self) -> C:
        """Return a new client of pyreqwest.

        The runtime of pyreqwest does not survive a fork. It has two of them, so a process that was forked from one that used
        the first takes the second.
        """
        for is_second in (False, True):
            with suppress(RuntimeError):
                return self._build(is_second)
        raise ServiceError(
            "the client cannot connect in a process whose parent and grandparent did: start processes by 'spawn', not 'fork'"
        )

    def _build(self, is_second: bool) -> C:
        raise NotImplementedError

    def _request(self, request: ClientRequest) -> tuple[str, str]:
        return request.method, self._url + request.path


class BlockingTransport(_BaseTransport[SyncClient]):
    """The `Transport` of a `Client`, for any number of threads. Its coroutines block."""

    def _build(self, is_second: bool) -> SyncClient:
        return _configure(SyncClientBuilder(), is_second, self._token).build()

    async def exchange(self, request: ClientRequest, timeout: float) -> ClientResponse | NoResponse:
        """Send a request and return its response."""
        exchange = partial(self._exchange, self._client(), request, timeout)
        if current_thread() is not main_thread():
            return exchange()
        # Signals, such as that of Ctrl-C, interrupt the main thread while it waits for another one, but not in pyreqwest.
        return _in_thread(exchange).result()

    def _exchange(self, client: SyncClient, request: ClientRequest, timeout: float) -> ClientResponse | NoResponse:
        try:
            builder = _prepare(client.request(*self._request(request)), request.content, timeout)
            with builder.build_streamed() as response:
                return _response(response, response.body_reader.read(retries.MAX_CONTENT + 1))
        except PyreqwestError as error:
            return _no_response(error, timeout)

    async def pause(self, seconds: float) -> None:
        """Wait for some seconds."""
        time.sleep(seconds)

    def clean_up(self, call: ClientCall[object]) -> None:
        """Make a call in a thread, and ignore its result."""
        process = self._process()
        if len(process.cleanups) < _MAX_CONNECTIONS:  # each has a thread, and more would only wait for a connection
            future = _in_thread(lambda: retries.run_blocking(retries.send_with_retries(call, self, _CLEANUP)))
            process.cleanups.add(future)
            future.add_done_callback(process.cleanups.discard)

    def close(self) -> None:
        """Wait for cleanups, then close the connections."""
        self._is_closed = True
        process = self._process()
        try:
            futures.wait(list(process.cleanups), _CLOSING)
        finally:
            client, process.client = process.client, None
            if client is not None:
                client.close()


class AsyncTransport(_BaseTransport[Client]):
    """The `Transport` of an `AsyncClient`, for one event loop after another."""

    def _build(self, is_second: bool) -> Client:
        _wait_at_exit()
        return _configure(ClientBuilder(), is_second, self._token).build()

    async def exchange(self, request: ClientRequest, timeout: float) -> ClientResponse | NoResponse:
        """Send a request and return its response."""
        try:
            builder = _prepare(self._client().request(*self._request(request)), request.content, timeout)
            async with builder.build_streamed() as response:
                return _response(response, await response.body_reader.read(retries.MAX_CONTENT + 1))
        except PyreqwestError as error:
            return _no_response(error, timeout)

    async def pause(self, seconds: float) -> None:
        """Wait for some seconds."""
        await asyncio.sleep(seconds)

    def clean_up(self, call: ClientCall[object]) -> None:
        """Make a call in a task, and ignore its result."""

        async def make() -> None:
            with suppress(RottingError):
                await retries.send_with_retries(call, self, _CLEANUP)

        cleanups = self._process().cleanups
        if len(cleanups) < _MAX_CLEANUPS:
            task = asyncio.get_running_loop().create_task(make())
            cleanups.add(task)  # the event loop has only a weak reference
            task.add_done_callback(cleanups.discard)

    async def close(self) -> None:
        """Wait for the cleanups of this event loop, then close the connections."""
        self._is_closed = True
        process, loop = self._process(), asyncio.get_running_loop()
        running = {task for task in process.cleanups if task.get_loop() is loop}
        try:
            if running:
                _, late = await asyncio.wait(running, timeout=_CLOSING)
                for task in late:
                    task.cancel()
                await asyncio.gather(*late, return_exceptions=True)
        finally:
            client, process.client = process.client, None
            if client is not None:
                await client.close()
