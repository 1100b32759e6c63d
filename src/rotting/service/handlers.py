"""What each route does: one method per route of `routes.ROUTES`, which returns the response.

Handlers run on the event loop, one after the other. What may take long runs in a worker thread (`Bandits.in_thread`,
`Bandits.change(heavy=True)`). The application answers a request that changes a bandit after the change was written.
"""

import functools
import json
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec

from rotting import registry
from rotting.errors import InvalidArgumentError, InvalidValueError
from rotting.live.decisions import Decision, Outcome
from rotting.policy import Policy
from rotting.service import messages as m
from rotting.service import openapi, overview, pages
from rotting.service.bandits import Bandits
from rotting.service.metrics import Metrics
from rotting.service.problems import ProblemError
from rotting.service.requests import TEXT, Reply, Request
from rotting.service.reward_buckets import RewardBucketsCache
from rotting.service.workers import Workers
from rotting.store.host import Hosted
from rotting.store.records import digest

_MANY_ARMS = 2_000  # arms of a bandit that are listed or digested in a worker thread
_MANY_NAMED = 200  # arms in a request that are looked up in a worker thread
_MANY_DECISIONS = 20  # decisions that are made, or ended, in a worker thread
_SLICE = 1_000  # arms that are encoded at once
_PAGE_BYTES = 1 << 20  # of events in one response, unless the first event alone is longer


