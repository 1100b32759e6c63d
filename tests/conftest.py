"""Settings of the whole suite: deterministic examples, and small sizes when nothing is compiled."""

import os

import hypothesis
import pytest

from tests.helpers.shares import by_share

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
STRESS = "ROTTING_STRESS" in os.environ  # as `make stress` sets it: the long forms of tests
EXAMPLES = 10 if INTERPRETED else 50 if STRESS else 25
FEW = EXAMPLES if INTERPRETED or STRESS else 15  # examples where each plays a game against a slow reference

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=EXAMPLES, database=None)
hypothesis.settings.load_profile("fixed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several workers: each gets a row of tests
        items[:] = by_share(items, lambda item: item.nodeid)
    for item in items:
        if item.get_closest_marker("gpu") and "gpu" not in config.option.markexpr:
            item.add_marker(pytest.mark.skip(reason="needs a GPU: make test-gpu"))
    if INTERPRETED:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="a size that only pays when compiled"))
