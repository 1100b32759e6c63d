"""Random variates that are the same to the last bit on every machine.

They are computed from NumPy's uniform numbers on [0, 1), which are exact. NumPy's own normal and gamma variates depend on the
mathematical library of the machine, and its uniform variates on an interval on how the compiler rounds.
"""

import math

import numpy as np

from rotting.common.arrays import Floats
from rotting.kernels.elementary import exps, logs


def uniforms(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...]) -> Floats:
    """Return numbers that are uniform on [low, high]; only rounding can give `high` itself.

    Example:
        >>> uniforms(np.random.default_rng(0), 2.0, 4.0, (2, 2)).round(2).tolist()
        [[3.27, 2.54], [2.08, 2.03]]
    """
    return low + (high - low) * rng.random(shape)


def normals(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return standard normal numbers, by the polar method (Marsaglia, Bray 1964).

    Example:
        >>> normals(np.random.default_rng(0), (2, 2)).round(2).tolist()
        [[0.49, 0.81], [0.3, 1.72]]
    """
    size = math.prod(shape)
    found = np.empty(0)
    while found.size < size:
        # 78 of 100 such pairs lie in the disc, so that one round is mostly enough.
        u, v = 2.0 * rng.random((2, 2 * (size - found.size) // 3 + 8)) - 1.0
        square = u * u + v * v
        inside = (square > 0.0) & (square < 1.0)
        u, v, square = u[inside], v[inside], square[inside]
        scale = np.sqrt(-2.0 * logs(square) / square)
        found = np.concatenate([found, u * scale, v * scale])
    return found[:size].reshape(shape)


def gammas(rng: np.random.Generator, a: float, shape: tuple[int, ...]) -> Floats:
    """Return gamma variates of shape parameter a and scale 1, by rejection (Marsaglia, Tsang 2000).

    Example:
        >>> gammas(np.random.default_rng(0), 3.0, (2, 2)).round(2).tolist()
        [[3.54, 4.22], [3.18, 6.57]]
    """
    found = np.empty(math.prod(shape))
    d = (a if a >= 1.0 else a + 1.0) - 1.0 / 3.0
    missing = np.arange(found.size)
    while missing.size > 0:
        x, u = normals(rng, missing.shape), rng.random(missing.size)
        square = x * x
        v = 1.0 + x / math.sqrt(9.0 * d)
        v = v * v * v
        accepted = (v > 0.0) & (u < 1.0 - 0.0331 * square * square)
        doubtful = np.flatnonzero((v > 0.0) & ~accepted)  # few: the rest needs no logarithm
        accepted[doubtful] = logs(u[doubtful]) < (0.5 * square + d - d * v)[doubtful] + d * logs(v[doubtful])
        found[missing[accepted]] = d * v[accepted]
        missing = missing[~accepted]
    if a < 1.0:  # a gamma variate of a + 1, times u^(1/a), is one of a
        with np.errstate(over="ignore"):
            found *= exps(logs(rng.random(found.size)) / a)
    return found.reshape(shape)
