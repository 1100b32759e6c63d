"""Records which policies were compiled and how long callers waited for them."""

from collections.abc import Callable
from contextlib import suppress

from rotting.live.bandit_view import BanditView


class CompileReport:
    """Reports how long each kind of policy took to compile, once for each kind.

    Args:
        say: called with a line of text.

    Example:
        >>> import rotting
        >>> compiling = CompileReport(lambda line: print(line.partition(" in ")[0]))
        >>> for sigma in (0.5, 1.0):
        ...     compiling.report(rotting.Bandit(rotting.UCB1(sigma=sigma), arms=[0, 1], compile="now"), 0.1)
        compiled ucb1
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._known: set[str] = set()

    def report(self, bandit: BanditView, seconds: float) -> None:
        """Report the policy of a bandit, which was ready to decide after so many seconds."""
        name = bandit.policy.name
        if name in self._known:
            return
        self._known.add(name)
        how = f"compiled {name} in {seconds:.2f} s"
        with suppress(OSError):  # standard error was closed
            self._say(how if bandit.is_compiled else f"{name} decides interpreted")
