"""A progress bar with the time left: tqdm's, on a terminal or in a notebook; in a file, a line every ten seconds."""

import sys
import threading
from collections.abc import Callable
from typing import Any, Self

LINE_SECONDS = 10.0  # between two lines of a file; work that ends sooner writes none
_FORMAT = "{desc}: {percentage:3.0f} %|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"


class Progress:
    """Count the work done and show how much is left, on standard error; threads may share one bar.

    If writing fails, the bar goes silent and the work continues.

    Args:
        total: the number of pieces of work.
        label: what is being done.
        show: None to show the bar on a terminal and in a notebook only, True to write lines to a file as well, False for none.

    Example:
        >>> with Progress(3, "runs", show=False) as progress:
        ...     for _ in range(3):
        ...         progress.advance()
        >>> progress.done
        3
    """

    def __init__(self, total: int, label: str = "", show: bool | None = None) -> None:
        self.total = total
        self.done = 0
        self.resumed = 0  # pieces that were done before the bar began, which do not count for the estimate of the time left
        self._status = ""
        self._lock = threading.Lock()
        self._in_place = _is_notebook() or _is_terminal()
        self._bar: Any = None
        if show or (show is None and self._in_place):
            self._paint(self._start, label)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def status(self) -> str:
        """What takes the time now if it is not the counted work, such as "compiling RAW-UCB (3 of 8)". It is shown at once."""
        return self._status

    @status.setter
    def status(self, text: str) -> None:
        with self._lock:
            self._status = text
            if self._bar is not None:
                self._paint(self._bar.set_postfix_str, text, self._in_place)

    def advance(self, amount: int = 1) -> None:
        """Count `amount` more pieces of work as done."""
        with self._lock:
            self.done += amount
            if self._bar is not None:
                self._paint(self._bar.update, amount)

    def resume(self, amount: int) -> None:
        """Count `amount` pieces of work as done before."""
        self.resumed += amount
        if self._bar is not None:
            self._bar.initial += amount
        self.advance(amount)

    def close(self) -> None:
        """Show the final state and end the line; further calls show nothing."""
        with self._lock:
            if self._bar is not None:
                self._paint(self._bar.close)
            self._bar = None

    def _start(self, label: str) -> None:
        from tqdm.auto import tqdm  # noqa: PLC0415 - imports asyncio, which is not needed if nothing is shown

        look: dict[str, Any] = {"dynamic_ncols": True}
        if not self._in_place:
            look = {"file": _Lines(), "ncols": 80, "mininterval": LINE_SECONDS, "delay": LINE_SECONDS}
        short = self.total >= 10_000  # 1.60M instead of 1600000
        self._bar = tqdm(total=self.total, desc=label, bar_format=_FORMAT, unit_scale=short, miniters=0, smoothing=0, **look)

    def _paint(self, paint: Callable[..., object], *arguments: object) -> None:
        # A closed pipe, a missing stream, an odd encoding: a display must never stop a computation.
        try:
            paint(*arguments)
        except Exception:  # noqa: BLE001
            if self._bar is not None:
                self._bar.disable = True  # or tqdm would write again when it is collected
            self._bar = None


class _Lines:
    """A stream for tqdm that writes lines to standard error, for a file, in which nothing can be painted over."""

    def write(self, text: str) -> None:
        if text.strip():
            sys.stderr.write(f"{text.strip()}\n")

    def flush(self) -> None:
        sys.stderr.flush()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # it is missing or closed
        return False


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
