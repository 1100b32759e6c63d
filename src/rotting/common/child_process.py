"""Work in a child process, which is sent a pickled callable.

The child is a new process, not a fork, and has a session of its own, so that Ctrl-C does not reach it. It ends with its parent,
however that ends.
"""

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

_PARENT_SECONDS = 0.5  # between two checks for the parent


def run_in_child(work: Callable[[], object]) -> None:
    """Call a picklable function without arguments in a new process, whose output is dropped, and wait until it has returned.

    If the process fails or is killed, `subprocess.CalledProcessError` is raised; if it cannot be started, `OSError`.

    Example:
        >>> import time
        >>> run_in_child(time.time)
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("there is no Python to start")
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)  # it finds the modules that this process finds
    subprocess.run(  # noqa: S603 - the command is written here
        [sys.executable, "-P", "-m", __name__, str(os.getpid())],
        input=pickle.dumps(work),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,
        check=True,
    )


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, even if a fork of the parent keeps its pipes open."""
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    os._exit(1)


def _work(parent: int) -> None:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        work = pickle.load(sys.stdin.buffer)  # noqa: S301 - what the parent wrote
    except EOFError:  # it was interrupted before it had written anything
        sys.exit(1)
    work()


if __name__ == "__main__":
    _work(int(sys.argv[1]))
