"""The least concave majorant of prefix sums by exact fractions: Andrew's monotone chain."""

from collections.abc import Sequence
from fractions import Fraction


def prefix_sums(rewards: Sequence[float]) -> list[Fraction]:
    """P_0 = 0, P_1, ..., P_N."""
    sums = [Fraction(0)]
    for reward in rewards:
        sums.append(sums[-1] + Fraction(reward))
    return sums


def vertices(rewards: Sequence[float]) -> list[int]:
    """The pulls k at which (k, P_k) is a vertex of the upper hull, both ends included; points on a line are none."""
    sums = prefix_sums(rewards)
    chain: list[int] = []
    for k, height in enumerate(sums):
        while len(chain) > 1:
            a, b = chain[-2], chain[-1]
            if (height - sums[b]) * (b - a) < (sums[b] - sums[a]) * (k - b):
                break  # the slope falls at b
            chain.pop()
        chain.append(k)
    return chain
