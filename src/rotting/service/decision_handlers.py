"""Handlers of the routes that make decisions and that report, cancel or expire them."""

import functools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rotting.errors import InvalidValueError
from rotting.live.decisions import Decision, Outcome
from rotting.policy import range_error
from rotting.service import messages as m
from rotting.service import overview
from rotting.service.bandits import Bandits
from rotting.service.idempotency import IdempotencyKey, note_name, noted_decisions
from rotting.service.metrics import Metrics
from rotting.service.requests import Request, Response
from rotting.store.hosted import Hosted

if TYPE_CHECKING:
    from rotting.store.protocol import Payload

_MANY_NAMED = 200  # checking a request that names more arms takes long enough for a worker thread
_MANY_DECISIONS = 20  # making or expiring more decisions does, too


class DecisionHandlers:
    """Handlers for decisions and their rewards, which the metrics count."""

    def __init__(self, bandits: Bandits, metrics: Metrics) -> None:
        self._bandits, self._host, self._metrics = bandits, bandits.host, metrics

    async def decide(self, request: Request) -> Response:
        """Choose one arm, or several."""
        hosted, wanted = await self._bandits.get_active(request.parameters["name"]), request.body
        named = len(wanted.arms or ()) + len(wanted.without or ())
        if named > _MANY_NAMED:
            await self._bandits.in_thread(lambda: _check_arms(hosted, wanted))
        elif named:
            _check_arms(hosted, wanted)
        if wanted.dry_run:
            return await self._preview(hosted, wanted)
        heavy = wanted.count > _MANY_DECISIONS or named > _MANY_NAMED
        made: list[Decision] = []  # stays empty if the key was used before
        work = functools.partial(_decide, hosted, wanted, made)
        if wanted.idempotency_key is None:
            content = await self._bandits.change(hosted, work, heavy=heavy)
        else:
            make_key = functools.partial(IdempotencyKey, self._host, hosted, wanted.idempotency_key, wanted)
            key = await self._bandits.in_thread(make_key) if heavy else make_key()
            content = await self._bandits.change(hosted, work, heavy=heavy, before=key.first_response, note=key.note)
        if made:
            hosted.latest = made[-1]
            self._metrics.decided(hosted.name, made[0].round, wanted.count)
        return Response(content)

    async def _preview(self, hosted: Hosted, wanted: m.DecisionRequest) -> Response:
        """Return what would be decided."""

        def preview() -> bytes:
            decisions = hosted.bandit.preview(wanted.arms, wanted.count, without=wanted.without)
            return encode_decisions(decisions)

        return Response(await self._bandits.in_thread(preview))

    async def reward(self, request: Request) -> Response:
        """Apply the rewards of decisions."""
        hosted = await self._bandits.get_active(request.parameters["name"])
        pairs = [(each.id, each.reward) for each in request.body]
        for place, (_, reward) in enumerate(pairs):
            _check_range(hosted, reward, f"[{place}].reward")
        outcomes = await self._bandits.change(hosted, lambda: hosted.bandit.reward_many(pairs))
        self._metrics.rewarded(hosted.name, zip(outcomes, (reward for _, reward in pairs), strict=True))
        return _results([key for key, _ in pairs], outcomes)

    async def cancel(self, request: Request) -> Response:
        """Cancel decisions that were never shown."""
        hosted, wanted = await self._bandits.get_active(request.parameters["name"]), request.body
        if (wanted.ids is None) == (wanted.keys is None):
            got = "none" if wanted.ids is None else "both"
            raise InvalidValueError("ids or keys", "be given, and only one", None, got=got)
        if wanted.keys is not None:
            return await self._cancel_keys(hosted, wanted.keys)
        outcomes = await self._bandits.change(hosted, lambda: [hosted.bandit.cancel(each) for each in wanted.ids])
        return _results(wanted.ids, outcomes)

    async def _cancel_keys(self, hosted: Hosted, keys: list[str]) -> Response:
        """Cancel the decisions that were made with idempotency keys; no decision can be made with them any more."""
        notes: dict[str, Payload] = {}

        def find() -> None:
            notes.update((key, self._host.note(hosted.name, note_name(key)) or {}) for key in keys)

        def cancel() -> list[Outcome]:
            outcomes: list[Outcome] = []
            for key in keys:
                found = [hosted.bandit.cancel(each["id"]) for each in noted_decisions(notes[key])]
                outcomes.append("applied" if not found or "applied" in found else found[0])
            return outcomes

        outcomes = await self._bandits.change(hosted, cancel, heavy=True, before=find)
        self._host.check_current(hosted)
        for key in keys:
            if not notes[key].get("cancelled"):
                self._host.add_note(hosted, note_name(key), cancelled=True)
        return _results(keys, outcomes)

    async def expire(self, request: Request) -> Response:
        """Expire decisions that will get no reward."""
        hosted, wanted = await self._bandits.get_active(request.parameters["name"]), request.body
        ways = [each for each in ("ids", "older_than_rounds", "older_than") if getattr(wanted, each) is not None]
        if len(ways) != 1:
            got = " and ".join(ways) or "none"
            raise InvalidValueError("ids, older_than_rounds or older_than", "be given, and only one", None, got=got)
        bandit, missing = hosted.bandit, wanted.missing
        if wanted.ids is None:
            limit, age = wanted.limit, {"older_than_rounds": wanted.older_than_rounds, "older_than": wanted.older_than}
            ended = await self._bandits.change(
                hosted,
                lambda: bandit.expire(**age, missing=missing, limit=limit),
                heavy=bandit.pending > _MANY_DECISIONS,
            )
            return Response(m.encode(m.ExpirationResponse([], ended, ended == limit)))
        outcomes = await self._bandits.change(hosted, lambda: [bandit.expire(each, missing=missing) for each in wanted.ids])
        results = [m.DecisionOutcome(*each) for each in zip(wanted.ids, outcomes, strict=True)]
        return Response(m.encode(m.ExpirationResponse(results, outcomes.count("applied"))))


