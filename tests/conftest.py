"""Settings of the whole suite: deterministic examples, and small sizes when nothing is compiled."""

import os
import signal
import sys
from collections.abc import Iterator

import hypothesis
import pytest

from rotting.policy import Policy
from tests.helpers.order_of_tests import by_share, is_represented, takes_long

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
STRESS = "ROTTING_STRESS" in os.environ  # as `make stress` sets it: the long forms of tests
EXAMPLES = 10 if INTERPRETED else 50 if STRESS else 25
FEW = EXAMPLES if INTERPRETED or STRESS else 15  # examples where each plays a game against a slow reference

# "auto" would begin interpreted and start a compiler: tests of machine code would not test it, and race with it. The tests of
# tiers say what they want.
os.environ.setdefault("ROTTING_COMPILE", "now")

# A shell starts commands in the background with SIGINT ignored, and every process that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=EXAMPLES, database=None)
hypothesis.settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--representative", action="store_true", help="leave out tests of policies that others represent")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-k my-ucb` select all tests of that policy: also those of its file, and those whose ids show its class."""
    item.extra_keyword_matches.add(item.path.stem.replace("_", "-"))
    parameters = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    item.extra_keyword_matches.update(each.name for each in parameters if isinstance(each, Policy))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("representative"):
        config.hook.pytest_deselected(items=[item for item in items if is_represented(item.nodeid)])
        items[:] = [item for item in items if not is_represented(item.nodeid)]
    if hasattr(config, "workerinput"):  # one of several workers: each gets a row of tests
        items[:] = by_share(items, lambda item: item.nodeid)
    for item in items:
        if takes_long(item.nodeid):
            item.add_marker(pytest.mark.slow)
        if INTERPRETED and not STRESS and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes long: make test-all runs it, compiled"))
        if item.get_closest_marker("gpu") and "gpu" not in config.option.markexpr:
            item.add_marker(pytest.mark.skip(reason="needs a GPU: make test-gpu"))


def pytest_collection_finish() -> None:
    if "tests.reference.by_name" in sys.modules:  # a test plays against references
        sys.modules["tests.reference.by_name"].import_references()


@pytest.fixture(autouse=True)
def keeps_control_c() -> Iterator[None]:
    """Let no test leave SIGINT ignored or handled by itself: every process that a later test starts would inherit that."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    if after is not before:
        signal.signal(signal.SIGINT, before)
        pytest.fail(f"the handler of SIGINT is {after}, and was {before}")
