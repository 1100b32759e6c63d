"""Worlds whose truth is known, and logs of them: on what a diagnosis of a log must not be wrong.

A row pays `base[arm] * taste[unit, arm] * wear(arm, n, x) * season(x) * context(unit, arm, x)` on average: n counts the pulls
of the arm by the unit of the row, and x is the time, from 0 to 1 over the log. Wear belongs to the arm; a season is shared by
all arms; a context is what else moves a unit or an arm. Each world is a trap or a case that a diagnosis should find.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rotting
from rotting.common.arrays import Floats, Ints
from rotting.logs.log import Log, positions

ROWS = 40_000
Factor = Callable[..., Any]


def flat(*_: object) -> float:
    """Return 1: nothing wears out, and there is no season."""
    return 1.0


@dataclass(frozen=True, eq=False)
class World:
    """How a log comes about.

    Args:
        clocks: the verdicts on the clock that are true, apart from "cannot tell".
        base: [arm] levels.
        traffic: [unit] shares of the rows, or a function of x that returns them.
        taste: [unit, arm] factors.
        wear: of (arm, pulls of the arm by the unit, x).
        season: of x.
        context: of (unit, arm, x).
        rewards: "clicks", "counts", "normal" or "money".
        weights: [unit or 1, arm] with which a static logger chooses; None if all arms are alike to it.
        logger: "static", "Thompson", "UCB" or "personal", which learns for each unit.
        launch: [arm] the x of the first row of an arm.
        days: the length of the log.
        has_units: whether the log has the column.
        change: of the columns and a generator; changes the finished log.
        options: for `Log`.
        rests: how many pulls of its wear an arm forgets a round.
    """

    clocks: frozenset[str]
    base: Floats
    traffic: Any
    taste: Floats
    wear: Factor = flat
    season: Factor = flat
    context: Factor = flat
    rewards: str = "clicks"
    weights: Floats | None = None
    logger: str = "static"
    launch: Floats | None = None
    days: float = 28.0
    has_units: bool = True
    change: Callable[[dict[str, Any], np.random.Generator], dict[str, Any]] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    rests: float = 0.0
    rows: int = ROWS

    @property
    def launches(self) -> Floats:
        """The x at which each arm may be chosen first."""
        return np.zeros(self.base.size) if self.launch is None else self.launch

    def units(self, x: Floats, rng: np.random.Generator) -> Ints:
        """Return the unit of each row."""
        if not callable(self.traffic):
            return rng.choice(self.traffic.size, x.size, p=self.traffic)
        parts = np.array_split(np.arange(x.size), 50)
        found = [rng.choice(self.taste.shape[0], part.size, p=self.traffic(x[part].mean())) for part in parts]
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true of a log: the change of each arm, the mean of its last quarter over that of its first one.

    `own` is without seasons and the mix of units, `total` with seasons.
    """

    clocks: frozenset[str]
    own: dict[object, float]
    total: dict[object, float]
    mean: float  # of a row, without noise
    play: Callable[[rotting.Policy, int], float]  # the mean of a row if a policy had chosen


