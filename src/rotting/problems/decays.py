"""Decays: how a mean changes along one clock, as a function mu(x) of ticks x = 0, 1, 2, ...

For a rested arm x counts its earlier pulls; for a restless arm x = t - 1 counts the earlier rounds. Decays are values:
immutable, comparable, printable. A decay may also rise, which `Problem.is_rotting` reports.
"""

import math
import numbers
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, SupportsFloat, TypeGuard, Union

import numpy as np
import numpy.typing as npt

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, INDEX, POSITIVE, Rule, check_fields, finite, nonnegative_int
from rotting.errors import AxesWarning, InvalidTypeError, InvalidValueError
from rotting.policies.kernels.elementary import exps, powers
from rotting.problems.mean_table import Steps, merge

_MANY_ARMS = 20  # with fewer arms, exchanged axes are not obvious


class Decay(ABC):
    """A mean as a function of one clock; use one of its subclasses."""

    rules: ClassVar[Mapping[str, Rule]] = {}  # of the fields that are numbers

    def __post_init__(self) -> None:
        check_fields(self, **self.rules)

    @property
    def length(self) -> int | None:
        """The number of ticks for which the decay is known; None if it has no end."""
        return None

    @property
    def settles(self) -> int | None:
        """The number of ticks in which the decay takes all of its values; None if that is not known."""
        return None

    @property
    def limit(self) -> float | None:
        """The limit of the mean, or the last value of a table; None if there is no limit or it is not known."""
        return None

    @property
    def constant(self) -> bool:
        """Whether the decay is known to stay at one value."""
        return self.settles is not None and len(self.steps(self.settles)[0]) == 1

    @abstractmethod
    def steps(self, length: int) -> Steps:
        """Return the first `length` values as pieces of equal value: where each starts, and its value."""


def vector(name: str, values: object) -> Floats:
    """Return `values` as a one-dimensional float array of at least one finite number.

    Example:
        >>> vector("values", [1, 0.5])
        array([1. , 0.5])
        >>> vector("values", [1, float("nan")])
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: values[1] must be a finite number, got nan
    """
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    if not _is_vector(values):
        raise InvalidTypeError(name, "be a one-dimensional sequence of numbers", values)
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths: the check of each entry refuses them
        array = np.empty(len(values), dtype=object)
    if array.ndim != 1:
        raise InvalidValueError(name, "have one dimension", array.ndim)
    if array.size == 0:
        raise InvalidValueError(name, "have at least one value", values, got="none")
    # NumPy would silently turn True into 1.0.
    needs_check = array.dtype.kind not in "iuf" or (
        not hasattr(values, "__array__") and any(isinstance(value, bool | np.bool_) for value in values)
    )
    if needs_check:
        array = np.array([finite(f"{name}[{k}]", value) for k, value in enumerate(values)])
    floats = array.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(floats))
    if len(wrong):
        finite(f"{name}[{wrong[0]}]", float(floats[wrong[0]]))
    return floats


def _is_vector(values: object) -> TypeGuard[Sequence[object]]:
    return (isinstance(values, Sequence) and not isinstance(values, str | bytes)) or hasattr(values, "__array__")


@dataclass(frozen=True)
class Constant(Decay):
    """mu(x) = value.

    Example:
        >>> Constant(0.5)
        Constant(value=0.5)
    """

    value: float
    rules: ClassVar = {"value": FINITE}

    @property
    def settles(self) -> int:
        """1, as the value never changes."""
        return 1

    @property
    def limit(self) -> float:
        """The value."""
        return self.value

    def steps(self, length: int) -> Steps:
        """Return one piece."""
        return _cut([0], [self.value], length)


@dataclass(frozen=True)
class Abrupt(Decay):
    """mu(x) = before for x < at, after for x >= at: the first `at` ticks are worth `before`.

    Example:
        >>> Abrupt(1.0, 0.0, at=3).steps(10)
        (array([0, 3]), array([1., 0.]))
    """

    before: float
    after: float
    at: int
    rules: ClassVar = {"before": FINITE, "after": FINITE, "at": INDEX}

    @property
    def settles(self) -> int:
        """One tick after the change."""
        return self.at + 1

    @property
    def limit(self) -> float:
        """The value from `at` on."""
        return self.after

    def steps(self, length: int) -> Steps:
        """Return at most two pieces."""
        if self.at == 0:
            return _cut([0], [self.after], length)
        return _cut([0, self.at], [self.before, self.after], length)


