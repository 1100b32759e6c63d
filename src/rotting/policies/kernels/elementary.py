"""Logarithm, exponential and power, the same to the last bit on every machine.

The results of mathematical libraries differ in the last bit, and those of GPUs differ from all of them. A last bit can decide a
choice, and so the rest of a game. The functions of this module use only sums, products, quotients and powers of two, which IEEE
754 rounds in one way. A kernel that calls them and `math.sqrt` plays the same game interpreted, compiled, on a GPU and on any
processor. (Fused multiply-adds, which round once instead of twice, must be off: the engines turn them off.)

The error is less than one unit in the last place, and in 97 % of all cases at most half a unit, which is the correctly rounded
result. Where Python's functions raise (`log(0.0)`), these return the value of IEEE 754.

`logs`, `exps` and `powers` return the same values for every entry of an array, for tables of means. The last bit of NumPy's
functions depends on the processor.
"""

import math
from typing import TypeVar

import numpy as np

from rotting.common.arrays import Floats

Number = TypeVar("Number", float, Floats)
"""The argument of a formula without branches: a number, or an array."""

_SPLIT = 134217729.0  # 2**27 + 1: halves the digits of a number
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # the first has 33 bits: k times it is exact
_LN2_SCALE = 1.4426950408889634  # 1 / ln 2
_NORMAL = 2.0**-1022
_ROOT, _HALF_ROOT = 0.7071067811865476, 0x3FE6A09E667F3BCD  # sqrt(1/2) and its bits
_LARGEST, _SMALLEST = 709.782712893384, -745.1332191019412  # beyond these, exp is infinite or zero
_THIRDS_LOW = 3.700743415417188e-17  # of 2 / 3
_FAR = 600  # larger powers of two are applied in two steps, of which only the last one rounds


def exact_product(x: Number, y: Number | float) -> tuple[Number, Number]:
    """Return the exact product of two numbers as high + low (Dekker)."""
    product = x * y
    a, b = _SPLIT * x, _SPLIT * y
    x_high, y_high = a - (a - x), b - (b - y)
    x_low, y_low = x - x_high, y - y_high
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _atanh_series(z: Number) -> Number:
    """Return `2/3 + 2/5 z + 2/7 z^2 + ...` for `0 <= z < 0.0295`, to 2^-60 of the whole logarithm."""
    z2 = z * z
    low = (0.6666666666666666 + 0.4000000000000088 * z) + (0.2857142857080323 + 0.2222222239180047 * z) * z2
    high = (0.18181795630884753 + 0.15386240205813478 * z) + (0.13268759668560612 + 0.13086767009948175 * z) * z2
    return low + high * (z2 * z2)


def _ratio(f: Number) -> tuple[Number, Number]:
    """Return `s = f / (2 + f)` as high + low."""
    d = 2.0 + f
    inverse = 1.0 / d
    s = f * inverse
    high, error = exact_product(s, d)
    return s, (((f - high) - error) - s * (f - (d - 2.0))) * inverse


def _fraction(x: float) -> tuple[float, int]:
    """Return m and e with `x = m 2^e` and m from sqrt(1/2) to sqrt(2), for a positive finite x."""
    e = 0
    if x < _NORMAL:
        x, e = x * 2.0**54, -54
    bits = int(np.float64(x).view(np.int64))
    shift = (bits - _HALF_ROOT) >> 52
    return float(np.int64(bits - (shift << 52)).view(np.float64)), e + shift


def _power_of_two(k: int) -> float:
    """Return 2^k, a normal number."""
    return float(np.int64((k + 1023) << 52).view(np.float64))


def _log_of(x: float, low: float) -> float:
    """Return `log(x + low)` of a positive finite x, where low is a last digit of x."""
    m, e = _fraction(x)
    return _log_of_fraction(m, float(e), low / x if low != 0.0 else 0.0)


def _log_of_fraction(m: Number, k: Number, low: Number) -> Number:
    """Return `log(m 2^k) + low` for m from sqrt(1/2) to sqrt(2)."""
    # log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R), with s = f / (2 + f) and R = 2/3 s^2 + 2/5 s^4 + ...
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    base = k * _LN2_HIGH
    first = base + f
    rest = ((base - first) + f) + low
    return first - (half - (s * (half + z * _atanh_series(z)) + (k * _LN2_LOW + rest)))


def floor(x: float) -> int:
    """Return the largest whole number that is not above x.

    Example:
        >>> floor(2.5), floor(-2.5)
        (2, -3)
    """
    return int(math.floor(x))  # noqa: RUF046 - a float on a GPU


def ceil(x: float) -> int:
    """Return the smallest whole number that is not below x.

    Example:
        >>> ceil(2.5), ceil(-2.5)
        (3, -2)
    """
    return int(math.ceil(x))  # noqa: RUF046 - a float on a GPU


