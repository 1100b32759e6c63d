"""A progress bar with the time left, on standard error."""

import os
import sys
import threading
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

BAR = 24
TERMINAL_SECONDS = 0.1  # between two paintings of a terminal's line
LOG_SECONDS = 5.0  # between two lines of a log file
SMALLEST_SHARE = 0.02  # of the work, before the time left is estimated


def clock_text(seconds: float) -> str:
    """Write seconds as a clock does.

    Example:
        >>> clock_text(5), clock_text(75), clock_text(3723)
        ('0:05', '1:15', '1:02:03')
    """
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Progress:
    """Count work done and show how far it is; threads may share one bar.

    It is silent unless standard error is a terminal or `show=True`. A terminal gets one line, painted over;
    a file gets a line every few seconds. Trouble with the stream ends the painting, never the work.

    Args:
        total: pieces of work in all.
        label: what is being done.
        show: True or False to force; None to show on a terminal only.
        stream: where to write; None is the `sys.stderr` of this moment.

    Example:
        >>> with Progress(3, "runs", show=True, stream=sys.stdout) as progress:
        ...     for _ in range(3):
        ...         progress.advance()
        runs [########################] 100 %  3/3  0:00
    """

    def __init__(self, total: int, label: str = "", show: bool | None = None, stream: TextIO | None = None) -> None:
        self.total = total
        self.label = label
        self.done = 0
        self.resumed = 0  # pieces that were done before the bar began: they say nothing about the pace
        self.status = ""  # what takes the time now, when it is not the work that is counted
        self._stream = sys.stderr if stream is None else stream
        self._lock = threading.Lock()
        self._start = monotonic()
        self._last = self._start
        self._width = 0  # characters on the terminal's line now
        self._terminal = False
        try:
            self._terminal = self._stream.isatty()
        except Exception:  # noqa: BLE001 - see _paint
            show = False
        self._active = self._terminal if show is None else show
        self._painted = bool(show)  # a forced bar ends with a line even when the work took no time

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def advance(self, amount: int = 1) -> None:
        """Count `amount` more pieces of work as done."""
        with self._lock:
            self.done += amount
            now = monotonic()
            if self._active and now - self._last >= (TERMINAL_SECONDS if self._terminal else LOG_SECONDS):
                self._last = now
                self._painted = True
                self._paint(now, "" if self._terminal else "\n")

    def close(self) -> None:
        """Paint the last state and end the line; more calls do nothing."""
        with self._lock:
            if self._active and self._painted:
                self._paint(monotonic(), "\n")
            self._active = False

    def _line(self, now: float) -> str:
        share = min(max(self.done / self.total, 0.0), 1.0) if self.total > 0 else 1.0
        filled = int(share * BAR)
        bar = "#" * filled + "." * (BAR - filled)
        elapsed = now - self._start
        now_done = self.done - self.resumed
        # While something else takes the time, and at the very beginning, the pace says nothing.
        known = share < 1 and not self.status and now_done > SMALLEST_SHARE * (self.total - self.resumed)
        left = f", about {clock_text(elapsed * (self.total - self.done) / now_done)} left" if known else ""
        label = f"{self.label} " if self.label else ""
        count = f"{self.done:,}/{self.total:,}"
        status = f", {self.status}" if self.status else ""
        return f"{label}[{bar}] {int(share * 100):3d} %  {count}  {clock_text(elapsed)}{left}{status}"

    def _paint(self, now: float, end: str) -> None:
        # A closed pipe, a missing stream, an odd encoding: no trouble of a display may stop a computation.
        try:
            line = self._line(now)
            if self._terminal:
                line = line[: self._columns() - 1]
                painted, self._width = self._width, len(line)
                line = "\r" + line.ljust(painted)
            self._stream.write(line + end)
            self._stream.flush()
        except Exception:  # noqa: BLE001
            self._active = False

    def _columns(self) -> int:
        try:
            # Some terminals (a pipe to an editor, a fresh pseudo-terminal) say that they are 0 wide.
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80
