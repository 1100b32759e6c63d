"""Sums of rewards as pairs `high + low`, which have 106 bits together.

The sum of a window is the difference of two such sums, and is correctly rounded. With rewards around 1e6, or with ten million
rewards, policies make the choices of exact arithmetic. (Beside a total of 1e6, only rewards below 1e-15 are rounded.)
"""

from rotting.policies.kernels.elementary import exact_product


def add(high: float, low: float, x: float) -> tuple[float, float]:
    """Return the pair `high + low + x` (Knuth's two-sum, then renormalised)."""
    total = high + x
    shadow = total - high
    error = (high - (total - shadow)) + (x - shadow) + low
    rounded = total + error
    return rounded, error - (rounded - total)


def subtract(high: float, low: float, other_high: float, other_low: float) -> tuple[float, float]:
    """Return the pair `(high + low) - (other_high + other_low)`, renormalised.

    Example:
        >>> subtract(1.0, 2.0**-60, 0.5, 0.0)
        (0.5, 8.673617379884035e-19)
    """
    total = high - other_high
    shadow = total - high
    error = (high - (total - shadow)) - (other_high + shadow) + (low - other_low)
    rounded = total + error
    return rounded, error - (rounded - total)


def difference(high: float, low: float, other_high: float, other_low: float) -> float:
    """Return `(high + low) - (other_high + other_low)`, rounded once."""
    rounded, _ = subtract(high, low, other_high, other_low)
    return rounded


def times(high: float, low: float, factor: float) -> tuple[float, float]:
    """Return the pair `(high + low) factor` (Dekker's product, then renormalised).

    Example:
        >>> times(0.1, 0.0, 0.1)
        (0.010000000000000002, -8.326672684688674e-19)
    """
    product, error = exact_product(high, factor)
    error += low * factor
    rounded = product + error
    return rounded, error - (rounded - product)