def make_log(world: World, seed: int) -> tuple[Log, Truth]:
    """Return a log of a world, and what is true of it."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(world.rows))
    unit = world.units(x, rng)
    random = np.random.default_rng([seed, 1])
    if world.logger == "static":
        arm = static_choices(world, x, unit, random)
        mean = _means(world, arm, unit, x)
        reward = pay(world.rewards, mean, random)
    else:
        arm, mean, reward = _learn(world, x, unit, LOGGERS[world.logger](world, random), random)
    columns: dict[str, Any] = {
        "arm": arm,
        "reward": reward.astype(float),
        "unit": unit,
        "time": 1.7e9 + x * world.days * 86_400,
    }
    factor, season = _wear(world, arm, unit, x), world.season(x) * np.ones(x.size)
    own: dict[object, float] = {}
    total: dict[object, float] = {}
    for i in range(world.base.size):
        rows = np.flatnonzero(arm == i)
        if rows.size >= 4:
            first, last = rows[: rows.size // 4], rows[-(rows.size // 4) :]
            own[i] = float(factor[last].mean() / factor[first].mean())
            total[i] = own[i] * float(season[last].mean() / season[first].mean())
    if world.change is not None:
        columns = world.change(columns, random)
    options = {"time": "time", **({"unit": "unit"} if world.has_units else {}), **world.options}

    def play(policy: rotting.Policy, run: int) -> float:
        return _play(world, x, unit, policy, run)

    return Log(columns, **options), Truth(world.clocks, own, total, float(mean.mean()), play)


def _wear(world: World, arm: Ints, unit: Ints, x: Floats) -> Floats:
    own = positions(unit * world.base.size + arm)
    if world.rests:  # what is left of earlier pulls when each is forgotten at this rate a row
        for place in np.unique(unit * world.base.size + arm):
            rows = np.flatnonzero(unit * world.base.size + arm == place)
            tired, before = 0.0, 0
            for row in rows.tolist():
                tired *= math.exp(-world.rests * (row - before))
                own[row], before, tired = int(tired), row, tired + 1
    return np.asarray(world.wear(arm, own, x) * np.ones(arm.size))


def _means(world: World, arm: Ints, unit: Ints, x: Floats) -> Floats:
    level = world.base[arm] * world.taste[unit, arm] * world.context(unit, arm, x)
    return np.asarray(level * _wear(world, arm, unit, x) * world.season(x))


def static_choices(world: World, x: Floats, unit: Ints, rng: np.random.Generator) -> Ints:
    """Return the arms of a logger that does not learn."""
    weights = np.ones((1, world.base.size)) if world.weights is None else world.weights
    chances = weights[unit if len(weights) > 1 else np.zeros_like(unit)] * (x[:, None] >= world.launches)
    sums = np.cumsum(chances, axis=1)
    return np.asarray((rng.random(x.size)[:, None] * sums[:, -1:] >= sums).sum(axis=1))


def pay(rewards: str, mean: Floats, rng: np.random.Generator) -> Floats:
    """Return rewards with these means."""
    if rewards == "clicks":
        return (rng.random(mean.shape) < mean).astype(float)
    if rewards == "counts":
        return np.asarray(rng.poisson(mean), float)
    if rewards == "normal":
        return mean + rng.normal(0.0, 0.5, mean.shape)
    return np.where(rng.random(mean.shape) < 0.05, 20 * mean * rng.lognormal(-0.5, 1.0, mean.shape), 0.0).round(2)  # money


# --- Loggers and policies that learn ------------------------------------------------------------------------------------------

Choose = Callable[[int, Ints], int]
Learn = Callable[[int, int, float], None]


def _thompson(world: World, rng: np.random.Generator) -> tuple[Choose, Learn]:
    good, bad = np.ones(world.base.size), np.ones(world.base.size)

    def learn(unit: int, arm: int, reward: float) -> None:
        good[arm] += reward
        bad[arm] += 1 - reward

    return lambda unit, arms: int(arms[np.argmax(rng.beta(good[arms], bad[arms]))]), learn


def _ucb(world: World, rng: np.random.Generator) -> tuple[Choose, Learn]:
    sums, pulls = np.zeros(world.base.size), np.zeros(world.base.size)

    def choose(unit: int, arms: Ints) -> int:
        if (pulls[arms] == 0).any():
            return int(arms[np.argmin(pulls[arms])])
        return int(arms[np.argmax(sums[arms] / pulls[arms] + 0.3 * np.sqrt(2 * math.log(pulls.sum()) / pulls[arms]))])

    def learn(unit: int, arm: int, reward: float) -> None:
        sums[arm] += reward
        pulls[arm] += 1

    return choose, learn


def _personal(world: World, rng: np.random.Generator) -> tuple[Choose, Learn]:
    sums, pulls = np.zeros(world.taste.shape), np.full(world.taste.shape, 1e-9)

    def choose(unit: int, arms: Ints) -> int:
        if rng.random() < 0.2:
            return int(arms[rng.integers(arms.size)])
        return int(
            arms[np.argmax(sums[unit, arms] / pulls[unit, arms] + 0.1 * rng.random(arms.size) / np.sqrt(pulls[unit, arms] + 1))]
        )

    def learn(unit: int, arm: int, reward: float) -> None:
        sums[unit, arm] += reward
        pulls[unit, arm] += 1

    return choose, learn


LOGGERS = {"Thompson": _thompson, "UCB": _ucb, "personal": _personal}


def _learn(
    world: World, x: Floats, unit: Ints, logger: tuple[Choose, Learn], rng: np.random.Generator
) -> tuple[Ints, Floats, Floats]:
    choose, learn = logger
    arms, means, rewards = np.zeros(x.size, np.int64), np.zeros(x.size), np.zeros(x.size)
    tired, seen = np.zeros(world.taste.shape), np.zeros(world.taste.shape, np.int64)
    season = world.season(x) * np.ones(x.size)
    for k, (now, u) in enumerate(zip(x.tolist(), unit.tolist(), strict=True)):
        arm = choose(u, np.flatnonzero(world.launches <= now))
        left = tired[u, arm] * math.exp(-world.rests * (k - seen[u, arm]))
        level = world.base[arm] * world.taste[u, arm] * world.context(u, arm, now)
        mean = level * world.wear(arm, int(left), now) * season[k]
        tired[u, arm], seen[u, arm] = left + 1, k
        arms[k], means[k] = arm, mean
        rewards[k] = pay(world.rewards, np.array(mean), rng)
        learn(u, arm, float(rewards[k]))
    return arms, means, rewards


def _play(world: World, x: Floats, unit: Ints, policy: rotting.Policy, run: int) -> float:
    """Return the mean of a row if a policy had chosen the arms; it is not told the units."""
    bandit = rotting.Bandit(policy, arms=range(world.base.size), seed=run)
    everything = np.arange(world.base.size)

    def choose(unit: int, arms: Ints) -> int:
        return int(bandit.pull() if arms.size == everything.size else bandit.pull(arms.tolist()))

    learner = choose, lambda unit, arm, reward: bandit.update(arm, reward)
    return float(_learn(world, x, unit, learner, np.random.default_rng([run, 2]))[1].mean())


# --- The worlds ---------------------------------------------------------------------------------------------------------------

NONE, PULLS, TIME, BOTH = (frozenset({each}) for each in ("none", "pulls", "time", "both"))
NOTHING: frozenset[str] = frozenset()  # only "cannot tell" is true


def _world(
    rng: np.random.Generator,
    clocks: frozenset[str],
    arms: int = 6,
    units: int = 20,
    low: float = 0.02,
    high: float = 0.10,
    skew: float = 1.0,
    **more: Any,
) -> World:
    """Return a world with arms of different levels, and units of unequal traffic and different levels."""
    traffic = rng.lognormal(0.0, skew, units)
    taste = np.repeat(rng.lognormal(0.0, 0.3, units)[:, None], arms, axis=1)
    settings = {"base": rng.uniform(low, high, arms), "traffic": traffic / traffic.sum(), "taste": taste, **more}
    return World(clocks, **settings)


def _tiring(rng: np.random.Generator, arms: int = 6, pace: float = 200.0, depth: float = 0.7, steady: int = 3) -> Factor:
    """Return wear with own pulls, to a depth of its own for each arm; every third arm, or another, is steady."""
    depths = np.where(np.arange(arms) % steady == steady - 1, 0.0, rng.uniform(depth - 0.15, depth + 0.15, arms))
    paces = rng.uniform(0.5, 2.0, arms) * pace
    return lambda arm, own, x: 1 - depths[arm] * -np.expm1(-own / paces[arm])


def _ageing(rng: np.random.Generator, arms: int = 6, depth: float = 0.6) -> Factor:
    """Return wear with time, for half of the arms."""
    depths = np.where(np.arange(arms) % 2 == 0, rng.uniform(depth - 0.15, depth + 0.15, arms), 0.0)
    return lambda arm, own, x: 1 - depths[arm] * x


def _both(rng: np.random.Generator, arms: int) -> Factor:
    tiring, ageing = _tiring(rng, arms), _ageing(rng, arms)
    return lambda arm, own, x: tiring(arm, own, x) * ageing(arm, own, x)


def _weekend(x: Floats) -> Any:
    return np.where(7 * np.asarray(x) >= 5, 0.55, 1.0)


def _day_and_night(x: Floats) -> Any:
    return 1 - 0.6 * np.sin(np.pi * 10 * np.asarray(x)) ** 2


def _falling(x: Floats) -> Any:
    return 1 - 0.5 * np.asarray(x)


def _late(x: Floats) -> Any:
    """Conversions of the last tenth that have not arrived."""
    return np.where(np.asarray(x) > 0.9, np.clip((1 - np.asarray(x)) / 0.1, 0.02, 1), 1.0)


def _bots(x: Floats) -> Any:
    return np.where((np.asarray(x) > 0.6) & (np.asarray(x) < 0.75), 0.3, 1.0)


def _rise_and_fall(arm: object, own: object, x: Floats) -> Any:
    x = np.asarray(x)
    return np.where(x < 0.4, 1 + 2.5 * x, 2 - 1.84 * (x - 0.4))


def _wave(rng: np.random.Generator) -> Factor:
    steps = np.cumsum(rng.normal(0, 0.1, 40))
    return lambda x: np.exp(steps - steps.mean())[np.minimum((np.asarray(x) * 40).astype(int), 39)]


def _growing(units: int) -> Factor:
    """Return traffic whose later units come late and are worse: their share grows from nothing."""

    def traffic(x: float) -> Floats:
        shares = np.concatenate([np.full(units // 2, 1 - 0.9 * x), np.full(units - units // 2, 0.05 + 0.9 * x)])
        return np.asarray(shares / shares.sum())

    return traffic


def _totals(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    found = {name: np.asarray(column).tolist() for name, column in columns.items()}
    row = {"arm": found["arm"][0], "reward": float(sum(found["reward"])), "unit": found["unit"][0], "time": found["time"][-1]}
    return {name: [*column, row[name]] for name, column in found.items()}


def _lose(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    lost = rng.random(columns["reward"].size) < 0.3
    return {**columns, "reward": np.where(lost, np.nan, columns["reward"])}


def _dated(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**columns, "time": (columns["time"] * 1e6).astype("datetime64[us]")}


def _list_available(launch: Floats, days: float) -> Callable[[dict[str, Any], np.random.Generator], dict[str, Any]]:
    def change(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        x = (columns["time"] - 1.7e9) / 86_400 / days
        return {**columns, "could": [np.flatnonzero(launch <= each).tolist() for each in x]}

    return change


def _halved(units: int) -> Floats:
    """Return tastes in which half of the units pay a fifth."""
    return np.where(np.arange(units) < units // 2, 1.0, 0.2)


def make_world(name: str, seed: int) -> World:
    """Return a world by its name."""
    rng = np.random.default_rng([seed, *name.encode()])
    equal = np.full(6, 0.05)
    launch = np.sort(rng.uniform(0.0, 0.7, 12)) * (np.arange(12) > 2)
    match name:
        case "steady":
            return _world(rng, NONE)
        case "pulls":
            return _world(rng, PULLS, wear=_tiring(rng, pace=100.0, steady=6))
        case "pulls, some steady":
            return _world(rng, PULLS, wear=_tiring(rng))
        case "time":
            return _world(rng, TIME, wear=_ageing(rng))
        case "both":
            return _world(rng, BOTH, wear=_both(rng, 6), low=0.05, high=0.15)
        case "weekend":
            return _world(rng, NONE, season=_weekend, days=7.0)
        case "day and night":
            return _world(rng, NONE, season=_day_and_night, days=10.0)
        case "falling audience":
            return _world(rng, NONE, season=_falling)
        case "rewards to come":
            return _world(rng, NONE, season=_late)
        case "bots":
            return _world(rng, NONE, season=_bots)
        case "random season":
            return _world(rng, NONE, season=_wave(rng))
        case "rare clicks":
            return _world(rng, NONE, arms=34, low=0.004, high=0.006, rows=20_000)
        case "rare clicks that end":
            return _world(
                rng, NOTHING, arms=34, low=0.008, high=0.012, rows=10_000, wear=lambda arm, own, x: np.where(x < 0.5, 1.0, 0.1)
            )
        case "targeting":
            weights = np.where(np.arange(20)[:, None] % 6 == np.arange(6), 5.0, 0.3)
            taste = np.repeat(rng.lognormal(0, 0.6, 20)[:, None], 6, axis=1)
            return _world(rng, NONE, base=equal, taste=taste, weights=weights)
        case "personal":
            taste = rng.lognormal(0, 0.5, (20, 6))
            return _world(rng, NONE, taste=taste, logger="personal", base=equal)
        case "personal, tired":
            taste = rng.lognormal(0, 0.5, (20, 6))
            return _world(rng, PULLS, taste=taste, logger="personal", base=2 * equal, wear=_tiring(rng))
        case "trends of units, targeted":
            weights = np.where(np.arange(20)[:, None] % 6 == np.arange(6), 4.0, 0.5)
            slopes = rng.uniform(-0.6, 0.6, 20)
            return _world(rng, NONE, weights=weights, context=lambda unit, arm, x: 1 + slopes[unit] * (x - 0.5), low=0.03)
        case "weekends of arms":
            weekend = rng.choice([-0.45, 0.45], 6)
            return _world(
                rng, NONE, context=lambda unit, arm, x: 1 + weekend[arm] * (14 * x % 7 >= 5), days=14.0, change=_dated
            )
        case "good days of arms":
            days = rng.lognormal(0.0, 0.2, (6, 28))
            return _world(rng, NONE, context=lambda unit, arm, x: days[arm, np.minimum(28 * x, 27).astype(int)])
        case "one arm rises":
            return _world(rng, NONE, wear=lambda arm, own, x: np.where(np.asarray(arm) == 0, 1 + 1.5 * np.asarray(x), 1.0))
        case "used to it":
            return _world(rng, NOTHING, wear=lambda arm, own, x: 1 - 0.8 * np.expm1(-np.asarray(own) / 200.0), high=0.08)
        case "tastes":
            return _world(rng, NONE, taste=rng.lognormal(0, 0.5, (20, 6)))
        case "changing mix":
            taste = np.repeat(_halved(20)[:, None], 6, axis=1)
            return _world(rng, NONE, taste=taste, traffic=_growing(20), low=0.06, high=0.1)
        case "changing mix, unseen":
            taste = np.repeat(_halved(20)[:, None], 6, axis=1)
            return _world(rng, NONE, taste=taste, traffic=_growing(20), low=0.06, high=0.1, has_units=False)
        case "ages":

            def age(arm: Ints, own: Ints, x: Floats) -> Any:
                return np.exp(-2.5 * (x - launch[arm]))

            return _world(rng, TIME, arms=12, low=0.06, high=0.1, launch=launch, wear=age)
        case "launches into a falling audience":
            return _world(rng, NONE, arms=12, low=0.06, high=0.1, launch=launch, season=_falling)
        case "launches, pulls":
            return _world(rng, PULLS, arms=12, low=0.06, high=0.1, launch=launch, wear=_tiring(rng, 12, 30.0))
        case "launches, listed":
            base = rng.uniform(0.03, 0.06, 12) + 0.05 * (np.arange(12) >= 9)
            change = _list_available(launch, 28.0)
            return _world(rng, NONE, arms=12, base=base, launch=launch, change=change, options={"available": "could"})
        case "all age alike":
            return _world(rng, TIME, wear=lambda arm, own, x: 1 - 0.6 * x)
        case "rise and fall":
            return _world(rng, TIME, wear=_rise_and_fall)
        case "small equal arms":
            weights = (1.0 / np.arange(1, 61) ** 1.2)[None]
            return _world(rng, NONE, arms=60, base=np.full(60, 0.005), weights=weights, has_units=False)
        case "totals row":
            return _world(rng, NONE, change=_totals, rows=10_000)
        case "missing rewards":
            return _world(rng, PULLS, wear=_tiring(rng), change=_lose, low=0.05, high=0.15)
        case "counts":
            return _world(rng, NONE, low=1.0, high=4.0, rewards="counts", rows=20_000)
        case "counts, pulls":
            return _world(rng, PULLS, low=1.0, high=4.0, rewards="counts", wear=_tiring(rng), rows=20_000)
        case "counts, time":
            return _world(rng, TIME, low=1.0, high=4.0, rewards="counts", wear=_ageing(rng), rows=20_000)
        case "money":
            return _world(rng, NONE, low=1.0, high=4.0, rewards="money")
        case "money, pulls":
            return _world(rng, PULLS, low=1.0, high=4.0, rewards="money", wear=_tiring(rng))
        case "normal":
            return _world(rng, NONE, low=0.5, high=1.5, rewards="normal", rows=20_000)
        case "normal, both":
            return _world(rng, BOTH, low=0.5, high=1.5, rewards="normal", wear=_both(rng, 6), rows=20_000)
        case "Thompson, steady":
            return _world(rng, NONE, logger="Thompson")
        case "Thompson, pulls":
            return _world(rng, PULLS, logger="Thompson", wear=_tiring(rng))
        case "Thompson, time":
            return _world(rng, TIME, logger="Thompson", wear=_ageing(rng))
        case "UCB, no units":
            return _world(rng, NONE, logger="UCB", has_units=False, rows=12_000)
        case "UCB, time, no units":
            return _world(rng, TIME, logger="UCB", has_units=False, wear=_ageing(rng), rows=12_000)
        case "rest restores":
            return _world(rng, PULLS, wear=_tiring(rng, 6, 20.0), rests=1 / 8000, low=0.05, high=0.15)
        case "sudden step":
            step = float(rng.uniform(0.3, 0.7))
            return _world(rng, NONE, wear=lambda arm, own, x: np.where((np.asarray(arm) < 2) & (x > step), 0.5, 1.0))
        case "few users":
            return _world(rng, PULLS, units=5, wear=_tiring(rng, 6, 400.0))
        case "many users":
            return _world(rng, PULLS, units=3_000, low=0.1, high=0.2, wear=_tiring(rng, 6, 3.0), skew=1.2)
        case "many users, steady":
            return _world(rng, NONE, units=3_000, low=0.05, high=0.15, skew=1.2)
        case "users who stay like it":
            stay, units = rng.random(400), 400
            taste = np.repeat(0.3 + 1.4 * stay[:, None], 6, axis=1)

            def traffic(x: float) -> Floats:
                here = (stay > x) + 1e-3
                return np.asarray(here / here.sum())

            return _world(rng, NONE, units=units, taste=taste, traffic=traffic, low=0.05, high=0.15)
        case "greedy, few arms":
            return _world(rng, NONE, arms=3, logger="Thompson", low=0.05, high=0.06, rows=20_000, season=_falling)
    raise KeyError(name)


WORLDS = (
    *(
        "steady",
        "pulls",
        "pulls, some steady",
        "time",
        "both",
        "weekend",
        "day and night",
        "falling audience",
        "rewards to come",
        "bots",
    ),
    *("random season", "rare clicks", "rare clicks that end", "targeting", "personal", "personal, tired", "tastes"),
    *("trends of units, targeted", "weekends of arms", "good days of arms", "one arm rises", "used to it"),
    *("changing mix", "changing mix, unseen", "ages", "launches into a falling audience", "launches, pulls"),
    *("launches, listed", "all age alike", "rise and fall", "small equal arms", "totals row", "missing rewards", "counts"),
    *("counts, pulls", "counts, time", "money", "money, pulls", "normal", "normal, both", "Thompson, steady"),
    *("Thompson, pulls", "Thompson, time", "UCB, no units", "UCB, time, no units", "rest restores", "sudden step"),
    *("few users", "many users", "many users, steady", "users who stay like it", "greedy, few arms"),
)
