"""The sum of the first n rewards of every arm, for every n: the means of all windows.

They are the fields `pulls` [K], and `high` and `low` [K, capacity + 1], of a state.
"""

from typing import Any

from rotting.kernels.exact_sums import add, difference


def append(s: Any, i: int, reward: float) -> None:
    """Append a reward to arm i."""
    n = s.pulls[i]
    s.high[i, n + 1], s.low[i, n + 1] = add(s.high[i, n], s.low[i, n], reward)
    s.pulls[i] = n + 1


def window_mean(s: Any, i: int, h: int) -> float:
    """Return the mean of arm i's last h rewards, rounded once in the sum and once in the division."""
    n = s.pulls[i]
    return difference(s.high[i, n], s.low[i, n], s.high[i, n - h], s.low[i, n - h]) / h
