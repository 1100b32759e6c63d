"""The publications' definitions, slow and obvious: everything fast is compared with this file.

Written from the papers' text, independently of ``rotting.policies`` and ``rotting.parts``. Shared rules:

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
  some out; probabilities are spread over the available arms only.
- Rewards that a publication wants in [0, 1] are mapped there, one by one, by ``(reward - low) / (high -
  low)``, cut to [0, 1].
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

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
    """What the policies share: the full history of every arm."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]

    def available(self, arms: Sequence[int] | None) -> list[int]:
        return list(range(self.n_arms)) if arms is None else list(arms)

    def never_pulled(self, arms: Sequence[int]) -> int | None:
        """The first available arm without a reward, or None."""
        return next((i for i in arms if not self.rewards[i]), None)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        raise NotImplementedError

    def update(self, t: int, arm: int, reward: float) -> None:
        self.rewards[arm].append(reward)


# --- The paper's statistics ---------------------------------------------------------------------------------


def width(t: int, h: int, alpha: float, sigma: float) -> float:
    """``c(h, delta_t)`` with ``delta_t = 2 t**-alpha``."""
    return sigma * math.sqrt(2 * alpha * math.log(t) / h)


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


# --- The paper's four, UCB1 and the uniform policy ----------------------------------------------------------


class RAWUCB(Policy):
    """Algorithm 1: the largest ``min over h <= N_i of mean_i^h + c(h, delta_t)``."""

    def __init__(self, n_arms: int, *, alpha: float = 1.4, sigma: float = 1.0) -> None:
        super().__init__(n_arms)
        self.alpha, self.sigma = alpha, sigma
        self.stats: list[AllWindows] | list[EffUpdate] = [AllWindows() for _ in range(n_arms)]

    def width(self, t: int, h: int) -> float:
        return width(t, h, self.alpha, self.sigma)

    def index(self, t: int, i: int) -> float:
        means = self.stats[i].mean
        return min(mu + self.width(t, h) for h, mu in means.items() if mu is not None)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        return argmax(lambda i: self.index(t, i), arms) if new is None else new

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        self.stats[arm].update(reward)


class EffRAWUCB(RAWUCB):
    """EFF-RAW-UCB: the same index over the windows of EFF_UPDATE that have a value."""

    def __init__(self, n_arms: int, *, alpha: float = 1.4, sigma: float = 1.0, m: float = 2.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)
        self.stats = [EffUpdate(m) for _ in range(n_arms)]


class FEWA(Policy):
    """FEWA (Seznec et al. 2019): filter on expanding windows, pull a survivor that has no next window."""

    def __init__(self, n_arms: int, *, alpha: float = 0.06, sigma: float = 1.0) -> None:
        super().__init__(n_arms)
        self.alpha, self.sigma = alpha, sigma
        self.stats: list[AllWindows] | list[EffUpdate] = [AllWindows() for _ in range(n_arms)]

    def next_window(self, h: int) -> int:
        return h + 1

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
            best = max(value.values())
            kept = [i for i in kept if value[i] >= best - 2 * width(t, h, self.alpha, self.sigma)]
            h = self.next_window(h)
            stop = [i for i in kept if len(self.rewards[i]) < h]
            if stop:
                return min(stop, key=lambda i: (len(self.rewards[i]), i))

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        self.stats[arm].update(reward)


class EffFEWA(FEWA):
    """EFF-FEWA: the same filter on the windows 1, ceil(m), ... of EFF_UPDATE."""

    def __init__(self, n_arms: int, *, alpha: float = 0.06, sigma: float = 1.0, m: float = 2.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)
        self.m = m
        self.stats = [EffUpdate(m) for _ in range(n_arms)]

    def next_window(self, h: int) -> int:
        return math.ceil(self.m * h)


class UCB1(Policy):
    """Auer, Cesa-Bianchi, Fischer 2002: the largest ``mean + sigma sqrt(2 ln t / N)``."""

    def __init__(self, n_arms: int, *, sigma: float = 1.0) -> None:
        super().__init__(n_arms)
        self.sigma = sigma

    def index(self, t: int, i: int) -> float:
        xs = self.rewards[i]
        return mean(xs) + self.sigma * math.sqrt(2 * math.log(t) / len(xs))

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