def _decide(hosted: Hosted, wanted: m.DecisionRequest, made: list[Decision]) -> bytes:
    """Decide, add the decisions to `made`, and return the body of the response."""
    bandit, arms, without = hosted.bandit, wanted.arms, wanted.without
    if wanted.count == 1:
        made.append(bandit.decide(arms, without=without))
    else:
        made.extend(bandit.decide(arms, count=wanted.count, without=without))
    return encode_decisions(made)


def encode_decisions(decisions: Iterable[Decision]) -> bytes:
    """Return the body of a response; the id of a decision that was only previewed is "", which becomes null."""
    made = [
        m.MadeDecision(key or None, arm, propensity, number, m.ArmNumbers(*overview.numbers_of(reason)))
        for key, arm, number, propensity, reason in decisions
    ]
    return m.encode(m.DecisionsResponse(made))


def _check_arms(hosted: Hosted, wanted: m.DecisionRequest) -> None:
    """Refuse arms that the bandit does not have; a retired arm may be left out of the choice."""
    for arm in wanted.arms or ():
        if not hosted.is_active(arm):
            raise InvalidValueError("arms", "name arms of the bandit", arm, got=m.encode(arm).decode()[:60])
    left_out = set(wanted.without or ())
    for arm in wanted.without or ():
        if not (hosted.is_active(arm) or hosted.is_retired(arm)):
            raise InvalidValueError("without", "name arms of the bandit", arm, got=m.encode(arm).decode()[:60])
    if wanted.arms is None:
        leaves_none = sum(map(hosted.is_active, left_out)) >= hosted.n_arms
    else:
        leaves_none = left_out.issuperset(wanted.arms)
    if leaves_none:
        raise InvalidValueError("without", "leave an arm to choose", wanted.without, got="all of them")


def _check_range(hosted: Hosted, reward: float, field: str) -> None:
    """Refuse a reward outside the range that the policy declares."""
    policy = hosted.bandit.policy
    low, high = policy.reward_range or (-math.inf, math.inf)
    if not low <= reward <= high:
        raise range_error(policy, field, reward)


def _results(ids: list[str], outcomes: list[Outcome]) -> Response:
    return Response(m.encode(m.ResultsResponse([m.DecisionOutcome(*each) for each in zip(ids, outcomes, strict=True)])))
