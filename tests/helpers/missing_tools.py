"""Tools and packages that a test needs: without them it is skipped on a developer's machine, and fails in CI.

`hide_package` is for tests of what happens without a package.
"""

import builtins
import os
from typing import Any, NoReturn

import pytest


def skip_or_fail(what: str) -> NoReturn:
    """Skip the test, or fail it if the environment has CI=true."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}: it must be there with CI=true")
    pytest.skip(what)


def hide_package(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make every import of a package fail, as if it were not installed."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(name, name=package)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
