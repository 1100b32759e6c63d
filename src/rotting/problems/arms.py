"""Arms: a mean that follows its own pulls, the rounds, or both.

`t` = 1, 2, ... is the round and `n` = 0, 1, ... the number of the arm's earlier pulls, so n < t.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, SupportsFloat

import numpy as np

from rotting.common.rules import finite, positive_int
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.problems.decays import Decay, DecayLike, as_decay, checked_mean, name_of
from rotting.problems.mean_table import GRID, PRODUCT, SUM, Means, arm_of, merge, no_steps, one_arm

MAX_CELLS = 10_000_000  # 80 MB of tables, and a few seconds of calls


class Arm(ABC):
    """An arm with mean mu(t, n); use one of its subclasses."""

    @property
    @abstractmethod
    def clocks(self) -> frozenset[str]:
        """What the mean depends on: "pulls", "rounds", both, or nothing."""

    @property
    def length(self) -> int | None:
        """The largest horizon for which the means are known; None if there is no limit."""
        return None

    @property
    def settles(self) -> int | None:
        """The number of rounds in which the mean takes all of its values; None if that is not known."""
        return None

    @abstractmethod
    def means(self, horizon: int) -> Means:
        """Return the table of this arm alone, for games of `horizon` rounds."""


class _DecayingArm(Arm):
    """An arm with one decay for each clock that it follows."""

    @property
    @abstractmethod
    def _decays(self) -> dict[str, Decay]:
        """The decay along each clock."""

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks whose decay is not constant."""
        return frozenset(clock for clock, decay in self._decays.items() if not decay.constant)

    @property
    def length(self) -> int | None:
        """The length of the shortest decay."""
        return min((each.length for each in self._decays.values() if each.length is not None), default=None)

    @property
    def settles(self) -> int | None:
        """When the last decay settles, but no later than the shortest table ends."""
        times = [each.settles for each in self._decays.values()]
        latest = max((each for each in times if each is not None), default=1)
        return None if None in times else min(latest, self.length or latest)


@dataclass(frozen=True, init=False)
class _OneClock(_DecayingArm):
    decay: Decay
    _clock: ClassVar[str]

    def __init__(self, decay: DecayLike) -> None:
        object.__setattr__(self, "decay", as_decay("decay", decay))

    @property
    def _decays(self) -> dict[str, Decay]:
        return {self._clock: self.decay}


@dataclass(frozen=True, init=False)
class Rested(_OneClock):
    """mu(t, n) = decay(n): the arm wears out when it is pulled.

    Example:
        >>> Rested(0.5)
        Rested(decay=Constant(value=0.5))
    """

    _clock = "pulls"

    def means(self, horizon: int) -> Means:
        """Return pieces over pulls."""
        return one_arm(SUM, no_steps(), self.decay.steps(horizon))


@dataclass(frozen=True, init=False)
class Restless(_OneClock):
    """mu(t, n) = decay(t - 1): the arm wears out with time, pulled or not.

    Example:
        >>> Restless([0.5, 0.25])
        Restless(decay=Table([0.5, 0.25]))
    """

    _clock = "rounds"

    def means(self, horizon: int) -> Means:
        """Return pieces over rounds."""
        return one_arm(SUM, self.decay.steps(horizon), no_steps(), on_rounds=True)