@dataclass(frozen=True, eq=False, init=False)
class _Stored(Decay):
    """Pieces in read-only arrays, compared by content."""

    _starts: Ints
    _values: Floats
    _length: int | None

    def _store(self, starts: Ints, values: Floats, length: int | None) -> None:
        # Adding zero turns -0.0 into 0.0, so that equal contents have the same bytes, and the same hash.
        for name, array in zip(("_starts", "_values"), merge(starts, values + 0.0), strict=True):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "_length", length)

    @property
    def length(self) -> int | None:
        """The number of values of a table; None for `Piecewise`."""
        return self._length

    @property
    def limit(self) -> float:
        """The last value."""
        return float(self._values[-1])

    def steps(self, length: int) -> Steps:
        """Return the stored pieces that start within `length`."""
        if self.length is not None and length > self.length:
            raise InvalidValueError("horizon", f"be at most {self.length}, the length of the table", length)
        end = int(np.searchsorted(self._starts, length))
        return self._starts[:end], self._values[:end]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (
            self.length == other.length
            and np.array_equal(self._starts, other._starts)
            and np.array_equal(self._values, other._values)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.length, self._starts.tobytes(), self._values.tobytes()))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Piecewise(_Stored):
    """mu(x) = values[j] for starts[j] <= x < starts[j + 1]; the last value holds for ever.

    Args:
        values: one finite number per piece.
        starts: the first tick of each piece, whole numbers that increase from 0.

    Example:
        >>> Piecewise([1, 0.5, 0.25], starts=[0, 10, 20]).steps(15)
        (array([ 0, 10]), array([1. , 0.5]))
    """

    def __init__(self, values: npt.ArrayLike, starts: npt.ArrayLike) -> None:
        checked = vector("values", values)
        edges = vector("starts", starts)
        if len(edges) != len(checked):
            raise InvalidValueError("starts", f"have one entry per value, {len(checked)}", len(edges))
        if edges[0] != 0:
            raise InvalidValueError("starts[0]", "be 0", float(edges[0]), got=f"{edges[0]:g}")
        for k, edge in enumerate(edges.tolist()):
            nonnegative_int(f"starts[{k}]", edge)
            if k and edge <= edges[k - 1]:
                raise InvalidValueError(f"starts[{k}]", f"be above starts[{k - 1}] = {edges[k - 1]:g}", edge, got=f"{edge:g}")
        self._store(edges.astype(np.int64), checked, length=None)

    @property
    def settles(self) -> int:
        """One tick after the last piece starts."""
        return int(self._starts[-1]) + 1

    def __repr__(self) -> str:
        return f"Piecewise({_abridged(self._values)}, starts={_abridged(self._starts)})"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Table(_Stored):
    """mu(x) = values[x], known for len(values) ticks and no further.

    Equal neighbours are stored once, so a long table of few values is small.

    Example:
        >>> Table([1, 1, 1, 0.5]).steps(4)
        (array([0, 3]), array([1. , 0.5]))
        >>> Table([1, 0.5]).length
        2
    """

    def __init__(self, values: npt.ArrayLike) -> None:
        checked = vector("values", values)
        self._store(np.arange(len(checked)), checked, length=len(checked))

    @property
    def settles(self) -> int | None:
        """The length of the table."""
        return self.length

    def __repr__(self) -> str:
        if self.length is not None and self.length <= 8:
            return f"Table({np.repeat(self._values, np.diff(self._starts, append=self.length)).tolist()})"
        return f"Table({self.length} values: {_abridged(self._values)} from {_abridged(self._starts)})"


