"""The order of the tests, and which of them are left out, by the policy that a test plays.

The tests of a policy follow one another, whichever file they are in; so do the other tests of a file.

Most of the time goes into compiling, and each worker starts with a consecutive part of the tests. In this order, most policies
are compiled by one worker only, and what a file sets up for its tests is set up once.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

from rotting.registry import list_policies

T = TypeVar("T")
REPRESENTATIVE = frozenset({"effrawucb", "rawucb", "ucb1", "exp3s", "thompsonsampling"})
"""One policy of each kind: `make test` compiles only these, `make test-all` all of them."""
SLOW_INTERPRETED = frozenset({"rawklucb", "thompsonsampling", "discountedts", "slidingwindowts", "fdswts"})
"""Policies that take ten times as long as others if they are interpreted; `LONG_FOLDERS` has the tests that this makes slow."""
LONG_FOLDERS = (
    *("tests/live/", "tests/policies/parts/", "tests/policies/families/", "tests/policies/test_f_dsw_ts.py"),
    "tests/server/store/",
)
SLOW_ON_POSTGRES = tuple(
    f"tests/server/{name}.py"
    for name in (
        *("http/test_restarts", "http/test_server", "store/test_processes", "store/test_retention", "store/test_state_machine"),
        "store/test_versions",
    )
)
"""Tests with many processes or steps: `make test` plays them on SQLite, and `make test-all` on PostgreSQL, too."""
SLOW = (
    "tests/server/http/test_storm.py",
    *(
        f"tests/simulation/engines/test_cuda.py::test_{name}"
        for name in (
            *("a_gpu_that_fuses_operations", "states_that_are_full_wait", "little_memory_makes", "what_is_kept_is_not"),
            *("the_bar_counts", "a_mistake_of_others", "means_by_a_function"),
        )
    ),
    *(
        f"tests/simulation/test_comparisons.py::test_{name}"
        for name in ("stated_intervals_of_spreads", "the_rule_of_spreads", "the_smallest_of_many")
    ),
    *(
        f"tests/logs/test_{name}"
        for name in (
            *("advice.py::test_runs_go_on", "advice.py::test_a_policy_gains_nothing", "advice.py::test_no_gain_rests"),
            "fit.py::test_the_runs_hold",
        )
    ),
    "tests/simulation/test_ranking.py::test_studies_of_equal_policies",
    "tests/simulation/engines/test_dask.py::test_a_policy_of_a_script",
    "tests/simulation/engines/test_dask.py::test_a_script_that_every_worker",
)
"""Tests that take seconds: studies of intervals, the rarer cases of the engines, and many games on a log."""
WHOLE = ("tests/docs/test_site.py", "tests/paper/report/")  # one share each, whatever they name: their files are written once


@cache
def _policies() -> list[str]:
    """The names of the library's policies without hyphens, long ones first: RAW-UCB++ is not RAW-UCB."""
    return sorted((_letters(each.name) for each in list_policies()), key=len, reverse=True)


@cache
def _released() -> frozenset[str]:
    """The names, without hyphens, of the policies whose defaults are recorded."""
    recorded = Path(__file__).parent.parent / "policies" / "defaults.json"
    return frozenset(map(_letters, json.loads(recorded.read_text("utf-8"))))


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())


@cache
def share(node: str) -> str:
    """Return the name of the share that a test belongs to, by its node id.

    Example:
        >>> share("tests/live/test_arms.py::test_removal[2-EffRAWUCB(alpha=1.4, m=2.0)]")
        'effrawucb'
        >>> share("tests/policies/test_raw_ucb_pp.py::test_its_level")
        'rawucbpp'
        >>> share("tests/docs/test_site.py::test_pages_ask_nobody[api/RAWUCB]")
        'tests/docs/test_site.py'
        >>> share("tests/problems/test_decays.py::test_falling[linear]")
        'tests/problems/test_decays.py'
    """
    path, _, test = node.partition("::")
    for whole in WHOLE:
        if path.startswith(whole):
            return whole
    for text in (test.partition("[")[2], path.rpartition("/")[2]):
        letters = _letters(text)
        found = next((name for name in _policies() if name in letters), None)
        if found is not None:
            return found
    return path


def by_share(items: Iterable[T], node: Callable[[T], str]) -> list[T]:
    """Return the tests sorted by share; the shares are in the order of their first tests.

    Args:
        items: the tests.
        node: returns the node id of a test.

    Example:
        >>> by_share(["a.py::f", "a.py::f[ucb1]", "a.py::g", "b.py::f[UCB1()]"], str)
        ['a.py::f', 'a.py::g', 'a.py::f[ucb1]', 'b.py::f[UCB1()]']
    """
    shares: dict[str, list[T]] = {}
    for item in items:
        shares.setdefault(share(node(item)), []).append(item)
    return [item for group in shares.values() for item in group]


def is_represented(node: str) -> bool:
    """Return whether a test, by its node id, plays a policy that another one represents; a new policy is never represented.

    Example:
        >>> is_represented("tests/policies/test_fewa.py::test_its_width")
        True
        >>> is_represented("tests/policies/test_ucb1.py::test_its_width")
        False
    """
    return share(node) in _released() - REPRESENTATIVE


def takes_long(node: str) -> bool:
    """Return whether a test, by its node id, takes long without the compiler, or waits for PostgreSQL for long.

    Example:
        >>> takes_long("tests/live/test_pages.py::test_a_page[RAWKLUCB(kind='bernoulli')]")
        True
        >>> takes_long("tests/policies/test_equality.py::test_ties[RAWKLUCB(kind='bernoulli')]")
        False
        >>> takes_long("tests/server/store/test_versions.py::test_a_later_version_reads_a_base[postgres]")
        True
        >>> takes_long("tests/server/store/test_versions.py::test_a_later_version_reads_a_base[sqlite]")
        False
    """
    if node.startswith(SLOW):
        return True
    if node.startswith(SLOW_ON_POSTGRES) and "[postgres" in node:
        return "eff-raw-ucb" not in node  # with which the state machine is played on PostgreSQL, too
    return node.startswith(LONG_FOLDERS) and share(node) in SLOW_INTERPRETED
