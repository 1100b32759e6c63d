"""Arms: a mean that follows its own pulls, the rounds, or both.

`t` = 1, 2, ... is the round and `n` = 0, 1, ... the number of the arm's earlier pulls, so n < t.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np

from rotting.common.rules import finite, positive_int
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.problems.decays import Decay, DecayLike, as_decay, checked_mean, name_of
from rotting.problems.mean_table import PRODUCT, SUM, Means, arm_of, merge, no_steps, one_arm, one_grid

MAX_CELLS = 10_000_000  # 80 MB of tables, and a few seconds of calls


class Arm(ABC):
    """An arm with mean mu(t, n); use one of its subclasses."""

    @property
    @abstractmethod
    def clocks(self) -> frozenset[str]:
        """What the mean depends on: "pulls", "rounds", both, or nothing."""

    @property
    def length(self) -> int | None:
        """The longest game for which the arm is known; None if there is no end."""
        return None

    @property
    def settles(self) -> int | None:
        """The number of rounds after which all its values have been seen; None if this is not known."""
        return None

    @abstractmethod
    def means(self, horizon: int) -> Means:
        """Return the table of this arm alone, for games of `horizon` rounds."""


@dataclass(frozen=True, init=False)
class Rested(Arm):
    """mu(t, n) = decay(n): the arm wears out when it is pulled.

    Example:
        >>> Rested(0.5)
        Rested(decay=Constant(value=0.5))
    """

    decay: Decay

    def __init__(self, decay: DecayLike) -> None:
        object.__setattr__(self, "decay", as_decay("decay", decay))

    @property
    def clocks(self) -> frozenset[str]:
        """The arm's own pulls, or nothing if the mean is constant."""
        return _clocks(pulls=self.decay)

    @property
    def length(self) -> int | None:
        """The length of the decay."""
        return self.decay.length

    @property
    def settles(self) -> int | None:
        """When the decay settles."""
        return self.decay.settles

    def means(self, horizon: int) -> Means:
        """Return pieces over pulls."""
        return one_arm(SUM, no_steps(), self.decay.steps(horizon))


@dataclass(frozen=True, init=False)
class Restless(Arm):
    """mu(t, n) = decay(t - 1): the arm wears out with time, pulled or not.

    Example:
        >>> Restless([0.5, 0.25])
        Restless(decay=Table([0.5, 0.25]))
    """

    decay: Decay

    def __init__(self, decay: DecayLike) -> None:
        object.__setattr__(self, "decay", as_decay("decay", decay))

    @property
    def clocks(self) -> frozenset[str]:
        """The rounds, or nothing if the mean is constant."""
        return _clocks(rounds=self.decay)

    @property
    def length(self) -> int | None:
        """The length of the decay."""
        return self.decay.length

    @property
    def settles(self) -> int | None:
        """When the decay settles."""
        return self.decay.settles

    def means(self, horizon: int) -> Means:
        """Return pieces over rounds."""
        return one_arm(SUM, self.decay.steps(horizon), no_steps(), on_rounds=True)


