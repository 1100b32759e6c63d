"""The access log: one line per request, with time, client address, name of the token, method, path, status and duration."""

import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rotting.errors import InvalidValueError
from rotting.server.http.tokens import Holder

if TYPE_CHECKING:
    from starlette.requests import Request


class AccessLog:
    """Collects lines and writes them together; `flush` is called a few times per second.

    Args:
        path: the file, to which lines are appended; `-` is standard error.
    """

    def __init__(self, path: str) -> None:
        self._path, self._lines = path, list[str]()
        self._file = self._open()

    def _open(self) -> TextIO:
        if self._path == "-":
            return sys.stderr
        try:
            return Path(self._path).open("a", encoding="utf-8")
        except OSError as error:
            raise InvalidValueError("access log", "be a file that can be written to", self._path, hint=f": {error}") from error

    def add(self, request: "Request", holder: Holder, status: int, seconds: float) -> None:
        """Add a line for a response."""
        when = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        caller = holder.name.replace(" ", "_") or "-"
        raw = request.scope.get("raw_path")
        path = request.scope["path"].encode("ascii", "backslashreplace").decode() if raw is None else raw.decode("latin-1")
        peer = request.client.host if request.client else "-"
        milliseconds = f"{1e3 * seconds:.1f}ms"
        self._lines.append(f"{when} {peer} {caller} {request.method} {path} {status} {milliseconds}\n")

    def flush(self) -> None:
        """Write the collected lines."""
        if self._lines:
            lines, self._lines = self._lines, []
            with suppress(OSError):  # a full disk must not stop the service
                self._file.writelines(lines)
                self._file.flush()

    def reopen(self) -> None:
        """Reopen the file after log rotation has renamed it."""
        file = self._open()
        self.close()
        self._file = file

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        if self._file is not sys.stderr:
            self._file.close()
