"""RAW-UCB and FEWA, their efficient versions and the later refinements: every window, or every statistic of EFF-UPDATE."""

import math
from collections.abc import Sequence

from rotting.policies.kernels.elementary import log, log1p
from tests.reference.divergences import upper
from tests.reference.noise import Sigma, sigma_of
from tests.reference.policy import Policy, argmax, mean, to_unit


def width(t: int, h: int, alpha: float, sigma: float) -> float:
    """``c(h, delta_t)`` with ``delta_t = 2 t**-alpha``."""
    return sigma * math.sqrt(2 * alpha * log(t) / h)


class AllWindows:
    """UPDATE: ``mean[h]`` is the mean of the last ``h`` samples, for every ``h`` up to their number."""

    def __init__(self) -> None:
        self.stream: list[float] = []
        self.windows: list[int] = []
        self.mean: dict[int, float | None] = {}

    def update(self, o: float) -> None:
        self.stream.append(o)
        self.windows = list(range(1, len(self.stream) + 1))
        self.mean = {h: mean(self.stream[-h:]) for h in self.windows}


class EffUpdate:
    """EFF_UPDATE, Algorithm 2 of the paper, line by line, for one arm.

    ``pending[h]`` is the list of the samples whose sum the paper calls ``p^h`` (so ``n^h`` is its length);
    ``samples[h] = (start, stop)`` says that ``mean[h]`` is over samples start, ..., stop - 1 of the stream.
    """

    def __init__(self, m: float) -> None:
        self.m = m
        self.stream: list[float] = []
        self.windows: list[int] = [1]
        self.mean: dict[int, float | None] = {1: None}
        self.pending: dict[int, list[float]] = {1: []}
        self.samples: dict[int, tuple[int, int] | None] = {1: None}

    def update(self, o: float) -> None:
        self.stream.append(o)
        N = len(self.stream)  # counted after the increment
        if max(self.windows) == N:  # lines 1-6: a new triplet
            new = math.ceil(self.m * N)
            self.windows.append(new)
            self.pending[new] = list(self.pending[N])
            self.mean[new] = None
            self.samples[new] = None
        self.pending[1] = [o]  # lines 7-9: the first triplet
        self.mean[1] = o
        self.samples[1] = (N - 1, N)
        for h in self.windows[1:]:  # lines 10-13: the other pending statistics
            self.pending[h].append(o)
        for j in range(len(self.windows) - 1, 0, -1):  # lines 14-20: refresh, in descending order
            h = self.windows[j]
            if len(self.pending[h]) == h:
                self.mean[h] = math.fsum(self.pending[h]) / h
                self.samples[h] = (N - h, N)
                self.pending[h] = list(self.pending[self.windows[j - 1]])


class Windowed(Policy):
    """The means of all windows of every arm."""

    def __init__(self, n_arms: int, *, alpha: float, sigma: Sigma) -> None:
        super().__init__(n_arms)
        self.alpha, self.sigma = alpha, sigma
        self.stats: list[AllWindows] | list[EffUpdate] = [AllWindows() for _ in range(n_arms)]

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        self.stats[arm].update(reward)


class RAWUCB(Windowed):
    """Algorithm 1: the largest ``min over h <= N_i of mean_i^h + c(h, delta_t)``."""

    def __init__(self, n_arms: int, *, alpha: float = 1.4, sigma: Sigma = 1.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)

    def width(self, t: int, h: int, sigma: float) -> float:
        return width(t, h, self.alpha, sigma)

    def index(self, t: int, i: int) -> float:
        means, sigma = self.stats[i].mean, sigma_of(self.sigma, self.received, i)
        return min(mu + self.width(t, h, sigma) for h, mu in means.items() if mu is not None)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        return argmax(lambda i: self.index(t, i), arms) if new is None else new


class EffRAWUCB(RAWUCB):
    """EFF-RAW-UCB: the same index over the windows of EFF_UPDATE that have a value."""

    def __init__(self, n_arms: int, *, alpha: float = 1.4, sigma: Sigma = 1.0, m: float = 2.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)
        self.stats = [EffUpdate(m) for _ in range(n_arms)]