# --- kl-UCB -------------------------------------------------------------------------------------------------


def kl_bernoulli(x: float, y: float) -> float:
    """``x ln(x / y) + (1 - x) ln((1 - x) / (1 - y))``, with ``0 ln 0 = 0``."""

    def term(a: float, b: float) -> float:
        if a == 0:
            return 0.0
        return a * math.log(a / b) if b > 0 else math.inf

    return term(x, y) + term(1 - x, 1 - y)


def kl_gaussian(x: float, y: float, sigma: float) -> float:
    return (x - y) ** 2 / (2 * sigma**2)


def kl_bernoulli_upper(x: float, d: float) -> float:
    """``sup{q in [x, 1]: kl(x, q) <= d}``: bisection until no float is left between the ends."""
    low, high = x, 1.0
    while True:
        q = (low + high) / 2
        if not low < q < high:
            return low
        if kl_bernoulli(x, q) <= d:
            low = q
        else:
            high = q


def upper(kind: str, x: float, d: float, sigma: float) -> float:
    """``sup{q: kl(x, q) <= d}`` for the Bernoulli or the Gaussian divergence."""
    if kind == "bernoulli":
        return 1.0 if x >= 1 else kl_bernoulli_upper(max(0.0, x), d)
    return x + sigma * math.sqrt(2 * d)


def exploration(n: int, c: float) -> float:
    """``ln n + c ln ln n``, the second logarithm cut at 0 where it is negative or undefined (n < e)."""
    return math.log(n) + c * math.log(max(1.0, math.log(n)))


def to_unit(reward: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (reward - low) / (high - low)))


class Bounded(Policy):
    """A policy for rewards in [0, 1]: ``rewards`` holds them mapped from the declared range."""

    def __init__(self, n_arms: int, *, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms)
        self.low, self.high = low, high

    def mapped(self, reward: float) -> float:
        return to_unit(reward, self.low, self.high)

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, self.mapped(reward))


class KLUCB(Bounded):
    """Garivier, Cappé 2011: the largest ``sup{q: N kl(mean, q) <= ln t + c ln ln t}``.

    Gaussian rewards are not mapped.
    """

    def __init__(
        self,
        n_arms: int,
        *,
        kind: str = "bernoulli",
        c: float = 0.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
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


# --- The author's later refinements -------------------------------------------------------------------------


def width_pp(t: int, h: int, K: int, alpha: float, beta: float, sigma: float) -> float:
    """``sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))``, the logarithm of the product as a sum."""
    x = max(1.0, t / K / h)
    return sigma * math.sqrt((2 / h) * (alpha * math.log(x) + beta * math.log1p(math.log(x))))


class RAWUCBpp(RAWUCB):
    """RAW-UCB++ (Seznec's thesis): RAW-UCB with another width.

    ``c = sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))`` with ``x = max(1, t / (K h))``, where K is
    the number of available arms.
    """

    def __init__(self, n_arms: int, *, alpha: float = 1.4, beta: float = 0.0, sigma: float = 1.0) -> None:
        super().__init__(n_arms, alpha=alpha, sigma=sigma)
        self.beta, self.K = beta, n_arms

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        self.K = len(self.available(arms))
        return super().choose(t, arms)

    def width(self, t: int, h: int) -> float:
        return width_pp(t, h, self.K, self.alpha, self.beta, self.sigma)


class EffRAWUCBpp(RAWUCBpp):
    """RAW-UCB++ over the windows of EFF_UPDATE that have a value."""

    def __init__(self, n_arms: int, *, alpha: float = 1.4, beta: float = 0.0, sigma: float = 1.0, m: float = 2.0) -> None:
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
        means = self.stats[i].mean
        level = self.alpha * math.log(t)
        return min(upper(self.kind, mu, level / h, self.sigma) for h, mu in means.items() if mu is not None)

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, to_unit(reward, self.low, self.high) if self.kind == "bernoulli" else reward)


