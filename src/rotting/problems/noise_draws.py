"""The kernels of the noises, `draw(mean, scale, key, run, arm, clock)`, which are compiled into the game.

They take uniform numbers from `reward_uniform`, so a reward is a pure function of (key, run, arm, clock).
"""

import math

from rotting.common.arrays import Floats
from rotting.kernels.binding import slot
from rotting.kernels.elementary import exp, log, log1p
from rotting.kernels.random_numbers import normal_quantile, reward_uniform

_CHUNK = 500  # trials, or mean, of one inversion: its first probability, 0.5**500 or exp(-500), is still a normal number
_GRAIN = 1e-18  # inversion stops below this probability: rounding may leave this much of u for ever


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
