"""The divergences of kl-UCB and of the tests for changes, with their upper bounds by bisection."""

import math

from rotting.policies.kernels.elementary import log


def kl_bernoulli(x: float, y: float) -> float:
    """``x ln(x / y) + (1 - x) ln((1 - x) / (1 - y))``, with ``0 ln 0 = 0``."""

    def term(a: float, b: float) -> float:
        if a == 0:
            return 0.0
        return a * log(a / b) if b > 0 else math.inf

    return term(x, y) + term(1 - x, 1 - y)


def kl_gaussian(x: float, y: float, sigma: float) -> float:
    return (x - y) ** 2 / (2 * sigma**2)


def kl_bernoulli_upper(x: float, d: float) -> float:
    """``sup{q in [x, 1]: kl(x, q) <= d}``: bisection until no float is left between the ends."""
    low, high = x, 1.0
    while True:
        q = (low + high) / 2
        if not low < q < high:
            return low
        if kl_bernoulli(x, q) <= d:
            low = q
        else:
            high = q


def upper(kind: str, x: float, d: float, sigma: float) -> float:
    """``sup{q: kl(x, q) <= d}`` for the Bernoulli or the Gaussian divergence."""
    if kind == "bernoulli":
        return 1.0 if x >= 1 else kl_bernoulli_upper(max(0.0, x), d)
    return x + sigma * math.sqrt(2 * d)


def exploration(n: int, c: float) -> float:
    """``ln n + c ln ln n``, the second logarithm cut at 0 where it is negative or undefined (n < e)."""
    return log(n) + c * log(max(1.0, log(n)))
