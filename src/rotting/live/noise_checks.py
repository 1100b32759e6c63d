"""`check_noise`: checks that a noise keeps the contract of noises."""

import json
import math
import numbers
from collections.abc import Callable

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.errors import CheckError, InvalidArgumentError, KernelError
from rotting.live.checks import require
from rotting.policies.kernels.binding import bind, digest
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policies.kernels.readable_errors import naming_owner, with_readable_errors
from rotting.problems.noise import Noise, check_kernel, from_json, not_a_noise
from rotting.simulation.engines.compile import compiled, draw_error
from rotting.simulation.engines.game import draw
from rotting.simulation.engines.kernel_errors import compile_error

_MEANS = (-2.5, 0.3, 0.8, 4.0)
_LARGEST_END = 100.0  # ends of the range of means that are tried: some noises take time in proportion to the mean
_DRAWS = 20_000  # for each mean
_REPEATED_DRAWS = 500  # draws that are repeated
_ALARM = 1e-7  # the largest probability with which a sound noise is refused, for each mean
_ERRORS = 8.0  # standard errors that the average may be off
_ROUNDING = 1e-9
_KEY = derive_key(0, "check")


def _fill(mean: float, scale: float, keys: Ints, runs: Ints, arms: Ints, clocks: Ints, out: Floats) -> None:
    for k in range(out.size):
        out[k] = draw(mean, scale, int(keys[k]), int(runs[k]), int(arms[k]), int(clocks[k]))


def _sample(fill: Callable[..., None], noise: Noise, mean: float, size: int, **places: Ints) -> Floats:
    """Return rewards for the given keys, runs, arms or clocks, each an array; the others are fixed."""
    out = np.empty(size)
    fixed = {"key": _KEY, "run": 3, "arm": 2, "clock": 5}
    fill(mean, noise.scale, *(places.get(name, np.full(size, value)) for name, value in fixed.items()), out)
    return out


