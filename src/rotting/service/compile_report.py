"""Records which policies were compiled and how long callers waited for them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rotting.live.bandit_view import BanditView


class CompileReport:
    """Reports how long each kind of policy took to compile, once for each kind.

    Args:
        say: called with a line of text.

    Example:
        >>> import rotting
        >>> compiling = CompileReport(lambda line: print(line.partition(" in ")[0]))
        >>> for sigma in (0.5, 1.0):
        ...     with compiling.timing() as report:
        ...         report(rotting.Bandit(rotting.UCB1(sigma=sigma), arms=[0, 1], compile="now"))
        compiled ucb1
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._known: set[str] = set()

    @contextmanager
    def timing(self) -> Iterator[Callable[[BanditView], None]]:
        """Yield a function that reports the policy of a bandit; the time counts from the start of the `with` statement."""
        began = time.perf_counter()

        def report(bandit: BanditView) -> None:
            name = bandit.policy.name
            if name in self._known:
                return
            self._known.add(name)
            how = f"compiled {name} in {time.perf_counter() - began:.2f} s"
            with suppress(OSError):  # standard error was closed
                self._say(how if bandit.is_compiled else f"{name} decides interpreted until it is compiled")

        yield report
