"""Which tests one worker runs: those of a policy, whichever file they are in, and otherwise those of a file.

Most of the time goes into compiling. A worker that has compiled the functions of a policy has them for all its tests, and what
a file sets up for its tests is set up once.
"""

import re
from functools import cache

from xdist.scheduler import LoadFileScheduling

from rotting.registry import list_policies

WHOLE = ("tests/docs/test_site.py", "tests/report/")  # one share each, whatever they name: what they look at is written once


@cache
def _policies() -> list[str]:
    """The names of the library's policies without hyphens, long ones first: RAW-UCB++ is not RAW-UCB."""
    return sorted((_letters(each.name) for each in list_policies()), key=len, reverse=True)


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())


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
        found = next((name for name in _policies() if name in _letters(text)), None)
        if found is not None:
            return found
    return path


class ByPolicy(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """Give out the shares in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return share(nodeid)