# --- Exponential weights ------------------------------------------------------------------------------------


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
    return top if math.isinf(top) else top + math.log(math.fsum(math.exp(x - top) for x in xs))


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
        return [(1 - self.gamma) * math.exp(self.log_w[i] - log_W) + self.gamma / len(arms) for i in arms]

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

    def __init__(
        self,
        n_arms: int,
        *,
        gamma: float,
        alpha: float,
        uniform: Draws,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, gamma=gamma, uniform=uniform, low=low, high=high)
        self.alpha = alpha

    def update(self, t: int, arm: int, reward: float) -> None:
        log_W = log_sum_exp(self.log_w)
        super().update(t, arm, reward)
        if self.alpha > 0:
            shared = math.log(math.e * self.alpha / self.n_arms) + log_W
            self.log_w = [log_sum_exp([x, shared]) for x in self.log_w]


class Rexp3(Exp3):
    """Besbes, Gur, Zeevi 2014: Exp3 that forgets its weights every ``batch`` rounds (1, 1 + batch, ...).

    Draw 0 picks the arm. A reward drawn in a former batch is ignored.
    """

    def __init__(
        self,
        n_arms: int,
        *,
        gamma: float,
        batch: int,
        uniform: Draws,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
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
    return min(1.0, math.sqrt(K * math.log(K) / ((math.e - 1) * T)))


def exp3s_gamma(K: int, T: int) -> float:
    """Auer et al. 2002, section 8, with ``alpha = 1 / T``: T only."""
    return min(1.0, math.sqrt(K * math.log(K * T) / T))


def exp3s_gamma_switches(K: int, T: int, S: float) -> float:
    """Auer et al. 2002, section 8, with ``alpha = 1 / T``: hardness S (1 + the number of switches)."""
    return min(1.0, math.sqrt(K * (S * math.log(K * T) + math.e) / ((math.e - 1) * T)))


def exp3s_gamma_budget(K: int, T: int, V: float) -> float:
    """Besbes et al. 2019, with ``alpha = 1 / T``: variation budget V."""
    return min(1.0, math.pow(4 * V * K * math.log(K * T) / ((math.e - 1) ** 2 * T), 1 / 3))


def rexp3_batch(K: int, T: int, V: float) -> int:
    """Besbes et al. 2014, cut to 1, ..., T; their gamma is ``exp3_gamma(K, batch)``."""
    return min(T, max(1, math.ceil(math.pow(K * math.log(K), 1 / 3) * math.pow(T / V, 2 / 3))))


# --- Passive forgetting -------------------------------------------------------------------------------------


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


class SWUCB(Timed):
    """Garivier, Moulines 2011: UCB on the rounds t - tau, ..., t - 1.

    ``mean + B sqrt(xi ln(min(t, tau)) / N)``; an arm with no pull in the window is played at once.
    """

    def __init__(self, n_arms: int, *, tau: int, xi: float = 0.6, B: float = 1.0) -> None:
        super().__init__(n_arms)
        self.tau, self.xi, self.B = tau, xi, B

    def index(self, t: int, i: int) -> float:
        xs = self.since(i, t - self.tau)
        if not xs:
            return math.inf
        return mean(xs) + self.B * math.sqrt(self.xi * math.log(min(t, self.tau)) / len(xs))

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        return argmax(lambda i: self.index(t, i), self.available(arms))


class DUCB(Timed):
    """Garivier, Moulines 2011: a reward of round s counts ``gamma^(t - 1 - s)``, for every arm.

    ``mean + 2 B sqrt(xi ln n / N)`` with n the sum of every arm's discounted count N (ln n cut at 0).
    """

    def __init__(self, n_arms: int, *, gamma: float, xi: float = 0.6, B: float = 1.0) -> None:
        super().__init__(n_arms)
        self.gamma, self.xi, self.B = gamma, xi, B

    def index(self, t: int, i: int) -> float:
        weights = self.discounts(i, t, self.gamma)
        N = math.fsum(weights)
        if N == 0:
            return math.inf
        average = math.fsum(w * x for w, x in zip(weights, self.rewards[i], strict=True)) / N
        n = math.fsum(w for j in range(self.n_arms) for w in self.discounts(j, t, self.gamma))
        return average + 2 * self.B * math.sqrt(self.xi * max(0.0, math.log(n)) / N)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        return argmax(lambda i: self.index(t, i), arms) if new is None else new


def swucb_tau(T: int, Y: float, B: float = 1.0) -> int:
    """Garivier, Moulines 2011, for Y breakpoints, cut to 1, ..., T."""
    return min(T, max(1, math.ceil(2 * B * math.sqrt(T * math.log(T) / Y)))) if Y > 0 else T


def ducb_gamma(T: int, Y: float, B: float = 1.0) -> float:
    """Garivier, Moulines 2011, for Y breakpoints."""
    return 1 - math.sqrt(Y / T) / (4 * B)


# --- Sliding window average ---------------------------------------------------------------------------------


def swa_window(K: int, T: int, alpha: float, sigma: float) -> int:
    """``M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln^(1/3)(sqrt(2) T))``, at most T."""
    log = math.log(math.sqrt(2) * T)
    scale = math.pow(4, 2 / 3) * math.pow(sigma, 2 / 3) * math.pow(K, -2 / 3)
    return min(T, math.ceil(alpha * scale * math.pow(T, 2 / 3) * math.pow(log, 1 / 3)))


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


# --- Change detection ---------------------------------------------------------------------------------------


class Restarting(Bounded):
    """An index policy whose arms forget: ``rewards[i]`` are those after the alarm at ``restart[i]``.

    An available arm without a reward since its restart is played at once; else ``explore``, else the
    best index.
    """

    def __init__(self, n_arms: int, *, local: bool, low: float, high: float) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.local = local
        self.restart = [0] * n_arms
        self.alarms: list[tuple[int, int]] = []  # (round, arm)

    def explore(self, t: int, arms: Sequence[int]) -> int | None:
        raise NotImplementedError

    def index(self, t: int, i: int) -> float:
        raise NotImplementedError

    def alarm(self, xs: Sequence[float]) -> bool:
        """Do the rewards of one arm since its restart show a change?"""
        raise NotImplementedError

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        first = self.never_pulled(arms)
        if first is None:
            first = self.explore(t, arms)
        return argmax(lambda i: self.index(t, i), arms) if first is None else first

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        if self.alarm(self.rewards[arm]):
            self.alarms.append((t, arm))
            for i in [arm] if self.local else range(self.n_arms):
                self.rewards[i] = []  # the reward that raised the alarm is forgotten too
                self.restart[i] = t


def glr_threshold(kind: str, n: int, delta: float) -> float:
    """``beta(n, delta)``: ``bernoulli``, ``gaussian`` (both as in practice) or ``theory``."""
    if kind == "bernoulli":
        return math.log(3 * n**1.5 / delta)
    if kind == "gaussian":
        return (1 + 1 / n) * math.log(2 * n**1.5 / delta)
    x = math.log(3 * n**1.5 / delta) / 2
    return 2 * (x + 4 * math.log(1 + x + math.sqrt(2 * x))) + 6 * math.log(1 + math.log(n))


class GLRUCB(Restarting):
    """Besson, Kaufmann 2019, Gaussian: restart an arm when its GLR test fires; UCB since the restart.

    With n samples, after every n that ``test_every`` divides, alarm if for some split s < n that
    ``split_every`` divides ``s kl(mean_1:s, mean_1:n) + (n - s) kl(mean_s+1:n, mean_1:n) >= beta(n,
    delta)``. Index ``sup{q: n kl(mean, q) <= f(t - restart)}``, ``f(x) = ln x + c ln ln x``. Forced
    exploration: arm ``a = (t - 1) mod floor(K / rate)`` when ``a < K`` and it is available. ``delta =
    0`` never fires. ``bound = "bernoulli"`` is the variant of the rotting paper's code: that divergence
    in the index only, for rewards as they come.
    """

    detector = "gaussian"

    def __init__(
        self,
        n_arms: int,
        *,
        delta: float,
        sigma: float = 1.0,
        rate: float = 0.0,
        local: bool = True,
        c: float = 3.0,
        threshold: str = "practical",
        bound: str = "gaussian",
        test_every: int = 1,
        split_every: int = 1,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, local=local, low=low, high=high)
        self.delta, self.sigma, self.rate, self.c = delta, sigma, rate, c
        self.threshold = self.detector if threshold == "practical" else threshold
        self.bound = self.detector if self.detector == "bernoulli" else bound
        self.test_every, self.split_every = test_every, split_every

    def explore(self, t: int, arms: Sequence[int]) -> int | None:
        if self.rate > 0:
            a = (t - 1) % math.floor(self.n_arms / self.rate)
            if a in arms:
                return a
        return None

    def index(self, t: int, i: int) -> float:
        xs = self.rewards[i]
        level = exploration(t - self.restart[i], self.c)
        return upper(self.bound, mean(xs), level / len(xs), self.sigma)

    def kl(self, x: float, y: float) -> float:
        return kl_bernoulli(x, y) if self.detector == "bernoulli" else kl_gaussian(x, y, self.sigma)

    def mapped(self, reward: float) -> float:
        return super().mapped(reward) if self.detector == "bernoulli" else reward

    def alarm(self, xs: Sequence[float]) -> bool:
        n = len(xs)
        if n < 2 or n % self.test_every != 0 or self.delta == 0:
            return False
        whole = mean(xs)
        beta = glr_threshold(self.threshold, n, self.delta)
        return any(
            s * self.kl(mean(xs[:s]), whole) + (n - s) * self.kl(mean(xs[s:]), whole) >= beta
            for s in range(self.split_every, n, self.split_every)
        )


class GLRKLUCB(GLRUCB):
    """Besson, Kaufmann 2019, Bernoulli: that divergence in the test and in the index."""

    detector = "bernoulli"


def glr_delta(T: int) -> float:
    return 1 / math.sqrt(T)


class CUSUMUCB(Restarting):
    """Liu, Lee, Shroff 2018: two-sided CUSUM around the mean of an arm's first M samples.

    After sample k > M: ``g+ = max(0, g+ + (u0 - y - epsilon))``, ``g- = max(0, g- + (y - u0 -
    epsilon))``, alarm if either is ``>= h``; that arm restarts. Index ``mean + sqrt(xi ln n / N)``, n
    the total of N over all the arms. Draw 0: explore if it is ``< rate``; then draw 1: the arm
    ``arms[floor(u len(arms))]``.
    """

    def __init__(
        self,
        n_arms: int,
        *,
        h: float,
        rate: float,
        uniform: Draws,
        M: int = 100,
        epsilon: float = 0.1,
        xi: float = 1.0,
        local: bool = True,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, local=local, low=low, high=high)
        self.h, self.rate, self.uniform = h, rate, uniform
        self.M, self.epsilon, self.xi = M, epsilon, xi

    def explore(self, t: int, arms: Sequence[int]) -> int | None:
        if self.uniform(t, 0) < self.rate:
            return arms[math.floor(self.uniform(t, 1) * len(arms))]
        return None

    def index(self, t: int, i: int) -> float:
        del t
        n = sum(len(xs) for xs in self.rewards)
        xs = self.rewards[i]
        return mean(xs) + math.sqrt(self.xi * math.log(n) / len(xs))

    def alarm(self, xs: Sequence[float]) -> bool:
        if len(xs) <= self.M:
            return False
        u0 = mean(xs[: self.M])
        up = down = 0.0
        for y in xs[self.M :]:
            up = max(0.0, up + (u0 - y - self.epsilon))
            down = max(0.0, down + (y - u0 - self.epsilon))
        return up >= self.h or down >= self.h


def cusum_h(T: int, Y: float) -> float:
    """Besson, Kaufmann, Maillard, Seznec 2022, for Liu et al.'s ``ln(T / Y) / C1``."""
    return math.log(T / Y)


def cusum_rate(T: int, Y: float) -> float:
    """Besson, Kaufmann, Maillard, Seznec 2022, for Liu et al.'s ``K sqrt(C2 Y ln(T / Y) / (C1 T))``."""
    return math.sqrt((Y / T) * math.log(T / Y))


class MUCB(Restarting):
    """Cao, Wen, Kveton, Xie 2019: compare the halves of an arm's last w samples; all the arms restart.

    Alarm if ``|sum of the newer w / 2 - sum of the older w / 2| > b``, from w samples since the restart
    on. Index ``mean + sqrt(2 ln(t - restart) / N)``. Exploration: arm ``a = (t - restart - 1) mod ceil(K
    / gamma)`` when ``a < K`` and it is available. Deterministic.
    """

    def __init__(self, n_arms: int, *, w: int, b: float, gamma: float, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(n_arms, local=False, low=low, high=high)
        self.w, self.b, self.gamma = w, b, gamma

    def explore(self, t: int, arms: Sequence[int]) -> int | None:
        if self.gamma > 0:
            a = (t - self.restart[0] - 1) % math.ceil(self.n_arms / self.gamma)
            if a in arms:
                return a
        return None

    def index(self, t: int, i: int) -> float:
        xs = self.rewards[i]
        return mean(xs) + math.sqrt(2 * math.log(t - self.restart[i]) / len(xs))

    def alarm(self, xs: Sequence[float]) -> bool:
        if len(xs) < self.w:
            return False
        last = xs[-self.w :]
        half = self.w // 2
        return abs(math.fsum(last[half:]) - math.fsum(last[:half])) > self.b


def mucb_w(K: int, T: int, d: float) -> int:
    """Cao et al. 2019, for changes of at least d, rounded up to an even number."""
    w = (4 / d**2) * (math.sqrt(math.log(2 * K * T**2)) + math.sqrt(math.log(2 * T))) ** 2
    return 2 * math.ceil(w / 2)


def mucb_b(K: int, T: int, w: int) -> float:
    return math.sqrt(w * math.log(2 * K * T**2) / 2)


def mucb_gamma(K: int, T: int, M: int, w: int, b: float) -> float:
    """Cao et al. 2019, for M stationary segments, cut at 1."""
    return min(1.0, math.sqrt((M - 1) * K * (2 * b + 3 * math.sqrt(w)) / (2 * T)))


class AdSwitch(Bounded):
    """Auer, Gajane, Ortner 2019: good arms in turn, bad arms checked at random, a change ends all.

    ``choose`` first draws the checks: draws 0, 1, ... over the bad arms in increasing order and, for
    each, over i = 1, 2, ... while ``2^-i >= gap / 16``; a draw below ``2^-i sqrt(episode / (K T ln T))``
    asks for ``ceil(2^(2i + 1) ln T)`` samples of the arm from this round on. Then it plays the least
    recently played (over the whole game; the lowest of those never played) of the available good and
    asked arms, or of all the available arms if there is none. ``update`` looks for a change, else
    evicts: an arm is compared with the good arms of this round that have a sample since s, and keeps the
    mean and gap of the first such s from the start of the episode.
    """

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int,
        uniform: Draws,
        C1: float = 16.1,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.T, self.log_T, self.C1, self.uniform = horizon, math.log(horizon), C1, uniform
        self.last_played = [0] * n_arms
        self.episode = 0
        self.new_episode(1)

    def new_episode(self, start: int) -> None:
        self.episode += 1
        self.start = start
        self.samples: list[list[tuple[int, float]]] = [[] for _ in range(self.n_arms)]  # (round, reward)
        self.bad: dict[int, tuple[float, float]] = {}  # arm -> (mean, gap) at its eviction
        self.asked: list[list[tuple[int, int]]] = [[] for _ in range(self.n_arms)]  # (samples, since round)
        # For each arm and number of samples, the extreme means of so many consecutive samples.
        self.extremes: list[dict[int, tuple[float, float]]] = [{} for _ in range(self.n_arms)]

    def since(self, i: int, s: int) -> list[float]:
        return [x for r, x in self.samples[i] if r >= s]

    def radius(self, n: int) -> float:
        return math.sqrt(2 * self.log_T / n)

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        draw = 0
        for a in sorted(self.bad):
            _, gap = self.bad[a]
            i = 1
            while 2.0**-i >= gap / 16:
                probability = 2.0**-i * math.sqrt(self.episode / (self.n_arms * self.T * self.log_T))
                if self.uniform(t, draw) < probability:
                    self.asked[a].append((math.ceil(2 ** (2 * i + 1) * self.log_T), t))
                draw += 1
                i += 1
        playable = [a for a in arms if a not in self.bad or self.asked[a]] or arms
        return min(playable, key=lambda a: (self.last_played[a], a))

    def good_arm_changed(self, arm: int) -> bool:
        """Any run of the arm's samples against any that ends now (other arms have nothing new to test)."""
        xs = [x for _, x in self.samples[arm]]
        suffix = {n: mean(xs[-n:]) for n in range(1, len(xs) + 1)}
        extremes = self.extremes[arm]
        for n, mu in suffix.items():
            smallest, largest = extremes.get(n, (mu, mu))
            extremes[n] = min(smallest, mu), max(largest, mu)
        # Is there a pair of runs whose intervals, mean +- radius, do not meet?
        lowest = min(smallest + self.radius(n) for n, (smallest, _) in extremes.items())
        highest = max(largest - self.radius(n) for n, (_, largest) in extremes.items())
        return any(mu + self.radius(n) < highest or mu - self.radius(n) > lowest for n, mu in suffix.items())

    def bad_arm_changed(self, arm: int) -> bool:
        mu_evicted, gap = self.bad[arm]
        xs = [x for _, x in self.samples[arm]]
        return any(abs(mean(xs[-n:]) - mu_evicted) > gap / 4 + self.radius(n) for n in range(1, len(xs) + 1))

    def evict(self, t: int) -> None:
        good = [i for i in range(self.n_arms) if i not in self.bad]
        for s in range(self.start, t):
            since = {i: self.since(i, s) for i in good}
            means = {i: mean(xs) for i, xs in since.items() if xs}
            for i, mu in means.items():
                gap, n = max(means.values()) - mu, len(since[i])
                if i not in self.bad and n >= 2 and gap > math.sqrt(self.C1 * self.log_T / (n - 1)):
                    self.bad[i] = mu, gap

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        self.last_played[arm] = t
        self.samples[arm].append((t, self.mapped(reward)))
        if (arm not in self.bad and self.good_arm_changed(arm)) or any(map(self.bad_arm_changed, self.bad)):
            self.new_episode(t + 1)
            return
        for a in self.bad:
            self.asked[a] = [(n, s) for n, s in self.asked[a] if len(self.since(a, s)) < n]
        self.evict(t)


# --- Thompson sampling --------------------------------------------------------------------------------------


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
    ) -> None:
        super().__init__(n_arms)
        self.uniform, self.kind, self.a, self.b, self.sigma = uniform, kind, a, b, sigma
        self.low, self.high = low, high

    def weights(self, i: int, t: int) -> list[float]:
        """How much each reward of arm i counts at round t."""
        del t
        return [1.0] * len(self.rewards[i])

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

    def __init__(
        self,
        n_arms: int,
        *,
        gamma: float,
        uniform: Draws,
        kind: str = "beta",
        a: float = 1.0,
        b: float = 1.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, uniform=uniform, kind=kind, a=a, b=b, sigma=sigma, low=low, high=high)
        self.gamma = gamma

    def weights(self, i: int, t: int) -> list[float]:
        return self.discounts(i, t, self.gamma)


class SlidingWindowTS(ThompsonSampling):
    """Trovò et al. 2020: only the rewards of rounds t - tau, ..., t - 1 count, for every arm.

    An arm with no reward left in the window has its prior again (beta) or is played at once (gaussian).
    Draws as in ThompsonSampling.
    """

    def __init__(
        self,
        n_arms: int,
        *,
        tau: int,
        uniform: Draws,
        kind: str = "beta",
        a: float = 1.0,
        b: float = 1.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, uniform=uniform, kind=kind, a=a, b=b, sigma=sigma, low=low, high=high)
        self.tau = tau

    def weights(self, i: int, t: int) -> list[float]:
        return [1.0 if s >= t - self.tau else 0.0 for s in self.rounds[i]]
