"""Records which policies were compiled and how long callers waited for them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rotting.policy import Policy


class CompileReport:
    """Reports how long each kind of policy took to compile, once for each kind.

    Args:
        say: called with a line of text.

    Example:
        >>> import rotting
        >>> report = CompileReport(lambda line: print(line.partition(" in ")[0]))
        >>> for sigma in (0.5, 1.0):
        ...     with report.timing(rotting.UCB1(sigma=sigma)):
        ...         pass
        compiled ucb1
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._known: set[str] = set()

    @contextmanager
    def timing(self, policy: Policy) -> Iterator[None]:
        """Time the body of a `with` statement, which compiles the policy."""
        began = time.perf_counter()
        yield
        if policy.name not in self._known:
            self._known.add(policy.name)
            with suppress(OSError):  # standard error was closed
                self._say(f"compiled {policy.name} in {time.perf_counter() - began:.2f} s")