class Handlers:
    """Answers requests whose head and body were checked.

    Args:
        bandits: the bandits.
        metrics: what is counted.
        check_ready: raises an error if the service cannot keep decisions.
        gauges: returns numbers of the server itself, for the metrics.
    """

    def __init__(
        self,
        bandits: Bandits,
        metrics: Metrics,
        check_ready: Callable[[], None],
        gauges: Callable[[], dict[str, float]],
    ) -> None:
        self._bandits, self._host, self._metrics = bandits, bandits.host, metrics
        self._check_ready, self._gauges = check_ready, gauges
        self._dashboard_workers = Workers("rotting-dashboard", 1)  # one page waits for another, and nothing else for them
        self._reward_buckets = RewardBucketsCache(self._host)
        self._last: dict[str, dict[str, Any]] = {}  # the newest decision of each bandit, with its reason
        self._openapi = m.encode(openapi.document())

    async def close(self) -> None:
        """End the worker thread of the dashboard."""
        await self._dashboard_workers.close()

    # --- Bandits ----------------------------------------------------------------------------------------------------------

    async def list_bandits(self, request: Request) -> Reply:
        """List the bandits that the token is for."""
        after, limit = request.query.after, request.query.limit
        metas = self._host.metas
        names = sorted(name for name in metas if name > after and request.holder.may_use(name))
        policies = [(name, metas[name]["policy"]) for name in names[:limit]]

        def rows() -> m.BanditsResponse:
            found: list[m.BanditRow] = []
            for name, policy in policies:
                loaded = name in self._host.live
                found.append(m.BanditRow(name, policy["policy"], policy["params"], self._host.is_archived(name), loaded))
            return m.BanditsResponse(found, found[-1].name if len(names) > limit else None)

        return Reply(m.encode(await self._bandits.in_thread(rows)))

    async def make_bandit(self, request: Request) -> Reply:
        """Make a bandit; the same again does nothing."""
        name, given = request.parameters["name"], self._arguments(request)
        policy, arms, options = given.pop("policy"), given.pop("arms"), given
        is_new = name not in self._host.metas and await self._bandits.make(
            policy, lambda: self._host.make(name, policy, arms, **options)
        )
        if not is_new and not await self._bandits.in_thread(lambda: self._host.is_same(name, policy, arms, options)):
            error = InvalidValueError("bandit", "be new or made with the same arguments", name, hint=", which is not")
            raise ProblemError("bandit-differs", error)
        return await self._shown(await self._bandits.get(name), 201 if is_new else 200)

    def _arguments(self, request: Request) -> dict[str, Any]:
        """Return the arguments of a new bandit: those of its template, replaced by those that are given."""
        given: dict[str, Any] = {
            name: value for name, value in msgspec.structs.asdict(request.body).items() if value is not msgspec.UNSET
        }
        template = given.pop("like", None)
        if template is not None and (template not in self._host.metas or not request.holder.may_use(template)):
            raise ProblemError("not-found", InvalidValueError("like", "be a bandit that was made", template))
        known = {} if template is None else self._host.metas[template]
        params = given.pop("params", known.get("policy", {}).get("params", {}) if "policy" not in given else {})
        word = given.pop("policy", known.get("policy", {}).get("policy"))
        if word is None:
            raise InvalidValueError("policy", "be the name of a policy, or like must be given", None, got="neither")
        policy = _policy(word, params)
        arms = given.pop("arms", known.get("arms"))
        if arms is None:
            raise InvalidValueError("arms", "be the names of the arms, or like must be given", None, got="neither")
        options: dict[str, Any] = {name: known[name] for name in ("seed", "pending", "max_pending") if name in known}
        return {"seed": 0, "pending": "shrink", "max_pending": 10_000, **options, **given, "policy": policy, "arms": arms}

    async def show_bandit(self, request: Request) -> Reply:
        """Show a bandit."""
        return await self._shown(await self._bandits.get(request.parameters["name"]))

    async def _shown(self, hosted: Hosted, status: int = 200) -> Reply:
        show, heavy = functools.partial(_show, hosted, status), hosted.n_arms > _MANY_ARMS
        return await self._bandits.change(hosted, show, heavy=heavy, archived=True)

    async def archive(self, request: Request) -> Reply:
        """Archive a bandit: it makes no more decisions."""
        hosted = await self._bandits.get(request.parameters["name"])
        await self._bandits.change(hosted, lambda: self._host.archive(hosted), archived=True)
        return Reply(m.encode(m.ArchiveResponse(hosted.name, True)))

    # --- Decisions and rewards --------------------------------------------------------------------------------------------

    async def decide(self, request: Request) -> Reply:
        """Decide on an arm, or on several."""
        hosted, asked = await self._bandits.active(request.parameters["name"]), request.body
        named = len(asked.arms or ()) + len(asked.without or ())
        if named > _MANY_NAMED:
            await self._bandits.in_thread(lambda: _check_arms(hosted, asked))
        elif named:
            _check_arms(hosted, asked)
        bandit, arms, without, count = hosted.bandit, asked.arms, asked.without, asked.count
        if asked.dry_run:
            seen = await self._bandits.in_thread(lambda: bandit.preview(arms, count, without=without))
            return Reply(m.encode({"decisions": [{**decision_json(each), "id": None} for each in seen]}))
        key = asked.idempotency_key
        heavy = count > _MANY_DECISIONS or named > _MANY_NAMED
        made: list[dict[str, Any]] = []  # stays empty if the key was used before

        def work() -> bytes:
            if count == 1:
                made.append(decision_json(bandit.decide(arms, without=without)))
            else:
                made.extend(decision_json(each) for each in bandit.decide(arms, count=count, without=without))
            return m.encode({"decisions": made})

        if key is None:
            answer = await self._bandits.change(hosted, work, heavy=heavy)
        else:
            body = await self._bandits.in_thread(lambda: _request_digest(asked)) if heavy else _request_digest(asked)
            before = functools.partial(self._decided_before, hosted, key, body)
            note = functools.partial(_note_of_key, key, body)
            answer = await self._bandits.change(hosted, work, heavy=heavy, before=before, note=note)
        if made:
            self._last[hosted.name] = made[-1]
            self._metrics.tally(hosted.name).decided(made[0]["round"], count)
        return Reply(answer)

    def _decided_before(self, hosted: Hosted, key: str, body: str) -> bytes | None:
        """Return the response to the first request with an idempotency key, or None if the key is new."""
        note = self._host.note(hosted.name, f"key:{key}")
        if note is None:
            return None
        shown = m.encode(key).decode()
        if note.get("cancelled"):
            raise ProblemError("key-cancelled", InvalidValueError("idempotency_key", "not be cancelled", key, got=shown))
        if note["body"] != body:
            raise ProblemError("key-reused", InvalidValueError("idempotency_key", "be new for another request", key, got=shown))
        return m.encode({"decisions": _noted_decisions(note)})

    async def reward(self, request: Request) -> Reply:
        """Learn what decisions paid."""
        hosted, rewards = await self._bandits.active(request.parameters["name"]), request.body
        pairs = [(each.id, each.reward) for each in rewards]
        _check_range(hosted, [each.reward for each in rewards])
        outcomes = await self._bandits.change(hosted, lambda: hosted.bandit.reward_many(pairs))
        tally = self._metrics.tally(hosted.name)
        for (_, reward), outcome in zip(pairs, outcomes, strict=True):
            tally.rewarded(outcome, reward)
        return _results([each.id for each in rewards], outcomes)

    async def cancel(self, request: Request) -> Reply:
        """End decisions that were never shown."""
        hosted, asked = await self._bandits.active(request.parameters["name"]), request.body
        if (asked.ids is None) == (asked.keys is None):
            raise InvalidValueError("ids", "be given, or keys", None, got="both or none")
        if asked.keys is not None:
            return await self._cancel_keys(hosted, asked.keys)
        outcomes = await self._bandits.change(hosted, lambda: [hosted.bandit.cancel(each) for each in asked.ids])
        return _results(asked.ids, outcomes)

    async def _cancel_keys(self, hosted: Hosted, keys: list[str]) -> Reply:
        """Cancel the decisions that were made with idempotency keys; no decision can be made with them any more."""
        notes: dict[str, dict[str, Any]] = {}

        def find() -> None:
            notes.update((key, self._host.note(hosted.name, f"key:{key}") or {}) for key in keys)

        def cancel() -> list[Outcome]:
            outcomes: list[Outcome] = []
            for key in keys:
                found = [hosted.bandit.cancel(each["id"]) for each in _noted_decisions(notes[key])]
                outcomes.append("applied" if not found or "applied" in found else found[0])
            return outcomes

        outcomes = await self._bandits.change(hosted, cancel, heavy=True, before=find)
        self._host.check_current(hosted)
        for key in keys:
            if not notes[key].get("cancelled"):
                self._host.add_note(hosted.name, f"key:{key}", cancelled=True)
        return _results(keys, outcomes)

    async def expire(self, request: Request) -> Reply:
        """End decisions that will have no reward."""
        hosted, asked = await self._bandits.active(request.parameters["name"]), request.body
        if (asked.ids is None) == (asked.older_than_rounds is None):
            raise InvalidValueError("ids", "be given, or older_than_rounds", None, got="both or none")
        bandit, missing = hosted.bandit, asked.missing
        if missing != "drop":
            _check_range(hosted, [missing], "missing")
        if asked.ids is None:
            limit = asked.limit
            ended = await self._bandits.change(
                hosted,
                lambda: bandit.expire(older_than_rounds=asked.older_than_rounds, missing=missing, limit=limit),
                heavy=bandit.pending > _MANY_DECISIONS,
            )
            return Reply(m.encode(m.ExpirationResponse([], ended, ended == limit)))
        outcomes = await self._bandits.change(hosted, lambda: [bandit.expire(each, missing=missing) for each in asked.ids])
        results = [m.Result(*each) for each in zip(asked.ids, outcomes, strict=True)]
        return Reply(m.encode(m.ExpirationResponse(results, outcomes.count("applied"))))

    # --- Arms -------------------------------------------------------------------------------------------------------------

    async def put_arm(self, request: Request) -> Reply:
        """Add an arm, or bring back a retired one."""
        hosted, arm, asked = await self._bandits.active(request.parameters["name"]), request.parameters["arm"], request.body

        def work() -> Reply:
            _check_revision(hosted, request)
            if hosted.is_active(arm):
                return _show_arms(hosted)
            if asked.resume and not hosted.is_retired(arm):
                raise InvalidValueError("resume", "be for an arm that was removed with keep", arm)
            hosted.bandit.add_arm(arm, resume=asked.resume, prior=asked.prior)
            return _show_arms(hosted, 201)

        return await self._bandits.change(hosted, work, heavy=hosted.n_arms > _MANY_ARMS)

    async def delete_arm(self, request: Request) -> Reply:
        """Remove an arm."""
        hosted, arm = await self._bandits.active(request.parameters["name"]), request.parameters["arm"]
        keep = request.query.keep

        def work() -> Reply:
            _check_revision(hosted, request)
            active = hosted.is_active(arm)
            if not active and (keep or not hosted.is_retired(arm)):
                raise ProblemError("not-found", InvalidValueError("arm", f"be one of the bandit {hosted.name!r}", arm))
            if active and hosted.n_arms == 1:
                raise ProblemError("last-arm", InvalidValueError("arm", "not be the last one", arm))
            (hosted.bandit.retire if keep else hosted.bandit.forget)(arm)
            return _show_arms(hosted)

        return await self._bandits.change(hosted, work, heavy=hosted.n_arms > _MANY_ARMS)

    # --- Reading ----------------------------------------------------------------------------------------------------------

    async def explain(self, request: Request) -> Reply:
        """Return for each arm what decides whether it is chosen next."""
        bandit = (await self._bandits.get(request.parameters["name"])).bandit

        def explained() -> bytes:
            number, arms = bandit.rounds + 1, list(bandit.explain().items())
            parts = []
            for start in range(0, len(arms), _SLICE):  # encoding all of them at once would stop the event loop
                rows = [m.ArmReason(arm=arm, **overview.reason_fields(each)) for arm, each in arms[start : start + _SLICE]]
                parts.append(m.encode(rows)[1:-1])
            return b'{"round":%d,"arms":[%b]}' % (number, b",".join(parts))

        return Reply(await self._bandits.in_thread(explained))

    async def show_history(self, request: Request) -> Reply:
        """Return a summary of choices and rewards over time."""
        hosted, top = await self._bandits.get(request.parameters["name"]), request.query.top
        name, reward_range = hosted.name, hosted.bandit.policy.reward_range

        def encoded() -> bytes:
            counted, behind = self._reward_buckets.read_on(name)
            with counted.lock:
                return m.encode(overview.history_response(counted, behind, top, self._last.get(name), reward_range))

        return Reply(await self._dashboard_workers.run(encoded))

    async def list_arms(self, request: Request) -> Reply:
        """List arms, with what was chosen, paid and learned."""
        hosted = await self._bandits.get(request.parameters["name"])

        def listed() -> bytes:
            reasons = hosted.bandit.explain()
            counted, _ = self._reward_buckets.read_on(hosted.name)
            with counted.lock:
                return m.encode(overview.arm_list_response(counted, reasons, hosted.retired, request.query))

        return Reply(await self._dashboard_workers.run(listed))

    async def read_log(self, request: Request) -> Reply:
        """Return events of a bandit, as they are in the log."""
        name, query = request.parameters["name"], request.query
        self._bandits.check_known(name)

        def read() -> bytes:
            found = self._host.read(name, query.after, query.limit, _PAGE_BYTES)
            rows = [
                {"number": number, "epoch": epoch, "payload": msgspec.Raw(payload)} for number, epoch, payload in found.rows
            ]
            return m.encode({"events": rows, "next": found.last})

        return Reply(await self._bandits.in_thread(read))

    async def live(self, request: Request) -> Reply:
        """Report that the process is alive."""
        return Reply(m.encode(m.HealthResponse("alive")))

    async def ready(self, request: Request) -> Reply:
        """Return whether decisions can be kept."""
        self._check_ready()
        return Reply(m.encode(m.HealthResponse("ready")))

    async def show_metrics(self, request: Request) -> Reply:
        """Return what is counted, for Prometheus."""
        if request.holder.bandits is not None:
            raise ProblemError(
                "forbidden", InvalidValueError("token", "be for all bandits to read the metrics", None, got="one for some")
            )
        return Reply(await self._metrics.text(self._gauges()), kind=TEXT)

    async def show_page(self, request: Request) -> Reply:
        """Return a file of the dashboard."""
        page = pages.FILES[request.path]
        return Reply(page.content, 200, pages.HEADERS, page.content_type.encode())

    async def show_openapi(self, request: Request) -> Reply:
        """Return the OpenAPI document."""
        return Reply(self._openapi)


