"""The handlers of the service: one function for each operation, and the routes that lead to them."""

import asyncio
import functools
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from anyio import to_thread
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from rotting import registry
from rotting.errors import InvalidArgumentError, InvalidValueError
from rotting.live.arms import arm_to_json
from rotting.live.settings import settings_of
from rotting.live.values import Decision, Outcome, RewardRule, seconds_in
from rotting.policy import Policy
from rotting.server.http import dashboard_files, history
from rotting.server.http import messages as m
from rotting.server.http.problem_documents import ProblemError, broken_rule
from rotting.server.http.routes import ROUTES, Route, document, route
from rotting.server.http.service import check_active
from rotting.server.keys import KEY_LIFETIME, key_time
from rotting.server.store.changes import change_settings
from rotting.server.store.database import all_records
from rotting.server.store.durable import create, differences
from rotting.server.store.events import MICROSECOND, BanditRecord, decode, digest_of
from rotting.server.store.turns import FoldedBandit

if TYPE_CHECKING:
    from rotting.server.http.service import RequestContext, Service

MAX_WATCHERS = 100
_BANDIT = "/v1/bandits/{name}"
_ARM = f"{_BANDIT}/arms/{{arm}}"
_TO_BANDIT = ("not-found", "archived")
_PAUSE = 0.5  # seconds between two looks at the log for a client that watches it
_SILENCE = 10.0  # seconds without an event, after which a comment keeps the connection open


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = content if isinstance(content, bytes) else m.encode(content)
    return Response(body, status, headers, "application/json")


# --- Decisions --------------------------------------------------------------------------------------------------------------


@route(
    "POST", f"{_BANDIT}/decisions", "decide", body=m.DecisionRequest, needs_body=False, response=m.DecisionsResponse,
    problems=(*_TO_BANDIT, "key-reused", "key-cancelled", "key-expired"),
)  # fmt: skip
async def decide(context: "RequestContext") -> Response:
    """Choose one arm, or several."""
    wanted: m.DecisionRequest = context.body
    if wanted.dry_run:

        def preview(folded: FoldedBandit) -> bytes:
            check_active(folded)
            return _encode_decisions(folded.bandit.preview(wanted.arms, wanted.count, without=wanted.without))

        return _json(await context.read(preview))
    # The same key must come with the same request.
    request = digest_of(m.encode([wanted.count, wanted.arms, wanted.without, wanted.unit]))
    is_full = False

    def work(folded: FoldedBandit) -> bytes:
        nonlocal is_full
        bandit, arms, without, unit = folded.bandit, wanted.arms, wanted.without, wanted.unit
        if wanted.count == 1:
            decisions: tuple[Decision, ...] = (bandit.decide(arms, without=without, unit=unit),)
        else:
            decisions = bandit.decide(arms, count=wanted.count, without=without, unit=unit)
        folded.latest = decisions[-1]
        is_full = bandit.pending >= bandit.state.most_pending
        return _encode_decisions(decisions)

    answer = await _change_once(context, work, wanted.idempotency_key, request)
    return _json(answer, headers={"rotting-pending": "full"} if is_full else None)


async def _change_once(
    context: "RequestContext", work: Callable[[FoldedBandit], bytes], key: str | None, request: bytes
) -> bytes:
    """Make a change, or return the answer to the first request with this key."""

    def once(folded: FoldedBandit) -> bytes:
        if key is not None and key in folded.keys:
            return _first_answer(folded, key, request)
        if key is not None and key_time(key) < folded.time * MICROSECOND - KEY_LIFETIME:
            raise broken_rule("key-expired", "idempotency_key", "be less than a day old", key, got=json.dumps(key))
        answer = work(folded)
        if key is not None:
            folded.store_key(key, request, answer)
        return answer

    return await context.change(once, keys=() if key is None else (key,))


def _first_answer(folded: FoldedBandit, key: str, request: bytes) -> bytes:
    """Return the answer to the first request with a key."""
    stored, shown = folded.keys[key], json.dumps(key)
    if not stored.answer:
        raise broken_rule("key-cancelled", "idempotency_key", "not be cancelled", key, got=shown)
    if stored.request != request:
        raise broken_rule("key-reused", "idempotency_key", "be new for another request", key, got=shown)
    return stored.answer


