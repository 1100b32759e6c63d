"""Random numbers as pure functions of a key and a counter.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Its words have 32 bits,
so every product fits 64: Python's unbounded integers and the compiler's wrapping ones agree bit for bit, without a warning.
"""

import hashlib
import math

from rotting.policies.kernels.elementary import log

_WORD = 0xFFFFFFFF
_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_POLICY, _RUN = 1, 2


def philox(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Return the four 32-bit words at counter `(c0, c1, c2, c3)` of the stream with key `(k0, k1)`.

    Example:
        >>> [f"{word:08x}" for word in philox(0, 0, 0, 0, 0, 0)]
        ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    for _ in range(10):
        a = _M0 * c0
        b = _M1 * c2
        # The masks also undo the sign that a wrapped product has in compiled code.
        c0 = ((b >> 32) & _WORD) ^ c1 ^ k0
        c1 = b & _WORD
        c2 = ((a >> 32) & _WORD) ^ c3 ^ k1
        c3 = a & _WORD
        k0 = (k0 + _W0) & _WORD
        k1 = (k1 + _W1) & _WORD
    return c0, c1, c2, c3


def unit(high: int, low: int) -> float:
    """Map two words to a number strictly between 0 and 1 (52 bits, at the middle of its cell)."""
    return (((high << 20) | (low >> 12)) + 0.5) * 2.0**-52


def uniform(key: int, t: int, draw: int) -> float:
    """Return the `draw`-th uniform number of round `t`, for randomised policies.

    Example:
        >>> uniform(7, 1, 0) == uniform(7, 1, 0), uniform(7, 1, 0) == uniform(7, 1, 1)
        (True, False)
    """
    k, n = int(key), int(t)
    a, b, _, _ = philox(n & _WORD, n >> 32, int(draw), _POLICY, k & _WORD, k >> 32)
    return unit(a, b)


def reward_uniform(key: int, run: int, arm: int, clock: int, draw: int) -> float:
    """Return the `draw`-th uniform number for the reward of `arm` at `clock` in `run`.

    One Philox block gives the numbers of two neighbouring clocks.
    """
    k, n = int(key), int(clock)
    a, b, c, d = philox((n >> 1) & _WORD, int(arm), int(run), int(draw), k & _WORD, k >> 32)
    if n & 1:
        return unit(c, d)
    return unit(a, b)


def subkey(key: int, run: int) -> int:
    """Return the key of the policy in one run."""
    k, n = int(key), int(run)
    a, b, _, _ = philox(n & _WORD, n >> 32, 0, _RUN, k & _WORD, k >> 32)
    return (a << 31) | (b >> 1)


def derive_key(seed: int, purpose: str) -> int:
    """Return a 63-bit key. Different purposes of one seed get independent streams. Not a kernel: Python only."""
    digest = hashlib.sha256(f"rotting/{purpose}/{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


# Wichura's coefficients, constant term first: numerator and denominator in the centre, the tail, the far tail.
_CENTRE = (
    3.3871328727963666080e0,
    1.3314166789178437745e2,
    1.9715909503065514427e3,
    1.3731693765509461125e4,
    4.5921953931549871457e4,
    6.7265770927008700853e4,
    3.3430575583588128105e4,
    2.5090809287301226727e3,
)
_CENTRE_BELOW = (
    1.0,
    4.2313330701600911252e1,
    6.8718700749205790830e2,
    5.3941960214247511077e3,
    2.1213794301586595867e4,
    3.9307895800092710610e4,
    2.8729085735721942674e4,
    5.2264952788528545610e3,
)
_TAIL = (
    1.42343711074968357734e0,
    4.63033784615654529590e0,
    5.76949722146069140550e0,
    3.64784832476320460504e0,
    1.27045825245236838258e0,
    2.41780725177450611770e-1,
    2.27238449892691845833e-2,
    7.74545014278341407640e-4,
)
_TAIL_BELOW = (
    1.0,
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)
_FAR = (
    6.65790464350110377720e0,
    5.46378491116411436990e0,
    1.78482653991729133580e0,
    2.96560571828504891230e-1,
    2.65321895265761230930e-2,
    1.24266094738807843860e-3,
    2.71155556874348757815e-5,
    2.01033439929228813265e-7,
)
_FAR_BELOW = (
    1.0,
    5.99832206555887937690e-1,
    1.36929880922735805310e-1,
    1.48753612908506148525e-2,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
)


def _horner(c: tuple[float, ...], x: float) -> float:
    return ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0]


def normal_quantile(u: float) -> float:
    """Return the standard normal quantile (Wichura 1988, Algorithm AS 241, PPND16; relative error about 1e-16).

    Example:
        >>> round(normal_quantile(0.975), 6)
        1.959964
    """
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _horner(_CENTRE, r) / _horner(_CENTRE_BELOW, r)
    r = math.sqrt(-log(u if q < 0.0 else 1.0 - u))
    if r <= 5.0:
        x = _horner(_TAIL, r - 1.6) / _horner(_TAIL_BELOW, r - 1.6)
    else:
        x = _horner(_FAR, r - 5.0) / _horner(_FAR_BELOW, r - 5.0)
    return -x if q < 0.0 else x
