"""What the child processes of the library share: how they read what their parent sends, and that they end with it."""

import os
import sys
import threading
import time
from pathlib import Path
from typing import IO

_PARENT_SECONDS = 1.0  # between two checks for the parent


def take_standard_input() -> IO[bytes]:
    """Return the data that the parent sends, and leave an empty standard input to everything else.

    On Windows, importing NumPy would wait for a thread that reads standard input: a library that NumPy loads inspects that
    pipe, and Windows allows one operation on a pipe at a time.
    """
    source = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    return source


def end_with_parent() -> None:
    """End this process when its parent has ended, even if a fork of the parent keeps its pipes open."""
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:  # always true on Windows, where nothing can be forked
        time.sleep(_PARENT_SECONDS)
    os._exit(0)