def _encode_decisions(decisions: Iterable[Decision]) -> bytes:
    """Return the body of a response; the id of a decision that was only previewed is "", which becomes null."""
    made = [
        m.MadeDecision(key or None, arm, propensity, number, m.ArmNumbers(*history.numbers_of(reason)))
        for key, arm, number, propensity, reason in decisions
    ]
    return m.encode(m.DecisionsResponse(made))


@route("POST", f"{_BANDIT}/rewards", "reward", body=m.Rewards, response=m.ResultsResponse, problems=_TO_BANDIT)
async def reward(context: "RequestContext") -> Response:
    """Report rewards; if one of them is refused, none is applied."""
    pairs = [(each.id, each.reward) for each in context.body]

    def work(folded: FoldedBandit) -> list[Outcome]:
        rule = RewardRule(folded.bandit.policy)
        for place, (_, value) in enumerate(pairs):
            rule.check(value, f"[{place}].reward")
        return folded.bandit.reward_many(pairs)

    outcomes = await context.change(work)
    context.service.metrics.rewarded(outcomes)
    return _results([key for key, _ in pairs], outcomes)


@route(
    "POST", f"{_BANDIT}/cancellations", "decide", body=m.CancellationRequest, response=m.ResultsResponse, problems=_TO_BANDIT
)
async def cancel(context: "RequestContext") -> Response:
    """Cancel decisions that were never shown."""
    ids, keys = context.body.ids, context.body.keys
    if (ids is None) == (keys is None):
        raise InvalidValueError("ids or keys", "be given, and only one", None, got="none" if ids is None else "both")

    def cancel_ids(folded: FoldedBandit) -> list[Outcome]:
        return [folded.bandit.cancel(each) for each in ids]

    def cancel_keys(folded: FoldedBandit) -> list[Outcome]:
        answers = {key: decode(folded.keys[key].answer) for key in keys if key in folded.keys and folded.keys[key].answer}
        for key, answer in answers.items():
            if "decisions" not in answer:
                raise InvalidValueError("keys", "be those of decisions", key, got=json.dumps(key))
        outcomes: list[Outcome] = []
        for key in keys:
            known, answer = folded.keys.get(key), answers.pop(key, {"decisions": []})
            found = [folded.bandit.cancel(each["id"]) for each in answer["decisions"]]
            outcomes.append("applied" if not found or "applied" in found else found[0])
            if known is None or known.answer:
                folded.store_key(key, b"", b"")  # so that a request that comes late cannot decide any more
        return outcomes

    if ids is not None:
        return _results(ids, await context.change(cancel_ids))
    return _results(keys, await context.change(cancel_keys, keys=tuple(keys)))


@route("POST", f"{_BANDIT}/expirations", "reward", body=m.ExpirationRequest, response=m.ExpirationResponse, problems=_TO_BANDIT)
async def expire(context: "RequestContext") -> Response:
    """Expire decisions that will get no reward."""
    wanted: m.ExpirationRequest = context.body
    ways = [each for each in ("ids", "older_than_rounds", "older_than") if getattr(wanted, each) is not None]
    if len(ways) != 1:
        got = " and ".join(ways) or "none"
        raise InvalidValueError("ids, older_than_rounds or older_than", "be given, and only one", None, got=got)

    def work(folded: FoldedBandit) -> m.ExpirationResponse:
        bandit, missing = folded.bandit, wanted.missing
        if wanted.ids is None:
            age: dict[str, Any] = {ways[0]: getattr(wanted, ways[0])}
            ended = bandit.expire(**age, missing=missing, limit=wanted.limit)
            return m.ExpirationResponse([], ended, ended == wanted.limit)
        outcomes = [bandit.expire(each, missing=missing) for each in wanted.ids]
        results = [m.DecisionOutcome(*each) for each in zip(wanted.ids, outcomes, strict=True)]
        return m.ExpirationResponse(results, outcomes.count("applied"))

    return _json(await context.change(work))


