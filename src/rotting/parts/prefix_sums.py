"""The sum of the first n rewards of every arm, for every n: the means of all windows.

They are the fields `pulls` [K], and `high` and `low` [K, capacity + 1], of a state.
"""

from typing import Protocol

from rotting.common.arrays import Floats, Ints
from rotting.kernels.exact_sums import add, difference


class HasPrefixSums(Protocol):
    """A state, or a part of one, with the sums of the first rewards of every arm."""

    @property
    def pulls(self) -> Ints:
        """[K] number of rewards of each arm."""

    @property
    def high(self) -> Floats:
        """[K, capacity + 1] sum of the first n rewards, as high + low."""

    @property
    def low(self) -> Floats:
        """[K, capacity + 1] the rest of these sums."""


def append(s: HasPrefixSums, i: int, reward: float) -> None:
    """Append a reward to arm i."""
    n = s.pulls[i]
    s.high[i, n + 1], s.low[i, n + 1] = add(s.high[i, n], s.low[i, n], reward)
    s.pulls[i] = n + 1


def window_mean(s: HasPrefixSums, i: int, h: int) -> float:
    """Return the mean of arm i's last h rewards, rounded once in the sum and once in the division."""
    n = s.pulls[i]
    return difference(s.high[i, n], s.low[i, n], s.high[i, n - h], s.low[i, n - h]) / h