@dataclass(frozen=True)
class Linear(Decay):
    """mu(x) = max(start + slope x, floor); without a floor, mu(x) = start + slope x.

    Args:
        start: mu(0).
        slope: the change per tick; negative for an arm that rots.
        floor: the smallest value, at most `start`, or None.

    Example:
        >>> Linear(1.0, slope=-0.5, floor=0.0).steps(6)
        (array([0, 1, 2]), array([1. , 0.5, 0. ]))
    """

    start: float
    slope: float
    floor: float | None = None
    rules: ClassVar = {"start": FINITE, "slope": FINITE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.floor is not None:
            check_fields(self, floor=FINITE)
            if self.floor > self.start:
                raise InvalidValueError("floor", f"be at most start = {self.start}", self.floor)

    @property
    def limit(self) -> float | None:
        """The floor of a falling line, the start of a flat one, else None."""
        if self.slope == 0.0:
            return self.start
        return self.floor if self.slope < 0.0 else None

    def steps(self, length: int) -> Steps:
        """Return one piece per value."""
        with np.errstate(over="ignore"):  # refused below
            values = self.start + self.slope * np.arange(length, dtype=np.float64)
        if self.floor is not None:
            np.maximum(values, self.floor, out=values)
        if not np.isfinite(values[-1]):
            first = int(np.argmin(np.isfinite(values)))
            raise InvalidValueError(f"the mean at tick {first}", "be a finite number", float(values[first]))
        return merge(np.arange(length), values)


@dataclass(frozen=True)
class Polynomial(Decay):
    """mu(x) = limit + (start - limit) (1 + x / scale)^(-power).

    Args:
        start: mu(0).
        power: how fast it decays, positive.
        scale: the tick at which 1 + x / scale is 2, positive.
        limit: the limit of the mean; if it is above `start`, the mean rises.

    Example:
        >>> Polynomial(1.0, power=1.0).steps(4)[1].tolist()
        [1.0, 0.5, 0.3333333333333333, 0.25]
    """

    start: float
    power: float
    scale: float = 1.0
    limit: float = 0.0
    rules: ClassVar = {"start": FINITE, "limit": FINITE, "power": POSITIVE, "scale": POSITIVE}

    def steps(self, length: int) -> Steps:
        """Return one piece per value."""
        with np.errstate(over="ignore", under="ignore"):  # an infinite base has weight 0
            weights = powers(1.0 + np.arange(length) / self.scale, -self.power)
        return _between(self.start, self.limit, weights)


@dataclass(frozen=True)
class Exponential(Decay):
    """mu(x) = limit + (start - limit) exp(-rate x).

    Args:
        start: mu(0).
        rate: how fast it decays, positive.
        limit: the limit of the mean; if it is above `start`, the mean rises.

    Example:
        >>> Exponential(1.0, rate=0.5).steps(3)[1].round(3).tolist()
        [1.0, 0.607, 0.368]
    """

    start: float
    rate: float
    limit: float = 0.0
    rules: ClassVar = {"start": FINITE, "limit": FINITE, "rate": POSITIVE}

    def steps(self, length: int) -> Steps:
        """Return one piece per value."""
        with np.errstate(over="ignore", under="ignore"):  # an infinite exponent has weight 0
            # The last bit of `np.exp` depends on the processor. `exps` would not, but would change recorded games.
            weights = np.exp(-self.rate * np.arange(length))
        return _between(self.start, self.limit, weights)


@dataclass(frozen=True)
class Logistic(Decay):
    """mu(x) = after + (before - after) / (1 + exp((x - at) / width)): a smooth `Abrupt`.

    Args:
        before: the plateau it leaves.
        after: the plateau it ends at.
        at: the tick at which it is half-way, any finite number.
        width: the number of ticks over which it changes, positive.

    Example:
        >>> Logistic(1.0, 0.0, at=2, width=0.5).steps(5)[1].round(3).tolist()
        [0.982, 0.881, 0.5, 0.119, 0.018]
    """

    before: float
    after: float
    at: float
    width: float
    rules: ClassVar = {"before": FINITE, "after": FINITE, "at": FINITE, "width": POSITIVE}

    @property
    def limit(self) -> float:
        """The plateau it ends at."""
        return self.after

    def steps(self, length: int) -> Steps:
        """Return one piece per value."""
        with np.errstate(over="ignore", under="ignore"):  # an infinite exponential has weight 0
            weights = 1.0 / (1.0 + exps((np.arange(length, dtype=np.float64) - self.at) / self.width))
        return _between(self.before, self.after, weights)


@dataclass(frozen=True)
class Function(Decay):
    """mu(x) = f(x) for any callable of one int; two are equal when they hold the same callable.

    Example:
        >>> Function(lambda x: 1 / (1 + x)).steps(2)
        (array([0, 1]), array([1. , 0.5]))
    """

    f: Callable[[int], SupportsFloat]

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise InvalidTypeError("f", "be a callable of one int", self.f)

    def steps(self, length: int) -> Steps:
        """Call f once per tick."""
        values = np.empty(length)
        for x in range(length):
            values[x] = checked_mean(self.f(x), x)
        return merge(np.arange(length), values)

    def __repr__(self) -> str:
        return f"Function({name_of(self.f)})"


DecayLike = Union[Decay, float, npt.ArrayLike, Callable[[int], SupportsFloat]]  # noqa: UP007
"""A decay, or a number, a one-dimensional table or a callable that is converted to one."""


def as_decay(name: str, value: object) -> Decay:
    """Return a decay: `value` itself, or the decay of a number, a one-dimensional table or a callable.

    Example:
        >>> as_decay("means[0]", [1.0, 0.5])
        Table([1.0, 0.5])
        >>> as_decay("means[0]", True)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidTypeError: means[0] must be a decay, a number, a table of numbers or a callable, got True
    """
    if isinstance(value, Decay):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(finite(name, value))
    if _is_vector(value) and not isinstance(value, np.generic):
        return Table(vector(name, value))
    if callable(value):
        return Function(value)
    raise InvalidTypeError(name, "be a decay, a number, a table of numbers or a callable", value)


def decays_of(means: object) -> list[Decay]:
    """Return one decay per arm from a table [arm, clock] or a sequence with one entry per arm."""
    if hasattr(means, "__array__"):
        means = means if isinstance(means, np.ndarray) else np.asarray(means)
        if means.ndim != 2:
            raise InvalidValueError("means", "have two dimensions, [arm, clock]", means.ndim)
    elif isinstance(means, str | bytes) or not isinstance(means, Sequence):
        raise InvalidTypeError("means", "be a table [arm, clock] or a sequence, one entry per arm", means)
    if len(means) == 0:
        raise InvalidValueError("means", "hold at least one arm", means, got="none")
    decays = [as_decay(f"means[{i}]", entry) for i, entry in enumerate(means)]
    # Rows of one table have the same length; tables of different lengths must be given as `Table`.
    rows = [i for i, entry in enumerate(means) if isinstance(decays[i], Table) and decays[i] is not entry]
    for i in rows:
        length, first = decays[i].length, decays[rows[0]].length
        if length != first:
            raise InvalidValueError(f"means[{i}]", f"have as many values as means[{rows[0]}], {first}", length)
    length = decays[0].length
    # Most arms would never be pulled in so short a game: the axes are most likely exchanged.
    if len(rows) == len(means) and length is not None and len(means) >= max(_MANY_ARMS, 2 * length + 1):
        warnings.warn(
            f"means has {len(means)} arms of {length} values each, since its axes are [arm, clock]; did you mean means.T?",
            AxesWarning,
            stacklevel=3,  # the caller of `Problem.rested` or `Problem.restless`
        )
    return decays


def checked_mean(value: SupportsFloat, *ticks: int) -> float:
    """Return the value of a user's callable as a float, or raise an error that names the call."""
    # The usual case first, as writing the name of the call takes longer than the call.
    if type(value) is float and math.isfinite(value):
        return value
    return finite(f"f({', '.join(map(str, ticks))})", value)


def name_of(f: object) -> str:
    """Return the name of a callable. Its `repr` would differ between processes."""
    return str(getattr(f, "__qualname__", None) or repr(f))


def _cut(starts: list[int], values: list[float], length: int) -> Steps:
    edges = np.array(starts)
    inside = edges < length
    return merge(edges[inside], np.array(values)[inside])


def _between(start: float, limit: float, weights: Floats) -> Steps:
    """Return the pieces of start * weight + limit * (1 - weight), made monotone and kept between the two."""
    values = start * weights + limit * (1.0 - weights)
    # The sum of two rounded products need not be monotone, and by a rise in the last bit the arm would not be rotting.
    accumulate = np.minimum.accumulate if start >= limit else np.maximum.accumulate
    values = np.clip(accumulate(values), min(start, limit), max(start, limit))
    return merge(np.arange(len(values)), values)


def _abridged(values: Ints | Floats) -> str:
    """Return the entries as text; of more than eight, the first and the last ones."""
    if len(values) <= 8:
        return repr(values.tolist())
    head, tail = values[:4].tolist(), values[-2:].tolist()
    return f"[{', '.join(map(repr, head))}, ..., {', '.join(map(repr, tail))}]"