@dataclass(frozen=True, init=False)
class _TwoClocks(Arm):
    rested: Decay
    restless: Decay

    def __init__(self, rested: DecayLike, restless: DecayLike) -> None:
        object.__setattr__(self, "rested", as_decay("rested", rested))
        object.__setattr__(self, "restless", as_decay("restless", restless))

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks whose decay is not constant."""
        return _clocks(pulls=self.rested, rounds=self.restless)

    @property
    def length(self) -> int | None:
        """The shorter of the two lengths."""
        return min((d.length for d in (self.rested, self.restless) if d.length is not None), default=None)

    @property
    def settles(self) -> int | None:
        """When the second of the two decays settles, but no later than the shorter table ends."""
        if self.rested.settles is None or self.restless.settles is None:
            return None
        longest = max(self.rested.settles, self.restless.settles)
        return longest if self.length is None else min(longest, self.length)


@dataclass(frozen=True, init=False)
class Sum(_TwoClocks):
    """mu(t, n) = rested(n) + restless(t - 1).

    Example:
        >>> Sum(1.0, [0.0, -0.5]).length
        2
    """

    def means(self, horizon: int) -> Means:
        """Return pieces over pulls and over rounds."""
        return one_arm(SUM, self.restless.steps(horizon), self.rested.steps(horizon))


@dataclass(frozen=True, init=False)
class Product(_TwoClocks):
    """mu(t, n) = rested(n) * restless(t - 1).

    Example:
        >>> sorted(Product([1.0, 0.5], [0.5, 0.25]).clocks)
        ['pulls', 'rounds']
    """

    def means(self, horizon: int) -> Means:
        """Return pieces over pulls and over rounds."""
        return one_arm(PRODUCT, self.restless.steps(horizon), self.rested.steps(horizon))


@dataclass(frozen=True)
class General(Arm):
    """mu(t, n) = f(t, n) for any callable; it is called once for each n < t <= horizon and stored as a grid.

    Example:
        >>> from rotting.problems.mean_table import lookup
        >>> lookup(General(lambda t, n: 1 / (t + n)).means(3), 0, t=3, n=1)
        0.25
    """

    f: Callable[[int, int], SupportsFloat]

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise InvalidTypeError("f", "be a callable of t and n", self.f)

    @property
    def clocks(self) -> frozenset[str]:
        """Both clocks, as nothing is known about f."""
        return frozenset({"pulls", "rounds"})

    def means(self, horizon: int) -> Means:
        """Return the grid; cells that no game can reach hold NaN."""
        check_size([self], horizon)
        grid = np.full((horizon, horizon), np.nan)
        for t in range(1, horizon + 1):
            for n in range(t):
                grid[t - 1, n] = checked_mean(self.f(t, n), t, n)
        return one_grid(grid)

    def __repr__(self) -> str:
        return f"General({name_of(self.f)})"


@dataclass(frozen=True)
class Visiting(Arm):
    """An arm that comes and leaves: it can be pulled from round `first` to round `last`.

    Its mean follows the same clocks as it would if it were always there: a rested one begins with its first pull.

    Args:
        arm: what it is while it is there.
        first: the first round, from 1 on.
        last: the last round; None if it stays.

    Example:
        >>> Visiting(Rested(0.5), first=100)
        Visiting(arm=Rested(decay=Constant(value=0.5)), first=100, last=None)
    """

    arm: Arm
    first: int = 1
    last: int | None = None

    def __post_init__(self) -> None:
        given: object = self.arm
        if not isinstance(given, Arm) or isinstance(given, Visiting | Formula):
            raise InvalidTypeError("arm", "be an arm such as Rested or Restless", given)
        object.__setattr__(self, "first", positive_int("first", self.first))
        if self.last is not None:
            object.__setattr__(self, "last", positive_int("last", self.last))
            if self.last < self.first:
                raise InvalidValueError("last", f"be at least first = {self.first}", self.last)

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks of the arm that visits."""
        return self.arm.clocks

    @property
    def length(self) -> int | None:
        """The length of the arm that visits."""
        return self.arm.length

    @property
    def settles(self) -> int | None:
        """When the arm that visits settles."""
        return self.arm.settles

    def means(self, horizon: int) -> Means:
        """Return the table of the arm that visits."""
        return self.arm.means(horizon)


