"""Policies that forget at a rate: SW-UCB, D-UCB, SWA and wSWA, with their tunings."""

import math
from collections.abc import Sequence

from rotting.policies.kernels.elementary import log, power
from tests.reference.noise import Sigma, sigma_of
from tests.reference.policy import Policy, argmax, mean


class Timed(Policy):
    """A history that also remembers the round of every reward."""

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self.rounds: list[list[int]] = [[] for _ in range(n_arms)]

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        self.rounds[arm].append(t)

    def since(self, i: int, start: int) -> list[float]:
        """The rewards of arm i from rounds ``start`` and later."""
        return [x for s, x in zip(self.rounds[i], self.rewards[i], strict=True) if s >= start]

    def discounts(self, i: int, t: int, gamma: float) -> list[float]:
        """``gamma^(t - 1 - s)`` for every reward of arm i: 1 for the round before ``t``."""
        return [gamma ** (t - 1 - s) for s in self.rounds[i]]


class Ranged(Timed):
    """UCB of rewards in [0, B]: B is twice the scale of their noise, if no other is given."""

    def __init__(self, n_arms: int, *, B: float, sigma: Sigma) -> None:
        super().__init__(n_arms)
        self.B, self.sigma = B, sigma

    def range_of(self, i: int) -> float:
        return self.B if self.sigma == "range" else 2 * sigma_of(self.sigma, self.received, i)


class SWUCB(Ranged):
    """Garivier, Moulines 2011: UCB on the rounds t - tau, ..., t - 1.

    ``mean + B sqrt(xi ln(min(t, tau)) / N)``; an arm with no pull in the window is played at once.
    """

    def __init__(self, n_arms: int, *, tau: int, xi: float = 0.6, B: float = 1.0, sigma: Sigma = "range") -> None:
        super().__init__(n_arms, B=B, sigma=sigma)
        self.tau, self.xi = tau, xi

    def index(self, t: int, i: int) -> float:
        xs = self.since(i, t - self.tau)
        if not xs:
            return math.inf
        return mean(xs) + self.range_of(i) * math.sqrt(self.xi * log(min(t, self.tau)) / len(xs))

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        return argmax(lambda i: self.index(t, i), self.available(arms))


class DUCB(Ranged):
    """Garivier, Moulines 2011: a reward of round s counts ``gamma^(t - 1 - s)``, for every arm.

    ``mean + 2 B sqrt(xi ln n / N)`` with n the sum of every arm's discounted count N (ln n cut at 0).
    """

    def __init__(self, n_arms: int, *, gamma: float, xi: float = 0.6, B: float = 1.0, sigma: Sigma = "range") -> None:
        super().__init__(n_arms, B=B, sigma=sigma)
        self.gamma, self.xi = gamma, xi

    def index(self, t: int, i: int) -> float:
        weights = self.discounts(i, t, self.gamma)
        N = math.fsum(weights)
        if N == 0:
            return math.inf
        average = math.fsum(w * x for w, x in zip(weights, self.rewards[i], strict=True)) / N
        n = math.fsum(w for j in range(self.n_arms) for w in self.discounts(j, t, self.gamma))
        return average + 2 * self.range_of(i) * math.sqrt(self.xi * max(0.0, log(n)) / N)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        return argmax(lambda i: self.index(t, i), arms) if new is None else new


def swucb_tau(T: int, Y: float, B: float = 1.0) -> int:
    """Garivier, Moulines 2011, for Y breakpoints, cut to 1, ..., T."""
    return min(T, max(1, math.ceil(2 * B * math.sqrt(T * log(T) / Y)))) if Y > 0 else T


def ducb_gamma(T: int, Y: float, B: float = 1.0) -> float:
    """Garivier, Moulines 2011, for Y breakpoints."""
    return 1 - math.sqrt(Y / T) / (4 * B)


def swa_window(K: int, T: int, alpha: float, sigma: float) -> int:
    """``M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln^(1/3)(sqrt(2) T))``, at most T."""
    length = log(math.sqrt(2) * T)
    scale = power(4, 2 / 3) * power(sigma, 2 / 3) * power(K, -2 / 3)
    return min(T, math.ceil(alpha * scale * power(T, 2 / 3) * power(length, 1 / 3)))


class SWA(Timed):
    """Levine, Crammer, Mannor 2017: round-robin up to M pulls each, then the best mean of the last M.

    Round-robin over the available arms with fewer than M pulls: fewest pulls, then lowest arm.
    """

    def __init__(self, n_arms: int, *, horizon: int, M: int = 0, alpha: float = 0.2, sigma: float = 1.0) -> None:
        super().__init__(n_arms)
        self.horizon, self.M, self.alpha, self.sigma = horizon, M, alpha, sigma

    def epoch(self, t: int) -> tuple[int, int]:
        """First round and length of the game that round t belongs to."""
        del t
        return 1, self.horizon

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        start, length = self.epoch(t)
        M = swa_window(self.n_arms, length, self.alpha, self.sigma) if length > 0 else self.M
        known = {i: self.since(i, start) for i in arms}
        short = [i for i in arms if len(known[i]) < M]
        if short:
            return min(short, key=lambda i: (len(known[i]), i))
        return argmax(lambda i: mean(known[i][-M:]), arms)


class WSWA(SWA):
    """Levine, Crammer, Mannor 2017: SWA from nothing with horizon 1, 2, 4, ... (rounds 1, 2-3, 4-7, ...)."""

    def __init__(self, n_arms: int, *, alpha: float = 0.2, sigma: float = 1.0) -> None:
        super().__init__(n_arms, horizon=0, alpha=alpha, sigma=sigma)

    def epoch(self, t: int) -> tuple[int, int]:
        length = 1
        while 2 * length <= t:
            length *= 2
        return length, length
