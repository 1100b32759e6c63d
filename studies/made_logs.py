"""Worlds whose arms wear out in a known way, and logs of policies in them, for the measurements of the pages on logs.

An arm pays `base * unit * pulls(n) * time(t)` on average: n counts its pulls by the unit that a round serves, t the rounds.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import rotting
from rotting.common.arrays import Floats, Ints
from rotting.logs.log import Log, positions
from rotting.problems import Piecewise, Problem, Product, Rested, Restless

TRUTHS = ("none", "pulls", "time", "both")
LOGGERS = ("uniform", "Thompson", "RAW-UCB, 10 % uniform")
REWARDS = ("clicks", "Gaussian", "counts")
LEVELS = {"clicks": (0.02, 0.10), "Gaussian": (0.5, 1.5), "counts": (1.0, 4.0)}  # before any wear
DEPTHS = (0.3, 0.9)  # the share of its level that an arm loses
SPREAD = 0.3  # of the logarithm of the units' levels
UNIFORM = 0.1  # of the rounds of RAW-UCB
PIECES = 400  # of the means of a problem


class Cell(NamedTuple):
    """The logs that share a truth, a logger and a kind of rewards: one cell of a table."""

    truth: str
    logger: str
    rewards: str

    def key(self) -> str:
        """Return the key of the cell among the figures."""
        return " / ".join(self)


def cells() -> Iterator[Cell]:
    """Yield all cells, in the order of a table."""
    for truth in TRUTHS:
        for logger in LOGGERS:
            for rewards in REWARDS:
                yield Cell(truth, logger, rewards)


@dataclass(frozen=True, eq=False)
class World:
    """Arms that wear out in a known way.

    Args:
        truth: the clock along which arms wear out, one of `TRUTHS`.
        rewards: their distribution, one of `REWARDS`.
        base: the levels of the arms before any wear.
        units: the levels of the units.
        traffic: the shares of the units in the rounds.
        pulls: [arm, n] the share of its level that an arm has kept after n pulls by a unit.
        time: [arm, t] the same after t rounds.
    """

    truth: str
    rewards: str
    base: Floats
    units: Floats
    traffic: Floats
    pulls: Floats
    time: Floats

    @property
    def rounds(self) -> int:
        """The number of rounds of a log."""
        return int(self.time.shape[1])

    def means(self, arm: Ints, unit: Ints) -> Floats:
        """Return the mean reward of each round, for a sequence of arms and units."""
        own = positions(unit * self.base.size + arm)
        return self.base[arm] * self.units[unit] * self.pulls[arm, own] * self.time[arm, np.arange(arm.size)]

    def log_means(self, log: Log) -> Floats:
        """Return the mean reward of each row of a log of this world."""
        return self.means(np.array(log.arms)[log.arm], np.array(log.units)[log.unit])

    def problem(self) -> Problem:
        """Return the world for policies that do not look at the units, whose pulls divide among units by their traffic."""
        starts = np.unique(np.arange(PIECES) * self.rounds // PIECES)
        middle = starts + np.diff(starts, append=self.rounds) // 2
        over_pulls = np.zeros((self.base.size, starts.size))
        for share, level in zip(self.traffic, self.units, strict=True):
            over_pulls += share * level * self.pulls[:, (share * middle).astype(np.int64)]
        arms = [self._arm(self.base[i] * over_pulls[i], self.time[i, middle], starts) for i in range(self.base.size)]
        noise = {"clicks": rotting.Bernoulli(), "Gaussian": rotting.Gaussian(1.0), "counts": rotting.Poisson()}[self.rewards]
        return Problem(arms, noise, self.rounds, f"wear with {self.truth}")

    def _arm(self, over_pulls: Floats, over_rounds: Floats, starts: Ints) -> Rested | Restless | Product:
        if self.truth == "both":
            return Product(Piecewise(over_pulls, starts), Piecewise(over_rounds, starts))
        return (
            Restless(Piecewise(over_pulls[0] * over_rounds, starts))
            if self.truth == "time"
            else Rested(Piecewise(over_pulls, starts))
        )

    def log(self, logger: str, seed: int) -> Log:
        """Return the log of a policy, one of `LOGGERS`, in this world."""
        rng = np.random.default_rng([seed, LOGGERS.index(logger)])
        unit = rng.choice(self.units.size, self.rounds, p=self.traffic)
        n_arms = self.base.size
        if logger == "uniform":
            arm = rng.integers(0, n_arms, self.rounds)
            reward = pay_all(self.rewards, self.means(arm, unit), rng)
        else:
            arm, reward = self._play(logger, unit, rng, seed)
        return Log({"arm": arm, "reward": reward, "unit": unit}, unit="unit")

    def _play(self, logger: str, unit: Ints, rng: np.random.Generator, seed: int) -> tuple[Ints, Floats]:
        """Return the arms and the rewards of a policy that learns."""
        n_arms = self.base.size
        random_arm = rng.integers(0, n_arms, unit.size)
        explores = rng.random(unit.size) < (UNIFORM if logger == LOGGERS[2] else 0.0)
        noise = rng.normal(size=unit.size) if self.rewards == "Gaussian" else rng.random(unit.size)
        taken = np.zeros((self.units.size, n_arms), np.int64)
        arms, rewards = np.zeros(unit.size, np.int64), np.zeros(unit.size)
        pay = {"clicks": click, "Gaussian": normal, "counts": poisson}[self.rewards]
        bandit = rotting.Bandit(_policy(logger, self.rewards), arms=range(n_arms), seed=seed)
        for k, u in enumerate(unit):
            arm = arms[k] = random_arm[k] if explores[k] else bandit.pull()
            mean = self.base[arm] * self.units[u] * self.pulls[arm, taken[u, arm]] * self.time[arm, k]
            rewards[k] = pay(float(mean), float(noise[k]))
            bandit.update(int(arm), float(rewards[k]))
            taken[u, arm] += 1
        return arms, rewards


def click(mean: float, noise: float) -> float:
    """Return 1 with this probability, and 0 otherwise."""
    return 1.0 if noise < mean else 0.0


def normal(mean: float, noise: float) -> float:
    """Return a reward with a standard deviation of 1."""
    return mean + noise


def poisson(mean: float, noise: float) -> float:
    """Return the count at which the distribution function reaches `noise`."""
    count, chance = 0.0, math.exp(-mean)
    below = chance
    while noise > below and chance > 0:
        count += 1.0
        chance *= mean / count
        below += chance
    return count


def make_world(seed: int, truth: str, rewards: str, rounds: int = 6_000, n_arms: int = 5, n_units: int = 10) -> World:
    """Return a world whose arms fall abruptly, linearly or exponentially, each to its own depth."""
    rng = np.random.default_rng([seed, TRUTHS.index(truth), REWARDS.index(rewards)])
    base = rng.uniform(*LEVELS[rewards], n_arms)
    traffic, units = rng.lognormal(0.0, 1.0, n_units), rng.lognormal(0.0, SPREAD, n_units)
    typical = 1.5 * rounds / (n_units * n_arms)  # pulls of an arm by a unit, at which its wear ends
    pulls, time = (
        np.array([curve(x) for curve in (_curve(rng) for _ in range(n_arms))])
        for x in (np.arange(rounds) / typical, np.arange(rounds) / rounds)
    )
    if truth in {"none", "time"}:
        pulls = np.ones_like(pulls)
    if truth in {"none", "pulls"}:
        time = np.ones_like(time)
    if truth == "both":
        pulls, time = np.sqrt(pulls), np.sqrt(time)
    return World(truth, rewards, base, units, traffic / traffic.sum(), pulls, time)


def _curve(rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """Return what an arm keeps of its level: all at 0, and its least at about 1."""
    depth, at, rate = rng.uniform(*DEPTHS), rng.uniform(0.2, 0.8), rng.uniform(2.0, 5.0)
    shapes: list[Callable[[Floats], Floats]] = [
        lambda x: np.where(x >= at, 1 - depth, 1.0),
        lambda x: 1 - depth * np.minimum(x, 1.0),
        lambda x: 1 - depth * (1 - np.exp(-rate * x)),
    ]
    return shapes[int(rng.integers(0, len(shapes)))]


def _policy(logger: str, rewards: str) -> rotting.Policy:
    if logger == LOGGERS[2]:
        return rotting.RAWUCB(sigma="estimate")
    if rewards == "clicks":
        return rotting.ThompsonSampling()
    return rotting.ThompsonSampling("gaussian", sigma=1.0 if rewards == "Gaussian" else 2.0)


def pay_all(rewards: str, means: Floats, rng: np.random.Generator) -> Floats:
    """Return rewards with these means."""
    if rewards == "clicks":
        return np.asarray(rng.random(np.shape(means)) < means, np.float64)
    if rewards == "Gaussian":
        return np.asarray(means + rng.normal(size=np.shape(means)))
    return np.asarray(rng.poisson(means), np.float64)
