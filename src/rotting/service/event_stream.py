"""The stream of server-sent events: sends events to one client until it disconnects or the service stops."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from rotting.service.admission import Admission
from rotting.service.bandits import Bandits
from rotting.service.broadcast import MAX_READERS, Broadcast, Reader
from rotting.service.problem_documents import ProblemError, broken_rule
from rotting.service.requests import Request, Send, start_stream


class EventStreams:
    """Streams the events of a broadcast to clients until they disconnect, their token is revoked, or `stopping` is set."""

    def __init__(self, bandits: Bandits, broadcast: Broadcast, admission: Admission, stopping: asyncio.Event) -> None:
        self._bandits, self._broadcast, self._admission, self._stopping = bandits, broadcast, admission, stopping

    async def stream(self, request: Request, send: Send) -> None:
        """Send events as they happen, until the client disconnects or the service stops."""
        bandit, readers = request.query.bandit, self._broadcast.readers
        if request.holder.bandits is not None and (bandit is None or not request.holder.may_use(bandit)):
            raise broken_rule("forbidden", "query", "name a bandit that the token is for", bandit, hint="; add ?bandit=NAME")
        if bandit is not None:
            self._bandits.check_known(bandit)
        if len(readers) >= MAX_READERS:
            raise ProblemError("too-many-requests", f"{MAX_READERS} clients are reading events already", retry_after="10")
        request.is_stream = True
        await start_stream(send)
        if request.method != "HEAD":
            reader = self._broadcast.add_reader(bandit)
            ends = [asyncio.ensure_future(request.disconnected()), asyncio.ensure_future(self._stopping.wait())]
            try:
                await send({"type": "http.response.body", "body": b"retry: 1000\n\n", "more_body": True})
                await _forward(reader, send, ends, lambda: self._admission.still_admits(request))
            finally:
                readers.discard(reader)
                for each in ends:
                    each.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _forward(reader: Reader, send: Send, ends: Sequence[asyncio.Future[Any]], is_admitted: Callable[[], bool]) -> None:
    """Send the events of a reader until one of `ends` is done or the client's token is revoked."""
    while is_admitted():
        part = asyncio.ensure_future(reader.next_part())
        try:
            await asyncio.wait([part, *ends], return_when=asyncio.FIRST_COMPLETED)
            if any(each.done() for each in ends):
                return
            await send({"type": "http.response.body", "body": part.result(), "more_body": True})
        finally:
            part.cancel()
