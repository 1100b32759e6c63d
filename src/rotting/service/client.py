"""The bandits of a service, with the methods of `Bandit`, over HTTP: `Client` blocks, `AsyncClient` is awaited.

`calls` makes requests and reads responses, and `retries` decides when to send a request again. This module waits, and is the
only one that uses the HTTP library.
"""

import asyncio
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from rotting.common.rules import nonnegative_int, positive
from rotting.errors import InvalidTypeError, InvalidValueError, MissingExtraError, RottingError, ServiceError
from rotting.live.decisions import Decision
from rotting.service import retries
from rotting.service.calls import Awaited, BanditMethods, Blocking, ServiceMethods
from rotting.service.retries import (
    Call,
    CleanUp,
    ClientResponse,
    Interrupted,
    NoResponse,
    RetryLimits,
    SendRequest,
    Step,
    StepResult,
)

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("the client needs httpx: pip install 'rotting[service]'") from error

T = TypeVar("T")
Names = Iterable[str] | None
"""Names of arms."""
HTTP = TypeVar("HTTP", httpx.Client, httpx.AsyncClient)

_BLOCKING_CLEANUP = RetryLimits(timeout=1.0, retries=0, deadline=1.0)  # the caller waits for it
_BACKGROUND_CLEANUP = RetryLimits(timeout=5.0, retries=3, deadline=10.0)
_CLOSING = 5.0  # seconds that `AsyncClient.close` waits for cleanups


