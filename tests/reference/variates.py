"""Random variates and the process of `FallingGaussianProcess`, one number after the other.

The uniform numbers are those of the generator, in the order in which the library asks for them. Sums are plain and from left to
right: what is compared with them is compared to the last bit.
"""

import math

import numpy as np

from rotting.policies.kernels.elementary import exp, log

GRID = 65
JITTER = 1e-6


def uniforms(rng: np.random.Generator, low: float, high: float, size: int) -> list[float]:
    return [low + (high - low) * rng.random() for _ in range(size)]


def normals(rng: np.random.Generator, size: int) -> list[float]:
    """The polar method: a point in the disc gives two numbers; those of all first coordinates come first."""
    found: list[float] = []
    while len(found) < size:
        pairs = 2 * (size - len(found)) // 3 + 8
        us = uniforms(rng, -1.0, 1.0, pairs)
        vs = uniforms(rng, -1.0, 1.0, pairs)
        points = [(u, v) for u, v in zip(us, vs, strict=True) if 0.0 < u * u + v * v < 1.0]
        scales = [math.sqrt(-2.0 * log(u * u + v * v) / (u * u + v * v)) for u, v in points]
        found += [u * scale for (u, _), scale in zip(points, scales, strict=True)]
        found += [v * scale for (_, v), scale in zip(points, scales, strict=True)]
    return found[:size]


def gammas(rng: np.random.Generator, a: float, size: int) -> list[float]:
    """Marsaglia and Tsang's rejection, all that are missing at a time; both of their tests."""
    found = [math.nan] * size
    d = (a if a >= 1.0 else a + 1.0) - 1.0 / 3.0
    missing = list(range(size))
    while missing:
        xs, us = normals(rng, len(missing)), uniforms(rng, 0.0, 1.0, len(missing))
        left = []
        for k, x, u in zip(missing, xs, us, strict=True):
            root = 1.0 + x / math.sqrt(9.0 * d)
            v = root * root * root
            if v > 0.0 and (u < 1.0 - 0.0331 * (x * x) * (x * x) or log(u) < 0.5 * (x * x) + d - d * v + d * log(v)):
                found[k] = d * v
            else:
                left.append(k)
        missing = left
    if a < 1.0:
        found = [x * exp(log(u) / a) for x, u in zip(found, uniforms(rng, 0.0, 1.0, size), strict=True)]
    return found


def covariance_root(length: float) -> list[list[float]]:
    """Cholesky's lower triangle: every entry of the covariance, less the products of the columns before."""
    left = [[exp(-(((g - h) / 64 / length) * ((g - h) / 64 / length)) / 2) for h in range(GRID)] for g in range(GRID)]
    for g in range(GRID):
        left[g][g] += JITTER
    root = [[0.0] * GRID for _ in range(GRID)]
    for h in range(GRID):
        for g in range(h, GRID):
            total = left[g][h]
            for j in range(h):
                total -= root[g][j] * root[h][j]
            root[g][h] = math.sqrt(total) if g == h else total / root[h][h]
    return root


def falling_gaussian_process(
    rng: np.random.Generator, n_arms: int, horizon: int, low: float, high: float, length: float, spread: float
) -> list[list[float]]:
    """The means `[arm][tick]`."""
    one, two = uniforms(rng, low, high, n_arms), uniforms(rng, low, high, n_arms)
    root, drawn = covariance_root(length), normals(rng, GRID * n_arms)
    rows = []
    for i in range(n_arms):
        start, end = max(one[i], two[i]), min(one[i], two[i])
        rates = []
        for g in range(GRID):
            total = 0.0
            for h in range(GRID):
                total += root[g][h] * drawn[h * n_arms + i]
            rates.append(exp(spread * total))
        passed, total = [0.0], 0.0
        for x in range(horizon):
            place = x * ((GRID - 1) / (horizon - 1)) if 0 < x < horizon - 1 else 0.0 if x == 0 else GRID - 1.0
            left = min(int(place), GRID - 2)
            total += rates[left] + (place - left) * (rates[left + 1] - rates[left])
            passed.append(total)
        rows.append([start - (start - end) * (each / passed[-1]) for each in passed[:-1]])
    return rows
