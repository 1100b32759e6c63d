"""Exp3, Exp3.S and Rexp3, with their tunings."""

import math
from collections.abc import Sequence

from rotting.policies.kernels.elementary import exp, log, power
from tests.reference.policy import Bounded, Draws


def pick(p: Sequence[float], arms: Sequence[int], u: float) -> int:
    """The first arm whose cumulative probability, in arm order, exceeds ``u`` (else the last arm)."""
    total = 0.0
    for i, p_i in zip(arms, p, strict=True):
        total += p_i
        if u < total:
            return i
    return arms[-1]


def log_sum_exp(xs: Sequence[float]) -> float:
    top = max(xs)
    return top if math.isinf(top) else top + log(math.fsum(exp(x - top) for x in xs))


class Exp3(Bounded):
    """Auer, Cesa-Bianchi, Freund, Schapire 2002, section 3: ``w_i *= exp(gamma x / (p_i K))``.

    ``p_i = (1 - gamma) w_i / W + gamma / |A|`` over the available arms A, with W the sum of their
    weights. Draw 0 picks the arm (see ``pick``). No first pulls: all the weights start equal. Weights
    are kept as logarithms. A reward is divided by the probability that its arm had in the round ``t`` it
    was drawn in, however late it comes.
    """

    def __init__(self, n_arms: int, *, gamma: float, uniform: Draws, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.gamma, self.uniform = gamma, uniform
        self.log_w = [0.0] * n_arms
        self.drawn: dict[int, dict[int, float]] = {}  # t -> arm -> probability

    def probabilities(self, arms: Sequence[int]) -> list[float]:
        log_W = log_sum_exp([self.log_w[i] for i in arms])
        return [(1 - self.gamma) * exp(self.log_w[i] - log_W) + self.gamma / len(arms) for i in arms]

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        p = self.probabilities(arms)
        self.drawn[t] = dict(zip(arms, p, strict=True))
        return pick(p, arms, self.uniform(t, 0))

    def gain(self, t: int, arm: int, reward: float) -> float:
        """``gamma xhat / K`` of the arm that was played."""
        return self.gamma * (self.mapped(reward) / self.drawn[t][arm]) / self.n_arms

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        self.log_w[arm] += self.gain(t, arm, reward)


class Exp3S(Exp3):
    """Auer et al. 2002, section 8: Exp3 with weights that are shared.

    ``w_i = w_i exp(gamma xhat_i / K) + (e alpha / K) W`` for all i: ``W`` is the total of all the
    weights before the update. Draw 0 picks the arm.
    """

    def __init__(self, n_arms: int, *, gamma: float, alpha: float, uniform: Draws, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms, gamma=gamma, uniform=uniform, low=low, high=high)
        self.alpha = alpha

    def update(self, t: int, arm: int, reward: float) -> None:
        log_W = log_sum_exp(self.log_w)
        super().update(t, arm, reward)
        if self.alpha > 0:
            shared = log(math.e * self.alpha / self.n_arms) + log_W
            self.log_w = [log_sum_exp([x, shared]) for x in self.log_w]


class Rexp3(Exp3):
    """Besbes, Gur, Zeevi 2014: Exp3 that forgets its weights every ``batch`` rounds (1, 1 + batch, ...).

    Draw 0 picks the arm. A reward drawn in a former batch is ignored.
    """

    def __init__(self, n_arms: int, *, gamma: float, batch: int, uniform: Draws, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms, gamma=gamma, uniform=uniform, low=low, high=high)
        self.batch, self.current = batch, 0

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        if (t - 1) // self.batch != self.current:
            self.current = (t - 1) // self.batch
            self.log_w = [0.0] * self.n_arms
        return super().choose(t, arms)

    def update(self, t: int, arm: int, reward: float) -> None:
        if (t - 1) // self.batch == self.current:
            super().update(t, arm, reward)


def exp3_gamma(K: int, T: int) -> float:
    """Auer et al. 2002, corollary 3.2."""
    return min(1.0, math.sqrt(K * log(K) / ((math.e - 1) * T)))


def exp3s_gamma(K: int, T: int) -> float:
    """Auer et al. 2002, section 8, with ``alpha = 1 / T``: T only."""
    return min(1.0, math.sqrt(K * log(K * T) / T))


def exp3s_gamma_switches(K: int, T: int, S: float) -> float:
    """Auer et al. 2002, section 8, with ``alpha = 1 / T``: hardness S (1 + the number of switches)."""
    return min(1.0, math.sqrt(K * (S * log(K * T) + math.e) / ((math.e - 1) * T)))


def exp3s_gamma_budget(K: int, T: int, V: float) -> float:
    """Besbes et al. 2019, with ``alpha = 1 / T``: variation budget V."""
    return min(1.0, power(4 * V * K * log(K * T) / ((math.e - 1) ** 2 * T), 1 / 3))


def rexp3_batch(K: int, T: int, V: float) -> int:
    """Besbes et al. 2014, cut to 1, ..., T; their gamma is ``exp3_gamma(K, batch)``."""
    return min(T, max(1, math.ceil(power(K * log(K), 1 / 3) * power(T / V, 2 / 3))))
