"""The limit of time that every test has: a hang fails, and the suite goes on."""

import pytest


def test_every_test_has_a_limit(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("timeout")) > 0
    assert pytestconfig.getini("timeout_method") == "thread"  # a signal would wait until machine code returns
    assert not pytestconfig.getini("timeout_func_only")  # fixtures count
