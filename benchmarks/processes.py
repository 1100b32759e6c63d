"""Measurements in processes of their own: `python -m MODULE WHAT ARGUMENTS` writes what it finds as JSON."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import ROOT


def run(module: str, *arguments: object, **environment: str) -> Any:
    """Return what a module finds in a new process; None if it writes nothing, as one that kills itself at its end."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode not in {0, -signal.SIGKILL}:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout) if done.stdout else None


def answer(*measures: Callable[..., object]) -> None:
    """Write what one of these functions returns: the arguments of this process are its name and its own arguments."""
    what, *arguments = sys.argv[1:]
    measure = {each.__name__: each for each in measures}[what]
    sys.stdout.write(json.dumps(measure(*(int(each) if each.isdigit() else each for each in arguments))))


def port(server: "subprocess.Popen[str]") -> int:
    """Return the port of a service, as soon as it is ready; `server` is a process of `rotting serve`."""
    assert server.stderr is not None
    line = next(line for line in server.stderr if line.startswith("serving"))
    return int(line.partition("http://127.0.0.1:")[2].partition(",")[0])
