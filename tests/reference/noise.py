"""The scale of the noise that a policy was not told, from the lists of all rewards."""

import itertools
import math
import statistics
from collections.abc import Sequence

Sigma = float | str  # a number, or "estimate"; also "range" where a policy is told the range of the rewards

PRIOR_PAIRS = 150


def squared_differences(xs: Sequence[float]) -> list[float]:
    """Those of neighbours."""
    return [(b - a) * (b - a) for a, b in itertools.pairwise(xs)]


def before_any_difference(rewards: Sequence[Sequence[float]]) -> float:
    """A variance from the arms' first rewards: theirs, or the square of the largest, or 1."""
    first = [xs[0] for xs in rewards if xs]
    spread = statistics.variance(first) if len(first) > 1 else 0.0
    return spread or max((x * x for x in first), default=0.0) or 1.0


def estimated_sigma(rewards: Sequence[Sequence[float]], i: int) -> float:
    """``v_i = (D_i + 2 c V) / (2 (n_i + c))`` with D_i the sum of arm i's n_i squared differences of neighbours.

    ``V = sum of D / (2 sum of n)``, over all arms. Returns the root of v_i.
    """
    squares = [squared_differences(xs) for xs in rewards]
    every = [square for arm in squares for square in arm]
    pool = math.fsum(every) / (2 * len(every)) if any(every) else before_any_difference(rewards)
    return math.sqrt((math.fsum(squares[i]) + 2 * PRIOR_PAIRS * pool) / (2 * (len(squares[i]) + PRIOR_PAIRS)))


def sigma_of(sigma: Sigma, rewards: Sequence[Sequence[float]], i: int) -> float:
    """The scale of arm i's noise: as given, or estimated from all rewards."""
    return estimated_sigma(rewards, i) if isinstance(sigma, str) else sigma