@dataclass(frozen=True, init=False)
class Recovering(Arm):
    """mu = rise(z), where z counts the rounds since the arm's last pull, without that of the pull: it recovers while it rests.

    An arm that was never pulled is fully rested, in whatever round: its mean is `fresh`.

    Args:
        rise: the mean after z = 0, 1, ... rounds of rest; a decay that rises, a table or a callable.
        fresh: the mean of an arm that was never pulled; by default the limit of `rise`, for a table its last value. It must be
            given for a callable and for a rising line, which have no known limit.

    Example:
        >>> from rotting.problems import Exponential
        >>> Recovering(Exponential(0.0, rate=0.1, limit=1.0))
        Recovering(rise=Exponential(start=0.0, rate=0.1, limit=1.0), fresh=1.0)

    Reference:
        Kleinberg, Immorlica. Recharging bandits. FOCS 2018. Pike-Burke, Grunewalder. Recovering bandits. NeurIPS 2019.
    """

    rise: Decay
    fresh: float

    def __init__(self, rise: DecayLike, fresh: float | None = None) -> None:
        checked = as_decay("rise", rise)
        if fresh is None:
            fresh = checked.limit
        if fresh is None:
            raise InvalidValueError("fresh", f"be given, as the limit of {checked!r} is not known", None)
        object.__setattr__(self, "rise", checked)
        object.__setattr__(self, "fresh", finite("fresh", fresh))

    @property
    def clocks(self) -> frozenset[str]:
        """The rounds of rest since the last pull, a clock of its own."""
        return frozenset({"rests"})

    @property
    def length(self) -> int | None:
        """One round more than the length of `rise`: that of the first pull."""
        return None if self.rise.length is None else self.rise.length + 1

    @property
    def settles(self) -> int | None:
        """One round later than `rise` settles: that of the first pull."""
        return None if self.rise.settles is None else self.rise.settles + 1

    def means(self, horizon: int) -> Means:
        """Return pieces over the rounds since the last pull, which are 0 before the first."""
        starts, values = self.rise.steps(max(1, horizon - 1))
        ticks = merge(np.append(0, starts + 1), np.append(self.fresh, values))
        return one_arm(SUM, no_steps(), ticks)


@dataclass(frozen=True)
class Formula(Arm):
    """mu_i(t, n) = mu(i, t, n), by a function that is compiled into the game: no table, so any horizon.

    `Problem.by_function` makes the arms of one function.
    """

    mu: Callable[[int, int, int], float]
    arm: int

    @property
    def clocks(self) -> frozenset[str]:
        """Both clocks, as nothing is known about mu."""
        return frozenset({"pulls", "rounds"})

    def means(self, horizon: int) -> Means:
        """Return one piece that stands for a mean which no table has."""
        return one_arm(SUM, no_steps(), no_steps())

    def __repr__(self) -> str:
        return f"Formula({name_of(self.mu)}, arm={self.arm})"


@dataclass(frozen=True, eq=False, repr=False)
class Tabulated(Arm):
    """An arm of which the table is known, and nothing else: what is left of one that was saved.

    Args:
        table: the means of this arm alone.
        horizon: the longest game for which they are known.

    Example:
        >>> arm = Tabulated(General(lambda t, n: 1 / (t + n)).means(3), horizon=3)
        >>> arm, sorted(arm.clocks)
        (Tabulated(both clocks, horizon=3), ['pulls', 'rounds'])
    """

    table: Means
    horizon: int

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks along which the table has more than one piece."""
        pieces = {"rounds": self.table.round_starts.size, "pulls": self.table.pull_starts.size}
        return frozenset(clock for clock, count in pieces.items() if count > 1)

    @property
    def length(self) -> int:
        """The rounds that the table covers."""
        return self.horizon

    @property
    def settles(self) -> int:
        """The rounds that the table covers."""
        return self.horizon

    def means(self, horizon: int) -> Means:
        """Return the first `horizon` rounds of the table."""
        return arm_of(self.table, 0, horizon)

    def __repr__(self) -> str:
        clocks = {0: "constant", 1: "".join(self.clocks), 2: "both clocks"}[len(self.clocks)]
        return f"Tabulated({clocks}, horizon={self.horizon})"


def check_size(arms: Sequence[Arm], horizon: int) -> None:
    """Refuse General arms whose grids would be too large to tabulate.

    Example:
        >>> check_size([General(lambda t, n: 0.0)], 10_000)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: horizon must be at most 3162 to tabulate 1 General arm(s) ..., got 10000
    """
    count = sum(isinstance(arm, General) for arm in arms)
    if count * horizon**2 > MAX_CELLS:
        longest = int((MAX_CELLS / count) ** 0.5)
        raise InvalidValueError(
            "horizon", f"be at most {longest} to tabulate {count} General arm(s) over rounds and pulls", horizon
        )


def _clocks(**decays: Decay) -> frozenset[str]:
    return frozenset(clock for clock, decay in decays.items() if not decay.constant)
