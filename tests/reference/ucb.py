"""Policies that forget nothing: UCB1, kl-UCB and the uniform policy."""

import math
from collections.abc import Sequence

from rotting.policies.kernels.elementary import log
from tests.reference.divergences import exploration, upper
from tests.reference.noise import Sigma, sigma_of
from tests.reference.policy import Bounded, Draws, Policy, argmax, mean


class UCB1(Policy):
    """Auer, Cesa-Bianchi, Fischer 2002: the largest ``mean + sigma sqrt(2 ln t / N)``."""

    def __init__(self, n_arms: int, *, sigma: Sigma = 1.0) -> None:
        super().__init__(n_arms)
        self.sigma = sigma

    def index(self, t: int, i: int) -> float:
        xs = self.rewards[i]
        return mean(xs) + sigma_of(self.sigma, self.received, i) * math.sqrt(2 * log(t) / len(xs))

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        return argmax(lambda i: self.index(t, i), arms) if new is None else new


class Uniform(Policy):
    """An available arm at random: ``arms[floor(u * len(arms))]``, with ``u = uniform(t, 0)``."""

    def __init__(self, n_arms: int, *, uniform: Draws) -> None:
        super().__init__(n_arms)
        self.uniform = uniform

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        return arms[math.floor(self.uniform(t, 0) * len(arms))]


class KLUCB(Bounded):
    """Garivier, Cappé 2011: the largest ``sup{q: N kl(mean, q) <= ln t + c ln ln t}``.

    Gaussian rewards are not mapped.
    """

    def __init__(
        self, n_arms: int, *, kind: str = "bernoulli", c: float = 0.0, sigma: float = 1.0, low: float = 0.0, high: float = 1.0
    ) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.kind, self.c, self.sigma = kind, c, sigma

    def mapped(self, reward: float) -> float:
        return super().mapped(reward) if self.kind == "bernoulli" else reward

    def index(self, t: int, i: int) -> float:
        xs = self.rewards[i]
        return upper(self.kind, mean(xs), exploration(t, self.c) / len(xs), self.sigma)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        return argmax(lambda i: self.index(t, i), arms) if new is None else new