def log(x: float) -> float:
    """Return the natural logarithm.

    Example:
        >>> log(10.0), log(1.0), log(0.0)
        (2.302585092994046, 0.0, -inf)
    """
    if not 0.0 < x < math.inf:
        return -math.inf if x == 0.0 else (x if x > 0.0 else math.nan)
    return _log_of(float(x), 0.0)


def log1p(x: float) -> float:
    """Return `log(1 + x)`, accurate for small x, too.

    Example:
        >>> log1p(1e-20), log1p(-1.0)
        (1e-20, -inf)
    """
    if not -1.0 < x < math.inf:
        return -math.inf if x == -1.0 else (x if x > 0.0 else math.nan)
    if abs(x) < 0.29:  # 1 + x is its own fraction
        s = x / (2.0 + x)
        z, half = s * s, 0.5 * x * x
        return x - (half - s * (half + z * _atanh_series(z)))
    total = 1.0 + x
    shadow = total - 1.0
    return _log_of(total, (1.0 - (total - shadow)) + (x - shadow))


def _exp_series(r: Number) -> Number:
    """Return `1/2 + r/6 + r^2/24 + ...` for `|r| < 0.3466`, to 2^-60 of the whole exponential."""
    r2 = r * r
    low = (0.5 + 0.1666666666666667 * r) + (0.04166666666666667 + 0.008333333333326129 * r) * r2
    middle = (0.0013888888888883744 + 0.00019841269874844894 * r) + (2.4801587325565073e-05 + 2.7557255369427714e-06 * r) * r2
    high = (2.755727362113095e-07 + 2.510522981321569e-08 * r) + 2.0914696114722443e-09 * r2
    return low + (middle + high * (r2 * r2)) * (r2 * r2)


def _nearest_power(x: float) -> int:
    """Return the k for which `exp(x) 2^-k` is nearest to 1."""
    return floor(x * _LN2_SCALE + 0.5)


def _exp_parts(x: Number, low: Number, k: Number) -> tuple[Number, Number]:
    """Return r and rest with `exp(x + low) = (1 + r + rest) 2^k`."""
    high = x - k * _LN2_HIGH
    tail = low - k * _LN2_LOW
    r = high + tail
    c = (high - r) + tail
    return r, c + c * r + r * r * _exp_series(r)


def _exp_fraction(x: Number, low: Number, k: Number) -> Number:
    """Return `exp(x + low) 2^-k`."""
    r, rest = _exp_parts(x, low, k)
    first = 1.0 + r
    return first + ((r - (first - 1.0)) + rest)


def _scaled(x: float, k: int) -> float:
    """Return `x 2^k`, rounded once."""
    if k < -_FAR:
        return x * _power_of_two(k + _FAR) * 2.0**-600
    if k > _FAR:
        return x * _power_of_two(k - _FAR) * 2.0**600
    return x * _power_of_two(k)


def _exp_of(x: float, low: float) -> float:
    """Return `exp(x + low)`, where low is less than a last digit of x, or of 1."""
    if not _SMALLEST <= x <= _LARGEST:
        return 0.0 if x < 0.0 else (math.inf if x > 0.0 else math.nan)
    k = _nearest_power(x)
    return _scaled(_exp_fraction(x, low, float(k)), k)


def exp(x: float) -> float:
    """Return the exponential.

    Example:
        >>> exp(1.0), exp(-800.0), exp(800.0)
        (2.718281828459045, 0.0, inf)
    """
    return _exp_of(float(x), 0.0)


def expm1(x: float) -> float:
    """Return `exp(x) - 1`, accurate for small x, too.

    Example:
        >>> expm1(1e-20), expm1(-800.0)
        (1e-20, -1.0)
    """
    if not -38.0 < x <= _LARGEST:  # below, -1 is the nearest number
        return -1.0 if x < 0.0 else (math.inf if x > 0.0 else math.nan)
    k = _nearest_power(x)
    r, rest = _exp_parts(float(x), 0.0, float(k))
    if k == 0:
        return r + rest
    if k > 60:  # the 1 is less than half a last digit
        return _exp_of(float(x), 0.0)
    scale = _power_of_two(k)
    one = scale - 1.0  # exact up to 2^53; beyond, `left` holds the rounding error
    left = (scale - one) - 1.0
    first = one + scale * r
    return first + (((one - first) + scale * r) + (left + scale * rest))


