"""The methods of both clients: each makes a request from its arguments and reads the result from the response.

A method is written once. It returns a `ClientCall`, which a `Client` makes at once and an `AsyncClient` when it is awaited.
"""

import json
import math
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from functools import cached_property, partial, update_wrapper
from random import SystemRandom
from types import MethodType
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)
from urllib.parse import quote, urlencode

from msgspec import Struct, convert

from rotting.common.json_data import find_nonfinite
from rotting.common.rules import positive_int
from rotting.common.short_numbers import plural
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.live.arms import UnknownArms, check_iterable
from rotting.live.holdout import Uplift
from rotting.live.values import (
    ArmExplanation,
    Decision,
    Duration,
    Explanation,
    Outcome,
    check_number,
    id_of,
    seconds_in,
)
from rotting.policy import Policy
from rotting.server.client.retries import ClientCall, ClientRequest
from rotting.server.http import messages as m
from rotting.server.keys import new_key

_SETTINGS = ("reward_window", "missing", "holdout", "max_pending", "caps", "floors", "paused")
_MAX_LEARNED = 1_000  # rewards in one request

Owner = TypeVar("Owner")
P = ParamSpec("P")
T = TypeVar("T")

_MAX_EXPIRED = 10_000  # decisions that a service expires with one request, at most


class LoggedEvent(NamedTuple):
    """An event of the log of a bandit."""

    number: int
    """Its position in the log: 1, 2, 3, ... without gaps."""
    time: float
    """When it was written, in seconds since 1970."""
    caller: str
    """The name of the caller's token; "" without tokens."""
    payload: dict[str, Any]


class Blocking:
    """The owner of methods that make their calls at once: its `_send` returns the result of a `ClientCall`."""


class Awaited:
    """The owner of methods that are awaited: its `_send` is a coroutine function."""


class method(Generic[Owner, P, T]):  # noqa: N801 - used as a decorator, like `property`
    """Decorator of a method of both clients: the method returns a `ClientCall`, and its owner sends it."""

    def __init__(self, make_call: Callable[Concatenate[Owner, P], ClientCall[T]]) -> None:
        def send(owner: Any, *args: P.args, **kwargs: P.kwargs) -> object:
            return owner._send(make_call(owner, *args, **kwargs))

        self._make_call = make_call
        self._send = update_wrapper(send, make_call)

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[Concatenate[Owner, P], ClientCall[T]]: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: Awaited, kind: type) -> Callable[P, Coroutine[object, object, T]]: ...

    def __get__(self, owner: object, kind: type) -> object:
        if owner is None:
            return self._make_call  # so that `help` shows its signature and docstring
        return MethodType(self._send, owner)


Names = Iterable[str] | None
"""Names of arms."""
Made = Decision | tuple[Decision, ...]
"""One decision, or several if `count` is given."""


class DecideOptions(TypedDict, total=False):
    """The other arguments of `decide`."""

    without: Names
    unit: str | None
    key: str | None
    dry_run: bool
    fallback: Names


class Decide(Protocol):
    """The type of `RemoteBandit.decide`."""

    @overload
    def __call__(self, arms: Names = None, count: None = None, **options: Unpack[DecideOptions]) -> Decision: ...
    @overload
    def __call__(self, arms: Names = None, *, count: int, **options: Unpack[DecideOptions]) -> tuple[Decision, ...]: ...


class AwaitedDecide(Protocol):
    """The type of `AsyncRemoteBandit.decide`."""

    @overload
    async def __call__(self, arms: Names = None, count: None = None, **options: Unpack[DecideOptions]) -> Decision: ...
    @overload
    async def __call__(self, arms: Names = None, *, count: int, **options: Unpack[DecideOptions]) -> tuple[Decision, ...]: ...


# --- Requests ---------------------------------------------------------------------------------------------------------------


