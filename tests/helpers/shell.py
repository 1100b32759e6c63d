"""Runs the shell scripts of pages without starting their commands as processes.

Starting `rotting` anew for every line of every page would take minutes. So a shell runs the script with functions in place of
the programs below, which only print their arguments, and finds no other program. Then `play` runs each command in this process.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rotting import cli
from rotting.paper import experiments
from rotting.paper.report.model import Findings, Section
from tests.helpers.blocks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROGRAMS = ("rotting", "pip", "make", "docker", "python")
with (ROOT / "pyproject.toml").open("rb") as _file:
    EXTRAS: dict[str, list[str]] = tomllib.load(_file)["project"]["optional-dependencies"]
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def commands(script: str, **variables: str) -> list[list[str]]:
    """Return the commands that a shell starts for a script, with their arguments as the shell reads them."""
    noting = "".join(f'{name}() {{ printf "%s\\0" "$(($# + 1))" {name} "$@"; }}\n' for name in PROGRAMS)
    bash = shutil.which("bash")
    assert bash is not None
    given = {"PATH": os.devnull, "BASH_ENV": os.devnull, **variables}
    done = subprocess.run([bash, "-eu", "-c", noting + script], env=given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{script}\n{done.stderr}"
    words = iter(done.stdout.split("\0")[:-1])
    return [[next(words) for _ in range(int(count))] for count in words]


def play(command: "Sequence[str]", folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run a command of a script; `folder` is the current folder."""
    _PLAYED[command[0]](command[1:], folder, patch)


def _rotting(arguments: "Sequence[str]", folder: Path, patch: pytest.MonkeyPatch) -> None:
    with patch.context() as patched:
        extra: list[str] = []
        if arguments[0] == "reproduce":
            # It takes minutes: all but the games. tests/cli/test_paper_commands.py plays small ones.
            found = Section("theory", "Nothing", "", Findings(()), settings={"size": "quick", "seed": 0})
            patched.setattr(experiments, "run", lambda *_: [experiments.FinishedExperiment(found, {})])
            patched.setattr(experiments, "write", lambda finished, out, *_, **__: out)
        elif arguments[0] == "serve":  # it would not end, and the port of the page may be taken
            _ends_when_ready(patched)
            extra = ["--port", "0"]
        elif arguments[0] == "analyse":  # fewer policies to compile; tests/cli/test_analyse_command.py looks at what it finds
            extra = ["--policy", "uniform"]
            shutil.rmtree(folder / "report", ignore_errors=True)  # of another line of the page
        with _signal_handlers_kept():
            assert cli.main([*arguments, *extra]) == 0, arguments


@contextmanager
def _signal_handlers_kept() -> "Iterator[None]":
    """Restore the signal handlers at the end: a service that ends leaves its signals ignored, but this process goes on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ends_when_ready(patched: pytest.MonkeyPatch) -> None:
    from rotting.server.http import server

    startup = server._Server.startup

    async def short(self: Any, sockets: Any = None) -> None:
        await startup(self, sockets)
        self.should_exit = True

    patched.setattr(server._Server, "startup", short)


def _pip(arguments: "Sequence[str]", folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Check that the extras to install exist."""
    install, what = arguments
    found = re.fullmatch(r"(?:\.|rotting)\[([\w,]+)\]", what)
    assert install == "install"
    assert found is not None, what
    assert set(found[1].split(",")) <= set(EXTRAS), what


def _make(arguments: "Sequence[str]", folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Check that the target exists."""
    done = subprocess.run(["make", "-C", str(ROOT), "-n", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _docker(arguments: "Sequence[str]", folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run the command of the container, with `folder` as its volume."""
    compose, verb, *rest = arguments
    assert (compose, verb) in {("compose", "run"), ("compose", "up")}
    inside: list[str] = json.loads(re.findall(r"^CMD (.*)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)[0])
    if verb == "run":
        remove, alone, service, *inside = rest
        assert (remove, alone) == ("--rm", "--no-deps")
        assert re.search(rf"^  {service}:$", (ROOT / "compose.yaml").read_text("utf-8"), re.MULTILINE)
    _rotting([each.replace("/data", str(folder)) for each in inside], folder, patch)


_PLAYED = {"rotting": _rotting, "pip": _pip, "make": _make, "docker": _docker}
