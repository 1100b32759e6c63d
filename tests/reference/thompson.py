"""Thompson sampling, with a discount and with a sliding window."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from tests.reference.forgetting import Timed
from tests.reference.policy import Draws, argmax, to_unit


class Stream:
    """The draws of one round, in order."""

    def __init__(self, uniform: Draws, t: int) -> None:
        self.function, self.t, self.draw = uniform, t, 0

    def uniform(self) -> float:
        u = self.function(self.t, self.draw)
        self.draw += 1
        return u

    def normal(self) -> float:
        return NormalDist().inv_cdf(self.uniform())

    def gamma(self, a: float) -> float:
        """Marsaglia, Tsang 2000, without the squeeze: each trial takes a normal and then a uniform.

        For a < 1: the variate for a + 1 first, then one more uniform u, and the product with ``u^(1 / a)``.
        """
        if a < 1:
            x = self.gamma(a + 1)
            return x * math.pow(self.uniform(), 1 / a)
        d = a - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            z = self.normal()
            u = self.uniform()
            v = (1 + c * z) ** 3
            if v > 0 and math.log(u) < z * z / 2 + d - d * v + d * math.log(v):
                return d * v

    def beta(self, a: float, b: float) -> float:
        """``x / (x + y)`` with x a gamma variate of shape a and then y one of shape b."""
        x = self.gamma(a)
        y = self.gamma(b)
        return x / (x + y)


class ThompsonSampling(Timed):
    """Thompson 1933; Agrawal, Goyal 2012: draw each available arm's mean, play the largest.

    ``beta``: Beta(a + sum x, b + sum (1 - x)), fractional rewards counted as such. ``gaussian``: N(mean,
    sigma^2 / N), a flat prior. An arm never pulled is played first. Variates in arm order from one
    stream of draws: a Gaussian takes one draw, a Beta the draws of its two gammas (see ``Stream``).
    """

    def __init__(
        self,
        n_arms: int,
        *,
        uniform: Draws,
        kind: str = "beta",
        a: float = 1.0,
        b: float = 1.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        gamma: float = 1.0,
        tau: float = math.inf,
    ) -> None:
        super().__init__(n_arms)
        self.uniform, self.kind, self.a, self.b, self.sigma = uniform, kind, a, b, sigma
        self.low, self.high = low, high
        self.gamma, self.tau = gamma, tau

    def weights(self, i: int, t: int) -> list[float]:
        """How much each reward of arm i counts at round t: one of round s counts ``gamma^(t - 1 - s)`` if ``s >= t - tau``."""
        discounts = zip(self.discounts(i, t, self.gamma), self.rounds[i], strict=True)
        return [discount if s >= t - self.tau else 0.0 for discount, s in discounts]

    def sample(self, i: int, t: int, stream: Stream) -> float:
        weights = self.weights(i, t)
        pairs = list(zip(weights, self.rewards[i], strict=True))
        if self.kind == "beta":
            successes = math.fsum(w * x for w, x in pairs)
            failures = math.fsum(w * (1 - x) for w, x in pairs)
            return stream.beta(self.a + successes, self.b + failures)
        N = math.fsum(weights)
        return math.fsum(w * x for w, x in pairs) / N + self.sigma / math.sqrt(N) * stream.normal()

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        if new is None and self.kind == "gaussian":  # nothing left in the window: the posterior is flat again
            new = next((i for i in arms if math.fsum(self.weights(i, t)) == 0), None)
        if new is not None:
            return new
        stream = Stream(self.uniform, t)
        return argmax(lambda i: self.sample(i, t, stream), arms)

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, to_unit(reward, self.low, self.high) if self.kind == "beta" else reward)


class DiscountedTS(ThompsonSampling):
    """Raj, Kalyani 2017 (beta); Qi et al. 2023 (gaussian): a reward of round s counts ``gamma^(t - 1 - s)``.

    The prior is not discounted. Draws as in ThompsonSampling.
    """


class SlidingWindowTS(ThompsonSampling):
    """Trovò et al. 2020: only the rewards of rounds t - tau, ..., t - 1 count, for every arm.

    An arm with no reward left in the window has its prior again (beta) or is played at once (gaussian).
    Draws as in ThompsonSampling.
    """
