"""Noises: the distribution of a reward around its mean, as a pure function of (key, run, arm, clock).

The table of a problem holds the mean of every reward; a noise turns that mean and uniform numbers into the reward. Each noise
is a value (`Gaussian(1.0)`) with one kernel for the game (`draw(mean, scale, key, run, arm, clock)`).
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from inspect import signature
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.json_data import JsonDict
from rotting.common.rules import COUNT, FINITE, POSITIVE, PROBABILITY, SPREAD, Rule, check_fields, suggest
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.kernels.binding import bind, slot
from rotting.policies.kernels.elementary import exp, log, log1p
from rotting.policies.kernels.random_numbers import normal_quantile, reward_uniform

_SHOWN = 8  # residuals in the representation of a noise; of more, their number and a digest
_CENTRED = 1e-12  # the relative error of the centre of a table of residuals
_LARGEST_COUNT = 1e7  # a draw takes time in proportion to the mean
# With a larger sigma, single log-normal rewards are thousands of times the mean: no policy can learn from them.
_LOG_SPREAD = Rule("a positive number of at most 5", low=0.0, open_low=True, high=5.0)
_DEGREES = Rule("a finite number above 1, so that rewards have a mean", low=1.0, open_low=True)
_CHUNK = 500  # trials, or mean, of one inversion: its first probability, 0.5**500 or exp(-500), is still a normal number
_GRAIN = 1e-18  # inversion stops below this probability: rounding may leave this much of u for ever


# --- The kernels `draw(mean, scale, key, run, arm, clock)` --------------------------------------------------------------------
#
# They are compiled into the game, and take uniform numbers from `reward_uniform`.


def draw_gaussian(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Return a normal reward; `scale` is its standard deviation."""
    return mean + scale * normal_quantile(reward_uniform(key, run, arm, clock, 0))