@route(
    "POST", f"{_BANDIT}/learning", "admin", body=m.LearnRequest, response=m.LearnResponse,
    problems=(*_TO_BANDIT, "key-reused", "key-cancelled", "key-expired"),
)  # fmt: skip
async def learn(context: "RequestContext") -> Response:
    """Learn past rewards; if one of them is refused, none is learned."""
    wanted: m.LearnRequest = context.body
    rows = [(each.arm, each.reward, each.propensity) for each in wanted.rewards]

    def work(folded: FoldedBandit) -> bytes:
        data = rows if folded.bandit.state.learner.uses_propensity else [row[:2] for row in rows]
        return m.encode(m.LearnResponse(folded.bandit.learn(data, unknown=wanted.unknown)))

    return _json(await _change_once(context, work, wanted.idempotency_key, digest_of(m.encode([rows, wanted.unknown]))))


def _results(ids: list[str], outcomes: list[Outcome]) -> Response:
    return _json(m.ResultsResponse([m.DecisionOutcome(*each) for each in zip(ids, outcomes, strict=True)]))


# --- Bandits ----------------------------------------------------------------------------------------------------------------


@route("GET", "/v1/bandits", "read", query=m.ListQuery, response=m.BanditsResponse)
async def list_bandits(context: "RequestContext") -> Response:
    """List the bandits that the token is for."""
    service, after, limit = context.service, context.query.after, context.query.limit

    def rows() -> m.BanditsResponse:
        found: list[m.BanditRow] = []
        for record in all_records(service.database, after):
            if not context.holder.may_use(record.name):
                continue
            if len(found) == limit:
                return m.BanditsResponse(found, found[-1].name)
            found.append(_row(service, record))
        return m.BanditsResponse(found, None)

    return _json(await run_in_threadpool(rows))


def _row(service: "Service", record: BanditRecord) -> m.BanditRow:
    """Return a bandit in the list, with what the observer has counted so far."""
    known, counted, verdicts = (
        service.turns.known(record.name),
        service.histories.known(record),
        service.observer.verdicts(record),
    )
    shown = decode(record.description)["policy"] if known is None else known.bandit.policy.to_json()
    return m.BanditRow(
        record.name,
        shown["policy"],
        shown["params"],
        record.archived,
        last_hour=None if counted is None else counted.last_hour(time.time()),
        mean=None if counted is None else counted.newest(),
        worn=None if verdicts is None else len(verdicts.worn),
    )


@route(
    "PUT", _BANDIT, "admin", body=m.NewBandit, response=m.BanditResponse, statuses=(200, 201),
    problems=("bandit-differs",),
)  # fmt: skip
async def make_bandit(context: "RequestContext") -> Response:
    """Create a bandit; repeating the request changes nothing."""
    service, name = context.service, context.name
    options = msgspec.structs.asdict(context.body)
    policy, arms = _policy(options.pop("policy"), options.pop("params")), options.pop("arms")
    given = options.pop("keep")
    keep = None if given is None else seconds_in("keep", given)
    seconds = service.options.deadline
    is_new = False
    if await run_in_threadpool(service.database.find, name) is None:
        is_new = await run_in_threadpool(lambda: create(service.turns, name, policy, arms, keep, seconds, **options))

    def show(folded: FoldedBandit) -> Response:
        others = [each.field for each in differences(folded.record, folded.bandit.state, policy, arms, options)]
        others += ["keep"] if keep not in {None, folded.record.keep} else []
        if others and not is_new:
            hint = f", which has other {', '.join(others)}"
            raise broken_rule("bandit-differs", "bandit", "be new or have the same arguments", name, hint=hint)
        return _show(folded, 201 if is_new else 200)

    return await context.read(show)


def _policy(name: str, params: dict[str, float | str]) -> Policy:
    policy_class = registry.find(name)
    known = [each.name for each in policy_class.parameters()]
    for key in params:
        if key not in known:
            raise InvalidValueError("params", f"be among {', '.join(known) or 'none'} for {name}", key)
    try:
        return policy_class(**params)
    except InvalidArgumentError as error:
        raise error.replace(field=f"params.{error.field}") from error


