"""A service used as if its bandits were here: the verbs of `Bandit`, over HTTP, waiting or not.

What is asked and what the answers mean is in `calls`, once. A verb describes a call; the class that it is a verb of makes the
call, and waits for it or lets others go on.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Iterable
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

from rotting.common.rules import nonnegative_int
from rotting.errors import InvalidTypeError, InvalidValueError, MissingExtraError
from rotting.live.decisions import Decision, Outcome
from rotting.live.explanations import Explanation
from rotting.policy import Policy
from rotting.service import calls
from rotting.service.calls import Answer, Call, NoAnswer, Step
from rotting.store.protocol import Event

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("the client needs httpx: pip install 'rotting[service]'") from error

P = ParamSpec("P")
T = TypeVar("T")

Steps = Generator[Step, Answer | NoAnswer | None, T]


class _Waiting:
    """Makes calls, and waits for them."""

    _send: Callable[[Call[Any]], Any]


class _Async:
    """Makes calls that are awaited."""

    _send: Callable[[Call[Any]], Any]


class _Verb(Generic[P, T]):
    """A method that is written once: it describes a call, and who has it makes the call in his way."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._describe = describe

    @overload
    def __get__(self, who: None, kind: type) -> Callable[Concatenate[Any, P], Call[T]]: ...
    @overload
    def __get__(self, who: _Waiting, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, who: _Async, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, who: Any, kind: type) -> Any:
        if who is None:
            return self._describe  # whose words and arguments `help` shows

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return who._send(self._describe(who, *args, **kwargs))

        return update_wrapper(call, self._describe)


class _ServiceVerbs:
    """What a service is asked for."""

    @_Verb
    def create(
        self,
        name: str,
        policy: Policy | None = None,
        arms: Iterable[str] | None = None,
        *,
        like: str | None = None,
        seed: int | None = None,
        pending: Literal["young", "ignore"] | None = None,
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
    """What one bandit of a service is asked for."""

    def __init__(self, name: str, send: Callable[[Call[Any]], Any]) -> None:
        self._name, self._send = name, send

    @_Verb
    def reward(self, id: str, reward: float) -> Call[Outcome]:  # noqa: A002 - what decisions call it
        """Tell what a decision paid, as `Bandit.reward`. After a lost reply, the second attempt finds a "duplicate"."""
        call = calls.reward(self._name, [(id, reward)])
        return Call(call.request, lambda told: call.meaning(told)[0])

    @_Verb
    def reward_many(self, rewards: Iterable[tuple[str, float]]) -> Call[list[Outcome]]:
        """Tell what several decisions paid: all or, if one is refused, none; 1,000 at most."""
        return calls.reward(self._name, rewards)

    @_Verb
    def cancel(self, id: str) -> Call[Outcome]:  # noqa: A002
        """End a decision that was never shown, as `Bandit.cancel`."""
        return calls.cancel(self._name, id)

    @_Verb
    def expire(
        self,
        id: str | None = None,  # noqa: A002
        *,
        older_than_rounds: int | None = None,
        missing: float | Literal["drop"] = "drop",
    ) -> Call[Outcome | int]:
        """End a decision that will have no answer, or all that are older than some rounds, as `Bandit.expire`."""
        return calls.expire(self._name, id, older_than_rounds, missing)

    @_Verb
    def add_arm(
        self, arm: str, resume: bool = False, prior: tuple[float, int] | Literal["like the others"] | None = None
    ) -> Call[None]:
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


class RemoteBandit(_BanditVerbs, _Waiting):
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


def _settings(url: object, token: object, timeout: float, retries: object) -> tuple[dict[str, Any], int]:
    """Return what a connection is made with, and how often it is tried again."""
    if not isinstance(url, str):
        raise InvalidTypeError(f"url must be an address such as http://127.0.0.1:8000, got {url!r}")
    if not url.startswith(("http://", "https://")):
        raise InvalidValueError(f"url must be an address such as http://127.0.0.1:8000, got {url!r}")
    if token is not None and not isinstance(token, str):
        raise InvalidTypeError(f"token must be a string or None, got a {type(token).__name__}")
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    made = {"base_url": url, "headers": headers, "timeout": timeout, "follow_redirects": False}
    return made, nonnegative_int("retries", retries)


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.content, dict(response.headers))


def _no_answer(error: httpx.TransportError) -> NoAnswer:
    return NoAnswer(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


class Client(_ServiceVerbs, _Waiting):
    """The bandits of a service, with the verbs of `Bandit`.

    In use::

        with rotting.Client("http://127.0.0.1:8000", token="rot_...") as client:
            client.create("songs", rotting.EffRAWUCB(sigma=0.5), arms=["jazz", "rock"])
            songs = client.bandit("songs")
            decision = songs.decide()
            songs.reward(decision.id, 1.0)

    A reply that is lost does no harm: a call is made again, and every decision has a key, so that the second attempt finds what
    the first one decided. What is refused raises the exceptions of the library, `InvalidValueError` and its kin; what cannot be
    asked, `ServiceError` and its kin. It may be used from several threads.

    Args:
        url: where the service is.
        token: who asks; None if the service asks for none.
        timeout: seconds to wait for each answer.
        retries: how often a call is made again when there is no answer, or when the service is busy; the pauses grow up to five
            seconds, and differ from one client to the next.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 10.0, retries: int = 5) -> None:
        made, self._retries = _settings(url, token, timeout, retries)
        self._http = httpx.Client(**made)

    def bandit(self, name: str) -> RemoteBandit:
        """Return a bandit of the service, which was made there; nothing is asked yet."""
        return RemoteBandit(name, self._send)

    def _send(self, call: Call[T]) -> T:
        steps: Steps[T] = calls.asking(call, self._retries)
        heard: Answer | NoAnswer | None = None
        while True:
            try:
                step = steps.send(heard)
            except StopIteration as done:
                result: T = done.value
                return result
            heard = None
            if isinstance(step, float):
                time.sleep(step)
            else:
                method, path, content, headers = step
                try:
                    heard = _answer(self._http.request(method, path, content=content, headers=headers))
                except httpx.TransportError as error:
                    heard = _no_answer(error)

    def close(self) -> None:
        """End the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncClient(_ServiceVerbs, _Async):
    """As `Client`, for programs with an event loop: its verbs are awaited.

    In use::

        async with rotting.AsyncClient("http://127.0.0.1:8000") as client:
            songs = client.bandit("songs")
            decision = await songs.decide()
            await songs.reward(decision.id, 1.0)

    Args:
        url: as for `Client`.
        token: as for `Client`.
        timeout: as for `Client`.
        retries: as for `Client`.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 10.0, retries: int = 5) -> None:
        made, self._retries = _settings(url, token, timeout, retries)
        self._http = httpx.AsyncClient(**made)

    def bandit(self, name: str) -> AsyncRemoteBandit:
        """Return a bandit of the service, which was made there; nothing is asked yet."""
        return AsyncRemoteBandit(name, self._send)

    async def _send(self, call: Call[T]) -> T:
        steps: Steps[T] = calls.asking(call, self._retries)
        heard: Answer | NoAnswer | None = None
        while True:
            try:
                step = steps.send(heard)
            except StopIteration as done:
                result: T = done.value
                return result
            heard = None
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                method, path, content, headers = step
                try:
                    heard = _answer(await self._http.request(method, path, content=content, headers=headers))
                except httpx.TransportError as error:
                    heard = _no_answer(error)

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
