"""Handlers of the routes that only read: explanations, the log, the dashboard, health and metrics."""

from collections.abc import Callable

import msgspec

from rotting.service import dashboard_files, openapi, overview
from rotting.service import messages as m
from rotting.service.bandits import Bandits
from rotting.service.metrics import Metrics
from rotting.service.problem_documents import broken_rule
from rotting.service.requests import TEXT, Request, Response
from rotting.service.reward_buckets import RewardBucketsCache
from rotting.service.workers import Workers

_SLICE = 1_000  # arms that are encoded at once
_PAGE_BYTES = 1 << 20  # of events in one response, unless the first event alone is longer


class ReadHandlers:
    """Handlers that change nothing.

    Args:
        bandits: the bandits.
        metrics: the metrics of the service.
        check_ready: raises an error if the service cannot store decisions.
        gauges: returns metrics of the server itself, by name.
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
        self._dashboard_workers = Workers("rotting-dashboard", 1)  # separate, so that the dashboard does not delay decisions
        self._reward_buckets = RewardBucketsCache(self._host)
        self._openapi = m.encode(openapi.document())

    async def close(self) -> None:
        """End the worker thread of the dashboard."""
        await self._dashboard_workers.close()

    async def explain(self, request: Request) -> Response:
        """Return the index, mean, window and width of each arm for the next decision."""
        bandit = (await self._bandits.get(request.parameters["name"])).bandit

        def explained() -> bytes:
            number, arms = bandit.rounds + 1, list(bandit.explain().items())
            parts = []
            for start in range(0, len(arms), _SLICE):  # encoding all of them at once would block the event loop
                rows = [m.ArmReason(*overview.numbers_of(each), arm) for arm, each in arms[start : start + _SLICE]]
                parts.append(m.encode(rows)[1:-1])
            return b'{"round":%d,"arms":[%b]}' % (number, b",".join(parts))

        return Response(await self._bandits.in_thread(explained))

    async def show_history(self, request: Request) -> Response:
        """Return choices and rewards over time, in buckets."""
        hosted, top = await self._bandits.get(request.parameters["name"]), request.query.top
        name, reward_range = hosted.name, hosted.bandit.policy.reward_range

        def encoded() -> bytes:
            counted, behind = self._reward_buckets.read_on(name)
            with counted.lock:
                return m.encode(overview.history_response(counted, behind, top, hosted.latest, reward_range))

        return Response(await self._dashboard_workers.run(encoded))

    async def list_arms(self, request: Request) -> Response:
        """List arms with their choices, rewards and estimates."""
        hosted = await self._bandits.get(request.parameters["name"])

        def listed() -> bytes:
            reasons = hosted.bandit.explain()
            counted, _ = self._reward_buckets.read_on(hosted.name)
            with counted.lock:
                return m.encode(overview.arm_list_response(counted, reasons, hosted.retired, request.query))

        return Response(await self._dashboard_workers.run(listed))

    async def read_log(self, request: Request) -> Response:
        """Return events of a bandit as they are in the log."""
        name, query = request.parameters["name"], request.query
        self._bandits.check_known(name)

        def read() -> bytes:
            found = self._host.read(name, query.after, query.limit, _PAGE_BYTES)
            events = [{"number": n, "epoch": epoch, "payload": msgspec.Raw(payload)} for n, epoch, payload in found.rows]
            return m.encode({"events": events, "next": found.last})

        return Response(await self._bandits.in_thread(read))

    async def live(self, request: Request) -> Response:
        """Report that the process is alive."""
        return Response(m.encode(m.HealthResponse("alive")))

    async def ready(self, request: Request) -> Response:
        """Report whether decisions can be stored."""
        self._check_ready()
        return Response(m.encode(m.HealthResponse("ready")))

    async def show_metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus."""
        if request.holder.bandits is not None:
            raise broken_rule("forbidden", "token", "be for all bandits to read the metrics", got="one for some")
        return Response(await self._metrics.text(self._gauges()), content_type=TEXT)

    async def show_page(self, request: Request) -> Response:
        """Return a file of the dashboard."""
        page = dashboard_files.FILES[request.path]
        return Response(page.content, 200, dashboard_files.HEADERS, page.content_type.encode())

    async def show_openapi(self, request: Request) -> Response:
        """Return the OpenAPI document."""
        return Response(self._openapi)
