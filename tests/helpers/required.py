"""What a test needs beside Python: its absence skips the test on a developer's machine, and fails it in CI."""

import os
from typing import NoReturn

import pytest


def skip_or_fail(what: str) -> NoReturn:
    """Skip the test, or fail it with CI=true in the environment."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}: it must be there with CI=true")
    pytest.skip(what)