@route("GET", _BANDIT, "read", response=m.BanditResponse, problems=("not-found",))
async def show_bandit(context: "RequestContext") -> Response:
    """Show a bandit."""
    return await context.read(_show)


@route("PATCH", _BANDIT, "admin", body=m.Change, response=m.BanditResponse, problems=_TO_BANDIT)
async def change(context: "RequestContext") -> Response:
    """Change settings of a bandit; repeating the request changes nothing."""
    given = {name: value for name, value in msgspec.structs.asdict(context.body).items() if value is not msgspec.UNSET}
    reason, params = given.pop("reason"), given.pop("params", {})
    settings = {**given, "policy": _policy(given["policy"], params)} if "policy" in given else {**given, **params}
    arguments = context.name, reason, settings, check_active, context.holder.name, context.service.options.deadline
    await run_in_threadpool(change_settings, context.service.turns, *arguments)
    return await context.read(_show)


@route(
    "PUT", f"{_BANDIT}/pauses/{{arm}}", "admin", body=m.PauseRequest, needs_body=False, response=m.BanditResponse,
    problems=_TO_BANDIT,
)  # fmt: skip
async def pause(context: "RequestContext") -> Response:
    """Do not choose an arm until it is resumed."""
    await context.change(lambda folded: folded.bandit.pause(context.arm, reason=context.body.reason))
    return await context.read(_show)


@route("DELETE", f"{_BANDIT}/pauses/{{arm}}", "admin", response=m.BanditResponse, problems=_TO_BANDIT)
async def resume(context: "RequestContext") -> Response:
    """Choose a paused arm again."""
    await context.change(lambda folded: folded.bandit.resume(context.arm))
    return await context.read(_show)


@route("POST", f"{_BANDIT}/archive", "admin", response=m.BanditResponse, problems=("not-found",))
async def archive(context: "RequestContext") -> Response:
    """Archive a bandit: it makes no more decisions, but can be read."""
    await context.change(lambda folded: folded.changes.update(archived=True), active=False)
    return await context.read(_show)


@route("DELETE", _BANDIT, "admin", response=m.DeletedResponse, problems=("not-found", "not-archived"))
async def delete_bandit(context: "RequestContext") -> Response:
    """Delete an archived bandit with its log."""

    def work(folded: FoldedBandit) -> None:
        if not folded.record.archived:
            raise broken_rule("not-archived", "bandit", "be archived before it is deleted", context.name)
        folded.changes["deleted"] = True

    await context.change(work, active=False)
    return _json(m.DeletedResponse(context.name, True))


@route(
    "PUT", _ARM, "admin", body=m.ArmRequest, needs_body=False, response=m.ArmsResponse, statuses=(200, 201),
    problems=_TO_BANDIT,
)  # fmt: skip
async def put_arm(context: "RequestContext") -> Response:
    """Add an arm, or bring back a retired one; an existing arm is not changed."""
    arm, body = context.arm, context.body

    def work(folded: FoldedBandit) -> Response:
        arms = folded.bandit.state.arms
        if arm in arms.active:
            return _show_arms(folded)
        if body.resume and arm not in arms.retired:
            raise InvalidValueError("resume", "be for an arm that was removed with keep", arm)
        if body.resume and body.prior is not None:
            raise InvalidValueError("prior", "be left out with resume, which keeps what was learned", body.prior)
        if body.resume:
            folded.bandit.revive(arm)
        else:
            folded.bandit.add_arm(arm, body.prior)
        return _show_arms(folded, 201)

    return await context.change(work)


