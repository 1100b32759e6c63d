"""f-dsw TS: Thompson sampling that sees every arm twice, through a discount and through a window of its own pulls."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT, FINITE, FRACTION, option
from rotting.kernels.elementary import ceil, exp, log, power
from rotting.kernels.exact_sums import add
from rotting.parts.discounts import Discounted, add_discounted, discount_to, forget_discounted, new_discounted, start_discounted
from rotting.parts.first_pulls import first_new
from rotting.parts.posteriors import sample
from rotting.parts.reward_scale import BOUNDED, OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, Reason, parameter

AGGREGATION = option("min", "max", "mean")
MIN, MAX, MEAN = 0, 1, 2


class FDSWTS(Policy):
    """f-discounted sliding-window Thompson sampling: one draw from all rewards, discounted, one from the last n of the arm.

    Draws two means for each arm and plays the arm with the largest `f(x_i, y_i)`:

    - `x_i` from Beta(1 + S_i, 1 + F_i), where the counts `S_i` and `F_i` of successes and failures start at 1, are multiplied
      by gamma in every round, whatever is played, and grow with the rewards of arm i;
    - `y_i` from Beta(1 + successes, 1 + failures) of the last n rewards of arm i, however old they are.

    Rewards are mapped from [low, high] to [0, 1]; one in between counts as that much of a success. Each arm once first, which
    the authors leave to the draws. An arm that is added later counts as if it had been there, unpulled, from round 1.

    Args:
        f: "min" (pessimistic: an arm must look good in both views), "max" (optimistic: in one of them), or "mean".
        gamma: discount of a round, in (0, 1]; about `1 / (1 - gamma)` rounds are remembered.
        n: window: how many of an arm's own rewards count.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: in the authors' experiments with abrupt changes, gamma and n are 0.99 and 50 for "max" and "mean", 0.95 and 75 for
    "min"; with slow changes, 0.99 and 25 for "max", 0.95 and 25 for "mean", 0.95 and 100 for "min".

    Needs to know the range in advance, and how fast means change, for gamma and n. Meant for restless arms; not sound for
    rested rotting, where an arm is as good after a rest as before. Propensities are integrals over the posteriors, to about
    1e-6; those of "mean" take time in proportion to the larger of n and 1 / (1 - gamma).

    Example:
        >>> FDSWTS("min", gamma=0.95, n=75)
        FDSWTS(f='min', gamma=0.95, n=75, low=0.0, high=1.0, outside='refuse')

    Reference: Cavenaghi, Sottocornola, Stella, Zanker, "Non stationary multi-armed bandit: empirical evaluation of a new
    concept drift-aware algorithm", Entropy 2021.
    """

    f: Literal["min", "max", "mean"] = parameter(AGGREGATION, "what is made of an arm's two draws", default="max")
    gamma: float = parameter(FRACTION, "discount: a reward of k rounds ago counts gamma**(k - 1)", default=0.99)
    n: int = parameter(COUNT, "window: how many of an arm's own rewards count", default=50)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "f-dsw-ts"
    title = "f-dsw TS"
    check = check_range
    needs_changes = True
    randomised = True
    restless = True
    memory = "O(K n)"


class State(NamedTuple):
    pulls: Ints  # [K] N_i
    discounted: Discounted
    last: Floats  # [K, min(n, capacity)] the last n rewards of the arm; a new one takes the place of the oldest
    high: Floats  # [K] their sum, as high + low
    low: Floats


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        pulls=np.zeros(n_arms, np.int64),
        discounted=new_discounted(n_arms),
        last=np.zeros((n_arms, min(p.n, capacity))),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
    )
    start_discounted(s.discounted, p.gamma)
    return s


def discounted_posterior(p: Params, s: State, t: int, i: int) -> tuple[float, float]:
    """Return 1 + S_i and 1 + F_i: of the 1 that each count starts at, round t still has gamma^(t - 1)."""
    number, successes = s.discounted.pulls_high[i], s.discounted.high[i]
    prior = 1.0 + power(p.gamma, t - 1.0)
    return prior + successes, prior + max(0.0, number - successes)


def window_posterior(p: Params, s: State, i: int) -> tuple[float, float]:
    """Return 1 + successes and 1 + failures among the last n rewards of arm i."""
    return 1.0 + s.high[i], 1.0 + max(0.0, min(s.pulls[i], p.n) - s.high[i])


def aggregate(p: Params, x: float, y: float) -> float:
    if p.f == MIN:
        return min(x, y)
    if p.f == MAX:
        return max(x, y)
    return 0.5 * (x + y)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    discount_to(s.discounted, t)
    arm = first_new(s, arms)
    if arm >= 0:
        return arm
    largest, draw = -1.0, 0
    for i in arms:
        a, b = discounted_posterior(p, s, t, i)
        x, draw = sample(BOUNDED, a, b, key, t, draw)
        a, b = window_posterior(p, s, i)
        y, draw = sample(BOUNDED, a, b, key, t, draw)
        value = aggregate(p, 1.0 / (1.0 + exp(-x)), 1.0 / (1.0 + exp(-y)))  # samples are log-odds
        if value > largest:  # strictly: ties go to the lowest arm
            arm, largest = int(i), value
    return arm


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    x = to_unit(p.low, p.high, reward)
    add_discounted(s.discounted, t, arm, x)
    place = s.pulls[arm] % p.n
    if s.pulls[arm] >= p.n:
        s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], -s.last[arm, place])
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], x)
    s.last[arm, place] = x
    s.pulls[arm] += 1


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return f of the two posterior means as the mean of arm i."""
    if s.pulls[i] == 0:
        return Reason(math.nan, math.nan, 0, math.inf)
    discount_to(s.discounted, t)
    a, b = discounted_posterior(p, s, t, i)
    c, d = window_posterior(p, s, i)
    mean = aggregate(p, a / (a + b), c / (c + d))
    return Reason(math.nan, p.low + (p.high - p.low) * mean, min(s.pulls[i], p.n), math.nan)


def forget(p: Params, s: State, arm: int) -> None:
    forget_discounted(s.discounted, arm)


# --- The probability that an arm has the largest f(x, y) ----------------------------------------------------------------------
#
# It is the integral of the arm's density times the product of the other arms' distribution functions. All are tabulated at the
# same points z = q(k / size), q(u) = u^3 (10 - 15 u + 6 u^2). As q is flat at both ends, functions of k are smooth there even
# where a density has an edge, as that of Beta(1, 2) has at 0. So sums over the points are integrals, to many digits. Since
# 1 - q(u) = q(1 - u), tables of 1 - z are those of z, read backwards.

_STEP = 4  # the inner integral of "mean" needs no distribution function: a quarter of the points is enough


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    new = first_new(s, arms)
    if new >= 0:
        for k in range(arms.size):
            out[k] = 1.0 if arms[k] == new else 0.0
        return
    discount_to(s.discounted, t)
    shapes = np.empty((arms.size, 4))  # a and b of x, a and b of y
    for k in range(arms.size):
        shapes[k, 0], shapes[k, 1] = discounted_posterior(p, s, t, arms[k])
        shapes[k, 2], shapes[k, 3] = window_posterior(p, s, arms[k])
    winning_probabilities(p.f, shapes, out)


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


FDSWTS.kernel = Kernel(init, choose, update, explain, propensities, forget)
