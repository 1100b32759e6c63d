"""What the service does with a request: who may, what is asked, what the bandits say.

Everything happens in the event loop, one request after the other; what takes long (to resume a bandit, to compile a policy, to
read a log) runs in a thread, and the request goes on when it is done. What changes a bandit is answered when it is written.
"""

import copy
import json
import logging
import math
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from rotting import registry
from rotting.errors import InvalidTypeError, InvalidValueError, RottingError, StoreError, StoreFullError
from rotting.live.decisions import Decision, Outcome
from rotting.policy import Policy
from rotting.service import messages as m
from rotting.service import openapi, overview, pages, routes
from rotting.service.broadcast import MAX_READERS, Broadcast, Reader
from rotting.service.compiling import Compiling
from rotting.service.history import Histories
from rotting.service.http import EVENTS, JSON, TEXT, Exchange
from rotting.service.metrics import Metrics
from rotting.service.problems import ProblemError, of_body, of_status
from rotting.service.rates import Rates
from rotting.service.routes import Route
from rotting.service.tokens import ANYBODY, Holder, Tokens
from rotting.store.host import Batch, Host, Hosted
from rotting.store.records import digest

_log = logging.getLogger("rotting.service")
_PROBLEM = b"application/problem+json"
_LOOPBACK = {b"localhost", b"127.0.0.1", b"[::1]"}