def _policy(word: str, params: dict[str, float | str]) -> Policy:
    kind = registry.find(word)
    known = [each.name for each in kind.parameters()]
    for name in params:
        if name not in known:
            raise InvalidValueError("params", f"be among {', '.join(known) or 'none'} for {word}", name)
    try:
        return kind(**params)
    except InvalidArgumentError as error:
        raise error.replace(field=f"params.{error.field}") from error


def decision_json(decision: Decision) -> dict[str, Any]:
    """Return a decision as clients get it."""
    key, arm, number, propensity, reason = decision
    return {"id": key, "arm": arm, "propensity": propensity, "round": number, "reason": overview.reason_fields(reason)}


def _note_of_key(key: str, body: str, answer: bytes) -> dict[str, str]:
    """Return the note that keeps the response to the first request with an idempotency key."""
    return {"note": f"key:{key}", "body": body, "answer": answer.decode()}


def _noted_decisions(note: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the decisions that a note of an idempotency key holds; older versions wrote them as they are."""
    found: list[dict[str, Any]] = json.loads(note["answer"])["decisions"] if "answer" in note else note.get("decisions", [])
    return found


@functools.lru_cache(1_000)
def _count_digest(count: int) -> str:
    return digest(json.dumps([count, None, None])).hex()


def _request_digest(asked: m.DecisionRequest) -> str:
    """Return a digest of what a request asks for: the same key must come with the same request."""
    if asked.arms is None and asked.without is None:
        return _count_digest(asked.count)
    return digest(json.dumps([asked.count, asked.arms, asked.without])).hex()


def _check_arms(hosted: Hosted, asked: m.DecisionRequest) -> None:
    """Refuse arms that the bandit does not have; an arm that is retired may be excluded."""
    for arm in asked.arms or ():
        if not hosted.is_active(arm):
            raise ProblemError("invalid-value", f"arms must name arms of the bandit, got {_shown_arm(arm)}")
    for arm in asked.without or ():
        if not (hosted.is_active(arm) or hosted.is_retired(arm)):
            raise ProblemError("invalid-value", f"without must name arms of the bandit, got {_shown_arm(arm)}")
    if asked.without and _excludes_all(hosted, asked):
        raise ProblemError("invalid-value", "without must leave an arm to choose, got all of them")


def _excludes_all(hosted: Hosted, asked: m.DecisionRequest) -> bool:
    excluded = set(asked.without or ())
    if asked.arms is not None:
        return excluded.issuperset(asked.arms)
    return sum(hosted.is_active(arm) for arm in excluded) >= hosted.n_arms


def _shown_arm(arm: Hashable) -> str:
    return m.encode(arm).decode()[:60]


def _check_range(hosted: Hosted, rewards: Sequence[float], field: str | None = None) -> None:
    """Refuse a reward outside the range that the policy declares."""
    policy = hosted.bandit.policy
    low, high = policy.reward_range or (-math.inf, math.inf)
    for place, reward in enumerate(rewards):
        if not low <= reward <= high:
            name = f"[{place}].reward" if field is None else field
            rule = f"be in [{low!r}, {high!r}], the range that {policy!r} declares"
            raise InvalidValueError(name, rule, reward)


def _revision(hosted: Hosted) -> bytes:
    """Return the ETag of the arms: the same arms, in the same order, have the same."""
    return b'"%b"' % digest(json.dumps([list(hosted.bandit.arms), hosted.retired])).hex().encode()


def _check_revision(hosted: Hosted, request: Request) -> None:
    """Refuse a change if the arms are not those that the client knows."""
    wanted = request.headers.get(b"if-match")
    if wanted is None or wanted.strip() == b"*":
        return
    found = _revision(hosted)
    if found not in {each.strip() for each in wanted.split(b",")}:
        given = wanted.decode("latin-1")
        raise ProblemError(
            "arms-changed",
            InvalidValueError("If-Match", f"be {found.decode()}, the revision of the arms", given, got=given[:60]),
        )


def _show(hosted: Hosted, status: int) -> Reply:
    meta, bandit = hosted.meta, hosted.bandit
    answer = m.BanditResponse(
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


def _show_arms(hosted: Hosted, status: int = 200) -> Reply:
    answer = m.ArmsResponse(list(hosted.bandit.arms), hosted.retired)
    return Reply(m.encode(answer), status, ((b"etag", _revision(hosted)),))


def _results(ids: list[str], outcomes: list[Outcome]) -> Reply:
    return Reply(m.encode(m.ResultsResponse([m.Result(*each) for each in zip(ids, outcomes, strict=True)])))
