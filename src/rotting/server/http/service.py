"""What the handlers of the service share: the bandits, the tokens, the limits and the metrics."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from anyio import CapacityLimiter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rotting.errors import RottingError, StoreError
from rotting.server.http.admission import Admission
from rotting.server.http.history import Histories
from rotting.server.http.metrics import Metrics
from rotting.server.http.observer import Observer
from rotting.server.http.problem_documents import ProblemError, broken_rule
from rotting.server.http.tokens import Holder, TokenFile
from rotting.server.http.webhook import Webhook
from rotting.server.store.database import Database, all_records
from rotting.server.store.events import BanditRecord
from rotting.server.store.snapshots import remove_old_events, sweep
from rotting.server.store.turns import Call, FoldedBandit, Turns
from rotting.simulation.engines.tiers import CompileMode

T = TypeVar("T")

_TICK = 0.5  # seconds between two looks at the token file and the reward windows
_UPKEEP = 600.0  # seconds between two removals of old events and keys
_STALLED = 5.0  # seconds after which a turn that does not end makes the service not ready
_log = logging.getLogger("rotting.server")


class ServiceOptions(NamedTuple):
    """The options of the service."""

    token_file: str | None = None  # tokens of the clients; without it, every client that can connect may do everything
    rate: float | None = None  # most requests per second of each token, or of each address without tokens
    deadline: float = 30.0  # seconds after which a request gets status 503
    compile: CompileMode = "auto"
    webhook: str | None = None  # where to tell what arms wear out; signed with the environment's ROTTING_WEBHOOK_SECRET


class Service:
    """The bandits of a database, for requests.

    Args:
        database: the database, which `close` closes.
        options: the options.
    """

    def __init__(self, database: Database, options: ServiceOptions) -> None:
        self.database, self.options = database, options
        self.tokens = None if options.token_file is None else TokenFile(Path(options.token_file))
        self.admission = Admission(self.tokens, options.rate)
        self.metrics = Metrics(self)
        self.turns = Turns(database, options.compile, self.metrics.count_turn)
        self.histories = Histories(database)
        self.webhook = None
        if options.webhook is not None:
            self.webhook = Webhook(options.webhook, os.environ.get("ROTTING_WEBHOOK_SECRET", ""))
        self.observer = Observer(database, self.histories, None if self.webhook is None else self.webhook.tell)
        self.stopping = asyncio.Event()
        self.probes = CapacityLimiter(2)
        self.watchers: set[object] = set()
        """The clients that watch events."""
        self._ticking: asyncio.Task[None] | None = None
        self._upkeep: threading.Thread | None = None
        self._next_upkeep = 0.0

    async def start(self) -> None:
        """Start the regular checks."""
        if self._ticking is None:
            self._ticking = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Finish the turns that are under way, and close the database."""
        self.stopping.set()
        if self._ticking is not None:
            self._ticking.cancel()
        await run_in_threadpool(self.close)

    def close(self) -> None:
        """Close the database."""
        self.turns.close()
        if self.webhook is not None:
            self.webhook.close()

    async def _tick(self) -> None:
        is_away = False
        while True:
            await asyncio.sleep(_TICK)
            try:
                if self.tokens is not None:
                    self.tokens.reload_if_changed()
                await run_in_threadpool(self.turns.settle_windows)
                self.observer.look_regularly()
                if time.monotonic() > self._next_upkeep and (self._upkeep is None or not self._upkeep.is_alive()):
                    self._next_upkeep = time.monotonic() + _UPKEEP
                    self._upkeep = threading.Thread(target=self._remove_old, name="rotting-upkeep", daemon=True)
                    self._upkeep.start()
                is_away = False
            except StoreError as error:  # it is down, or fails over; one line is enough
                if not is_away:
                    _log.warning("regular checks wait for the store: %s", error)
                is_away = True
            except Exception:  # noqa: BLE001 - the next checks must not depend on it
                _log.exception("a regular check failed")

    def _remove_old(self) -> None:
        """Remove events, idempotency keys and bandits that are not kept any longer."""
        try:
            for record in all_records(self.database):
                if record.keep is None:
                    continue
                try:
                    remove_old_events(self.database, record.name)
                except RottingError as error:
                    _log.warning("old events of bandit %s were not removed: %s", record.name, error)
            sweep(self.database)
        except RottingError as error:  # it is tried again later
            _log.warning("old events were not removed: %s", error)

    def check_ready(self) -> None:
        """Raise an error if decisions cannot be stored."""
        if self.stopping.is_set():
            raise ProblemError("stopping", "the service is shutting down")
        if self.turns.oldest_wait() > _STALLED:
            raise ProblemError("store-failed", f"a change has been waiting for the store for more than {_STALLED:g} s")
        self.database.check_ready()


class RequestContext(NamedTuple):
    """A request that was admitted and decoded."""

    service: Service
    http: Request
    holder: Holder
    """The holder of the token that the client sent."""
    name: str
    """The name of the bandit in the path, or ""."""
    arm: str
    """The name of the arm in the path, or ""."""
    query: Any
    body: Any

    async def change(self, work: Callable[[FoldedBandit], T], keys: tuple[str, ...] = (), *, active: bool = True) -> T:
        """Change the bandit in a turn, and return what `work` returns; `active`: refuse an archived bandit."""

        def change(folded: FoldedBandit) -> T:
            if active:
                check_active(folded)
            return work(folded)

        service = self.service
        call = Call(self.name, change, caller=self.holder.name, keys=keys, seconds=service.options.deadline)
        service.turns.submit(call)
        try:
            return await asyncio.wrap_future(call.future)
        finally:
            for message in call.warnings:
                _log.warning("bandit %s: %s", self.name, message)

    async def read(self, work: Callable[[FoldedBandit], T]) -> T:
        """Return what `work` returns for the bandit with all events that are in its log now."""
        return await run_in_threadpool(self.service.turns.read, self.name, work, self.service.options.deadline)

    async def find(self, name: str) -> BanditRecord:
        """Return the record of a bandit that the token is for, or refuse its name."""
        if not self.holder.may_use(name):
            raise broken_rule("forbidden", "bandit", "be one that the token is for", name)
        record = await run_in_threadpool(self.service.database.find, name)
        if record is None:
            raise broken_rule("not-found", "bandit", "exist", name)
        return record


def check_active(folded: FoldedBandit) -> None:
    """Refuse an archived bandit."""
    if folded.record.archived:
        raise broken_rule("archived", "bandit", "be active", folded.record.name, hint=", which is archived")
