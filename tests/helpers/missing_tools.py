"""What a test needs beside Python: its absence skips the test on a developer's machine, and fails it in CI.

Some tests need its absence: `hide_package` lets a package seem not installed.
"""

import builtins
import os
from typing import Any, NoReturn

import pytest


def skip_or_fail(what: str) -> NoReturn:
    """Skip the test, or fail it with CI=true in the environment."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}: it must be there with CI=true")
    pytest.skip(what)


def hide_package(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Let every import of a package fail, as if it were not installed."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(name, name=package)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
