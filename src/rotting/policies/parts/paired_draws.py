"""Thompson sampling with two draws for each arm, x and y: the probability that an arm has the largest f(x, y).

x and y have Beta distributions; f is the minimum, the maximum or the mean. The probability is the integral of the arm's density
times the product of the other arms' distribution functions. All are tabulated at the same points z = q(k / size), where
q(u) = u^3 (10 - 15 u + 6 u^2). As q is flat at both ends, functions of k are smooth there even where a density has an edge, as
that of Beta(1, 2) has at 0. So sums over the points are integrals, to many digits. Since 1 - q(u) = q(1 - u), tables of 1 - z
are those of z, read backwards.
"""

import math

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.rules import option
from rotting.policies.kernels.elementary import ceil, exp, log

AGGREGATION = option("min", "max", "mean")
MIN, MAX, MEAN = 0, 1, 2

_STEP = 4  # the inner integral of "mean" needs no distribution function: a quarter of the points is enough


def winning_probabilities(f: int, shapes: Floats, out: Floats) -> None:
    """Write into `out` the probability that each arm's f(x, y) is the largest, for x and y of the Beta distributions `shapes`.

    Args:
        f: the position of the word in `AGGREGATION`.
        shapes: [K, 4] a and b of x, then of y; all are 1 or more.
        out: [K].
    """
    largest = 0.0
    for k in range(out.size):
        largest = max(largest, shapes[k, 0] + shapes[k, 1], shapes[k, 2] + shapes[k, 3])
    size = 128 + 32 * ceil(math.sqrt(largest))  # six points, or more, in a standard deviation
    z, logs, steps = np.zeros(size + 1), np.zeros(size + 1), np.zeros(size + 1)
    for m in range(1, size):
        u = m / size
        z[m] = u * u * u * (10.0 - u * (15.0 - 6.0 * u))
        logs[m] = log(z[m])
        steps[m] = 30.0 * u * u * (1.0 - u) * (1.0 - u) / size  # dz: from one point to the next
    mass, below = np.zeros((out.size, size + 1)), np.zeros((out.size, size + 1))
    if f == MEAN:
        _tabulate_mean(shapes, z, logs, steps, mass, below)
    else:
        _tabulate_extreme(f, shapes, logs, steps, mass, below)
    for k in range(out.size):
        out[k] = 0.0
    for m in range(1, size):
        product = 1.0
        for k in range(out.size):
            product *= below[k, m]
        if product > 0.0:
            for k in range(out.size):
                out[k] += mass[k, m] * (product / below[k, m])
    out /= out.sum()


def _tabulate_beta(a: float, b: float, logs: Floats, steps: Floats, mass: Floats) -> float:
    """Write the density of Beta(a, b) times dz into `mass`, and return the logarithm of the beta function B(a, b)."""
    size = logs.size - 1
    peak = -math.inf
    for m in range(1, size):
        peak = max(peak, (a - 1.0) * logs[m] + (b - 1.0) * logs[size - m])
    total = 0.0
    for m in range(1, size):
        mass[m] = steps[m] * exp((a - 1.0) * logs[m] + (b - 1.0) * logs[size - m] - peak)
        total += mass[m]
    for m in range(1, size):
        mass[m] /= total
    return peak + log(total)


def _accumulate(mass: Floats, below: Floats) -> None:
    """Write the distribution function into `below`: the trapezoidal rule, with the end correction of the sixth order."""
    size = mass.size - 1
    total = 0.0
    for m in range(1, size):
        near, far = mass[m + 1] - mass[m - 1], mass[min(m + 2, size)] - mass[max(m - 2, 0)]
        below[m] = max(0.0, total + 0.5 * mass[m] + (11.0 * far - 82.0 * near) / 1440.0)
        total += mass[m]


def _tabulate_extreme(f: int, shapes: Floats, logs: Floats, steps: Floats, mass: Floats, below: Floats) -> None:
    """Write density times dz, and distribution function, of each arm's min(x, y) or max(x, y)."""
    x, y, x_below, y_below = np.zeros(logs.size), np.zeros(logs.size), np.zeros(logs.size), np.zeros(logs.size)
    for k in range(shapes.shape[0]):
        _tabulate_beta(shapes[k, 0], shapes[k, 1], logs, steps, x)
        _tabulate_beta(shapes[k, 2], shapes[k, 3], logs, steps, y)
        _accumulate(x, x_below)
        _accumulate(y, y_below)
        if f == MAX:
            mass[k] = x * y_below + y * x_below
            below[k] = x_below * y_below
        else:
            mass[k] = x * (1.0 - y_below) + y * (1.0 - x_below)
            below[k] = x_below + y_below - x_below * y_below


def _tabulate_mean(shapes: Floats, z: Floats, logs: Floats, steps: Floats, mass: Floats, below: Floats) -> None:
    """Write density times dz, and distribution function, of each arm's (x + y) / 2.

    For z <= 1/2, x runs from 0 to d = 2 z: x = d q and y = d (1 - q), with the points of z for q. For larger z, the same holds
    for 1 - x and 1 - y, whose Beta distributions have a and b exchanged.
    """
    size = logs.size - 1
    unused, rest, constants = np.zeros(size + 1), np.zeros(size + 1), np.zeros(shapes.shape[0])
    for k in range(shapes.shape[0]):
        constants[k] = _tabulate_beta(shapes[k, 0], shapes[k, 1], logs, steps, unused)
        constants[k] += _tabulate_beta(shapes[k, 2], shapes[k, 3], logs, steps, unused)
    for m in range(1, size // 2 + 1):
        d = 2.0 * z[m]
        for j in range(_STEP, size, _STEP):
            rest[j] = log(1.0 - d + d * z[size - j])  # ln(1 - d q)
        for k in range(shapes.shape[0]):
            a, b, c, e = shapes[k, 0], shapes[k, 1], shapes[k, 2], shapes[k, 3]
            mass[k, m] = steps[m] * _density_of_mean(a, b, c, e, constants[k], d, logs, rest, steps)
            mass[k, size - m] = steps[m] * _density_of_mean(b, a, e, c, constants[k], d, logs, rest, steps)
    for k in range(shapes.shape[0]):
        _accumulate(mass[k], below[k])


def _density_of_mean(
    a: float, b: float, c: float, e: float, constant: float, d: float, logs: Floats, rest: Floats, steps: Floats
) -> float:
    """Return the density of (x + y) / 2 at d / 2, for x of Beta(a, b) and y of Beta(c, e)."""
    size, log_d = logs.size - 1, log(d)
    total = 0.0
    for j in range(_STEP, size, _STEP):
        log_x, log_y = log_d + logs[j], log_d + logs[size - j]
        log_density = (a - 1.0) * log_x + (b - 1.0) * rest[j] + (c - 1.0) * log_y + (e - 1.0) * rest[size - j]
        total += _STEP * steps[j] * exp(log_density - constant)
    return 2.0 * d * total
