"""The bandits of a service, with the methods of `Bandit`, over HTTP: `Client` blocks, `AsyncClient` is awaited.

What is asked and what the answers mean is in `calls`. A method describes a call; the client that it belongs to makes the call.
Only `_Connections` and `_AsyncConnections` know the HTTP library.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import update_wrapper
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

from rotting.common.rules import nonnegative_int, positive
from rotting.errors import InvalidTypeError, InvalidValueError, MissingExtraError, RottingError, ServiceError
from rotting.live.decisions import Decision, Outcome
from rotting.live.explanations import Explanation
from rotting.policy import Policy
from rotting.service import calls
from rotting.service.calls import Answer, Call, CleanUp, Heard, Interrupted, Limits, NoAnswer, Send, Step
from rotting.store.protocol import Event

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("the client needs httpx: pip install 'rotting[service]'") from error

P = ParamSpec("P")
T = TypeVar("T")

_BLOCKING_CLEANUP = Limits(timeout=1.0, retries=0, deadline=1.0)  # the caller waits for it
_BACKGROUND_CLEANUP = Limits(timeout=5.0, retries=3, deadline=10.0)
_CLOSING = 5.0  # seconds that `AsyncClient.close` waits for cleanups


class _Blocking:
    """Makes calls, and waits for them."""

    _send: Callable[[Call[Any]], Any]


class _Async:
    """Makes calls that are awaited."""

    _send: Callable[[Call[Any]], Any]


class _Verb(Generic[P, T]):
    """A method that is written once for both clients: it describes a call, and its owner makes the call."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._describe = describe

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[Concatenate[Any, P], Call[T]]: ...
    @overload
    def __get__(self, owner: _Blocking, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: _Async, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self._describe  # so that `help` shows its signature and docstring

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return owner._send(self._describe(owner, *args, **kwargs))

        return update_wrapper(call, self._describe)


class _ServiceVerbs:
    """Methods of both clients."""

    @_Verb
    def create(
        self,
        name: str,
        policy: Policy | None = None,
        arms: Iterable[str] | None = None,
        *,
        like: str | None = None,
        seed: int | None = None,
        pending: Literal["shrink", "ignore"] | None = None,
        max_pending: int | None = None,
    ) -> Call[None]:
        """Make a bandit, as `rotting.Bandit` does; the same again does nothing, another one of that name is refused.

        Args:
            name: letters, digits and `._~-`.
            policy: any policy but an oracle.
            arms: names of the arms.
            like: a bandit whose policy, arms and settings are taken where they are not given.
            seed: as for `Bandit`.
            pending: as for `Bandit`.
            max_pending: as for `Bandit`.
        """
        return calls.create(name, policy, arms, like=like, seed=seed, pending=pending, max_pending=max_pending)

    @_Verb
    def bandits(self, after: str = "", limit: int = 1_000) -> Call[calls.BanditPage]:
        """List the names of the bandits after one of them, in their order; `next` is what to ask for to see more."""
        return calls.bandits(after, limit)


class _BanditVerbs:
    """Methods of both kinds of remote bandits."""

    def __init__(self, name: str, send: Callable[[Call[Any]], Any]) -> None:
        self._name, self._send = name, send

    @_Verb
    def reward(self, id: str | Decision, reward: float) -> Call[Outcome]:  # noqa: A002 - what decisions call it
        """Tell what a decision paid, as `Bandit.reward`. After a lost reply, the second attempt finds a "duplicate"."""
        return calls.reward_one(self._name, id, reward)

    @_Verb
    def reward_many(self, rewards: Iterable[tuple[str | Decision, float]]) -> Call[list[Outcome]]:
        """Tell what several decisions paid: all or, if one is refused, none; 1,000 at most."""
        return calls.reward(self._name, rewards)

    @_Verb
    def cancel(self, id: str | Decision) -> Call[Outcome]:  # noqa: A002
        """End a decision that was never shown, as `Bandit.cancel`."""
        return calls.cancel(self._name, id)

    @_Verb
    def expire(
        self,
        id: str | Decision | None = None,  # noqa: A002
        *,
        older_than_rounds: int | None = None,
        missing: float | Literal["drop"] = "drop",
        limit: int | None = None,
    ) -> Call[Outcome | int]:
        """End a decision that will have no reward, or all that are older than some rounds, as `Bandit.expire`.

        A service ends old decisions in portions. The client asks until none are left and returns their sum; portions whose
        reply was lost are not counted. After an error, call it again to go on.
        """
        return calls.expire(self._name, id, older_than_rounds, missing, limit)

    @_Verb
    def add_arm(self, arm: str, resume: bool = False, prior: tuple[float, int] | Literal["pooled"] | None = None) -> Call[None]:
        """Let `arm` be chosen from now on, as `Bandit.add_arm`; one that is there already stays as it is."""
        return calls.add_arm(self._name, arm, resume, prior)

    @_Verb
    def remove_arm(self, arm: str, keep: bool = False) -> Call[None]:
        """Never choose `arm` again: `retire` it, or `forget` it."""
        return calls.remove_arm(self._name, arm, keep)

    @_Verb
    def retire(self, arm: str) -> Call[None]:
        """Do not choose `arm` any more, and keep what was learned, for `revive`."""
        return calls.remove_arm(self._name, arm, keep=True)

    @_Verb
    def revive(self, arm: str) -> Call[None]:
        """Let `arm`, which was retired, be chosen again."""
        return calls.add_arm(self._name, arm, resume=True)

    @_Verb
    def forget(self, arm: str) -> Call[None]:
        """Forget all about `arm`."""
        return calls.remove_arm(self._name, arm, keep=False)

    @_Verb
    def explain(self) -> Call[Explanation]:
        """Return for each arm what decides whether it is chosen next; NaN also stands for what is infinite."""
        return calls.explain(self._name)

    @_Verb
    def log(self, after: int = 0, limit: int = 1_000) -> Call[list[Event]]:
        """Return events after a number, in order; ask again with the number of the last one until there are none."""
        return calls.log(self._name, after, limit)

    @_Verb
    def show(self) -> Call[dict[str, Any]]:
        """Return all that is known of the bandit: policy, arms, rounds, decisions under way."""
        return calls.show(self._name)

    @_Verb
    def archive(self) -> Call[None]:
        """Let the bandit decide no more; it can still be read."""
        return calls.archive(self._name)


class RemoteBandit(_BanditVerbs, _Blocking):
    """A bandit of a service; `Client.bandit` makes one."""

    @overload
    def decide(
        self,
        arms: Iterable[str] | None = None,
        count: None = None,
        *,
        without: Iterable[str] | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Decision: ...
    @overload
    def decide(
        self,
        arms: Iterable[str] | None = None,
        *,
        count: int,
        without: Iterable[str] | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> tuple[Decision, ...]: ...

    def decide(
        self,
        arms: Iterable[str] | None = None,
        count: int | None = None,
        *,
        without: Iterable[str] | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Decision | tuple[Decision, ...]:
        """Choose an arm now, or several, as `Bandit.decide`.

        Args:
            arms: the arms available this time; all by default.
            count: how many arms to choose.
            without: arms that are not available this time.
            key: the same key gives the same decision again, also in another process; by default each call has its own.
            dry_run: say what would be decided, and change nothing: the decisions have the id "", which gets no reward.
        """
        made = self._send(calls.decide(self._name, arms, count, without, key, dry_run))
        return made[0] if count is None else tuple(made)


class AsyncRemoteBandit(_BanditVerbs, _Async):
    """A bandit of a service, whose verbs are awaited; `AsyncClient.bandit` makes one."""

    @overload
    async def decide(
        self,
        arms: Iterable[str] | None = None,
        count: None = None,
        *,
        without: Iterable[str] | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Decision: ...
    @overload
    async def decide(
        self,
        arms: Iterable[str] | None = None,
        *,
        count: int,
        without: Iterable[str] | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> tuple[Decision, ...]: ...

    async def decide(
        self,
        arms: Iterable[str] | None = None,
        count: int | None = None,
        *,
        without: Iterable[str] | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Decision | tuple[Decision, ...]:
        """Choose an arm now, or several, as `RemoteBandit.decide`."""
        made = await self._send(calls.decide(self._name, arms, count, without, key, dry_run))
        return made[0] if count is None else tuple(made)


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
    headers = {"Accept-Encoding": "identity"}  # so that the limit on what is read is a limit on memory
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


def _limits(timeout: object, retries: object, deadline: object) -> Limits:
    seconds = None if deadline is None else positive("deadline", deadline)
    return Limits(positive("timeout", timeout), nonnegative_int("retries", retries), seconds)


def _no_cookies() -> CookieJar:
    """Return a jar that stays empty: one malformed cookie would make every later request fail.

    Each HTTP client needs its own, since a jar has a lock, and a forked child must not inherit one that is in use.
    """
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


_FAILURES = (httpx.HTTPError, httpx.InvalidURL, RuntimeError, UnicodeError)
"""What the HTTP library raises when there is no response; RuntimeError if the client is closed meanwhile."""


class _Progress:
    """Whether a request was sent, as far as is known: the `trace` callback of the HTTP library."""

    sent = False

    def trace(self, event: str, info: object) -> None:
        if event.endswith("send_request_headers.started"):
            self.sent = True

    async def async_trace(self, event: str, info: object) -> None:
        self.trace(event, info)

    def failed(self, error: Exception) -> NoAnswer:
        """Return what is reported of a failure."""
        return NoAnswer(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, self.sent)


_SLOW = "the response did not end within {:g} s"


def _closed() -> ServiceError:
    return ServiceError("the client is closed: make a new one")


class _Connections:
    """The connections of a `Client`, separate for each process.

    A forked child inherits the sockets of its parent. If both used them, each would read responses meant for the other, so the
    child opens its own. It neither uses nor closes those of the parent, and keeps a reference to them, since the garbage
    collector would close them. No lock is needed, and none can be inherited in a locked state: `dict.setdefault` is atomic.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._by_process: dict[int, httpx.Client] = {}
        self._is_closed = False

    def _current(self) -> httpx.Client:
        if self._is_closed:
            raise _closed()
        process = os.getpid()
        found = self._by_process.get(process)
        return found or self._by_process.setdefault(process, httpx.Client(**self._settings, cookies=_no_cookies()))

    def exchange(self, step: Send, progress: _Progress) -> Answer | NoAnswer:
        """Send a request, and read the response."""
        method, path, content, headers = step.request
        http, end = self._current(), time.monotonic() + step.timeout
        extensions = {"trace": progress.trace}
        try:
            with http.stream(
                method, path, content=content, headers=headers, timeout=step.timeout, extensions=extensions
            ) as response:
                body = bytearray()
                for part in response.iter_raw():
                    body += part
                    if len(body) > calls.LONGEST_CONTENT:
                        break
                    if time.monotonic() > end:
                        return NoAnswer(_SLOW.format(step.timeout))
                return Answer(response.status_code, bytes(body), dict(response.headers))
        except _FAILURES as error:
            return progress.failed(error)

    def close(self) -> None:
        """Close the connections of this process."""
        self._is_closed = True
        http = self._by_process.pop(os.getpid(), None)
        if http is not None:
            http.close()


class _AsyncConnections:
    """The connections of an `AsyncClient`, separate for each process (see `_Connections`) and each event loop."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._by_loop: dict[tuple[int, asyncio.AbstractEventLoop], httpx.AsyncClient] = {}
        self._is_closed = False

    def _current(self) -> httpx.AsyncClient:
        if self._is_closed:
            raise _closed()
        owner = os.getpid(), asyncio.get_running_loop()
        found = self._by_loop.get(owner)
        if found is None:
            self._drop_closed_loops()
            found = self._by_loop.setdefault(owner, httpx.AsyncClient(**self._settings, cookies=_no_cookies()))
        return found

    def _drop_closed_loops(self) -> None:
        for owner in list(self._by_loop):
            if owner[0] == os.getpid() and owner[1].is_closed():
                self._by_loop.pop(owner, None)

    async def exchange(self, step: Send, progress: _Progress) -> Answer | NoAnswer:
        """Send a request, and read the response."""
        method, path, content, headers = step.request
        http, extensions = self._current(), {"trace": progress.async_trace}
        try:
            async with (
                asyncio.timeout(step.timeout),
                http.stream(method, path, content=content, headers=headers, timeout=None, extensions=extensions) as response,
            ):
                body = bytearray()
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > calls.LONGEST_CONTENT:
                        break
                return Answer(response.status_code, bytes(body), dict(response.headers))
        except TimeoutError:
            return NoAnswer(_SLOW.format(step.timeout), progress.sent)
        except _FAILURES as error:
            return progress.failed(error)

    async def close(self) -> None:
        """Close the connections of this event loop."""
        self._is_closed = True
        http = self._by_loop.pop((os.getpid(), asyncio.get_running_loop()), None)
        if http is not None:
            await http.aclose()


class Client(_ServiceVerbs, _Blocking):
    """The bandits of a service, with the methods of `Bandit`.

    In use::

        with rotting.Client("http://127.0.0.1:8000", token="rot_...") as client:
            client.create("songs", rotting.EffRAWUCB(sigma=0.5), arms=["jazz", "rock"])
            songs = client.bandit("songs")
            decision = songs.decide()
            songs.reward(decision.id, 1.0)

    A lost reply does no harm: the client tries again, and every decision has an idempotency key, so that the second attempt
    finds what the first one decided. Before attempt k + 1 (k = 1, 2, ...) the client waits `min(5, 0.25 * 2**k)` seconds times
    a random factor from [0.5, 1], or as long as the `Retry-After` header of the response asks for if that is longer. If the
    pause would not end before the deadline, the call fails at once.

    If `decide` fails for good or is interrupted after the request was sent, the client asks the service to cancel what it may
    have decided; that takes a second at most. A decision with a `key` of yours is not cancelled: ask for it again.

    Requests that the service refuses raise the exceptions of the library, such as `InvalidValueError`; all other failures raise
    `ServiceError` or one of its subclasses.

    A client may be used from several threads, and in forked processes: each process opens connections of its own.

    Args:
        url: address of the service.
        token: token of the caller; None if the service asks for none.
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
        self._connections = _Connections(_http_settings(url, token))

    def bandit(self, name: str) -> RemoteBandit:
        """Return a bandit that exists on the service; sends no request."""
        return RemoteBandit(name, self._send)

    def _send(self, call: Call[T]) -> T:
        return self._ask(call, self._limits)

    def _ask(self, call: Call[T], limits: Limits) -> T:
        steps = calls.asking(call, limits)
        heard: Heard = None
        while True:
            try:
                step = steps.send(heard)
            except StopIteration as done:
                result: T = done.value
                return result
            heard = self._take(step)

    def _take(self, step: Step) -> Heard:
        if isinstance(step, CleanUp):
            with suppress(RottingError):
                self._ask(step.call, _BLOCKING_CLEANUP)
            return None
        progress = _Progress()
        try:
            if isinstance(step, Send):
                return self._connections.exchange(step, progress)
            time.sleep(step.seconds)
        except BaseException as error:  # noqa: BLE001 - `asking` raises it again, after the cleanup
            return Interrupted(error, progress.sent)
        return None

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncClient(_ServiceVerbs, _Async):
    """As `Client`, for asyncio: its methods are awaited.

    In use::

        async with rotting.AsyncClient("http://127.0.0.1:8000") as client:
            songs = client.bandit("songs")
            decision = await songs.decide()
            await songs.reward(decision.id, 1.0)

    If `decide` is cancelled (`task.cancel()`, `asyncio.timeout`) or fails for good after the request was sent, a background
    task asks the service to cancel what it may have decided. `close` waits for these tasks, for five seconds at most.

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
        self._connections = _AsyncConnections(_http_settings(url, token))
        self._cleanups: set[asyncio.Task[None]] = set()

    def bandit(self, name: str) -> AsyncRemoteBandit:
        """Return a bandit that exists on the service; sends no request."""
        return AsyncRemoteBandit(name, self._send)

    async def _send(self, call: Call[T]) -> T:
        return await self._ask(call, self._limits)

    async def _ask(self, call: Call[T], limits: Limits) -> T:
        steps = calls.asking(call, limits)
        heard: Heard = None
        while True:
            try:
                step = steps.send(heard)
            except StopIteration as done:
                result: T = done.value
                return result
            heard = await self._take(step)

    async def _take(self, step: Step) -> Heard:
        if isinstance(step, CleanUp):
            self._clean_up(step.call)
            return None
        progress = _Progress()
        try:
            if isinstance(step, Send):
                return await self._connections.exchange(step, progress)
            await asyncio.sleep(step.seconds)
        except BaseException as error:  # noqa: BLE001 - `asking` raises it again, after the cleanup has started
            return Interrupted(error, progress.sent)
        return None

    def _clean_up(self, call: Call[Any]) -> None:
        async def ask() -> None:
            with suppress(RottingError):
                await self._ask(call, _BACKGROUND_CLEANUP)

        task = asyncio.get_running_loop().create_task(ask())
        self._cleanups.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(self._cleanups.discard)

    async def close(self) -> None:
        """Wait for cleanups, then close the connections; the client cannot be used afterwards."""
        loop = asyncio.get_running_loop()
        running = {task for task in self._cleanups if task.get_loop() is loop}
        try:
            if running:
                _, late = await asyncio.wait(running, timeout=_CLOSING)
                for task in late:
                    task.cancel()
                await asyncio.gather(*late, return_exceptions=True)
        finally:
            await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