def power(x: float, y: float) -> float:
    """Return x to the power y, for x >= 0.

    Example:
        >>> power(2.0, 0.5), power(10.0, -3.0), power(0.0, 0.0)
        (1.4142135623730951, 0.001, 1.0)
    """
    if y == 0.0 or x == 1.0:
        return 1.0
    if x == 0.0:
        return 0.0 if y > 0.0 else math.inf
    if not 0.0 < x < math.inf:
        return math.nan if not x > 0.0 else (math.inf if y > 0.0 else 0.0)
    high, low = _log_pair(float(x))
    product, error = exact_product(high, float(y))
    if not _SMALLEST <= product <= _LARGEST:
        return 0.0 if product < 0.0 else (math.inf if product > 0.0 else math.nan)
    return _exp_of(product, error + low * y)


def _atanh_rest(z: Number) -> Number:
    """Return `2/5 + 2/7 z + 2/9 z^2 + ...` for `0 <= z < 0.0295`, to 2^-66 of the whole logarithm."""
    tail = 2.0 / 17.0 + z * (2.0 / 19.0 + z * (2.0 / 21.0 + z * (2.0 / 23.0 + z * (2.0 / 25.0))))
    return 2.0 / 5.0 + z * (2.0 / 7.0 + z * (2.0 / 9.0 + z * (2.0 / 11.0 + z * (2.0 / 13.0 + z * (2.0 / 15.0 + z * tail)))))


def _log_pair(x: float) -> tuple[float, float]:
    """Return `log(x)` of a positive finite x as high + low, of 64 bits together."""
    m, e = _fraction(x)
    return _log_pair_of_fraction(m, float(e))


def _log_pair_of_fraction(m: Number, k: Number) -> tuple[Number, Number]:
    """Return `log(m 2^k)` for m from sqrt(1/2) to sqrt(2) as high + low, of 64 bits together."""
    s, s_low = _ratio(m - 1.0)
    z, z_low = exact_product(s, s)
    z_low += 2.0 * s * s_low
    cube, cube_low = exact_product(z, s)
    cube_low += z_low * s + z * s_low
    third, third_low = exact_product(cube, 2.0 / 3.0)
    third_low += cube * _THIRDS_LOW + cube_low * (2.0 / 3.0)
    base = k * _LN2_HIGH
    first = base + 2.0 * s
    error = (base - first) + 2.0 * s
    second = first + third
    error += (first - second) + third
    error += third_low + 2.0 * s_low + cube * z * _atanh_rest(z) + k * _LN2_LOW
    high = second + error
    return high, error - (high - second)


# Over arrays.


def _fractions(x: Floats) -> tuple[Floats, Floats]:
    """Return `_fraction` of every entry."""
    m, e = np.frexp(x)
    small = m < _ROOT
    return np.where(small, 2.0 * m, m), e.astype(np.float64) - small


def _powers_of_two(k: Floats) -> Floats:
    """Return `_power_of_two` of every entry."""
    return ((k.astype(np.int64) + 1023) << 52).view(np.float64)


def _exps_of(x: Floats, low: Floats) -> Floats:
    """Return `_exp_of` of every entry; no entry of x may be NaN."""
    inside = np.clip(x, _SMALLEST, _LARGEST)
    k = np.floor(inside * _LN2_SCALE + 0.5)
    far = np.where(k < -_FAR, -_FAR, np.where(k > _FAR, _FAR, 0.0))
    found = _exp_fraction(inside, low, k) * _powers_of_two(k - far) * _powers_of_two(far)
    return np.where(x < inside, 0.0, np.where(x > inside, np.inf, found))


def logs(x: Floats) -> Floats:
    """Return the natural logarithm of every entry; no entry may be negative or NaN.

    Example:
        >>> logs(np.array([10.0, 1.0, 0.0])).tolist()
        [2.302585092994046, 0.0, -inf]
    """
    inside = (x > 0.0) & (x < np.inf)
    found = _log_of_fraction(*_fractions(np.where(inside, x, 1.0)), np.zeros(x.shape))
    return np.where(inside, found, np.where(x > 0.0, np.inf, -np.inf))


def exps(x: Floats) -> Floats:
    """Return the exponential of every entry; no entry may be NaN.

    Example:
        >>> exps(np.array([1.0, -800.0, 800.0])).tolist()
        [2.718281828459045, 0.0, inf]
    """
    with np.errstate(under="ignore"):
        return _exps_of(x, np.zeros(x.shape))


def powers(x: Floats, y: float) -> Floats:
    """Return every entry to the power y; none is negative or NaN.

    Example:
        >>> powers(np.array([4.0, 1.0, 0.0]), -0.5).tolist()
        [0.5, 1.0, inf]
    """
    inside = (x > 0.0) & (x < np.inf)
    high, low = _log_pair_of_fraction(*_fractions(np.where(inside, x, 1.0)))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # of a product that is infinite, the error is unknown
        product, error = exact_product(high, y)
        found = _exps_of(product, error + low * y)
    return np.where(inside, found, np.where(x > 0.0, power(math.inf, y), power(0.0, y)))
