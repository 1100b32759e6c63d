"""The bandits of a service, with the methods of `Bandit`, over HTTP: `Client` blocks, `AsyncClient` is awaited."""

from typing import TYPE_CHECKING, Self, TypeVar

from rotting.common.rules import nonnegative_int, positive
from rotting.server.client.methods import Awaited, AwaitedDecide, BanditMethods, Blocking, Decide, ServiceMethods
from rotting.server.client.retries import ClientCall, RetryLimits, run_blocking, send_with_retries
from rotting.server.client.transport import AsyncTransport, BlockingTransport

T = TypeVar("T")


def _limits(timeout: object, retries: object, deadline: object) -> RetryLimits:
    seconds = None if deadline is None else positive("deadline", deadline)
    return RetryLimits(positive("timeout", timeout), nonnegative_int("retries", retries), seconds)


class RemoteBandit(BanditMethods, Blocking):
    """A bandit of a service; `Client.bandit` returns one."""

    if TYPE_CHECKING:
        decide: Decide  # type: ignore[assignment]  # its type depends on `count`


class AsyncRemoteBandit(BanditMethods, Awaited):
    """A bandit of a service, whose methods are awaited; `AsyncClient.bandit` returns one."""

    if TYPE_CHECKING:
        decide: AwaitedDecide  # type: ignore[assignment]


class Client(ServiceMethods, Blocking):
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

    If `decide` fails for good or is interrupted after the request was sent, a background thread asks the service to cancel the
    decision; `close` waits at most five seconds for it. A decision with your own `key` is not cancelled: ask for it again.

    Requests that the service refuses raise the exceptions of the library, such as `InvalidValueError`; all other failures raise
    `ServiceError` or one of its subclasses.

    A client may be used from several threads, and in forked processes: each process opens its own connections. It uses the
    proxies of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`), and follows no redirects.

    Args:
        url: address of the service.
        token: token of the caller; None if the service needs none.
        timeout: seconds for each attempt as a whole; at most what the deadline leaves.
        retries: attempts after the first one, when there is no response or the service is busy.
        deadline: seconds for a call as a whole, with all attempts and pauses; None for no limit. When it passes, the call
            raises `ServiceUnreachableError`.
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 10.0, retries: int = 5, deadline: float | None = 30.0
    ) -> None:
        self._limits = _limits(timeout, retries, deadline)
        self._transport = BlockingTransport(url, token)

    def bandit(self, name: str) -> RemoteBandit:
        """Return a bandit that exists on the service; sends no request."""
        return RemoteBandit(name, self._send)

    def _send(self, call: ClientCall[T]) -> T:
        self._transport.check_open()
        return run_blocking(send_with_retries(call, self._transport, self._limits))

    def close(self) -> None:
        """Wait for cleanups, then close the connections of this process; the client cannot be used afterwards."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
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
        self, url: str, token: str | None = None, *, timeout: float = 10.0, retries: int = 5, deadline: float | None = 30.0
    ) -> None:
        self._limits = _limits(timeout, retries, deadline)
        self._transport = AsyncTransport(url, token)

    def bandit(self, name: str) -> AsyncRemoteBandit:
        """Return a bandit that exists on the service; sends no request."""
        return AsyncRemoteBandit(name, self._send)

    async def _send(self, call: ClientCall[T]) -> T:
        self._transport.check_open()
        return await send_with_retries(call, self._transport, self._limits)

    async def close(self) -> None:
        """Wait for cleanups, then close the connections of this process; the client cannot be used afterwards."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