class RemoteBandit(BanditMethods, Blocking):
    """A bandit of a service; `Client.bandit` makes one."""

    @overload
    def decide(
        self, arms: Names = None, count: None = None, *, without: Names = None, key: str | None = None, dry_run: bool = False
    ) -> Decision: ...
    @overload
    def decide(
        self, arms: Names = None, *, count: int, without: Names = None, key: str | None = None, dry_run: bool = False
    ) -> tuple[Decision, ...]: ...

    def decide(
        self,
        arms: Names = None,
        count: int | None = None,
        *,
        without: Names = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Decision | tuple[Decision, ...]:
        """Choose an arm, or several, as `Bandit.decide`.

        Args:
            arms: the arms to choose from; all by default.
            count: how many arms to choose.
            without: arms not to choose.
            key: idempotency key: the same key returns the same decisions again, in other processes too. By default each call
                uses a new one.
            dry_run: return what would be decided and change nothing. The decisions have the id "" and get no reward.
        """
        decisions = self._send(self._decide(arms, count, without, key, dry_run))
        return decisions[0] if count is None else tuple(decisions)


class AsyncRemoteBandit(BanditMethods, Awaited):
    """A bandit of a service, whose methods are awaited; `AsyncClient.bandit` makes one."""

    @overload
    async def decide(
        self, arms: Names = None, count: None = None, *, without: Names = None, key: str | None = None, dry_run: bool = False
    ) -> Decision: ...
    @overload
    async def decide(
        self, arms: Names = None, *, count: int, without: Names = None, key: str | None = None, dry_run: bool = False
    ) -> tuple[Decision, ...]: ...

    async def decide(
        self,
        arms: Names = None,
        count: int | None = None,
        *,
        without: Names = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Decision | tuple[Decision, ...]:
        """Choose an arm, or several, as `RemoteBandit.decide`."""
        decisions = await self._send(self._decide(arms, count, without, key, dry_run))
        return decisions[0] if count is None else tuple(decisions)


# --- Connections ------------------------------------------------------------------------------------------------------------


def _http_settings(url: object, token: object) -> dict[str, Any]:
    """Check the URL and the token; return the settings of the HTTP client."""
    if not isinstance(url, str):
        raise InvalidTypeError("url", "be an address such as http://127.0.0.1:8000", url)
    if not _is_address(url):
        raise InvalidValueError("url", "be an address such as http://127.0.0.1:8000", url)
    if token is not None and not isinstance(token, str):
        raise InvalidTypeError("token", "be a string or None", None, got=f"a {type(token).__name__}")
    if token is not None and not (token.isascii() and token.isprintable()):
        raise InvalidValueError("token", "be printable ASCII", None, got="other characters in it")
    headers = {"Accept-Encoding": "identity"}  # so that the limit on the bytes read is a limit on memory
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return {"base_url": url, "headers": headers, "follow_redirects": False}


def _is_address(url: str) -> bool:
    if not url.startswith(("http://", "https://")):
        return False
    try:
        parsed = httpx.URL(url)
        return bool(parsed.host) and (parsed.port or 0) < 2**16
    except (httpx.InvalidURL, ValueError):
        return False


def _limits(timeout: object, retries: object, deadline: object) -> RetryLimits:
    seconds = None if deadline is None else positive("deadline", deadline)
    return RetryLimits(positive("timeout", timeout), nonnegative_int("retries", retries), seconds)


def _no_cookies() -> CookieJar:
    """Return a jar that stays empty: one malformed cookie would make every later request fail.

    Each HTTP client needs its own, since a jar has a lock, and a forked child must not inherit one that is in use.
    """
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


class _Connections(Generic[HTTP]):
    """The connections of a client, separate for each process and each event loop.

    A forked child inherits the sockets of its parent. If both used them, each would read responses meant for the other, so the
    child opens its own. It neither uses nor closes those of the parent, and keeps a reference to them, since the garbage
    collector would close them. No lock is needed, and none can be inherited in a locked state: `dict.setdefault` is atomic.
    """

    def __init__(self, http_class: type[HTTP], settings: dict[str, Any]) -> None:
        self._http_class: type[HTTP] = http_class
        self._settings = settings
        self._by_owner: dict[tuple[int, asyncio.AbstractEventLoop | None], HTTP] = {}
        self._is_closed = False

    def current(self, loop: asyncio.AbstractEventLoop | None = None) -> HTTP:
        """Return the HTTP client of this process and this event loop."""
        if self._is_closed:
            raise ServiceError("the client is closed: make a new one")
        owner = os.getpid(), loop
        found = self._by_owner.get(owner)
        if found is None:
            self._drop_closed_loops()
            found = self._by_owner.setdefault(owner, self._http_class(**self._settings, cookies=_no_cookies()))
        return found

    def _drop_closed_loops(self) -> None:
        for process, loop in list(self._by_owner):
            if process == os.getpid() and loop is not None and loop.is_closed():
                self._by_owner.pop((process, loop), None)

    def close(self, loop: asyncio.AbstractEventLoop | None = None) -> HTTP | None:
        """Refuse further requests; return the HTTP client to close, if there is one."""
        self._is_closed = True
        return self._by_owner.pop((os.getpid(), loop), None)


class _Progress:
    """Records whether a request was sent; `trace` is a callback of the HTTP library."""

    sent = False

    def trace(self, event: str, info: object) -> None:
        if event.endswith("send_request_headers.started"):
            self.sent = True

    async def async_trace(self, event: str, info: object) -> None:
        self.trace(event, info)

    def failed(self, error: Exception) -> NoResponse:
        return NoResponse(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, self.sent)

    def timed_out(self, seconds: float) -> NoResponse:
        return NoResponse(f"the response did not end within {seconds:g} s", self.sent)


_FAILURES = (httpx.HTTPError, httpx.InvalidURL, RuntimeError, UnicodeError)
"""The errors of the HTTP library if there is no response; RuntimeError if the client is closed meanwhile."""


# --- Clients ----------------------------------------------------------------------------------------------------------------


class Client(ServiceMethods, Blocking):
    """The bandits of a service, with the methods of `Bandit`.

    In use::

        with rotting.Client("http://127.0.0.1:8000", token="rot_...") as client:
            client.create("songs", rotting.EffRAWUCB(sigma=0.5), arms=["jazz", "rock"])
            songs = client.bandit("songs")
            decision = songs.decide()
            songs.reward(decision.id, 1.0)

    A lost response does no harm: the client tries again, and every decision has an idempotency key, so that the second attempt
    finds the decision of the first. Before attempt k + 1 (k = 1, 2, ...) the client waits `min(5, 0.25 * 2**k)` seconds times
    a random factor from [0.5, 1], or as long as the `Retry-After` header of the response asks for if that is longer. If the
    pause would not end before the deadline, the call fails at once.

    If `decide` fails for good or is interrupted after the request was sent, the client asks the service to cancel the decision,
    which takes at most one second. A decision with your own `key` is not cancelled: ask for it again.

    Requests that the service refuses raise the exceptions of the library, such as `InvalidValueError`; all other failures raise
    `ServiceError` or one of its subclasses.

    A client may be used from several threads, and in forked processes: each process opens its own connections.

    Args:
        url: address of the service.
        token: token of the caller; None if the service needs none.
        timeout: seconds to wait in each attempt: to connect, to send, and for the response; at most what the deadline leaves.
        retries: attempts after the first one, when there is no response or the service is busy.
        deadline: seconds for a call as a whole, with all attempts and pauses; None for no limit. When it passes, the call
            raises `ServiceUnreachableError`.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 5,
        deadline: float | None = 30.0,
    ) -> None:
        self._limits = _limits(timeout, retries, deadline)
        self._connections = _Connections(httpx.Client, _http_settings(url, token))

    def bandit(self, name: str) -> RemoteBandit:
        """Return a bandit that exists on the service; sends no request."""
        return RemoteBandit(name, self._send)

    def _send(self, call: Call[T]) -> T:
        return self._make(call, self._limits)

    def _make(self, call: Call[T], limits: RetryLimits) -> T:
        steps = retries.send_with_retries(call, limits)
        step_result: StepResult = None
        while True:
            try:
                step = steps.send(step_result)
            except StopIteration as done:
                result: T = done.value
                return result
            step_result = self._take(step)

    def _take(self, step: Step) -> StepResult:
        if isinstance(step, CleanUp):
            with suppress(RottingError):
                self._make(step.call, _BLOCKING_CLEANUP)
            return None
        progress = _Progress()
        try:
            if isinstance(step, SendRequest):
                return self._exchange(step, progress)
            time.sleep(step.seconds)
        except BaseException as error:  # noqa: BLE001 - `send_with_retries` raises it again, after the cleanup
            return Interrupted(error, progress.sent)
        return None

    def _exchange(self, step: SendRequest, progress: _Progress) -> ClientResponse | NoResponse:
        """Send a request, and read the response."""
        method, path, content, headers = step.request
        http, end = self._connections.current(), time.monotonic() + step.timeout
        extensions = {"trace": progress.trace}
        try:
            with http.stream(
                method, path, content=content, headers=headers, timeout=step.timeout, extensions=extensions
            ) as response:
                body = bytearray()
                for part in response.iter_raw():
                    body += part
                    if len(body) > retries.MAX_CONTENT:
                        break
                    if time.monotonic() > end:
                        return progress.timed_out(step.timeout)
                return ClientResponse(response.status_code, bytes(body), dict(response.headers))
        except _FAILURES as error:
            return progress.failed(error)

    def close(self) -> None:
        """Close the connections of this process; the client cannot be used afterwards."""
        http = self._connections.close()
        if http is not None:
            http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncClient(ServiceMethods, Awaited):
    """A `Client` for asyncio: its methods are awaited.

    In use::

        async with rotting.AsyncClient("http://127.0.0.1:8000") as client:
            songs = client.bandit("songs")
            decision = await songs.decide()
            await songs.reward(decision.id, 1.0)

    If `decide` is cancelled (`task.cancel()`, `asyncio.timeout`) or fails for good after the request was sent, a background
    task asks the service to cancel the decision. `close` waits at most five seconds for these tasks.

    Args:
        url: as for `Client`.
        token: as for `Client`.
        timeout: seconds for each attempt as a whole.
        retries: as for `Client`.
        deadline: as for `Client`.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 5,
        deadline: float | None = 30.0,
    ) -> None:
        self._limits = _limits(timeout, retries, deadline)
        self._connections = _Connections(httpx.AsyncClient, _http_settings(url, token))
        self._cleanups: set[asyncio.Task[None]] = set()

    def bandit(self, name: str) -> AsyncRemoteBandit:
        """Return a bandit that exists on the service; sends no request."""
        return AsyncRemoteBandit(name, self._send)

    async def _send(self, call: Call[T]) -> T:
        return await self._make(call, self._limits)

    async def _make(self, call: Call[T], limits: RetryLimits) -> T:
        steps = retries.send_with_retries(call, limits)
        step_result: StepResult = None
        while True:
            try:
                step = steps.send(step_result)
            except StopIteration as done:
                result: T = done.value
                return result
            step_result = await self._take(step)

    async def _take(self, step: Step) -> StepResult:
        if isinstance(step, CleanUp):
            self._clean_up(step.call)
            return None
        progress = _Progress()
        try:
            if isinstance(step, SendRequest):
                return await self._exchange(step, progress)
            await asyncio.sleep(step.seconds)
        except BaseException as error:  # noqa: BLE001 - `send_with_retries` raises it again, after the cleanup has started
            return Interrupted(error, progress.sent)
        return None

    async def _exchange(self, step: SendRequest, progress: _Progress) -> ClientResponse | NoResponse:
        """Send a request, and read the response."""
        method, path, content, headers = step.request
        http, extensions = self._connections.current(asyncio.get_running_loop()), {"trace": progress.async_trace}
        try:
            async with (
                asyncio.timeout(step.timeout),
                http.stream(method, path, content=content, headers=headers, timeout=None, extensions=extensions) as response,
            ):
                body = bytearray()
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > retries.MAX_CONTENT:
                        break
                return ClientResponse(response.status_code, bytes(body), dict(response.headers))
        except TimeoutError:
            return progress.timed_out(step.timeout)
        except _FAILURES as error:
            return progress.failed(error)

    def _clean_up(self, call: Call[Any]) -> None:
        async def make() -> None:
            with suppress(RottingError):
                await self._make(call, _BACKGROUND_CLEANUP)

        task = asyncio.get_running_loop().create_task(make())
        self._cleanups.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(self._cleanups.discard)

    async def close(self) -> None:
        """Wait for cleanups, then close the connections of this event loop; the client cannot be used afterwards."""
        loop = asyncio.get_running_loop()
        running = {task for task in self._cleanups if task.get_loop() is loop}
        try:
            if running:
                _, late = await asyncio.wait(running, timeout=_CLOSING)
                for task in late:
                    task.cancel()
                await asyncio.gather(*late, return_exceptions=True)
        finally:
            http = self._connections.close(loop)
            if http is not None:
                await http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
