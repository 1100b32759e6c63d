"""Python as it is on Windows, as far as another system can imitate it, for processes that tests start.

Nothing can be forked, the modules and functions of POSIX are missing, signal 0 is Ctrl-C, and an open file can neither be
deleted nor replaced. Every process that inherits the environment keeps to these rules, compilers included.
"""

import os
from pathlib import Path

RULES = """
import asyncio, importlib.abc, multiprocessing, os, pathlib, random, signal, socket, sqlite3, ssl, subprocess, sys, tempfile
import types, uuid

# What starts processes on this system keeps what it needs for that.
subprocess.os, subprocess.signal = (types.SimpleNamespace(**vars(module)) for module in (os, signal))

MODULES = "fcntl grp pwd pty resource syslog termios uvloop".split()
FUNCTIONS = "chown fork forkpty getgid getpgid getuid geteuid killpg mkfifo nice pwrite register_at_fork " \
    "sched_getaffinity setsid statvfs sync wait4".split()


class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


for name in MODULES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for name in FUNCTIONS:
    delattr(os, name)
for name in ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2"):
    delattr(signal, name)


def kill(pid, number):
    os.write(2, b"os.kill sends Ctrl-C, or ends the process\\n")
    os._exit(70)


def not_implemented(self, *arguments):
    raise NotImplementedError


def refusing(call):
    def refuse_open_files(path, *others, **options):
        for each in (path, *others):
            with os.scandir("/proc/self/fd") as handles:
                if os.path.realpath(each) in [os.path.realpath(handle.path) for handle in handles]:
                    raise PermissionError(13, "The process cannot access the file because it is being used", str(each))
        return call(path, *others, **options)

    return refuse_open_files


os.kill = kill
asyncio.SelectorEventLoop.add_signal_handler = asyncio.SelectorEventLoop.remove_signal_handler = not_implemented
if os.path.isdir("/proc/self/fd"):
    for name in ("remove", "rename", "replace", "unlink"):
        setattr(os, name, refusing(getattr(os, name)))
"""


def windows_rules(folder: Path) -> dict[str, str]:
    """Write the rules to a folder, and return the environment variable that makes every Python keep to them."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(RULES, encoding="utf-8")
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
