"""The bandits of a service, with the methods of `Bandit`, over HTTP: `Client` blocks, `AsyncClient` is awaited.

`client_methods` makes requests and reads responses, and `retries` decides when to send a request again. This module waits, and
sends the requests over the connections of a pool.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Generic, Self, TypeVar, overload

from rotting.common.rules import nonnegative_int, positive
from rotting.errors import RottingError, ServiceError
from rotting.live.decisions import Decision
from rotting.service import retries
from rotting.service.address import Address, parse_address
from rotting.service.asyncio_pool import AsyncioPool
from rotting.service.blocking_pool import BlockingPool
from rotting.service.client_methods import Awaited, AwaitedSend, BanditMethods, Blocking, BlockingSend, ServiceMethods
from rotting.service.http1 import MalformedResponseError, encode_request
from rotting.service.pools import Attempt, Pools
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

T = TypeVar("T")
P = TypeVar("P")
Names = Iterable[str] | None
"""Names of arms."""

_BLOCKING_CLEANUP = RetryLimits(timeout=1.0, retries=0, deadline=1.0)  # the caller waits for it
_BACKGROUND_CLEANUP = RetryLimits(timeout=5.0, retries=3, deadline=10.0)
_CLOSING = 5.0  # seconds that `AsyncClient.close` waits for cleanups


class RemoteBandit(BanditMethods[BlockingSend], Blocking):
    """A bandit of a service; `Client.bandit` returns one."""

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
        """Choose one arm or several, like `Bandit.decide`.

        Args:
            arms: the arms to choose from; all by default.
            count: how many arms to choose.
            without: arms not to choose.
            key: idempotency key: the same key returns the same decisions again, also from other processes. By default each call
                uses a new one.
            dry_run: return what would be decided and change nothing. The decisions have the id "" and get no reward.
        """
        decisions = self._send(self._decide(arms, count, without, key, dry_run))
        return decisions[0] if count is None else tuple(decisions)


class AsyncRemoteBandit(BanditMethods[AwaitedSend], Awaited):
    """A bandit of a service, whose methods are awaited; `AsyncClient.bandit` returns one."""

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
        """Choose one arm or several, like `RemoteBandit.decide`."""
        decisions = await self._send(self._decide(arms, count, without, key, dry_run))
        return decisions[0] if count is None else tuple(decisions)


# --- Attempts ---------------------------------------------------------------------------------------------------------------


def _limits(timeout: object, retries: object, deadline: object) -> RetryLimits:
    seconds = None if deadline is None else positive("deadline", deadline)
    return RetryLimits(positive("timeout", timeout), nonnegative_int("retries", retries), seconds)


def _no_response(error: Exception, attempt: Attempt, timeout: float) -> NoResponse:
    if isinstance(error, TimeoutError):
        what = "the response did not end" if attempt.sent else "there was no connection"
        return NoResponse(f"{what} within {timeout:g} s", attempt.sent)
    if isinstance(error, MalformedResponseError):
        return NoResponse(str(error), attempt.sent)
    return NoResponse(f"{type(error).__name__}: {error}", attempt.sent)


# --- Clients ----------------------------------------------------------------------------------------------------------------


class _BaseClient(ServiceMethods, Generic[P]):
    """The methods that both clients share."""

    _new_pool: Callable[[Address], P]

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
        self._address = parse_address(url, token)
        self._pools: Pools[P] = Pools(lambda: self._new_pool(self._address))
        self._cleanups: set[asyncio.Task[None]] = set()  # those in the background; a `Client` has none

    def _encode(self, step: SendRequest) -> bytes:
        return encode_request(step.request, self._address.prefix, self._address.headers)


class Client(_BaseClient[BlockingPool], Blocking):
    """The bandits of a service, with the methods of `Bandit`.

    In use::

        with rotting.Client("http://127.0.0.1:8000", token="rot_...") as client:
            client.create("songs", rotting.EffRAWUCB(sigma=0.5), arms=["jazz", "rock"])
            songs = client.bandit("songs")
            decision = songs.decide()
            songs.reward(decision.id, 1.0)

    A lost response does no harm: the client retries the request, and every decision has an idempotency key, so that the second
    attempt returns the decision of the first. Before attempt k + 1 (k = 1, 2, ...) the client waits `min(5, 0.25 * 2**k)`
    seconds times a random factor from [0.5, 1], or as long as the `Retry-After` header of the response asks for if that is
    longer. If the pause would not end before the deadline, the call fails at once.

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

    _new_pool = BlockingPool

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
        attempt = Attempt()
        try:
            if isinstance(step, SendRequest):
                return self._exchange(step, attempt)
            time.sleep(step.seconds)
        except BaseException as error:  # noqa: BLE001 - `send_with_retries` raises it again, after the cleanup
            return Interrupted(error, attempt.sent)
        return None

    def _exchange(self, step: SendRequest, attempt: Attempt) -> ClientResponse | NoResponse:
        """Send a request, and read the response."""
        try:
            return self._pools.current().exchange(self._encode(step), step.timeout, attempt)
        except ServiceError:
            raise  # the client is closed; a ServiceError is an OSError too
        except (OSError, MalformedResponseError) as error:
            return _no_response(error, attempt, step.timeout)

    def close(self) -> None:
        """Close the connections of this process; the client cannot be used afterwards."""
        pool = self._pools.close()
        if pool is not None:
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(_BaseClient[AsyncioPool], Awaited):
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

    _new_pool = AsyncioPool

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
        attempt = Attempt()
        try:
            if isinstance(step, SendRequest):
                return await self._exchange(step, attempt)
            await asyncio.sleep(step.seconds)
        except BaseException as error:  # noqa: BLE001 - `send_with_retries` raises it again, after the cleanup has started
            return Interrupted(error, attempt.sent)
        return None

    async def _exchange(self, step: SendRequest, attempt: Attempt) -> ClientResponse | NoResponse:
        """Send a request, and read the response."""
        pool = self._pools.current(asyncio.get_running_loop())
        try:
            return await pool.exchange(self._encode(step), step.timeout, attempt)
        except ServiceError:
            raise  # the client is closed; a ServiceError is an OSError too
        except (OSError, MalformedResponseError) as error:
            return _no_response(error, attempt, step.timeout)

    def _clean_up(self, call: Call[object]) -> None:
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
            pool = self._pools.close(loop)
            if pool is not None:
                await pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