@route(
    "DELETE", _ARM, "admin", query=m.DeleteArmQuery, response=m.ArmsResponse,
    problems=(*_TO_BANDIT, "last-arm"),
)  # fmt: skip
async def delete_arm(context: "RequestContext") -> Response:
    """Remove an arm."""
    arm, keep = context.arm, context.query.keep

    def work(folded: FoldedBandit) -> Response:
        arms = folded.bandit.state.arms
        if arm not in arms.active and (keep or arm not in arms.retired):
            raise broken_rule("not-found", "arm", f"be one of the bandit {context.name!r}", arm)
        if arm in arms.active and len(arms.active) == 1:
            raise broken_rule("last-arm", "arm", "not be the last one", arm)
        (folded.bandit.retire if keep else folded.bandit.forget)(arm)
        return _show_arms(folded)

    return await context.change(work)


def _retired(folded: FoldedBandit) -> list[Hashable]:
    return list(folded.bandit.state.arms.retired)


def _show(folded: FoldedBandit, status: int = 200) -> Response:
    bandit, record, state = folded.bandit, folded.record, folded.bandit.state
    described, policy, settings = decode(record.description), bandit.policy.to_json(), settings_of(state)
    body = m.BanditResponse(
        name=record.name,
        policy=policy["policy"],
        params=policy["params"],
        seed=described["seed"],
        pending_rule=described["pending"],
        max_pending=state.max_pending,
        archived=record.archived,
        rounds=bandit.rounds,
        pending=bandit.pending,
        arms=list(bandit.arms),
        retired=_retired(folded),
        reward_window=None if state.window is None else state.window.seconds,
        missing=None if state.window is None else state.window.missing,
        holdout=state.holdout,
        caps={_text(arm): share for arm, share in settings["caps"]},
        floors={_text(arm): share for arm, share in settings["floors"]},
        paused=settings["paused"],
        most_pending=None if state.most_pending == sys.maxsize else state.most_pending,
        draws=bandit.policy.randomised,
        keep=record.keep,
    )
    return _json(body, status)


def _text(arm: Hashable) -> str:
    return arm if isinstance(arm, str) else json.dumps(arm_to_json(arm))


def _show_arms(folded: FoldedBandit, status: int = 200) -> Response:
    return _json(m.ArmsResponse(list(folded.bandit.arms), _retired(folded)), status)


# --- Reading ----------------------------------------------------------------------------------------------------------------


@route("GET", f"{_BANDIT}/explain", "read", response=m.ExplainResponse, problems=("not-found",))
async def explain(context: "RequestContext") -> Response:
    """Return the index, mean, window and width of each arm."""

    def explained(folded: FoldedBandit) -> m.ExplainResponse:
        rows = [m.ArmReason(*history.numbers_of(each), arm) for arm, each in folded.bandit.explain().items()]
        return m.ExplainResponse(folded.bandit.rounds + 1, rows)

    return _json(await context.read(explained))


@route("GET", f"{_BANDIT}/uplift", "read", query=m.UpliftQuery, response=m.UpliftResponse, problems=("not-found",))
async def show_uplift(context: "RequestContext") -> Response:
    """Return what the policy earns above uniform choices."""
    ends = context.query.low, context.query.high
    given = None if ends == (None, None) else ends
    found = await context.read(lambda folded: folded.bandit.uplift(reward_range=given))
    return _json({**found._asdict(), "verdict": found.verdict})  # NaN becomes null


@route("GET", f"{_BANDIT}/history", "read", query=m.HistoryQuery, response=m.HistoryResponse, problems=("not-found",))
async def show_history(context: "RequestContext") -> Response:
    """Return choices and rewards over time, in buckets."""
    service, top = context.service, context.query.top
    record, declared, last = await context.read(
        lambda folded: (folded.record, folded.bandit.policy.reward_range, folded.latest)
    )

    def encoded() -> bytes:
        with service.histories.read_on(record) as (counted, behind):
            return m.encode(history.history_response(counted, behind, top, last, declared))

    return _json(await run_in_threadpool(encoded))


@route("GET", f"{_BANDIT}/arms", "read", query=m.ArmsQuery, response=m.ArmListResponse, problems=("not-found",))
async def list_arms(context: "RequestContext") -> Response:
    """List arms with their choices, rewards and estimates."""
    service = context.service
    reasons, retired, record = await context.read(lambda folded: (folded.bandit.explain(), _retired(folded), folded.record))

    def listed() -> bytes:
        with service.histories.read_on(record) as (counted, _):
            verdicts = service.observer.verdicts(record)
            worn = {} if verdicts is None else verdicts.worn
            return m.encode(history.arm_list_response(counted, reasons, retired, context.query, worn))

    return _json(await run_in_threadpool(listed))


