"""What the slow, obvious references share, and the rules that all of them keep.

The modules of this folder hold the publications' definitions; everything fast is compared with them.

Written from the papers' text, independently of ``rotting.policies`` and ``rotting.policies.parts``. Shared rules:

- ``choose(t, arms)``: ``t`` = 1, 2, ... is the round about to be played, ``arms`` the available arms in
  increasing order (all of them by default). ``update(t, arm, reward)`` follows, with the same ``t``.
- A sum of rewards is ``math.fsum`` of the rewards themselves: correctly rounded, so no rounding history.
- First pulls go in the order of the arms; ties go to the lowest arm (FEWA: fewest pulls, then lowest arm).
- Randomness is a function ``uniform(t, draw)``, below 1 and above 0; each class says what its draws 0,
  1, ... are for. Draws are numbered from 0 again at every round and only those that are used are
  counted.
- An arm that the algorithm knows nothing of (never pulled; or, where the class says so, no sample since
  its restart or in its window) is played at once, the lowest first, before any coin or schedule, and
  uses no draw. (Not for the exponential weights and Uniform, which have no first pulls.)
- ``K`` in a formula is ``n_arms``, and a sum over arms is over all of them, also while ``arms`` leaves
  some out (RAW-UCB++ and EFF-RAW-UCB++: the number of available arms); probabilities are spread over
  the available arms only.
- Rewards that a publication wants in [0, 1] are mapped there, one by one, by ``(reward - low) / (high -
  low)``, cut to [0, 1].
"""

import math
from collections.abc import Callable, Sequence

Draws = Callable[[int, int], float]  # (t, draw) -> a number between 0 and 1


def mean(xs: Sequence[float]) -> float:
    return math.fsum(xs) / len(xs)


def argmax(index: Callable[[int], float], arms: Sequence[int]) -> int:
    """Arm of the largest index; the first of them on a tie."""
    best, best_index = arms[0], index(arms[0])
    for i in arms[1:]:
        value = index(i)
        if value > best_index:
            best, best_index = i, value
    return best


class Policy:
    """What the policies share: the full history of every arm.

    ``rewards`` may be mapped, or forgotten in part; ``received`` has all of them as they came.
    """

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.received: list[list[float]] = [[] for _ in range(n_arms)]

    def available(self, arms: Sequence[int] | None) -> list[int]:
        return list(range(self.n_arms)) if arms is None else list(arms)

    def never_pulled(self, arms: Sequence[int]) -> int | None:
        """The first available arm without a reward, or None."""
        return next((i for i in arms if not self.rewards[i]), None)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        raise NotImplementedError

    def mapped(self, reward: float) -> float:
        return reward

    def update(self, t: int, arm: int, reward: float) -> None:
        self.received[arm].append(reward)
        self.rewards[arm].append(self.mapped(reward))


def to_unit(reward: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (reward - low) / (high - low)))


class Bounded(Policy):
    """A policy for rewards in [0, 1]: ``rewards`` holds them mapped from the declared range."""

    def __init__(self, n_arms: int, *, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms)
        self.low, self.high = low, high

    def mapped(self, reward: float) -> float:
        return to_unit(reward, self.low, self.high)