@dataclass(frozen=True, init=False)
class _TwoClocks(_DecayingArm):
    rested: Decay
    restless: Decay

    def __init__(self, rested: DecayLike, restless: DecayLike) -> None:
        object.__setattr__(self, "rested", as_decay("rested", rested))
        object.__setattr__(self, "restless", as_decay("restless", restless))

    @property
    def _decays(self) -> dict[str, Decay]:
        return {"pulls": self.rested, "rounds": self.restless}


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
    """mu(t, n) = f(t, n) for any callable, which is called once for each n < t <= horizon; the values are stored as a grid.

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
        """Both clocks: `f` may depend on either."""
        return frozenset({"pulls", "rounds"})

    def means(self, horizon: int) -> Means:
        """Return the grid; cells that no game can reach hold NaN."""
        check_size([self], horizon)
        grid = np.full((horizon, horizon), np.nan)
        for t in range(1, horizon + 1):
            for n in range(t):
                grid[t - 1, n] = checked_mean(self.f(t, n), t, n)
        steps = np.arange(horizon), np.zeros(horizon)
        return one_arm(GRID, steps, steps, grid.ravel())

    def __repr__(self) -> str:
        return f"General({name_of(self.f)})"


@dataclass(frozen=True)
class Visiting(Arm):
    """An arm that comes and leaves: it can be pulled from round `first` to round `last`.

    Its clocks are those of the game: a restless arm also wears out before round `first`.

    Args:
        arm: the arm itself.
        first: the first round in which it is present, 1 or later.
        last: the last such round; None if the arm never leaves.

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
        """The clocks of the visiting arm."""
        return self.arm.clocks

    @property
    def length(self) -> int | None:
        """The length of the visiting arm."""
        return self.arm.length

    @property
    def settles(self) -> int | None:
        """When the visiting arm settles."""
        return self.arm.settles

    def means(self, horizon: int) -> Means:
        """Return the table of the visiting arm."""
        return self.arm.means(horizon)


@dataclass(frozen=True, init=False)
class Recovering(Arm):
    """mu = rise(z) after z rounds of rest: the arm recovers while it is not pulled.

    z = 0 in the round after a pull. An arm that was never pulled has the mean `fresh`, whatever the round.

    Args:
        rise: the mean after z = 0, 1, ... rounds of rest: a decay that rises, a table or a callable.
        fresh: the mean before the first pull; by default the limit of `rise`, or the last value of a table. It is required for
            a callable and for a rising line, whose limit is not known.

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
        """The rounds of rest since the last pull, which are a clock of their own."""
        return frozenset({"rests"})

    @property
    def length(self) -> int | None:
        """One more than the length of `rise`, for the round of the first pull."""
        return None if self.rise.length is None else self.rise.length + 1

    @property
    def settles(self) -> int | None:
        """One round after `rise` settles, for the round of the first pull."""
        return None if self.rise.settles is None else self.rise.settles + 1

    def means(self, horizon: int) -> Means:
        """Return pieces over the rounds since the last pull, where 0 means before the first pull."""
        starts, values = self.rise.steps(max(1, horizon - 1))
        ticks = merge(np.append(0, starts + 1), np.append(self.fresh, values))
        return one_arm(SUM, no_steps(), ticks)


@dataclass(frozen=True)
class Formula(Arm):
    """mu_i(t, n) = mu(i, t, n), where the function mu is compiled into the game instead of a table.

    `Problem.by_function` makes all arms of a function.
    """

    mu: Callable[[int, int, int], float]
    arm: int

    @property
    def clocks(self) -> frozenset[str]:
        """Both clocks: `mu` may depend on either."""
        return frozenset({"pulls", "rounds"})

    def means(self, horizon: int) -> Means:
        """Return a placeholder: the game calls `mu` instead of reading a table."""
        return one_arm(SUM, no_steps(), no_steps())

    def __repr__(self) -> str:
        return f"Formula({name_of(self.mu)}, arm={self.arm})"


@dataclass(frozen=True, eq=False, repr=False)
class Tabulated(Arm):
    """An arm known only by its table of means, such as one read from a saved result.

    Args:
        table: the means of this arm alone.
        horizon: the largest horizon for which they are known.

    Example:
        >>> arm = Tabulated(General(lambda t, n: 1 / (t + n)).means(3), horizon=3)
        >>> arm, sorted(arm.clocks)
        (Tabulated(both clocks, horizon=3), ['pulls', 'rounds'])
    """

    table: Means
    horizon: int

    @property
    def clocks(self) -> frozenset[str]:
        """The clocks along which the table has several pieces."""
        pieces = {"rounds": self.table.round_starts.size, "pulls": self.table.pull_starts.size}
        return frozenset(clock for clock, count in pieces.items() if count > 1)

    @property
    def length(self) -> int:
        """The number of rounds in the table."""
        return self.horizon

    @property
    def settles(self) -> int:
        """The number of rounds in the table."""
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
