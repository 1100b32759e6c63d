"""Policies that detect changes: GLR-UCB and GLR-klUCB, CUSUM-UCB, M-UCB and AdSwitch, with their tunings."""

import math
from collections.abc import Sequence

from rotting.policies.kernels.elementary import log
from tests.reference.divergences import exploration, kl_bernoulli, kl_gaussian, upper
from tests.reference.noise import Sigma, sigma_of
from tests.reference.policy import Bounded, Draws, argmax, mean


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

    def alarm(self, i: int) -> bool:
        """Do the rewards of arm i since its restart show a change?"""
        raise NotImplementedError

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        first = self.never_pulled(arms)
        if first is None:
            first = self.explore(t, arms)
        return argmax(lambda i: self.index(t, i), arms) if first is None else first

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        if self.alarm(arm):
            self.alarms.append((t, arm))
            for i in [arm] if self.local else range(self.n_arms):
                self.rewards[i] = []  # the reward that raised the alarm is forgotten too
                self.restart[i] = t


def glr_threshold(kind: str, n: int, delta: float) -> float:
    """``beta(n, delta)``: ``bernoulli``, ``gaussian`` (both as in practice) or ``theory``."""
    if kind == "bernoulli":
        return log(3 * n * math.sqrt(n) / delta)
    if kind == "gaussian":
        return (1 + 1 / n) * log(2 * n * math.sqrt(n) / delta)
    x = log(3 * n * math.sqrt(n) / delta) / 2
    return 2 * (x + 4 * log(1 + x + math.sqrt(2 * x))) + 6 * log(1 + log(n))


class GLRUCB(Restarting):
    """Besson, Kaufmann 2019, Gaussian: restart an arm when its GLR test fires; UCB since the restart.

    With n samples, alarm if for some split s < n ``s kl(mean_1:s, mean_1:n) + (n - s) kl(mean_s+1:n,
    mean_1:n) >= beta(n, delta)``. Index ``sup{q: n kl(mean, q) <= f(t - restart)}``, ``f(x) = ln x + c ln ln x``. Forced
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
        sigma: Sigma = 1.0,
        rate: float = 0.0,
        local: bool = True,
        c: float = 3.0,
        threshold: str = "practical",
        bound: str = "gaussian",
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, local=local, low=low, high=high)
        self.delta = delta
        self.sigma = sigma
        self.rate = rate
        self.c = c
        self.threshold = self.detector if threshold == "practical" else threshold
        self.bound = self.detector if self.detector == "bernoulli" else bound

    def explore(self, t: int, arms: Sequence[int]) -> int | None:
        if self.rate > 0:
            a = (t - 1) % math.floor(self.n_arms / self.rate)
            if a in arms:
                return a
        return None

    def index(self, t: int, i: int) -> float:
        xs = self.rewards[i]
        level = exploration(t - self.restart[i], self.c)
        return upper(self.bound, mean(xs), level / len(xs), sigma_of(self.sigma, self.received, i))

    def kl(self, x: float, y: float, sigma: float) -> float:
        return kl_bernoulli(x, y) if self.detector == "bernoulli" else kl_gaussian(x, y, sigma)

    def mapped(self, reward: float) -> float:
        return super().mapped(reward) if self.detector == "bernoulli" else reward

    def alarm(self, i: int) -> bool:
        xs = self.rewards[i]
        n = len(xs)
        if n < 2 or self.delta == 0:
            return False
        whole, sigma = mean(xs), sigma_of(self.sigma, self.received, i)
        beta = glr_threshold(self.threshold, n, self.delta)
        return any(
            s * self.kl(mean(xs[:s]), whole, sigma) + (n - s) * self.kl(mean(xs[s:]), whole, sigma) >= beta for s in range(1, n)
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
        return mean(xs) + math.sqrt(self.xi * log(n) / len(xs))

    def alarm(self, i: int) -> bool:
        xs = self.rewards[i]
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
    return log(T / Y)


def cusum_rate(T: int, Y: float) -> float:
    """Besson, Kaufmann, Maillard, Seznec 2022, for Liu et al.'s ``K sqrt(C2 Y ln(T / Y) / (C1 T))``."""
    return math.sqrt((Y / T) * log(T / Y))


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
        return mean(xs) + math.sqrt(2 * log(t - self.restart[i]) / len(xs))

    def alarm(self, i: int) -> bool:
        xs = self.rewards[i]
        if len(xs) < self.w:
            return False
        last = xs[-self.w :]
        half = self.w // 2
        return abs(math.fsum(last[half:]) - math.fsum(last[:half])) > self.b


def mucb_w(K: int, T: int, d: float) -> int:
    """Cao et al. 2019, for changes of at least d, rounded up to an even number."""
    w = (4 / d**2) * (math.sqrt(log(2 * K * T**2)) + math.sqrt(log(2 * T))) ** 2
    return 2 * math.ceil(w / 2)


def mucb_b(K: int, T: int, w: int) -> float:
    return math.sqrt(w * log(2 * K * T**2) / 2)


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
        self, n_arms: int, *, horizon: int, uniform: Draws, C1: float = 16.1, low: float = 0.0, high: float = 1.0
    ) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.T, self.log_T, self.C1, self.uniform = horizon, log(horizon), C1, uniform
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