_ENCODE = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _call(
    method: str,
    path: str,
    parse: Callable[[object], T | ClientCall[T]],
    body: object = None,
    **query: str | int,
) -> ClientCall[T]:
    try:
        content = None if body is None else _ENCODE(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        found = find_nonfinite(body) if "Out of range" in str(error) else None
        if found is not None:
            raise InvalidValueError(found.place, "be a finite number", found.number) from None
        raise InvalidTypeError("the request", "hold only what JSON can carry", body, hint=f": {error}") from None
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    target = f"{path}?{urlencode(texts)}" if query else path
    return ClientCall(ClientRequest(method, target, content), parse)


def _segment(name: str, text: object) -> str:
    """Return an argument as one segment of a path."""
    if not isinstance(text, str):
        raise InvalidTypeError(name, "be a string", text)
    if text in {".", ".."}:
        raise InvalidValueError(name, "not be '.' or '..', which mean something else in a URL", text)
    return quote(text, safe="")


def _to_list(name: str, values: Iterable[T] | None) -> list[T] | None:
    if values is None:
        return None
    check_iterable(values, name)  # a string would be taken for a list of its letters
    return list(values)


# --- Responses --------------------------------------------------------------------------------------------------------------
# A built-in exception of these functions means that a response is not as documented; the caller gets a `ServiceError` then.


class _Named(Struct):
    name: str


class _Names(Struct):
    bandits: list[_Named]
    next: str | None


def _parse_nothing(data: object) -> None:
    """Ignore the body of a response: its status says that the request succeeded."""


def _parse_object(data: object) -> dict[str, Any]:
    return convert(data, dict[str, Any])


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _explanation(each: m.ArmNumbers) -> ArmExplanation:
    index, mean, width = _number(each.index), _number(each.mean), _number(each.width)
    return ArmExplanation(index, mean, each.window, width, each.pulls, each.pending, each.rule)


def _parse_decisions(count: int | None, data: object) -> Made:
    made = convert(data, m.DecisionsResponse).decisions
    if len(made) != (count or 1):
        raise ValueError("decisions")
    decisions = tuple(
        Decision(each.id or "", each.arm, each.round, _number(each.propensity), _explanation(each.reason)) for each in made
    )
    return decisions[0] if count is None else decisions


def _parse_outcomes(count: int, data: object) -> list[Outcome]:
    results = convert(data, m.ResultsResponse).results
    if len(results) != count:
        raise ValueError("results")
    return [each.outcome for each in results]


def _parse_outcome(data: object) -> Outcome:
    return _parse_outcomes(1, data)[0]


def _parse_unknown(data: object) -> Outcome:
    """Return the outcome for a decision that no service knows."""
    return "unknown"


def _id_parameter(field: str) -> str:
    """Return the parameter that errors about one decision name, given the field of the body."""
    return field.replace("ids[0]", "id", 1) if field.startswith("ids[0]") else field.replace("ids, ", "id, ", 1)


class BanditPage(NamedTuple):
    """Names of some bandits, and the `after` of the next page; None on the last one."""

    names: list[str]
    next: str | None


def _parse_bandits(data: object) -> BanditPage:
    found = convert(data, _Names)
    return BanditPage([each.name for each in found.bandits], found.next)


def _parse_explanation(data: object) -> Explanation:
    return Explanation({each.arm: _explanation(each) for each in convert(data, m.ExplainResponse).arms})


def _parse_uplift(data: object) -> Uplift:
    found = convert(data, m.UpliftResponse)
    difference, policy, uniform = map(_number, (found.difference, found.policy, found.uniform))
    return Uplift(difference, found.low, found.high, policy, uniform, found.rewards)


def _parse_events(data: object) -> list[LoggedEvent]:
    events = convert(data, m.LogResponse).events
    return [LoggedEvent(each.number, each.time * 1e-6, each.caller, each.payload) for each in events]


# --- Fallbacks --------------------------------------------------------------------------------------------------------------


_chance = SystemRandom()  # not the generator that programs seed, or processes that were forked choose the same arms


def _fallback_arms(arms: Iterable[str], count: object) -> list[str]:
    named = _to_list("fallback", arms)
    assert named is not None
    if len(set(named)) < len(named):
        raise InvalidValueError("fallback", "name each arm once", named)
    wanted = positive_int("count", count)
    if len(named) < wanted:
        raise InvalidValueError("fallback", f"name at least {plural(wanted, 'arm')}", named)
    return named


def _choose(arms: list[str], count: int | None) -> Made:
    """Choose different arms at random; their rounds are 0."""
    why = ArmExplanation(math.nan, math.nan, 0, math.nan, 0, 0)
    chosen = _chance.sample(arms, count or 1)
    made = tuple(Decision("", arm, 0, 1.0 / (len(arms) - k), why) for k, arm in enumerate(chosen))
    return made[0] if count is None else made


# --- Methods ----------------------------------------------------------------------------------------------------------------


class ServiceMethods:
    """Methods of `Client` and `AsyncClient`."""

    @method
    def create(
        self,
        name: str,
        policy: Policy,
        arms: Iterable[str],
        *,
        seed: int | None = None,
        pending: Literal["shrink", "ignore"] | None = None,
        max_pending: int | None = None,
        reward_window: Duration | None = None,
        missing: float | None = 0.0,
        holdout: float | None = None,
        keep: Duration | None = None,
    ) -> ClientCall[None]:
        """Create a bandit with the arguments of `rotting.Bandit`.

        Repeating the call changes nothing. If there is a bandit of the same name with other arguments, the call raises an
        error.

        Args:
            name: letters, digits and `._~-`.
            policy: any policy except an oracle.
            arms: names of the arms.
            seed: as for `Bandit`.
            pending: as for `Bandit`.
            max_pending: as for `Bandit`.
            reward_window: as for `Bandit`.
            missing: as for `Bandit`, with a `reward_window`.
            holdout: as for `Bandit`.
            keep: as for `rotting.open`.
        """
        if not isinstance(policy, Policy):
            raise InvalidTypeError("policy", "be a policy such as rotting.UCB1()", policy)
        arguments = {
            **policy.to_json(),
            "arms": _to_list("arms", arms),
            "seed": seed,
            "pending": pending,
            "max_pending": max_pending,
            "holdout": holdout,
            "keep": None if keep is None else seconds_in("keep", keep),
        }
        body = {key: value for key, value in arguments.items() if value is not None}
        if reward_window is not None:
            body |= {"reward_window": seconds_in("reward_window", reward_window), "missing": missing}
        elif missing != 0.0:
            raise InvalidValueError("missing", "be given with reward_window only", missing)
        return _call("PUT", f"/v1/bandits/{_segment('name', name)}", _parse_nothing, body)

    @method
    def bandits(self, after: str = "", limit: int = 1_000) -> ClientCall[BanditPage]:
        """Return the names of at most `limit` bandits, in alphabetical order, starting after the name `after`.

        If `next` of the result is not None, pass it as `after` to get more names.
        """
        return _call("GET", "/v1/bandits", _parse_bandits, after=after, limit=limit)


class BanditMethods:
    """Methods of `RemoteBandit` and `AsyncRemoteBandit`."""

    def __init__(self, name: str, send: Callable[[ClientCall[Any]], Any]) -> None:
        self._name, self._send = name, send

    @cached_property
    def _root(self) -> str:
        return f"/v1/bandits/{_segment('name', self._name)}"

    def _post(
        self,
        collection: str,
        parse: Callable[[object], T | ClientCall[T]],
        body: object = None,
        parameter: Callable[[str], str] | None = None,
    ) -> ClientCall[T]:
        call = _call("POST", f"{self._root}/{collection}", parse, body)
        return call if parameter is None else replace(call, parameter=parameter)

    @method
    def decide(
        self,
        arms: Names = None,
        count: int | None = None,
        *,
        without: Names = None,
        unit: str | None = None,
        key: str | None = None,
        dry_run: bool = False,
        fallback: Names = None,
    ) -> ClientCall[Any]:
        """Choose one arm or several, like `Bandit.decide`.

        Args:
            arms: the arms to choose from; all by default.
            count: how many arms to choose.
            without: arms not to choose.
            unit: what the decision is for, such as a country or a user; the log keeps it.
            key: idempotency key: the same key returns the same decisions again, also from other processes. By default each call
                uses a new one.
            dry_run: return what would be decided and change nothing. The decisions have the id "" and get no reward.
            fallback: arms to choose from at random, here, if the service cannot be reached: there is no response in time, or it
                is a server error (5xx). Such a decision has the id "" and the round 0, and gets no reward. If the service
                refuses the request (4xx), the call raises an error all the same.
        """
        wanted = 1 if count is None else count
        # A second attempt with the same key finds the decisions of the first. If the caller gives up, nobody else knows a key
        # that was made here, and it is cancelled.
        own_key = new_key()
        given = {"count": count, "arms": _to_list("arms", arms), "without": _to_list("without", without), "unit": unit}
        body = {name: value for name, value in given.items() if value is not None}
        if dry_run is not False:
            body["dry_run"] = dry_run
        body["idempotency_key"] = own_key if key is None else key  # last: errors show the beginning

        return replace(
            self._post("decisions", partial(_parse_decisions, count), body),
            cleanup=partial(self._cancel_key, own_key) if key is None and not dry_run else None,
            fallback=None if fallback is None else partial(_choose, _fallback_arms(fallback, wanted), count),
        )

    def _cancel_key(self, key: str) -> ClientCall[Outcome]:
        return self._post("cancellations", _parse_outcome, {"keys": [key]})

    @method
    def reward(self, id: str | Decision, reward: float) -> ClientCall[Outcome]:
        """Report the reward of a decision, like `Bandit.reward`.

        If the first response was lost, the second attempt returns "duplicate". The reward of a fallback is "unknown"; it is
        not sent.
        """
        body = [{"id": id_of(id), "reward": check_number(reward, "reward")}]
        return self._settle("rewards", id, body, lambda field: field.removeprefix("[0]."))

    def _settle(
        self, collection: str, id: str | Decision, body: object, parameter: Callable[[str], str]
    ) -> ClientCall[Outcome]:
        """Return a call about one decision, which needs no request if it is a fallback."""
        if not id_of(id):
            return ClientCall(None, _parse_unknown)
        return self._post(collection, _parse_outcome, body, parameter)

    @method
    def reward_many(self, rewards: Iterable[tuple[str | Decision, float]]) -> ClientCall[list[Outcome]]:
        """Report the rewards of at most 1,000 decisions. If one of them is refused, none is applied."""
        try:
            pairs = [(decision, reward) for decision, reward in rewards]
        except (TypeError, ValueError):
            raise InvalidTypeError("rewards", "be pairs of a decision and a reward", rewards) from None
        body = [
            {"id": id_of(decision), "reward": check_number(reward, f"rewards[{k}].reward")}
            for k, (decision, reward) in enumerate(pairs)
        ]
        if body and not any(each["id"] for each in body):  # fallbacks
            return ClientCall(None, lambda data: ["unknown"] * len(body))
        return self._post("rewards", partial(_parse_outcomes, len(body)), body, lambda field: f"rewards{field}")

    @method
    def cancel(self, id: str | Decision) -> ClientCall[Outcome]:
        """Cancel a decision that was never shown, like `Bandit.cancel`."""
        return self._settle("cancellations", id, {"ids": [id_of(id)]}, _id_parameter)

    @method
    def expire(
        self,
        id: str | Decision | None = None,
        *,
        older_than_rounds: int | None = None,
        older_than: Duration | None = None,
        missing: float | Literal["drop"] = "drop",
        limit: int | None = None,
    ) -> ClientCall[Outcome | int]:
        """Expire a decision that will get no reward, or all decisions of a certain age, like `Bandit.expire`.

        A service expires at most 10,000 old decisions per request. The client repeats the request until none are left and
        returns the sum; decisions whose response was lost are not counted. After an error, call the method again to go on.
        """
        body: dict[str, object] = {"ids": None, "older_than_rounds": older_than_rounds, "missing": missing}
        if older_than is not None:
            body["older_than"] = seconds_in("older_than", older_than)
        if id is None:
            return self._expire_older(body, limit, expired_before=0)
        return self._settle("expirations", id, {**body, "ids": [id_of(id)]}, _id_parameter)

    def _expire_older(self, body: dict[str, object], limit: int | None, expired_before: int) -> ClientCall[Outcome | int]:
        def parse(data: object) -> int | ClientCall[Outcome | int]:
            found = convert(data, m.ExpirationResponse)
            total = expired_before + found.expired
            if not found.more or (limit is not None and total >= limit):
                return total
            if found.expired < 1:
                raise ValueError("more, but none expired")  # would repeat forever
            return self._expire_older(body, limit, total)

        portion = {} if limit is None else {"limit": min(_MAX_EXPIRED, limit - expired_before)}
        return self._post("expirations", parse, {**body, **portion}, _id_parameter)

    @method
    def learn(
        self, rewards: Iterable[tuple[str, float] | tuple[str, float, float]], unknown: UnknownArms = "refuse"
    ) -> ClientCall[int]:
        """Learn past rewards, like `Bandit.learn`: pairs of an arm and a reward, or triples with a propensity.

        A thousand are sent in each request. If one of these is refused, none of its thousand is learned.
        """
        check_iterable(rewards, "rewards")
        rows = [dict(zip(("arm", "reward", "propensity"), each, strict=False)) for each in rewards]
        return self._learn(rows, unknown, 0)

    def _learn(self, rows: list[dict[str, Any]], unknown: str, learned_before: int) -> ClientCall[int]:
        def parse(data: object) -> int | ClientCall[int]:
            learned = learned_before + convert(data, m.LearnResponse).learned
            return self._learn(rows[_MAX_LEARNED:], unknown, learned) if len(rows) > _MAX_LEARNED else learned

        if not rows:
            return ClientCall(None, lambda data: learned_before)
        body = {"rewards": rows[:_MAX_LEARNED], "unknown": unknown, "idempotency_key": new_key()}
        return self._post("learning", parse, body)

    @method
    def change(self, /, *, reason: str = "", **settings: Any) -> ClientCall[None]:
        """Change settings from now on, like `Bandit.change`."""
        policy, body = settings.pop("policy", None), {"reason": reason}  # type: Any, dict[str, object]
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidTypeError("policy", "be a policy such as rotting.UCB1()", policy)
        given = {name: settings.pop(name) for name in _SETTINGS if name in settings}
        if given.get("reward_window") is not None:
            given["reward_window"] = seconds_in("reward_window", given["reward_window"])
        if "paused" in given:
            given["paused"] = _to_list("paused", given["paused"])
        if policy is not None:
            body |= policy.to_json()
        if settings:
            body["params"] = {**(policy.to_json()["params"] if policy is not None else {}), **settings}
        call = _call("PATCH", self._root, _parse_nothing, {**body, **given})
        return replace(call, parameter=lambda field: field.removeprefix("params."))

    @method
    def pause(self, arm: str, *, reason: str = "") -> ClientCall[None]:
        """Do not choose `arm` until `resume`, like `Bandit.pause`."""
        return _call("PUT", f"{self._root}/pauses/{_segment('arm', arm)}", _parse_nothing, {"reason": reason})

    @method
    def resume(self, arm: str) -> ClientCall[None]:
        """Choose a paused arm again."""
        return _call("DELETE", f"{self._root}/pauses/{_segment('arm', arm)}", _parse_nothing)

    @method
    def uplift(self, *, reward_range: tuple[float, float] | None = None) -> ClientCall[Uplift]:
        """Return what the policy earns above uniform choices per decision, like `Bandit.uplift`, at a confidence of 95 %."""
        query = {} if reward_range is None else {"low": str(reward_range[0]), "high": str(reward_range[1])}
        return _call("GET", f"{self._root}/uplift", _parse_uplift, **query)

    @method
    def add_arm(self, arm: str, prior: tuple[float, int] | Literal["pooled"] | None = None) -> ClientCall[None]:
        """Add an arm, like `Bandit.add_arm`; an arm that the bandit already has is not changed."""
        return _call("PUT", self._arm(arm), _parse_nothing, {"prior": prior})

    @method
    def remove_arm(self, arm: str) -> ClientCall[None]:
        """Remove `arm` and its rewards for good: the same as `forget`."""
        return BanditMethods.forget(self, arm)

    @method
    def retire(self, arm: str) -> ClientCall[None]:
        """Stop choosing `arm` and keep its rewards for `revive`."""
        return replace(_call("DELETE", self._arm(arm), _parse_nothing, keep=True), missing_is_done=True)

    @method
    def revive(self, arm: str) -> ClientCall[None]:
        """Choose a retired arm again."""
        return _call("PUT", self._arm(arm), _parse_nothing, {"resume": True})

    @method
    def forget(self, arm: str) -> ClientCall[None]:
        """Remove `arm` and its rewards for good."""
        return replace(_call("DELETE", self._arm(arm), _parse_nothing), missing_is_done=True)

    def _arm(self, arm: str) -> str:
        return f"{self._root}/arms/{_segment('arm', arm)}"

    @method
    def explain(self) -> ClientCall[Explanation]:
        """Return the index, mean, window and width of each arm for the next decision; infinite values become NaN."""
        return _call("GET", f"{self._root}/explain", _parse_explanation)

    @method
    def log(self, after: int = 0, limit: int = 1_000) -> ClientCall[list[LoggedEvent]]:
        """Return events in order, starting after event number `after`.

        To read them all, pass the number of the last event as `after` until the list is empty.
        """
        return _call("GET", f"{self._root}/log", _parse_events, after=after, limit=limit)

    @method
    def show(self) -> ClientCall[dict[str, Any]]:
        """Return the policy, settings and arms of the bandit, its rounds, and its pending decisions."""
        return _call("GET", self._root, _parse_object)

    @method
    def archive(self) -> ClientCall[None]:
        """Archive the bandit: it makes no more decisions, but can still be read."""
        return self._post("archive", _parse_nothing)

    @method
    def delete(self) -> ClientCall[None]:
        """Delete the bandit, which must be archived, with its log."""
        return replace(_call("DELETE", self._root, _parse_nothing), missing_is_done=True)
