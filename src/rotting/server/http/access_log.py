"""The access log: one line per request, with time, client address, name of the token, method, path, status and duration."""

import logging
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler

from starlette.requests import Request

from rotting.errors import InvalidValueError
from rotting.server.http.tokens import Holder


class AccessLog:
    """Appends lines to a file, and to a new one after log rotation has renamed it.

    Args:
        path: the file; `-` is standard error.
    """

    def __init__(self, path: str) -> None:
        try:
            self._handler = logging.StreamHandler() if path == "-" else WatchedFileHandler(path, encoding="utf-8")
        except OSError as error:
            raise InvalidValueError("access log", "be a file that can be written to", path, hint=f": {error}") from error
        self._handler.handleError = lambda record: None  # type: ignore[method-assign]  # a full disk must not stop the service

    def add(self, request: Request, holder: Holder, status: int, seconds: float) -> None:
        """Add a line for a response."""
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        caller = holder.name.replace(" ", "_") or "-"
        raw = request.scope.get("raw_path")
        path = request.scope["path"].encode("ascii", "backslashreplace").decode() if raw is None else raw.decode("latin-1")
        peer = request.client.host if request.client else "-"
        line = f"{when} {peer} {caller} {request.method} {path} {status} {1e3 * seconds:.1f}ms"
        self._handler.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()