def _everywhere(size: int) -> dict[str, Ints]:
    k = np.arange(size)
    return {"run": k // 1_000, "arm": k // 100 % 10, "clock": k % 100}


def _check_value(noise: Noise) -> None:
    kind = type(noise).__name__
    try:
        hash(noise)
    except TypeError as error:
        raise CheckError(f"a noise must be hashable ({kind}: {error})") from None
    try:
        again = from_json(json.loads(json.dumps(noise.to_json(), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise CheckError(f"a noise must survive JSON ({kind}: {error})") from None
    require("a noise must survive JSON, under a name that no other noise has", again == noise, f"{noise} became {again}")


def _check_ranges(noise: Noise) -> None:
    low, high = noise.support
    require("support must be two numbers, the smaller first", low <= high, noise.support)
    least, most = noise.lowest_mean, noise.highest_mean
    require("lowest_mean must not be above highest_mean", least <= most, f"{least} and {most}")
    inside = low <= least and most <= high
    require("lowest_mean and highest_mean must lie in the support", inside, f"[{least}, {most}] is not inside [{low}, {high}]")


def _means(noise: Noise) -> list[float]:
    """Return the means to try: some common ones, and the ends of the range if they are not too large."""
    least, most = noise.lowest_mean, noise.highest_mean
    inside = [mean for mean in _MEANS if least <= mean <= most]
    if not inside and math.isfinite(least + most):
        inside = [(least + most) / 2]
    return sorted({*inside, *(float(end) for end in (least, most) if abs(end) <= _LARGEST_END)})


def farthest(rewards: Floats, mean: float, low: float, high: float) -> float:
    """Return how far the average of independent rewards in [low, high] may be from their mean.

    For a bounded support, this is the empirical Bernstein inequality (Maurer, Pontil 2009), which holds for every distribution:
    a sound noise exceeds it with a probability below 1e-7. Otherwise it is eight standard errors. A noise that is symmetric
    about its mean exceeds these with a probability below 2 exp(-8**2 / 2) < 3e-14 (Hoeffding's inequality for the signs), which
    leaves room for skewed ones.
    """
    errors, n = rewards - mean, rewards.size
    rounding = _ROUNDING * (1.0 + abs(mean))
    if math.isfinite(high - low):
        a = math.log(4 / _ALARM)
        return math.sqrt(2 * float(errors.var()) * a / n) + 7 * (high - low) * a / (3 * (n - 1)) + rounding
    return _ERRORS * math.sqrt(float(np.mean(errors**2)) / n) + rounding


def _check_draws(noise: Noise) -> None:
    low, high = noise.support
    plain = bind(_fill, {draw: noise.draw})
    with naming_owner(noise):
        digest(noise.draw)
    fast = with_readable_errors(noise, plain, compiled(plain, checked=True))  # `checked` finds more causes of errors
    draw_plain, fill_plain = (with_readable_errors(noise, each, each) for each in (noise.draw, plain))
    few = _everywhere(_REPEATED_DRAWS)
    for mean in _means(noise):
        try:
            value: object = draw_plain(mean, noise.scale, _KEY, 3, 2, 5)
            first, second = (_sample(fill_plain, noise, mean, _REPEATED_DRAWS, **few) for _ in range(2))
        except KernelError:
            raise
        except Exception as error:  # noqa: BLE001 - a user's interpreted code can raise anything
            raise CheckError(f"draw must return a number (mean {mean}: {type(error).__name__}, {error})") from None
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        require("draw must return a number", number, f"mean {mean}: {value!r}")
        same = np.array_equal(first, second, equal_nan=True)
        require("draw must depend on nothing but its arguments", same, f"mean {mean}")
        try:
            fast_first = _sample(fast, noise, mean, _REPEATED_DRAWS, **few)
        except KernelError:
            raise
        except Exception as error:  # noqa: BLE001 - the compiler can raise anything, too
            raise draw_error(noise) or compile_error(plain, noise, error) from None
        differs = np.flatnonzero(~((first == fast_first) | (np.isnan(first) & np.isnan(fast_first))))
        where = f"mean {mean}: {fast_first[differs[0]]!s} against {first[differs[0]]!s}" if differs.size else ""
        if np.allclose(fast_first, first, rtol=_ROUNDING, equal_nan=True):
            where += "; take functions from `math`, NumPy's may round otherwise"
        require("draw must pay the same compiled and interpreted", differs.size == 0, where)

        rewards = _sample(fast, noise, mean, _DRAWS, **_everywhere(_DRAWS))
        bad = rewards[~(np.isfinite(rewards) & (low <= rewards) & (rewards <= high))]
        where = f"mean {mean}: {bad[0]!s} is not in [{low}, {high}]" if bad.size else ""
        require("draw must pay finite rewards in the support", bad.size == 0, where)
        _check_places(fast, noise, mean, rewards)
        off = abs(float(rewards.mean()) - mean)
        where = f"mean {mean}: {_DRAWS} rewards average {rewards.mean():.6g}"
        require("the mean of the rewards must be the mean that draw is given", off <= farthest(rewards, mean, low, high), where)


def _check_places(fill: Callable[..., None], noise: Noise, mean: float, rewards: Floats) -> None:
    """Check that draws depend on every argument: a draw that ignores one returns the same reward again and again."""
    if np.unique(rewards, return_counts=True)[1].max() > 0.9 * rewards.size:
        return  # then 500 rewards could be equal by chance
    for name in ("key", "run", "arm", "clock"):
        varied = _sample(fill, noise, mean, _REPEATED_DRAWS, **{name: np.arange(_REPEATED_DRAWS)})
        rule = "draw must give key, run, arm and clock to its random numbers"
        require(rule, np.unique(varied).size > 1, f"{name} is not used")


def check_noise(noise: Noise) -> None:
    """Raise a `CheckError` if `noise` breaks the contract of a noise.

    It checks that the noise is a value (a frozen dataclass that can be hashed and survives JSON), that it has a `draw` and a
    `scale` that is a number, and that the means it accepts lie in its support. For several means it checks that `draw` returns
    the same compiled and interpreted, depends on all of its arguments and on nothing else, stays in the support, and has the
    mean that it is given. The last is a statistical test of 20,000 rewards for each mean: it finds an error of 6 % of a
    standard deviation, and refuses fewer than one sound noise in a million, unless rewards are unbounded and very skewed.

    Args:
        noise: the noise to check.

    Example:
        >>> import rotting
        >>> check_noise(rotting.Gaussian(0.5))
    """
    if not isinstance(noise, Noise):
        raise not_a_noise(noise)
    try:
        check_kernel(noise)
    except InvalidArgumentError as error:
        raise CheckError(str(error)) from None
    _check_value(noise)
    _check_ranges(noise)
    try:
        _check_draws(noise)
    except KernelError as error:
        raise CheckError(str(error)) from None
