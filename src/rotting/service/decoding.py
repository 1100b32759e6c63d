"""Reads and decodes the query and the body of a request."""

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

import msgspec

from rotting.errors import InvalidValueError
from rotting.service import messages as m
from rotting.service import routes
from rotting.service.problem_documents import broken_rule, of_body
from rotting.service.requests import JSON, LARGE_BODY, ByteBudget, Request
from rotting.service.routes import Route


class BodyDecoder:
    """Reads the bodies of requests, of at most `max_body` bytes each, and decodes large ones with `in_thread`.

    Large bodies share the memory while they are read or decoded, and so do small ones that come in several parts while they are
    read.
    """

    def __init__(
        self, max_body: int, memory: ByteBudget, in_thread: Callable[[Callable[[], object]], Awaitable[object]]
    ) -> None:
        self._memory, self._in_thread = memory, in_thread
        self._decoders = routes.decoders()
        self._limits = {route.operation: min(route.max_body, max_body) for route in routes.ROUTES}

    async def read(self, request: Request, route: Route) -> object:
        """Return the decoded body."""
        if route.body is None:
            raise broken_rule("bad-request", "body", "be left out here", got="one")
        kind = request.headers.get(b"content-type", b"")
        if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
            raise broken_rule("unsupported-media-type", "Content-Type", "be application/json", kind.decode("latin-1"))
        body = await request.read_body(self._limits[route.operation], self._memory)
        decoder = self._decoders[route.operation]
        if len(body) <= LARGE_BODY:
            return _decode(decoder, body)
        try:
            return await self._in_thread(lambda: _decode(decoder, body))
        finally:
            self._memory.give_back(len(body))


def _decode(decoder: msgspec.json.Decoder[object], body: bytes) -> object:
    try:
        return decoder.decode(body)
    except (ValueError, RecursionError) as error:
        raise of_body(error, body) from error


def decode_query(request: Request, route: Route) -> object:
    """Return the decoded query."""
    text = request.query_string
    if route.query is None:
        if text:
            raise InvalidValueError("query", "be left out here", text[:60])
        return None
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
    except ValueError as error:
        raise broken_rule("bad-request", "query", "be name=value&name=value", text[:60]) from error
    if len(dict(pairs)) < len(pairs):
        raise InvalidValueError("query", "have each name once", text[:60])
    try:
        return msgspec.convert(dict(pairs), route.query, strict=False)
    except msgspec.ValidationError as error:
        raise of_body(error, m.encode(dict(pairs)), "query") from error
