"""Records which policies were compiled and how long callers waited for them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rotting.policy import Policy


class Compiling:
    """Says what was compiled: each kind of policy once, the first time that it is made ready.

    Args:
        say: gets a line.

    Example:
        >>> import rotting
        >>> compiling = Compiling(lambda line: print(line.partition(" in ")[0]))
        >>> for sigma in (0.5, 1.0):
        ...     with compiling.of(rotting.UCB1(sigma=sigma)):
        ...         pass
        compiled ucb1
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._known: set[str] = set()

    @contextmanager
    def of(self, policy: Policy) -> Iterator[None]:
        """Make a policy ready meanwhile."""
        began = time.perf_counter()
        yield
        if policy.name not in self._known:
            self._known.add(policy.name)
            with suppress(OSError):  # nobody reads standard error any more
                self._say(f"compiled {policy.name} in {time.perf_counter() - began:.2f} s")