@route("GET", f"{_BANDIT}/log", "read", query=m.LogQuery, response=m.LogResponse, problems=("not-found",))
async def read_log(context: "RequestContext") -> Response:
    """Read the events of a bandit as they are in the log."""
    record, after = await context.find(context.name), context.query.after
    events = await run_in_threadpool(context.service.database.events, record, after + 1, context.query.limit)
    rows = [{"number": n, "time": t, "caller": caller, "payload": msgspec.Raw(payload)} for n, t, caller, payload, _ in events]
    return _json({"events": rows, "next": events[-1].number if events else after})


@route("GET", "/v1/events", "read", query=m.EventsQuery, response="text/event-stream", problems=("not-found",))
async def watch(context: "RequestContext") -> Response:
    """Tell when a bandit has new events (server-sent events with the number of the last one)."""
    record = await context.find(context.query.bandit)
    if len(context.service.watchers) >= MAX_WATCHERS:
        raise ProblemError("too-many-requests", f"{MAX_WATCHERS} clients are watching events already", retry_after="10")
    return StreamingResponse(_stream(context, record), media_type="text/event-stream")


async def _stream(context: "RequestContext", record: BanditRecord) -> AsyncIterator[bytes]:
    service, me = context.service, object()
    service.watchers.add(me)
    try:
        yield b"retry: 1000\n\n"
        last, quiet_since = await run_in_threadpool(service.database.last, record), time.monotonic()
        while service.admission.still_admits(context.http, context.holder):
            with suppress(TimeoutError):
                await asyncio.wait_for(service.stopping.wait(), _PAUSE)
                return
            newest = await run_in_threadpool(service.database.last, record)
            if newest is not None and newest != last:
                yield b'id: %d\nevent: event\ndata: {"number":%d}\n\n' % (newest.number, newest.number)
            elif time.monotonic() - quiet_since > _SILENCE:
                yield b":\n\n"
            else:
                continue
            last, quiet_since = newest, time.monotonic()
    finally:
        service.watchers.discard(me)


@route("GET", "/livez", None, response=m.HealthResponse)
async def live(context: "RequestContext") -> Response:
    """Report that the process is alive."""
    return _json(m.HealthResponse("alive"))


@route("GET", "/readyz", None, response=m.HealthResponse, problems=("store-full", "store-failed"))
async def ready(context: "RequestContext") -> Response:
    """Report whether decisions can be stored."""
    # In a thread of its own: those of the pool may all be waiting.
    await to_thread.run_sync(context.service.check_ready, limiter=context.service.probes)
    return _json(m.HealthResponse("ready"))


@route("GET", "/metrics", "read", response="text/plain")
async def show_metrics(context: "RequestContext") -> Response:
    """Return the metrics for Prometheus."""
    if context.holder.bandits is not None:
        raise broken_rule("forbidden", "token", "be for all bandits to read the metrics", got="one for some")
    return Response(await run_in_threadpool(context.service.metrics.text), media_type=CONTENT_TYPE_LATEST)


async def show_page(context: "RequestContext") -> Response:
    """Return a file of the dashboard."""
    path = context.http.scope["path"].removeprefix(context.http.scope.get("root_path", "")) or "/"
    page = dashboard_files.FILES[path]
    return Response(page.content, 200, {**dashboard_files.HEADERS, "content-type": page.content_type})


for _path, _page in dashboard_files.FILES.items():
    ROUTES.append(Route("GET", _path, show_page, None, response=_page.content_type, is_page=True))


@route("GET", "/openapi.json", None, response=dict)
async def show_openapi(context: "RequestContext") -> Response:
    """Return the OpenAPI document."""
    return _json(_openapi())


@functools.cache
def _openapi() -> bytes:
    return m.encode(document())
