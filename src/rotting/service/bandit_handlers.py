"""Handlers of the routes that create, list and archive bandits, and that add and remove arms."""

import functools
import json
from collections.abc import Hashable

import msgspec

from rotting import registry
from rotting.errors import InvalidArgumentError, InvalidValueError
from rotting.live.bandit_state import MAX_PENDING
from rotting.policy import Policy
from rotting.service import messages as m
from rotting.service.bandits import Bandits
from rotting.service.problem_documents import broken_rule
from rotting.service.requests import Request, Response
from rotting.store.descriptions import is_made_with
from rotting.store.hosted import Hosted
from rotting.store.protocol import Payload
from rotting.store.records import digest

_MANY_ARMS = 2_000  # showing or changing a bandit with more arms takes long enough for a worker thread


class BanditHandlers:
    """Handlers for bandits and their arms."""

    def __init__(self, bandits: Bandits) -> None:
        self._bandits, self._host = bandits, bandits.host

    async def list_bandits(self, request: Request) -> Response:
        """List the bandits that the token is for."""
        after, limit = request.query.after, request.query.limit
        descriptions = self._host.descriptions
        names = sorted(name for name in descriptions if name > after and request.holder.may_use(name))
        policies = [(name, descriptions[name]["policy"]) for name in names[:limit]]

        def rows() -> m.BanditsResponse:
            found: list[m.BanditRow] = []
            for name, policy in policies:
                loaded = name in self._host.loaded
                found.append(m.BanditRow(name, policy["policy"], policy["params"], self._host.is_archived(name), loaded))
            return m.BanditsResponse(found, found[-1].name if len(names) > limit else None)

        return Response(m.encode(await self._bandits.in_thread(rows)))

    async def make_bandit(self, request: Request) -> Response:
        """Create a bandit; repeating the request changes nothing."""
        name, (policy, arms, options) = request.parameters["name"], self._arguments(request)
        is_new = name not in self._host.descriptions and await self._bandits.make(
            lambda: self._host.make(name, policy, arms, **options)
        )

        def has_these_arguments() -> bool:
            return is_made_with(self._host.descriptions[name], policy, arms, options)

        if not is_new and not await self._bandits.in_thread(has_these_arguments):
            raise broken_rule("bandit-differs", "bandit", "be new or have the same arguments", name, hint=", which has others")
        return await self._shown(await self._bandits.get(name), 201 if is_new else 200)

    def _arguments(self, request: Request) -> tuple[Policy, list[Hashable], Payload]:
        """Return the policy, arms and options of a new bandit: of the request, and of the bandit `like` for the rest."""
        given = {name: value for name, value in msgspec.structs.asdict(request.body).items() if value is not msgspec.UNSET}
        template = given.pop("like", None)
        if template is not None and (template not in self._host.descriptions or not request.holder.may_use(template)):
            raise broken_rule("not-found", "like", "be an existing bandit", template)
        known = {} if template is None else self._host.descriptions[template]
        params = given.pop("params", known.get("policy", {}).get("params", {}) if "policy" not in given else {})
        policy_name = given.pop("policy", known.get("policy", {}).get("policy"))
        if policy_name is None:
            raise InvalidValueError("policy", "be the name of a policy, or like must be given", None, got="neither")
        policy = _policy(policy_name, params)
        arms = given.pop("arms", known.get("arms"))
        if arms is None:
            raise InvalidValueError("arms", "be the names of the arms, or like must be given", None, got="neither")
        names = ("seed", "pending", "max_pending", "reward_window", "missing", "probe")
        defaults = {"seed": 0, "pending": "shrink", "max_pending": MAX_PENDING}
        return policy, arms, {**defaults, **{name: known[name] for name in names if name in known}, **given}

    async def show_bandit(self, request: Request) -> Response:
        """Show a bandit."""
        return await self._shown(await self._bandits.get(request.parameters["name"]))

    async def _shown(self, hosted: Hosted, status: int = 200) -> Response:
        show = functools.partial(_show, hosted, self._host.descriptions[hosted.name], status)
        return await self._bandits.change(hosted, show, heavy=hosted.n_arms > _MANY_ARMS, archived=True)

    async def archive(self, request: Request) -> Response:
        """Archive a bandit: it makes no more decisions."""
        hosted = await self._bandits.get(request.parameters["name"])
        await self._bandits.change(hosted, lambda: self._host.archive(hosted), archived=True)
        return Response(m.encode(m.ArchiveResponse(hosted.name, True)))

    async def put_arm(self, request: Request) -> Response:
        """Add an arm, or bring back a retired one."""
        hosted, arm, asked = await self._bandits.get_active(request.parameters["name"]), request.parameters["arm"], request.body

        def work() -> Response:
            _check_revision(hosted, request)
            if hosted.is_active(arm):
                return _show_arms(hosted)
            if asked.resume and not hosted.is_retired(arm):
                raise InvalidValueError("resume", "be for an arm that was removed with keep", arm)
            hosted.bandit.add_arm(arm, resume=asked.resume, prior=asked.prior)
            return _show_arms(hosted, 201)

        return await self._bandits.change(hosted, work, heavy=hosted.n_arms > _MANY_ARMS)

    async def delete_arm(self, request: Request) -> Response:
        """Remove an arm."""
        hosted, arm = await self._bandits.get_active(request.parameters["name"]), request.parameters["arm"]
        keep = request.query.keep

        def work() -> Response:
            _check_revision(hosted, request)
            active = hosted.is_active(arm)
            if not active and (keep or not hosted.is_retired(arm)):
                raise broken_rule("not-found", "arm", f"be one of the bandit {hosted.name!r}", arm)
            if active and hosted.n_arms == 1:
                raise broken_rule("last-arm", "arm", "not be the last one", arm)
            (hosted.bandit.retire if keep else hosted.bandit.forget)(arm)
            return _show_arms(hosted)

        return await self._bandits.change(hosted, work, heavy=hosted.n_arms > _MANY_ARMS)


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


def _revision(hosted: Hosted) -> bytes:
    """Return the ETag of the arms, which is equal for the same arms in the same order."""
    return b'"%b"' % digest(json.dumps([list(hosted.bandit.arms), hosted.retired])).hex().encode()


def _check_revision(hosted: Hosted, request: Request) -> None:
    """Refuse a change if the arms were changed since the client read them."""
    wanted = request.headers.get(b"if-match")
    if wanted is None or wanted.strip() == b"*":
        return
    found = _revision(hosted)
    if found not in {each.strip() for each in wanted.split(b",")}:
        given, rule = wanted.decode("latin-1"), f"be {found.decode()}, the revision of the arms"
        raise broken_rule("arms-changed", "If-Match", rule, given, got=given[:60])


def _show(hosted: Hosted, description: Payload, status: int) -> Response:
    bandit = hosted.bandit
    body = m.BanditResponse(
        hosted.name,
        description["policy"]["policy"],
        description["policy"]["params"],
        description["seed"],
        description["pending"],
        description["max_pending"],
        hosted.archived,
        bandit.rounds,
        bandit.pending,
        list(bandit.arms),
        hosted.retired,
        description.get("reward_window"),
        description.get("missing"),
        description.get("probe"),
    )
    return Response(m.encode(body), status, ((b"etag", _revision(hosted)),))


def _show_arms(hosted: Hosted, status: int = 200) -> Response:
    body = m.ArmsResponse(list(hosted.bandit.arms), hosted.retired)
    return Response(m.encode(body), status, ((b"etag", _revision(hosted)),))
