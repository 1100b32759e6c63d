"""Reward noise: what an arm of a given mean pays, as a pure function of (key, run, arm, clock).

The table of a problem always holds the mean of the reward; a noise turns that mean and uniform numbers into the reward.
Each noise is a value (`Gaussian(1.0)`) with one kernel for the game (`draw(mean, scale, key, run, arm, clock)`).
"""

import math
from dataclasses import asdict, dataclass, fields, is_dataclass
from inspect import signature
from types import FunctionType
from typing import Any, ClassVar

from rotting.common.rules import FINITE, SPREAD, positive, positive_int, suggest
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.kernels.elementary import exp, log, log1p
from rotting.kernels.random_numbers import normal_quantile, reward_uniform

_CHUNK = 500  # the starting probability of an inversion, 0.5**500 or exp(-500), is still a normal number

_GRAIN = 1e-18  # rounding may leave this much of u when the remaining probabilities are below its last digit
_LARGEST_COUNT = 1e7  # a draw takes time in proportion to the mean


def _draw_gaussian(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + scale * normal_quantile(reward_uniform(key, run, arm, clock, 0))


def _draw_bernoulli(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return 1.0 if reward_uniform(key, run, arm, clock, 0) < mean else 0.0


def _binomial_inverse(n: int, p: float, u: float) -> int:
    odds = p / (1.0 - p)
    chance = exp(n * log1p(-p))
    k = 0
    while u > chance and k < n and (chance > _GRAIN or k < n * p):
        u -= chance
        chance *= odds * (n - k) / (k + 1)
        k += 1
    return k


def _draw_binomial(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    n = int(scale)
    p = mean / n
    rare = min(p, 1.0 - p)
    successes, draw = 0, 0
    while n > 0:
        trials = min(n, _CHUNK)
        successes += _binomial_inverse(trials, rare, reward_uniform(key, run, arm, clock, draw))
        n -= trials
        draw += 1
    return float(successes) if p <= 0.5 else scale - successes


def _draw_poisson(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    total, draw = 0, 0
    while mean > 0.0:
        part = min(mean, float(_CHUNK))
        u = reward_uniform(key, run, arm, clock, draw)
        chance = exp(-part)
        k = 0
        while u > chance and (chance > _GRAIN or k < part):
            u -= chance
            k += 1
            chance *= part / k
        total += k
        mean -= part
        draw += 1
    return float(total)


def log_gamma_variate(shape: float, key: int, run: int, arm: int, clock: int, draw: int) -> tuple[float, int]:
    """Return the log of a Gamma(shape) variate and the next free draw (Marsaglia and Tsang 2000)."""
    boosted = shape if shape >= 1.0 else shape + 1.0
    d = boosted - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    value = 0.0
    while True:
        x = normal_quantile(reward_uniform(key, run, arm, clock, draw))
        u = reward_uniform(key, run, arm, clock, draw + 1)
        draw += 2
        y = 1.0 + c * x
        v = y * y * y  # not y ** 3, which compilers round differently
        # Written so that NaN does not loop for ever.
        if v <= 0.0 or log(u) >= 0.5 * x * x + d - d * v + d * log(v):
            continue
        value = log(d * v)
        break
    if shape < 1.0:
        # In logs, because u ** (1 / shape) underflows for small shapes.
        value += log(reward_uniform(key, run, arm, clock, draw)) / shape
        draw += 1
    return value, draw


def _draw_beta(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    if mean <= 0.0 or mean >= 1.0:
        return mean
    if min(mean, 1.0 - mean) * scale < 1e-290:  # in the limit, all or nothing
        return 1.0 if reward_uniform(key, run, arm, clock, 0) < mean else 0.0
    a, draw = log_gamma_variate(mean * scale, key, run, arm, clock, 0)
    b, _ = log_gamma_variate((1.0 - mean) * scale, key, run, arm, clock, draw)
    if b > a:
        odds = exp(a - b)
        return odds / (1.0 + odds)
    return 1.0 / (1.0 + exp(b - a))


class Noise:
    """A reward distribution with a given mean; use one of its subclasses, or write your own.

    A subclass is a frozen dataclass that has a `draw` and, as far as they differ from those here, `scale`, `support`,
    `lowest_mean` and `highest_mean`; see CONTRIBUTING for one in a file of its own, and `rotting.check_noise`.
    """

    lowest_mean: ClassVar[float] = -math.inf
    mean_rule: ClassVar[str] = "a finite number"

    @staticmethod
    def draw(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
        """Return the reward: the kernel of this noise, compiled, so it allocates, raises and prints nothing.

        It depends on nothing but its arguments. Its random numbers are `reward_uniform(key, run, arm, clock, draw)` for the
        draws 0, 1, ..., one after the other.
        """
        raise NotImplementedError

    @property
    def scale(self) -> float:
        """The one parameter of the kernel: sigma, the number of trials or the concentration."""
        return 0.0

    @property
    def highest_mean(self) -> float:
        """The largest mean this distribution can have."""
        return math.inf

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and largest reward that can be paid."""
        return (-math.inf, math.inf)

    def check_means(self, low: float, high: float) -> None:
        """Refuse a table of means whose smallest or largest value this distribution cannot have."""
        for value in (low, high):
            if not self.lowest_mean <= value <= self.highest_mean:
                raise InvalidValueError(f"means must be {self.mean_rule} under {self!r} noise, got {value!r}")

    def to_json(self) -> dict[str, Any]:
        """Return the noise as JSON-able data."""
        return {"noise": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Gaussian(Noise):
    """Gaussian rewards with standard deviation `sigma`, at most 1e100.

    Example:
        >>> Gaussian(0.5)
        Gaussian(sigma=0.5)
    """

    sigma: float = 1.0
    draw = staticmethod(_draw_gaussian)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", SPREAD.check("sigma", self.sigma))

    @property
    def scale(self) -> float:
        """Sigma."""
        return self.sigma


@dataclass(frozen=True)
class Bernoulli(Noise):
    """Rewards 1 with probability the mean, else 0.

    Example:
        >>> Bernoulli().check_means(0.2, 1.5)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: means must be a probability in [0, 1] under Bernoulli() noise, got 1.5
    """

    draw = staticmethod(_draw_bernoulli)
    lowest_mean = 0.0
    highest_mean = 1.0
    support = (0.0, 1.0)
    mean_rule = "a probability in [0, 1]"


@dataclass(frozen=True)
class Binomial(Noise):
    """The number of successes in `n` trials of probability `mean / n`: the mean lies in [0, n].

    Example:
        >>> Binomial(10).highest_mean
        10.0
    """

    n: int
    draw = staticmethod(_draw_binomial)
    lowest_mean = 0.0
    mean_rule = "in [0, n]"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_int("n", self.n))

    @property
    def scale(self) -> float:
        """The number of trials."""
        return float(self.n)

    @property
    def highest_mean(self) -> float:
        """The number of trials."""
        return float(self.n)

    @property
    def support(self) -> tuple[float, float]:
        """Zero and the number of trials."""
        return (0.0, float(self.n))


@dataclass(frozen=True)
class Beta(Noise):
    """Rewards in [0, 1] from Beta(mean * concentration, (1 - mean) * concentration).

    Example:
        >>> Beta(5)
        Beta(concentration=5.0)
    """

    concentration: float
    draw = staticmethod(_draw_beta)
    lowest_mean = 0.0
    highest_mean = 1.0
    support = (0.0, 1.0)
    mean_rule = "in [0, 1]"

    def __post_init__(self) -> None:
        object.__setattr__(self, "concentration", positive("concentration", self.concentration))

    @property
    def scale(self) -> float:
        """The concentration."""
        return self.concentration


@dataclass(frozen=True)
class Poisson(Noise):
    """Poisson counts with the given mean.

    Example:
        >>> Poisson().lowest_mean
        0.0
    """

    draw = staticmethod(_draw_poisson)
    lowest_mean = 0.0
    highest_mean = _LARGEST_COUNT
    support = (0.0, math.inf)
    mean_rule = f"a number in [0, {_LARGEST_COUNT:g}]"


@dataclass(frozen=True)
class Noiseless(Noise):
    """The mean itself.

    Example:
        >>> Noiseless()
        Noiseless()
    """

    # With a scale of 0: the same compiled games serve both.
    draw = staticmethod(_draw_gaussian)


def no_noise(value: object) -> InvalidTypeError:
    """Return the error for what is no noise; a class with a `draw` of its own lacks its base."""
    hint = "; its class must inherit from rotting.kit.Noise" if hasattr(value, "draw") and not isinstance(value, type) else ""
    return InvalidTypeError(f"noise must be a noise such as Gaussian(1.0), got {value!r}{hint}")


def check_kernel(noise: Noise) -> None:
    """Refuse a noise that is no value, or whose `draw` or `scale` a game cannot use."""
    kind = type(noise).__name__
    if not (is_dataclass(noise) and noise.__dataclass_params__.frozen):
        raise InvalidTypeError(f"noise must be a frozen dataclass, with @dataclass(frozen=True) above its class, got {kind}")
    if type(noise).draw is Noise.draw:
        raise InvalidTypeError(f"noise must have a static method draw({', '.join(_ARGUMENTS)}), got {kind}, which has none")
    if not isinstance(noise.draw, FunctionType):
        raise InvalidTypeError(f"noise must have a draw that is a plain function, a @staticmethod, got {kind}.draw")
    given = signature(noise.draw).parameters
    if len(given) != len(_ARGUMENTS):
        raise InvalidTypeError(f"noise must have a draw({', '.join(_ARGUMENTS)}), got {kind}.draw({', '.join(given)})")
    names = [each.name for each in fields(noise)]
    if names and type(noise).scale is Noise.scale:  # a static method sees nothing of the noise but its scale
        raise InvalidTypeError(
            f"noise must have a property `scale`, the one number that draw gets of its fields ({', '.join(names)}), "
            f"got {noise!r}, whose draw gets 0.0"
        )
    FINITE.check(f"{kind}.scale", noise.scale)


_ARGUMENTS = tuple(signature(Noise.draw).parameters)


def known_kinds() -> dict[str, type[Noise]]:
    """Return every class of noise by its name: the library's, and of others whose modules were imported the last one."""
    found: dict[str, type[Noise]] = {}
    waiting = Noise.__subclasses__()
    for each in waiting:
        waiting += each.__subclasses__()
        if each.__name__ not in found or not found[each.__name__].__module__.startswith("rotting."):
            found[each.__name__] = each
    return found


def from_json(data: dict[str, Any]) -> Noise:
    """Return the noise that `to_json` wrote.

    Example:
        >>> from_json(Binomial(10).to_json())
        Binomial(n=10)
    """
    given = dict(data)
    kind, known = given.pop("noise", None), known_kinds()
    if kind not in known:
        raise InvalidValueError(
            f"noise must be one of {', '.join(known)}, got {kind!r} "
            f"(if it is your own, import the module that defines it){suggest(str(kind), known)}"
        )
    return known[kind](**given)