def draw_bernoulli(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Return 1 with probability `mean`, else 0."""
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


def draw_binomial(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Return the number of successes in `scale` trials."""
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


def draw_poisson(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Return a Poisson count."""
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


def draw_beta(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Return a reward of a beta distribution with a + b = `scale`."""
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


def draw_laplace(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Return a reward of a Laplace distribution; `scale` is its width."""
    u = reward_uniform(key, run, arm, clock, 0)
    return mean + scale * log(2.0 * u) if u < 0.5 else mean - scale * log(2.0 * (1.0 - u))


def draw_student(mean: float, scale: tuple[float, float], key: int, run: int, arm: int, clock: int) -> float:
    """Return a reward of Student's distribution; `scale` holds its width and its degrees of freedom."""
    z = normal_quantile(reward_uniform(key, run, arm, clock, 0))
    half, _ = log_gamma_variate(0.5 * scale[1], key, run, arm, clock, 1)
    return mean + scale[0] * z * exp(0.5 * (log(0.5 * scale[1]) - half))


def draw_log_normal(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Return a log-normal reward; `scale` is the standard deviation of its logarithm."""
    return mean * exp(scale * normal_quantile(reward_uniform(key, run, arm, clock, 0)) - 0.5 * scale * scale)


def draw_contaminated(mean: float, scale: tuple[float, float, float], key: int, run: int, arm: int, clock: int) -> float:
    """Return a normal reward, at times an outlier; `scale` holds sigma, and the share and the width of outliers."""
    wide = scale[2] if reward_uniform(key, run, arm, clock, 1) < scale[1] else 1.0
    return mean + scale[0] * wide * normal_quantile(reward_uniform(key, run, arm, clock, 0))


def draw_resampled(mean: float, scale: Floats, key: int, run: int, arm: int, clock: int) -> float:
    """Return a reward whose residual is drawn from a table; `scale` holds 1 if residuals are relative, or 0, and the table."""
    size = scale.size - 1
    place = min(int(reward_uniform(key, run, arm, clock, 0) * size), size - 1)
    return mean + (mean if scale[0] > 0.0 else 1.0) * float(scale[1 + place])


@slot
def draw_of_arm(mean: float, scale: float | Floats, key: int, run: int, arm: int, clock: int) -> float:
    """Slot: the `draw` of the noises, whose scale differs by arm."""
    raise NotImplementedError


def draw_by_arm(mean: float, scale: Floats, key: int, run: int, arm: int, clock: int) -> float:
    """Return a reward by the noise of its arm; `scale` holds the scale of each arm."""
    return draw_of_arm(mean, scale[arm], key, run, arm, clock)


# --- The noises ---------------------------------------------------------------------------------------------------------------


class Noise:
    """A reward distribution with a given mean; use one of its subclasses, or write your own.

    A subclass is a frozen dataclass with a `draw`. It overrides `scale`, `support`, `lowest_mean` and `highest_mean` where they
    differ from the defaults here. docs/your-own-policy.md has a complete example, and `rotting.check_noise` checks a noise.
    """

    @staticmethod
    def draw(mean: float, scale: Any, key: int, run: int, arm: int, clock: int) -> float:
        """Return the reward. This is the kernel of the noise: it is compiled, so it allocates, raises and prints nothing.

        It depends on its arguments alone. Its random numbers are `reward_uniform(key, run, arm, clock, draw)`, with
        draw = 0, 1, ...
        """
        raise NotImplementedError

    @property
    def scale(self) -> Any:
        """The parameters that `draw` gets: a number, such as sigma, or a tuple of numbers."""
        return 0.0

    @property
    def lowest_mean(self) -> float:
        """The smallest mean this distribution can have."""
        return -math.inf

    @property
    def highest_mean(self) -> float:
        """The largest mean this distribution can have."""
        return math.inf

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and largest reward that can be paid."""
        return (-math.inf, math.inf)

    @property
    def mean_rule(self) -> str:
        """What means must be, for errors."""
        return "a finite number"

    @property
    def subgaussian_scale(self) -> float | None:
        """A sigma for which rewards are sigma-sub-Gaussian whatever the mean; None if there is none, or if it is not known.

        By default half the range of the rewards, if they are bounded (Hoeffding's lemma).
        """
        low, high = self.support
        return (high - low) / 2 if math.isfinite(low) and math.isfinite(high) else None

    def of_arm(self, arm: int) -> "Noise":
        """Return the noise of one arm: the same for all."""
        return self

    def check_arms(self, n_arms: int) -> None:
        """Raise an error if the noise does not fit this number of arms."""

    def check_means(self, low: float, high: float) -> None:
        """Raise an error if this distribution cannot have the smallest or the largest of the means."""
        for value in (low, high):
            if not self.lowest_mean <= value <= self.highest_mean:
                raise InvalidValueError("means", f"be {self.mean_rule} under {self!r} noise", value)

    def to_json(self) -> JsonDict:
        """Return the noise as JSON-able data."""
        return {"noise": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]


class _Parametric(Noise):
    """A noise of the library: `rules` check its fields, and `draw` gets them in that order."""

    rules: ClassVar[Mapping[str, Rule]]

    def __post_init__(self) -> None:
        check_fields(self, **self.rules)

    @property
    def scale(self) -> Any:
        """The parameters: one number, or a tuple of several."""
        numbers = tuple(float(getattr(self, name)) for name in self.rules)
        return numbers if len(numbers) > 1 else numbers[0]


@dataclass(frozen=True)
class Gaussian(_Parametric):
    """Gaussian rewards with standard deviation `sigma`, at most 1e100.

    Example:
        >>> Gaussian(0.5)
        Gaussian(sigma=0.5)
    """

    sigma: float = 1.0
    draw = staticmethod(draw_gaussian)
    rules: ClassVar = {"sigma": SPREAD}

    @property
    def subgaussian_scale(self) -> float:
        """The standard deviation."""
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

    draw = staticmethod(draw_bernoulli)
    lowest_mean = 0.0
    highest_mean = 1.0
    support = (0.0, 1.0)
    mean_rule = "a probability in [0, 1]"


@dataclass(frozen=True)
class Binomial(_Parametric):
    """The number of successes in `n` trials of probability `mean / n`: the mean lies in [0, n].

    Example:
        >>> Binomial(10).highest_mean
        10.0
    """

    n: int
    draw = staticmethod(draw_binomial)
    rules: ClassVar = {"n": COUNT}
    lowest_mean = 0.0
    mean_rule = "in [0, n]"

    @property
    def highest_mean(self) -> float:
        """The number of trials."""
        return float(self.n)

    @property
    def support(self) -> tuple[float, float]:
        """Zero and the number of trials."""
        return (0.0, float(self.n))

    @property
    def subgaussian_scale(self) -> float:
        """That of n independent trials, sqrt(n) / 2."""
        return math.sqrt(self.n) / 2


@dataclass(frozen=True)
class Beta(_Parametric):
    """Rewards in [0, 1] from Beta(mean * concentration, (1 - mean) * concentration).

    Example:
        >>> Beta(5)
        Beta(concentration=5.0)
    """

    concentration: float
    draw = staticmethod(draw_beta)
    rules: ClassVar = {"concentration": POSITIVE}
    lowest_mean = 0.0
    highest_mean = 1.0
    support = (0.0, 1.0)
    mean_rule = "in [0, 1]"

    @property
    def subgaussian_scale(self) -> float:
        """Half the range, divided by the root of one plus the concentration (Marchal and Arbel, 2017)."""
        return 0.5 / math.sqrt(1 + self.concentration)


@dataclass(frozen=True)
class Poisson(Noise):
    """Poisson counts with the given mean.

    Example:
        >>> Poisson().lowest_mean
        0.0
    """

    draw = staticmethod(draw_poisson)
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

    draw = staticmethod(draw_gaussian)  # with a scale of 0: Gaussian games need not be compiled again
    subgaussian_scale = 0.0


@dataclass(frozen=True)
class Laplace(_Parametric):
    """Laplace rewards, whose tails fall exponentially; their standard deviation is `sqrt(2) b`.

    Example:
        >>> Laplace(0.5)
        Laplace(b=0.5)
    """

    b: float = 1.0
    draw = staticmethod(draw_laplace)
    rules: ClassVar = {"b": SPREAD}


@dataclass(frozen=True)
class Student(_Parametric):
    """The mean plus `sigma` times Student's t with `df` degrees of freedom: the tails fall like a power.

    The variance is `sigma^2 df / (df - 2)`, and infinite for `df <= 2`. `df` must be above 1, since there is no mean otherwise.

    Example:
        >>> Student(3)
        Student(df=3.0, sigma=1.0)
        >>> Student(1)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: df must be a finite number above 1, so that rewards have a mean, got 1
    """

    df: float
    sigma: float = 1.0
    draw = staticmethod(draw_student)
    rules: ClassVar = {"sigma": SPREAD, "df": _DEGREES}


@dataclass(frozen=True)
class LogNormal(_Parametric):
    """The mean times a log-normal factor of mean 1: rewards are positive, most below the mean and some far above it.

    Args:
        sigma: the standard deviation of the factor's logarithm, at most 5.

    Example:
        >>> LogNormal(0.5).support
        (0.0, inf)
    """

    sigma: float = 1.0
    draw = staticmethod(draw_log_normal)
    rules: ClassVar = {"sigma": _LOG_SPREAD}
    lowest_mean = 0.0
    support = (0.0, math.inf)
    mean_rule = "zero or more"


@dataclass(frozen=True)
class Contaminated(_Parametric):
    """Gaussian rewards with outliers: a `share` of the rewards has `times` the standard deviation.

    Args:
        sigma: the standard deviation of the other rewards.
        share: the probability of an outlier.
        times: the standard deviation of an outlier, in units of sigma.

    Example:
        >>> Contaminated(1.0, share=0.01, times=20)
        Contaminated(sigma=1.0, share=0.01, times=20.0)
    """

    sigma: float = 1.0
    share: float = 0.05
    times: float = 10.0
    draw = staticmethod(draw_contaminated)
    rules: ClassVar = {"sigma": SPREAD, "share": PROBABILITY, "times": SPREAD}

    @property
    def subgaussian_scale(self) -> float:
        """That of the wider of the two Gaussians."""
        return self.sigma * max(1.0, self.times)


@dataclass(frozen=True, init=False, repr=False)
class Resampled(Noise):
    """The mean plus a residual that is drawn from a table: noise as it was observed.

    Residuals are centred, so that rewards have the given means.

    Args:
        residuals: at least one number, all equally likely.
        relative: whether the mean multiplies the residuals. None may be below -1 then, and rewards are never negative.

    Example:
        >>> Resampled([-1.0, 0.0, 4.0]).residuals
        (-2.0, -1.0, 3.0)
        >>> Resampled([-1.0, 0.0, 1.0], relative=True).support
        (0.0, inf)
    """

    residuals: tuple[float, ...]
    relative: bool = False
    draw = staticmethod(draw_resampled)

    def __init__(self, residuals: object, relative: object = False) -> None:
        if isinstance(residuals, str) or not isinstance(residuals, Iterable):
            raise InvalidTypeError("residuals", "be numbers", residuals)
        listed = [FINITE.check("residuals", each) for each in residuals]
        if not listed:
            raise InvalidValueError("residuals", "hold at least one number", listed, got="none")
        if not isinstance(relative, bool):
            raise InvalidTypeError("relative", "be True or False", relative)
        centre = math.fsum(listed) / len(listed)
        # A table that is centred but for rounding stays as it is, so that it survives JSON.
        centred = [each - centre for each in listed] if abs(centre) > _CENTRED * max(map(abs, listed)) else listed
        if relative and min(centred) < -1.0:
            raise InvalidValueError("residuals", "be at least -1 if they are relative", min(centred))
        object.__setattr__(self, "residuals", tuple(centred))
        object.__setattr__(self, "relative", relative)

    def __repr__(self) -> str:
        table = repr(self.residuals)
        if len(self.residuals) > _SHOWN:
            table = f"<{len(self.residuals)} numbers, {hashlib.sha256(table.encode()).hexdigest()[:8]}>"
        return f"Resampled({table}{', relative=True' if self.relative else ''})"

    @property
    def scale(self) -> Floats:
        """Whether residuals are relative, and the residuals: an array."""
        return np.array([float(self.relative), *self.residuals])

    @property
    def lowest_mean(self) -> float:
        """Zero if residuals are relative."""
        return 0.0 if self.relative else -math.inf

    @property
    def mean_rule(self) -> str:
        """The rule for means."""
        return "zero or more" if self.relative else "a finite number"

    @property
    def support(self) -> tuple[float, float]:
        """All numbers, or those that are not negative."""
        return self.lowest_mean, math.inf


@dataclass(frozen=True, init=False)
class ByArm(Noise):
    """A noise for each arm, all of the same class.

    Example:
        >>> ByArm([Gaussian(0.1), Gaussian(1.0)]).of_arm(1)
        Gaussian(sigma=1.0)
        >>> ByArm([Gaussian(0.1), Bernoulli()])
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidTypeError: noises must be of one kind, got Gaussian and Bernoulli
    """

    noises: tuple[Noise, ...]

    def __init__(self, noises: object) -> None:
        if isinstance(noises, str) or not isinstance(noises, Iterable):
            raise InvalidTypeError("noises", "be one noise for each arm", noises)
        listed = tuple(from_json(each) if isinstance(each, dict) else each for each in noises)
        if not listed:
            raise InvalidValueError("noises", "hold one noise for each arm", listed, got="none")
        for noise in listed:
            if not isinstance(noise, Noise) or isinstance(noise, ByArm):
                raise not_a_noise(noise)
            if type(noise) is not type(listed[0]):
                raise InvalidTypeError(
                    "noises", "be of one kind", listed, got=f"{type(listed[0]).__name__} and {type(noise).__name__}"
                )
        object.__setattr__(self, "noises", listed)

    @property
    def draw(self) -> Callable[..., float]:  # type: ignore[override]
        """The kernel of the arms' noise, which gets the scale of its arm."""
        return bind(draw_by_arm, {draw_of_arm: self.noises[0].draw})

    @property
    def scale(self) -> Floats:
        """The scales of the arms, an array."""
        return np.array([each.scale for each in self.noises], np.float64)

    @property
    def support(self) -> tuple[float, float]:
        """The smallest interval that holds the support of every arm."""
        ends = [each.support for each in self.noises]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def highest_mean(self) -> float:
        """The smallest of the largest means of the arms."""
        return min(each.highest_mean for each in self.noises)

    @property
    def lowest_mean(self) -> float:
        """The smallest mean, the same for all arms: their noises are of one kind."""
        return self.noises[0].lowest_mean

    @property
    def mean_rule(self) -> str:
        """The rule for means, the same for all arms: their noises are of one kind."""
        return self.noises[0].mean_rule

    @property
    def subgaussian_scale(self) -> float | None:
        """The largest of the arms' scales."""
        scales = [each.subgaussian_scale for each in self.noises]
        return None if None in scales else max(filter(None, scales), default=0.0)

    def of_arm(self, arm: int) -> Noise:
        """Return the noise of one arm."""
        return self.noises[arm]

    def check_arms(self, n_arms: int) -> None:
        """Raise an error for another number of arms."""
        if n_arms != len(self.noises):
            raise InvalidValueError(
                "noise", f"be one for each of the {n_arms} arms", self, got=f"{len(self.noises)} in {self!r}"
            )

    def to_json(self) -> JsonDict:
        """Return the noise as JSON-able data."""
        return {"noise": "ByArm", "noises": [each.to_json() for each in self.noises]}


def not_a_noise(value: object) -> InvalidTypeError:
    """Return the error for an object that is not a noise."""
    hint = "; its class must inherit from rotting.kit.Noise" if hasattr(value, "draw") and not isinstance(value, type) else ""
    return InvalidTypeError("noise", "be a noise such as Gaussian(1.0)", value, hint=hint)


def check_kernel(noise: object) -> None:
    """Raise an error for what is not a noise or not a frozen dataclass, or whose `draw` or `scale` no game can use."""
    if not isinstance(noise, Noise):
        raise not_a_noise(noise)
    kind = type(noise).__name__
    if not (is_dataclass(noise) and noise.__dataclass_params__.frozen):
        raise InvalidTypeError("noise", "be a frozen dataclass, with @dataclass(frozen=True) above its class", noise, got=kind)
    if type(noise).draw is Noise.draw:
        raise InvalidTypeError(
            "noise", f"have a static method draw({', '.join(_ARGUMENTS)})", noise, got=f"{kind}, which has none"
        )
    if not isinstance(noise.draw, FunctionType):
        raise InvalidTypeError("noise", "have a draw that is a plain function, a @staticmethod", noise, got=f"{kind}.draw")
    given = signature(noise.draw).parameters
    if len(given) != len(_ARGUMENTS):
        raise InvalidTypeError("noise", f"have a draw({', '.join(_ARGUMENTS)})", noise, got=f"{kind}.draw({', '.join(given)})")
    names = [each.name for each in fields(noise)]
    if names and type(noise).scale is Noise.scale:  # a static method sees nothing of the noise but its scale
        raise InvalidTypeError(
            "noise",
            f"have a property `scale`, with which draw gets the values of its fields ({', '.join(names)})",
            noise,
            hint=", whose draw gets 0.0",
        )
    for value in np.ravel(noise.scale).tolist() if isinstance(noise.scale, tuple | np.ndarray) else [noise.scale]:
        FINITE.check(f"{kind}.scale", value)


_ARGUMENTS = tuple(signature(Noise.draw).parameters)


def known_kinds() -> dict[str, type[Noise]]:
    """Return every class of noise by its name.

    Of several classes of one name, the library's own comes first, else the one that was defined last.
    """
    found: dict[str, type[Noise]] = {}
    classes = Noise.__subclasses__()
    for kind in classes:
        classes += kind.__subclasses__()
        is_taken = kind.__name__ in found and found[kind.__name__].__module__.startswith("rotting.")
        if kind is not _Parametric and not is_taken:
            found[kind.__name__] = kind
    return found


def from_json(data: JsonDict) -> Noise:
    """Return the noise that `to_json` wrote.

    Example:
        >>> from_json(Binomial(10).to_json())
        Binomial(n=10)
    """
    given = dict(data)
    kind, known = given.pop("noise", None), known_kinds()
    if kind not in known:
        raise InvalidValueError(
            "noise",
            f"be one of {', '.join(known)}",
            kind,
            hint=f" (if it is your own, import the module that defines it){suggest(str(kind), known)}",
        )
    return known[kind](**given)