class Reply(NamedTuple):
    """An answer."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()
    kind: bytes = JSON


class Later(NamedTuple):
    """An answer that takes long: `work` runs in a thread, and what it returns goes to `then`, in the loop.

    Args:
        work: what takes long.
        then: makes the answer.
        for_page: whether it is for the dashboard, which may wait for other pages, and for which nothing else waits.
    """

    work: Callable[[], Any]
    then: Callable[[Any], "Reply"]
    for_page: bool = False


class Asked(NamedTuple):
    """What a handler gets to know of a request."""

    parameters: dict[str, str]
    body: Any
    query: Any
    exchange: Exchange


class _AsleepError(Exception):
    """The bandit is not in memory yet."""


def _problem_of(error: Exception) -> ProblemError:
    """Return how an error of the library is told."""
    if isinstance(error, StoreFullError):
        return ProblemError("store-full", f"{error}; nothing was changed, and the same can be tried again", retry_after="1")
    if isinstance(error, StoreError):
        return ProblemError("store-failed", str(error), retry_after="1")
    return ProblemError("invalid-value", str(error))


def _decision(decision: Decision) -> dict[str, Any]:
    key, arm, number, propensity, reason = decision
    return {"id": key, "arm": arm, "propensity": propensity, "round": number, "reason": overview.of_reason(reason)}


def _revision(hosted: Hosted) -> bytes:
    """Return the ETag of the arms: the same arms, in the same order, have the same."""
    return b'"%b"' % digest(json.dumps([list(hosted.bandit.arms), hosted.retired])).hex().encode()


class Application:
    """Answers requests.

    Args:
        host: the bandits.
        threads: runs what takes long.
        pages: runs what takes long for the dashboard.
        call_soon: calls a function in the loop, from any thread.
        compiling: says what is compiled.
        tokens: who may do what; None: whoever reaches the port may do everything.
        rate: requests a second that each caller may make; None: any number.
    """

    def __init__(
        self,
        host: Host,
        threads: Executor,
        pages: Executor,
        call_soon: Callable[..., object],
        compiling: Compiling,
        tokens: Tokens | None = None,
        rate: float | None = None,
    ) -> None:
        self._host, self._threads, self._pages, self._tokens = host, threads, pages, tokens
        self._call_soon, self._compiling = call_soon, compiling
        self._rates = None if rate is None else Rates(rate)
        self.metrics = Metrics(host)
        self.broadcast = Broadcast()
        self._histories = Histories(host)
        self._last: dict[str, dict[str, Any]] = {}  # the newest decision of each bandit, with its reason
        # Set by who makes the loop: calls when all that was gathered is written, or with the reason why it is not.
        self.hold: Callable[[Callable[[StoreError | None], None]], None]
        self.draining = False
        self._loading: dict[str, list[Callable[[Exception | None], None]]] = {}
        self._decoders = routes.decoders()
        self._handlers: dict[str, Callable[[Asked], Reply | Later | None]] = {
            route.handler: getattr(self, f"_{route.handler}") for route in (*routes.ROUTES, *routes.PAGES)
        }
        self._openapi = m.encode(openapi.document())
        self.in_flight = 0

    def written(self, batch: Batch, seconds: float) -> None:
        """Count and tell what is written."""
        self.metrics.commit_seconds.observe(seconds)
        self.metrics.commit_events.observe(len(batch.events))
        if self.broadcast.readers:
            self.broadcast.publish(batch)

    # --- Requests and answers ---------------------------------------------------------------------------------------------

    def handle(self, exchange: Exchange) -> None:
        """Answer a request, now or later."""
        self.in_flight += 1
        try:
            route, parameters = routes.match(exchange.method, exchange.path)
            self._admit(exchange, route)
            asked = Asked(parameters, self._body(exchange, route), self._query(exchange, route), exchange)
            self._run(route, asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, who asked must be told
            self._refuse(exchange, error)

    def refuse(self, exchange: Exchange) -> None:
        """Answer a request that could not be understood."""
        self.in_flight += 1
        assert exchange.refusal is not None
        self._refuse(exchange, of_status(*exchange.refusal))

    def _send(self, exchange: Exchange, reply: Reply) -> None:
        self.in_flight -= 1
        answers = self.metrics.answers
        answers[reply.status] = answers.get(reply.status, 0) + 1
        exchange.answer(reply.status, reply.body, reply.kind, reply.headers)

    def _refuse(self, exchange: Exchange, error: Exception) -> None:
        if isinstance(error, ProblemError):
            problem = error
        elif isinstance(error, StoreError | InvalidValueError | InvalidTypeError):
            problem = _problem_of(error)
        else:
            _log.error("%s %s failed", exchange.method, exchange.path, exc_info=error)
            problem = ProblemError("internal", f"something went wrong: {type(error).__name__}; see the log of the service")
        self._send(exchange, Reply(problem.body(), problem.status, tuple(problem.headers), _PROBLEM))

    def _run(self, route: Route, asked: Asked) -> None:
        """Let the handler answer; raises what it raises."""
        if route.writes and self._host.trouble is not None:
            raise self._host.trouble
        try:
            reply = self._handlers[route.handler](asked)
        except _AsleepError:
            self._load(asked.parameters["name"], lambda error: self._go_on(route, asked, error))
            return
        if isinstance(reply, Later):
            self._wait(route, asked, reply)
        elif reply is not None:
            self._finish(route, asked.exchange, reply)

    def _finish(self, route: Route, exchange: Exchange, reply: Reply) -> None:
        if not route.writes:
            self._send(exchange, reply)
            return

        def written(trouble: StoreError | None) -> None:
            if trouble is None:
                self._send(exchange, reply)
            else:
                self._refuse(exchange, trouble)

        self.hold(written)

    def _go_on(self, route: Route, asked: Asked, error: Exception | None) -> None:
        if error is not None:
            self._refuse(asked.exchange, error)
            return
        try:
            self._run(route, asked)
        except Exception as caught:  # noqa: BLE001 - as above
            self._refuse(asked.exchange, caught)

    def _wait(self, route: Route, asked: Asked, later: Later) -> None:
        def finish(result: Any, error: Exception | None) -> None:
            error = error or (self._host.trouble if route.writes else None)
            if error is not None:
                self._refuse(asked.exchange, error)
                return
            try:
                self._finish(route, asked.exchange, later.then(result))
            except Exception as caught:  # noqa: BLE001 - as above
                self._refuse(asked.exchange, caught)

        self._in_thread(later.work, finish, self._pages if later.for_page else self._threads)

    def _in_thread(self, work: Callable[[], Any], finish: Callable[[Any, Exception | None], None], threads: Executor) -> None:
        def run() -> None:
            try:
                result, failed = work(), None
            except Exception as error:  # noqa: BLE001 - as above
                result, failed = None, error
            self._call_soon(finish, result, failed)

        threads.submit(run)

    def _load(self, name: str, then: Callable[[Exception | None], None]) -> None:
        """Resume a bandit, once for all who wait for it."""
        waiting = self._loading.setdefault(name, [])
        waiting.append(then)
        if len(waiting) > 1:
            return

        def finish(hosted: Hosted | None, error: Exception | None) -> None:
            if hosted is not None:
                self._host.adopt(hosted)
            for each in self._loading.pop(name):
                each(error)

        self._in_thread(lambda: self._host.load(name), finish, self._threads)

    # --- Who may, and what is asked ---------------------------------------------------------------------------------------

    def _admit(self, exchange: Exchange, route: Route) -> None:
        """Refuse who may not do this, or does it too often."""
        headers = exchange.headers
        holder, host = ANYBODY, headers.get(b"host", b"")
        if self._tokens is not None:
            holder = self._holder(exchange, route)
        elif host not in _LOOPBACK and host.rpartition(b":")[0] not in _LOOPBACK:
            # A page of another site may send the browser here by a name of its own.
            told = f"Host must be localhost or its address, since no tokens are asked for, got {host.decode('latin-1')!r}"
            raise ProblemError("forbidden", told)
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise ProblemError("forbidden", f"Origin must be this service, got {origin.decode('latin-1')!r}")
        if self._rates is not None and route.scope is not None:
            wait = self._rates.wait(holder.name or exchange.peer, time.monotonic())
            if wait > 0.0:
                raise ProblemError(
                    "too-many-requests", f"requests must be fewer, got one {wait:.3g} s too early", retry_after="1"
                )

    def _holder(self, exchange: Exchange, route: Route) -> Holder:
        if route.scope is None:
            return ANYBODY
        assert self._tokens is not None
        header, known = exchange.headers.get(b"authorization"), exchange.notes
        holder: Holder | None
        if header is not None and known.get("authorization") == header:
            holder = known["holder"]  # of an earlier request of the same connection
        else:
            holder = None if header is None else self._tokens.holder(header)
            known["authorization"], known["holder"] = header, holder
        if holder is None:
            why = "no token" if header is None else "one that is not known"
            raise ProblemError(
                "unauthorized",
                f"Authorization must be Bearer and a token of this service, got {why}",
                www_authenticate="Bearer",
            )
        if route.scope not in holder.scopes:
            scopes = ", ".join(sorted(holder.scopes))
            raise ProblemError("forbidden", f"scope must be {route.scope} for this, got a token for {scopes}")
        return holder

    def _body(self, exchange: Exchange, route: Route) -> Any:
        body = exchange.body
        if not body:
            if route.body is not None and route.needs_body:
                raise ProblemError("malformed-json", "body must be JSON, got nothing")
            return None if route.body is None else route.body()
        if route.body is None:
            raise ProblemError("bad-request", f"body must be left out here, got {len(body)} bytes")
        kind = exchange.headers.get(b"content-type", b"")
        if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
            raise ProblemError(
                "unsupported-media-type", f"Content-Type must be application/json, got {kind.decode('latin-1')!r}"
            )
        try:
            return self._decoders[route.handler].decode(body)
        except (ValueError, RecursionError) as error:
            raise of_body(error, body) from error

    def _query(self, exchange: Exchange, route: Route) -> Any:
        if route.query is None:
            if exchange.query:
                raise ProblemError("invalid-value", f"query must be left out here, got {exchange.query[:60]!r}")
            return None
        try:
            pairs = parse_qsl(exchange.query, keep_blank_values=True, strict_parsing=bool(exchange.query), errors="strict")
        except ValueError as error:
            raise ProblemError("bad-request", f"query must be name=value&name=value, got {exchange.query[:60]!r}") from error
        if len(dict(pairs)) < len(pairs):
            raise ProblemError("invalid-value", f"query must have each name once, got {exchange.query[:60]!r}")
        try:
            return msgspec.convert(dict(pairs), route.query, strict=False)
        except msgspec.ValidationError as error:
            raise of_body(error, m.encode(dict(pairs))) from error

    # --- Bandits ----------------------------------------------------------------------------------------------------------

    def _hosted(self, asked: Asked) -> Hosted:
        """Return the bandit that is meant; raise `_AsleepError` if it must be resumed first."""
        name = asked.parameters["name"]
        hosted = self._host.live.get(name)
        if hosted is None:
            if name not in self._host.metas:
                raise ProblemError("not-found", f"bandit must be one that was made, got {name!r}")
            raise _AsleepError
        return hosted

    def _active(self, asked: Asked) -> Hosted:
        hosted = self._hosted(asked)
        if hosted.archived:
            raise ProblemError("archived", f"bandit must be active, got {hosted.name!r}, which is archived")
        return hosted

    def _shown(self, hosted: Hosted, status: int = 200) -> Reply:
        meta, bandit = hosted.meta, hosted.bandit
        answer = m.BanditAnswer(
            hosted.name,
            meta["policy"]["policy"],
            meta["policy"]["params"],
            meta["seed"],
            meta["pending"],
            meta["max_pending"],
            hosted.archived,
            bandit.rounds,
            bandit.pending,
            list(bandit.arms),
            hosted.retired,
        )
        return Reply(m.encode(answer), status, ((b"etag", _revision(hosted)),))

    def _list_bandits(self, asked: Asked) -> Later:
        after, limit = asked.query.after, asked.query.limit
        names = sorted(name for name in self._host.metas if name > after)

        def rows() -> m.BanditList:
            found = []
            for name in names[:limit]:
                policy = self._host.metas[name]["policy"]
                loaded = name in self._host.live
                found.append(m.BanditRow(name, policy["policy"], policy["params"], self._host.is_archived(name), loaded))
            return m.BanditList(found, found[-1].name if len(names) > limit else None)

        return Later(rows, lambda found: Reply(m.encode(found)))

    def _make_bandit(self, asked: Asked) -> Reply | Later:
        name, given = asked.parameters["name"], self._arguments(asked.body)
        policy, arms, options = given.pop("policy"), given.pop("arms"), given

        def same() -> Reply | None:
            if name not in self._host.metas:
                return None
            hosted = self._hosted(asked)
            if not self._host.is_same(name, policy, arms, options):
                raise ProblemError(
                    "bandit-differs", f"bandit must be new or made with the same arguments, got {name!r}, which is not"
                )
            return self._shown(hosted)

        def make() -> Hosted:
            with self._compiling.of(policy):
                return self._host.make(name, policy, arms, **options)

        def then(hosted: Hosted) -> Reply:
            return same() or self._shown(self._host.adopt(hosted), 201)

        return same() or Later(make, then)

    def _arguments(self, body: m.NewBandit) -> dict[str, Any]:
        """Return the arguments of a new bandit: those of its template, and over them those that are given."""
        given: dict[str, Any] = {
            name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET
        }
        template = given.pop("like", None)
        if template is not None and template not in self._host.metas:
            raise ProblemError("not-found", f"like must be a bandit that was made, got {template!r}")
        known = {} if template is None else self._host.metas[template]
        params = given.pop("params", known.get("policy", {}).get("params", {}) if "policy" not in given else {})
        word = given.pop("policy", known.get("policy", {}).get("policy"))
        if word is None:
            raise ProblemError("invalid-value", "policy must be the name of a policy, or like must be given, got neither")
        policy = _policy(word, params)
        arms = given.pop("arms", known.get("arms"))
        if arms is None:
            raise ProblemError("invalid-value", "arms must be the names of the arms, or like must be given, got neither")
        options: dict[str, Any] = {name: known[name] for name in ("seed", "pending", "max_pending") if name in known}
        return {"seed": 0, "pending": "young", "max_pending": 10_000, **options, **given, "policy": policy, "arms": arms}

    def _show_bandit(self, asked: Asked) -> Reply:
        return self._shown(self._hosted(asked))

    def _archive(self, asked: Asked) -> Reply:
        hosted = self._hosted(asked)
        self._host.archive(hosted)
        return Reply(m.encode(m.Archived(hosted.name, True)))

    # --- Decisions and rewards --------------------------------------------------------------------------------------------

    def _decide(self, asked: Asked) -> Reply | Later:
        hosted, request = self._active(asked), asked.body
        arms = None if request.allow is None and request.exclude is None else _available(hosted, request)
        if request.dry_run:
            return Later(lambda: copy.copy(hosted.bandit).decide(arms, count=request.count), _tried)
        key, name = request.idempotency_key, hosted.name
        body = "" if key is None else digest(json.dumps([request.count, request.allow, request.exclude])).hex()
        if key is not None:
            note = self._host.note(name, f"key:{key}")
            if note is not None:
                if note["body"] != body:
                    told = m.encode(key).decode()
                    raise ProblemError("key-reused", f"idempotency_key must be new for another request, got {told}")
                return Reply(m.encode({"decisions": note["decisions"]}))
        if request.count == 1:
            made = [_decision(hosted.bandit.decide(arms))]
        else:
            made = [_decision(each) for each in hosted.bandit.decide(arms, count=request.count)]
        if key is not None:
            self._host.add_note(name, f"key:{key}", body=body, decisions=made)
        self._last[name] = made[-1]
        self.metrics.tally(name).decided(made[0]["round"], len(made))
        return Reply(m.encode({"decisions": made}))

    def _reward(self, asked: Asked) -> Reply:
        hosted, rewards = self._active(asked), asked.body
        try:
            outcomes = hosted.bandit.reward_many((each.id, each.value) for each in rewards)
        except InvalidValueError as error:
            low, high = hosted.bandit.policy.reward_range or (-math.inf, math.inf)
            at = next(k for k, each in enumerate(rewards) if not low <= each.value <= high)
            raise ProblemError("invalid-value", str(error).replace("reward", f"[{at}].value", 1)) from error
        tally = self.metrics.tally(hosted.name)
        for each, outcome in zip(rewards, outcomes, strict=True):
            tally.rewarded(outcome, each.value)
        return _results([each.id for each in rewards], outcomes)

    def _cancel(self, asked: Asked) -> Reply:
        hosted, ids = self._active(asked), asked.body.ids
        return _results(ids, [hosted.bandit.cancel(each) for each in ids])

    def _expire(self, asked: Asked) -> Reply:
        hosted, request = self._active(asked), asked.body
        if (request.ids is None) == (request.older_than_rounds is None):
            raise ProblemError("invalid-value", "ids must be given, or older_than_rounds, got both or none")
        try:
            if request.ids is None:
                ended = hosted.bandit.expire(older_than_rounds=request.older_than_rounds, missing=request.missing)
                return Reply(m.encode(m.ExpirationAnswer([], ended)))
            outcomes: list[Outcome] = [hosted.bandit.expire(each, missing=request.missing) for each in request.ids]
        except InvalidValueError as error:
            raise ProblemError("invalid-value", str(error).replace("reward", "missing", 1)) from error
        results = [m.Result(*each) for each in zip(request.ids, outcomes, strict=True)]
        return Reply(m.encode(m.ExpirationAnswer(results, outcomes.count("applied"))))

    # --- Arms -------------------------------------------------------------------------------------------------------------

    def _changing(self, asked: Asked) -> tuple[Hosted, str]:
        """Return the bandit and the arm that shall change, if the arms are those that the caller knows."""
        hosted = self._active(asked)
        wanted, found = asked.exchange.headers.get(b"if-match"), _revision(hosted)
        if wanted is not None and wanted.strip() != b"*" and found not in {each.strip() for each in wanted.split(b",")}:
            given = wanted.decode("latin-1")
            raise ProblemError("arms-changed", f"If-Match must be {found.decode()}, the revision of the arms, got {given[:60]}")
        return hosted, asked.parameters["arm"]

    def _arms_shown(self, hosted: Hosted, status: int = 200) -> Reply:
        answer = m.ArmsAnswer(list(hosted.bandit.arms), hosted.retired)
        return Reply(m.encode(answer), status, ((b"etag", _revision(hosted)),))

    def _put_arm(self, asked: Asked) -> Reply:
        (hosted, arm), request = self._changing(asked), asked.body
        if arm in hosted.bandit.arms:
            return self._arms_shown(hosted)
        if request.resume and arm not in hosted.retired:
            raise ProblemError("invalid-value", f"resume must be for an arm that was removed with keep, got {arm!r}")
        hosted.bandit.add_arm(arm, resume=request.resume, prior=request.prior)
        return self._arms_shown(hosted, 201)

    def _delete_arm(self, asked: Asked) -> Reply:
        hosted, arm = self._changing(asked)
        active = arm in hosted.bandit.arms
        if not active and (asked.query.keep or arm not in hosted.retired):
            raise ProblemError("not-found", f"arm must be one of the bandit {hosted.name!r}, got {arm!r}")
        if active and len(hosted.bandit.arms) == 1:
            raise ProblemError("last-arm", f"arm must not be the last one, got {arm!r}")
        (hosted.bandit.retire if asked.query.keep else hosted.bandit.forget)(arm)
        return self._arms_shown(hosted)

    # --- Looking ----------------------------------------------------------------------------------------------------------

    def _explain(self, asked: Asked) -> Later:
        bandit = self._hosted(asked).bandit

        def explained() -> m.ExplainAnswer:
            number, arms = bandit.rounds + 1, bandit.explain()
            return m.ExplainAnswer(number, [m.ArmAnswer(arm=arm, **overview.of_reason(each)) for arm, each in arms.items()])

        return Later(explained, lambda found: Reply(m.encode(found)))

    def _show_history(self, asked: Asked) -> Later:
        name, top = self._hosted(asked).name, asked.query.top

        def told() -> m.HistoryAnswer:
            history, behind = self._histories.read_on(name)
            with history.lock:
                return overview.of_history(history, behind, top, self._last.get(name))

        return Later(told, lambda found: Reply(m.encode(found)), for_page=True)

    def _list_arms(self, asked: Asked) -> Later:
        hosted, query = self._hosted(asked), asked.query

        def listed() -> m.ArmList:
            reasons = hosted.bandit.explain()
            history, _ = self._histories.read_on(hosted.name)
            with history.lock:
                return overview.of_arms(history, reasons, hosted.retired, query)

        return Later(listed, lambda found: Reply(m.encode(found)), for_page=True)

    def _read_log(self, asked: Asked) -> Later:
        name, query = asked.parameters["name"], asked.query
        if name not in self._host.metas:
            raise ProblemError("not-found", f"bandit must be one that was made, got {name!r}")

        def read() -> m.LogAnswer:
            events, last = self._host.read(name, query.after, query.limit)
            return m.LogAnswer([m.LogEvent(each.number, each.epoch, each.payload) for each in events], last)

        return Later(read, lambda found: Reply(m.encode(found)))

    def _watch(self, asked: Asked) -> None:
        bandit, readers = asked.query.bandit, self.broadcast.readers
        if bandit is not None and bandit not in self._host.metas:
            raise ProblemError("not-found", f"bandit must be one that was made, got {bandit!r}")
        if len(readers) >= MAX_READERS:
            raise ProblemError("too-many-requests", f"readers must be at most {MAX_READERS}, got one more", retry_after="10")
        if asked.exchange.method == "HEAD":
            self._send(asked.exchange, Reply(b"", kind=EVENTS))
            return
        self.in_flight -= 1
        send = asked.exchange.stream()
        if send is not None:
            reader = Reader(bandit, send)
            readers.add(reader)
            asked.exchange.on_gone(lambda: readers.discard(reader))
            send(b"retry: 1000\n\n")

    def _live(self, asked: Asked) -> Reply:
        return Reply(m.encode(m.Health("alive")))

    def _ready(self, asked: Asked) -> Reply:
        if self._host.trouble is not None:
            raise self._host.trouble
        if self.draining:
            raise ProblemError("store-failed", "the service must be running, got a signal to end")
        return Reply(m.encode(m.Health("ready")))

    def _show_metrics(self, asked: Asked) -> Reply:
        return Reply(self.metrics.text(), kind=TEXT)

    def _show_page(self, asked: Asked) -> Reply:
        page = pages.FILES[asked.exchange.path]
        return Reply(page.content, 200, pages.HEADERS, page.kind.encode())

    def _show_openapi(self, asked: Asked) -> Reply:
        return Reply(self._openapi)


def _policy(word: str, params: dict[str, float | str]) -> Policy:
    kind = registry.find(word)
    known = [each.name for each in kind.parameters()]
    for name in params:
        if name not in known:
            raise ProblemError("invalid-value", f"params must be among {', '.join(known) or 'none'} for {word}, got {name!r}")
    try:
        return kind(**params)
    except RottingError as error:
        raise ProblemError("invalid-value", f"params.{error}") from error


def _available(hosted: Hosted, request: m.DecisionRequest) -> tuple[Hashable, ...]:
    """Return the arms to choose from."""
    active = hosted.bandit.arms
    known = set(active)
    for field, arms in (("allow", request.allow), ("exclude", request.exclude)):
        for arm in arms or ():
            if arm not in known:
                raise ProblemError("invalid-value", f"{field} must name arms of the bandit, got {m.encode(arm).decode()[:60]}")
    without = set(request.exclude or ())
    left = tuple(arm for arm in request.allow or active if arm not in without)
    if not left:
        raise ProblemError("invalid-value", "exclude must leave an arm to choose, got all of them")
    return left


def _tried(decisions: tuple[Decision, ...]) -> Reply:
    return Reply(m.encode({"decisions": [{**_decision(each), "id": None} for each in decisions]}))


def _results(ids: list[str], outcomes: list[Outcome]) -> Reply:
    return Reply(m.encode(m.ResultsAnswer([m.Result(*each) for each in zip(ids, outcomes, strict=True)])))
