"""A progress bar with the time left: HTML in a notebook, else text on standard error."""

import html
import os
import sys
import threading
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

BAR, SHORTEST_BAR = 24, 4  # cells; a narrow terminal gets a shorter bar
TERMINAL_SECONDS = 0.1  # between two updates of a terminal's line
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


class Part(NamedTuple):
    """A part of the work, such as one of several games."""

    number: int = 1  # counted from 1
    of: int = 1  # how many parts there are
    size: int = 0  # its pieces of work; 0 if that is not known


class Progress:
    """Count the work done and show how much is left; threads may share one bar.

    It is silent unless standard error is a terminal, the code runs in a notebook, or `show=True`. A terminal gets one line and
    a notebook one bar, updated in place; a file gets a line every few seconds. If writing fails, the bar goes silent and the
    work continues.

    Args:
        total: the number of pieces of work.
        label: what is being done.
        show: True or False to force; None to show on a terminal and in a notebook only.
        stream: where to write; None is the current `sys.stderr`, or the notebook.

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
        self.resumed = 0  # pieces that were done before the bar began, which do not count for the estimate of the time left
        self.part = Part()  # the part of the work that begins next, for those who do it
        self.status = ""  # shown while something else than the counted work takes the time
        self._stream = sys.stderr if stream is None else stream
        self._lock = threading.Lock()
        self._start = monotonic()
        self._last = self._start
        self._width = 0  # characters now on the terminal's line
        self._terminal = False
        self._page = _notebook() if stream is None and show is not False else None
        self._update: Callable[[object], None] | None = None  # replaces the bar of the notebook, once there is one
        try:
            self._terminal = self._stream.isatty()
        except Exception:  # noqa: BLE001 - see _paint
            show = False
        self._active = (self._terminal or self._page is not None) if show is None else show
        self._painted = bool(show)  # a forced bar writes its last line even when the work took no time

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def advance(self, amount: int = 1) -> None:
        """Count `amount` more pieces of work as done."""
        with self._lock:
            self.done += amount
            now = monotonic()
            in_place = self._terminal or self._page is not None
            if self._active and now - self._last >= (TERMINAL_SECONDS if in_place else LOG_SECONDS):
                self._last = now
                self._painted = True
                self._paint(now, "" if in_place else "\n")

    def resume(self, amount: int) -> None:
        """Count `amount` pieces of work as done before."""
        self.resumed += amount
        self.advance(amount)

    def close(self) -> None:
        """Show the final state and end the line; further calls do nothing."""
        with self._lock:
            if self._active and self._painted:
                self._paint(monotonic(), "\n")
            self._active = False

    @property
    def _share(self) -> float:
        return min(max(self.done / self.total, 0.0), 1.0) if self.total > 0 else 1.0

    def _line(self, now: float, most: int | None = None) -> str:
        """Return the bar and its words. If that is longer than `most` characters, the bar is shorter, or left out."""
        label, words = f"{self.label} " if self.label else "", self._words(now)
        cells = BAR if most is None else min(BAR, most - len(f"{label}[] {words}"))
        if cells < SHORTEST_BAR:
            return f"{label}{words.lstrip()}"[:most]
        filled = int(self._share * cells)
        return f"{label}[{'#' * filled}{'.' * (cells - filled)}] {words}"

    def _words(self, now: float) -> str:
        share = self._share
        elapsed = now - self._start
        now_done = self.done - self.resumed
        # There is no estimate while something else takes the time, nor at the very beginning.
        known = share < 1 and not self.status and now_done > SMALLEST_SHARE * (self.total - self.resumed)
        left = f", about {clock_text(elapsed * (self.total - self.done) / now_done)} left" if known else ""
        count = f"{self.done:,}/{self.total:,}"
        status = f", {self.status}" if self.status else ""
        return f"{int(share * 100):3d} %  {count}  {clock_text(elapsed)}{left}{status}"

    def _paint(self, now: float, end: str) -> None:
        # A closed pipe, a missing stream, an odd encoding: a display must never stop a computation.
        try:
            if self._page is not None:
                self._paint_page(self._page, now)
                return
            line = self._line(now, self._columns() - 1 if self._terminal else None)
            if self._terminal:
                painted, self._width = self._width, len(line)
                line = "\r" + line.ljust(painted)
            self._stream.write(line + end)
            self._stream.flush()
        except Exception:  # noqa: BLE001
            self._active = False

    def _paint_page(self, page: ModuleType, now: float) -> None:
        words = html.escape(f"{self.label} {self._words(now)}".strip())
        bar = f'<progress value="{self._share:.4f}" max="1"></progress> <span style="white-space: pre">{words}</span>'
        if self._update is None:
            self._update = page.display(page.HTML(bar), display_id=True).update
        else:
            self._update(page.HTML(bar))

    def _columns(self) -> int:
        try:
            # Some terminals (a pipe to an editor, a new pseudo-terminal) report a width of 0.
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80


def _notebook() -> ModuleType | None:
    """Return `IPython.display` if the code runs in a notebook, else None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.modules.get("IPython.display") if hasattr(shell, "kernel") else None