class FEWA(Windowed):
    """FEWA (Seznec et al. 2019): filter on expanding windows, pull a survivor that has no next window."""

    def __init__(self, n_arms: int, *, alpha: float = 0.06, sigma: Sigma = 1.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)

    def next_window(self, h: int) -> int:
        return h + 1

    def close(self, t: int, h: int, value: dict[int, float]) -> list[int]:
        """The arms whose mean is at most two widths below the best; a width of each, where they are estimated."""
        if isinstance(self.sigma, str):
            c = {i: width(t, h, self.alpha, sigma_of(self.sigma, self.received, i)) for i in value}
            best = max(value[j] - c[j] for j in value)
            return [i for i in value if value[i] + c[i] >= best]
        best = max(value.values())
        return [i for i in value if value[i] >= best - 2 * width(t, h, self.alpha, self.sigma)]

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        if new is not None:
            return new
        kept, h = arms, 1
        while True:
            value: dict[int, float] = {}
            for i in kept:
                mu = self.stats[i].mean[h]
                assert mu is not None  # every kept arm has at least h samples
                value[i] = mu
            kept = self.close(t, h, value)
            h = self.next_window(h)
            stop = [i for i in kept if len(self.rewards[i]) < h]
            if stop:
                return min(stop, key=lambda i: (len(self.rewards[i]), i))


class EffFEWA(FEWA):
    """EFF-FEWA: the same filter on the windows 1, ceil(m), ... of EFF_UPDATE."""

    def __init__(self, n_arms: int, *, alpha: float = 0.06, sigma: Sigma = 1.0, m: float = 2.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)
        self.m = m
        self.stats = [EffUpdate(m) for _ in range(n_arms)]

    def next_window(self, h: int) -> int:
        return math.ceil(self.m * h)


def width_pp(t: int, h: int, K: int, alpha: float, beta: float, sigma: float) -> float:
    """``sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))``, the logarithm of the product as a sum."""
    x = max(1.0, t / K / h)
    return sigma * math.sqrt((2 / h) * (alpha * log(x) + beta * log1p(log(x))))


class RAWUCBpp(RAWUCB):
    """RAW-UCB++ (Seznec's thesis): RAW-UCB with another width.

    ``c = sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))`` with ``x = max(1, t / (K h))``, where K is
    the number of available arms.
    """

    def __init__(self, n_arms: int, *, alpha: float = 1.4, beta: float = 0.0, sigma: Sigma = 1.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)
        self.beta, self.K = beta, n_arms

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        self.K = len(self.available(arms))
        return super().choose(t, arms)

    def width(self, t: int, h: int, sigma: float) -> float:
        return width_pp(t, h, self.K, self.alpha, self.beta, sigma)


class EffRAWUCBpp(RAWUCBpp):
    """RAW-UCB++ over the windows of EFF_UPDATE that have a value."""

    def __init__(self, n_arms: int, *, alpha: float = 1.4, beta: float = 0.0, sigma: Sigma = 1.0, m: float = 2.0) -> None:
        super().__init__(n_arms, alpha=alpha, beta=beta, sigma=sigma)
        self.stats = [EffUpdate(m) for _ in range(n_arms)]


class RAWKLUCB(RAWUCB):
    """RAW-klUCB (Seznec's thesis): index ``min over h of sup{q: h kl(mean^h, q) <= alpha ln t}``.

    With the Gaussian divergence, for which rewards are not mapped, this is RAW-UCB.
    """

    def __init__(
        self,
        n_arms: int,
        *,
        kind: str = "bernoulli",
        alpha: float = 1.4,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)
        self.kind, self.low, self.high = kind, low, high

    def index(self, t: int, i: int) -> float:
        means, sigma = self.stats[i].mean, sigma_of(self.sigma, self.received, i)
        level = self.alpha * log(t)
        return min(upper(self.kind, mu, level / h, sigma) for h, mu in means.items() if mu is not None)

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, to_unit(reward, self.low, self.high) if self.kind == "bernoulli" else reward)
