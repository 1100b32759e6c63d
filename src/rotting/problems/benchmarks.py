"""More problems by name: those of other papers, arms with a memory, and two on which RAW-UCB loses."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rotting.common.rules import COUNT, FINITE, FRACTION, NONNEGATIVE, POSITIVE, Rule, positive_int
from rotting.errors import InvalidValueError
from rotting.policies.kernels.elementary import exps, power, powers
from rotting.policies.kernels.random_numbers import normal_quantile, uniform
from rotting.problems.arms import Rested, Restless
from rotting.problems.decays import Abrupt, Constant, Piecewise, Table
from rotting.problems.families import family_key, generator
from rotting.problems.noise import Gaussian
from rotting.problems.presets import named, preset
from rotting.problems.problem import Problem
from rotting.problems.stateful import Stateful

_LEVINE_SIGMA = math.sqrt(0.2)
_LEVINE_THETAS = tuple((10 + 5 * k) / 100 for k in range(10))
_PLATEAU = 100  # pulls
_MEMORY = Rule("a number in [0, 1)", low=0.0, high=1.0, open_high=True)


def _numbers(name: str, values: Sequence[float], rule: Rule) -> list[float]:
    """Return one checked number for each arm."""
    checked = [rule.check(f"{name}[{i}]", value) for i, value in enumerate(values)]
    if not checked:
        raise InvalidValueError(name, "hold one number for each arm", values, got="none")
    return checked


# --- Tables -------------------------------------------------------------------------------------------------------------------


@preset
def levine_two_arms(horizon: int = 30_000, sigma: float = _LEVINE_SIGMA) -> Problem:
    """Return the non-parametric benchmark of Levine et al.: 0.5 for ever, against 1 for horizon // 4 pulls and 0.4 after.

    The numbers were written from memory of the paper, and are not checked against its text.

    Args:
        horizon: the length of the game, which also places the drop.
        sigma: the standard deviation of the Gaussian rewards; their variance is 0.2 by default.

    Reference:
        Levine, Crammer, Mannor. Rotting bandits. NeurIPS 2017.

    Example:
        >>> problem = levine_two_arms()
        >>> problem.mean(1, t=30_000, n=7_499), problem.mean(1, t=30_000, n=7_500)
        (1.0, 0.4)
    """
    rounds = positive_int("horizon", horizon)
    arms = [Rested(Constant(0.5)), Rested(Abrupt(1.0, 0.4, at=rounds // 4))]
    return Problem(arms, Gaussian(sigma), rounds, named("levine-two-arms", sigma, _LEVINE_SIGMA))


@preset
def levine_vanishing(horizon: int = 30_000, sigma: float = _LEVINE_SIGMA) -> Problem:
    """Return the parametric benchmark of Levine et al.: means (n // 100 + 1)^-theta that vanish, one arm for each theta.

    theta is 0.1, 0.15, ..., 0.55, which is our choice: the paper draws the arms at random. The form and the other numbers were
    written from memory of the paper, and are not checked against its text.

    Args:
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards; their variance is 0.2 by default.

    Reference:
        Levine, Crammer, Mannor. Rotting bandits. NeurIPS 2017.

    Example:
        >>> problem = levine_vanishing()
        >>> problem.n_arms, problem.mean(0, t=500, n=99), round(problem.mean(0, t=500, n=100), 4)
        (10, 1.0, 0.933)
    """
    starts = range(0, positive_int("horizon", horizon), _PLATEAU)
    steps = np.arange(1.0, len(starts) + 1)
    arms = [Rested(Piecewise(powers(steps, -theta), starts=list(starts))) for theta in _LEVINE_THETAS]
    return Problem(arms, Gaussian(sigma), horizon, named("levine-vanishing", sigma, _LEVINE_SIGMA))


@preset
def concave_rising(n_arms: int = 15, horizon: int = 200_000, sigma: float = 0.1, seed: int = 0) -> Problem:
    """Return the synthetic benchmark of R-ed-UCB: arms that rise with their pulls, ever more slowly.

    The mean after n pulls is `c (1 - exp(-a n))` for every second arm, and `c (1 - b (n + b^(1/rho))^-rho)` for the others. The
    parameters are drawn once, for all runs: c and rho uniformly in (0, 1], a log-uniformly in [1e-4, 1e-1], b in [1, 100].
    The ranges of a and b are ours; the rest was written from memory of the paper, and is not checked against its text.

    Args:
        n_arms: K.
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.
        seed: decides the parameters of the arms.

    Reference:
        Metelli, Trovo, Pirola, Restelli. Stochastic rising bandits. ICML 2022.

    Example:
        >>> problem = concave_rising(n_arms=3, horizon=100)
        >>> problem.mean(0, t=1, n=0), problem.is_rotting().where.clock
        (0.0, 'pulls')
    """
    rng = generator(family_key(seed), 0)
    pulls = np.arange(positive_int("horizon", horizon), dtype=np.float64)
    arms = []
    for i in range(positive_int("n_arms", n_arms)):
        c, rho, a, b = rng.random(4).tolist()
        c, rho, a, b = 1.0 - c, 1.0 - rho, 1e-4 * power(1e3, a), power(100.0, b)
        means = 1.0 - exps(-a * pulls) if i % 2 == 0 else 1.0 - b * powers(pulls + power(b, 1.0 / rho), -rho)
        arms.append(Rested(Table(c * np.maximum(means, 0.0))))
    return Problem(arms, Gaussian(sigma), horizon, named("concave-rising", sigma, 0.1))


@preset
def rise_then_rot(
    tops: Sequence[float] = (1.0, 0.8, 0.6, 0.4), peak: int = 4_000, horizon: int = 10_000, sigma: float = 1.0
) -> Problem:
    """Return arms that wear in and then wear out: the mean after n pulls is `top x exp(1 - x)`, where x = (n + 1) / peak_i.

    The arm with the largest top peaks last, after `peak` pulls; the next one after half as many, and so on. This is the course
    of the effect of an advertisement that is repeated. The form of the curve is ours.

    Args:
        tops: the largest mean of each arm.
        peak: the pulls after which the first arm peaks.
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Pechmann, Stewart. Advertising repetition: a critical review of wearin and wearout. Current Issues and Research in
        Advertising, 1988.

    Example:
        >>> problem = rise_then_rot([1.0], peak=10, horizon=100)
        >>> [round(problem.mean(0, t=100, n=n), 2) for n in (0, 9, 50)]
        [0.25, 1.0, 0.08]
    """
    pulls = np.arange(1.0, positive_int("horizon", horizon) + 1)
    last = positive_int("peak", peak)
    arms = []
    for i, top in enumerate(_numbers("tops", tops, FINITE)):
        x = pulls / (last / 2**i)
        arms.append(Rested(Table(top * x * exps(1.0 - x))))
    return Problem(arms, Gaussian(sigma), horizon, named("rise-then-rot", sigma))


# --- Arms with a memory -------------------------------------------------------------------------------------------------------


class Satiation(NamedTuple):
    """The parameters of `rebounding`."""

    base: float
    decay: float
    weight: float


def no_memory(p: object) -> float:
    """Return a first state of zero."""
    return 0.0


def satiated_mean(p: Satiation, s: float, t: int, n: int) -> float:
    """Return the base less what the satiation costs."""
    return p.base - p.weight * s


def satiate(p: Satiation, s: float, t: int, n: int, pulled: int) -> float:
    """Return the satiation after a round."""
    return p.decay * (s + pulled)


def desatiate(p: Satiation, s: float, t: int, n: int, rounds: int) -> float:
    """Return the satiation after rounds without a pull."""
    return power(p.decay, float(rounds)) * s


@preset
def rebounding(
    bases: Sequence[float] = (1.0, 0.9, 0.8, 0.7),
    decay: float = 0.8,
    weight: float = 0.3,
    horizon: int = 10_000,
    sigma: float = 1.0,
) -> Problem:
    """Return arms whose pulls satiate, and which recover: mean `base - weight s`, where s becomes `decay (s + pulled)`.

    Args:
        bases: the mean of each arm without satiation.
        decay: the share of the satiation that a round leaves, in [0, 1).
        weight: what satiation costs.
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Leqi, Kilinc-Karzan, Lipton, Montgomery. Rebounding bandits for modeling satiation effects. NeurIPS 2021. There, the
        satiation is noisy; the noise is left out here. For equal arms, the greedy oracle is optimal.

    Example:
        >>> import rotting
        >>> problem = rebounding([1.0, 0.9], decay=0.5, weight=0.4)
        >>> rotting.play(rotting.GreedyOracle(), problem, horizon=6).mean.round(3).tolist()
        [1.0, 0.9, 0.9, 0.8, 0.875, 0.775]
    """
    shared = _MEMORY.check("decay", decay), NONNEGATIVE.check("weight", weight)
    arms = [
        Stateful(no_memory, satiated_mean, satiate, Satiation(base, *shared), rest=desatiate)
        for base in _numbers("bases", bases, FINITE)
    ]
    return Problem(arms, Gaussian(sigma), horizon, named("rebounding", sigma))


class Switch(NamedTuple):
    """The parameters of `last_switch`."""

    high: float
    decay: float


def switched_before(p: Switch) -> float:
    """Return the state of an arm that was last pulled just before the game."""
    return 1.0


def switch_mean(p: Switch, s: float, t: int, n: int) -> float:
    """Return the mean after s > 0 rounds of rest, or after -s pulls in a row."""
    passed = 0.5 * p.high * power(p.decay, abs(s))
    return p.high - passed if s > 0.0 else passed


def switch(p: Switch, s: float, t: int, n: int, pulled: int) -> float:
    """Return the rounds since the last switch, below zero for an arm that is being pulled."""
    if pulled == 1:
        return min(s, 0.0) - 1.0
    return max(s, 0.0) + 1.0


def stay_switched_off(p: Switch, s: float, t: int, n: int, rounds: int) -> float:
    """Return the rounds since the last switch, after some more without a pull."""
    return max(s, 0.0) + rounds


@preset
def last_switch(
    highs: Sequence[float] = (1.0, 0.9, 0.8, 0.7),
    decay: float = 0.7,
    horizon: int = 10_000,
    sigma: float = 1.0,
) -> Problem:
    """Return arms that depend on the rounds since the last switch: they tire while they are pulled, and recover while not.

    After d rounds of rest, the mean is `high - high decay^d / 2`; after d pulls in a row, it is `high decay^d / 2`. The form is
    ours: the paper allows any means that grow with the rest and fall with the pulls in a row.

    Args:
        highs: the mean of each arm when it is fully rested.
        decay: how slowly arms tire and recover, in [0, 1).
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Laforgue, Clerici, Cesa-Bianchi, Gilad-Bachrach. A last switch dependent analysis of satiation and seasonality in
        bandits. AISTATS 2022.

    Example:
        >>> import rotting
        >>> rotting.play(rotting.GreedyOracle(), last_switch([1.0, 1.0]), horizon=4).mean.round(3).tolist()
        [0.65, 0.755, 0.65, 0.65]
    """
    slow = _MEMORY.check("decay", decay)
    arms = [
        Stateful(switched_before, switch_mean, switch, Switch(high, slow), rest=stay_switched_off)
        for high in _numbers("highs", highs, NONNEGATIVE)
    ]
    return Problem(arms, Gaussian(sigma), horizon, named("last-switch", sigma))


class Block(NamedTuple):
    """The parameters of `blocking`."""

    mean: float
    delay: float


def unblocked_mean(p: Block, s: float, t: int, n: int) -> float:
    """Return the mean, or zero while the arm is blocked."""
    return p.mean if s == 0.0 else 0.0


def block(p: Block, s: float, t: int, n: int, pulled: int) -> float:
    """Return for how many more rounds the arm is blocked."""
    if pulled == 1 and s == 0.0:
        return p.delay - 1.0
    return max(s - 1.0, 0.0)


def unblock(p: Block, s: float, t: int, n: int, rounds: int) -> float:
    """Return for how many more rounds the arm is blocked, after some without a pull."""
    return max(s - rounds, 0.0)


@preset
def blocking(
    means: Sequence[float] = (1.0, 0.8, 0.6, 0.4),
    delays: Sequence[float] = (4, 3, 2, 1),
    horizon: int = 10_000,
    sigma: float = 0.3,
) -> Problem:
    """Return arms that are blocked after a pull: a pull of arm i pays `means[i]`, and until `delays[i]` rounds later, nothing.

    In the paper, a policy knows which arms are blocked and does not pull them; here it may, in vain.

    Args:
        means: the mean of each arm when it is free.
        delays: after how many rounds each arm is free again, 1 or more; 1 is an arm that is never blocked.
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Basu, Sen, Sanghavi, Shakkottai. Blocking bandits. NeurIPS 2019. The greedy oracle collects at least 1 - 1/e of the
        optimum.

    Example:
        >>> import rotting
        >>> rotting.play(rotting.GreedyOracle(), blocking(), horizon=6).mean.tolist()
        [1.0, 0.8, 0.6, 0.4, 1.0, 0.8]
    """
    if len(means) != len(delays):
        raise InvalidValueError("delays", f"be as many as means, {len(means)}", delays, got=f"{len(delays)}")
    pairs = zip(_numbers("means", means, FINITE), _numbers("delays", delays, COUNT), strict=True)
    arms = [Stateful(no_memory, unblocked_mean, block, Block(mean, float(d)), rest=unblock) for mean, d in pairs]
    return Problem(arms, Gaussian(sigma), horizon, named("blocking", sigma, 0.3))


class Autoregression(NamedTuple):
    """The parameters of `autoregressive`."""

    base: float
    gamma: float
    spread: float


def stationary_level(p: Autoregression, key: int) -> float:
    """Return a level from the stationary distribution."""
    return p.spread * normal_quantile(uniform(key, 0, 0))


def level_mean(p: Autoregression, s: float, t: int, n: int) -> float:
    """Return the base and the level."""
    return p.base + s


def next_level(p: Autoregression, s: float, t: int, n: int, pulled: int, key: int) -> float:
    """Return the level of the next round."""
    return p.gamma * s + p.spread * math.sqrt(1.0 - p.gamma * p.gamma) * normal_quantile(uniform(key, t, 0))


@preset
def autoregressive(
    bases: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    gamma: float = 0.999,
    spread: float = 1.0,
    horizon: int = 10_000,
    sigma: float = 1.0,
) -> Problem:
    """Return restless arms whose means are AR(1) processes, the same in a run for all policies.

    The mean is `base + x`, where x becomes `gamma x + w` every round, w is normal, and the standard deviation of x is `spread`.
    Means rise as often as they fall, so this is a negative control for policies for rotting arms. In 500 runs
    of 10,000 rounds the mean regret of RAW-UCB is 2,598; that of SW-UCB is 1,637, that of D-UCB 1,758, of UCB1 4,452. Since
    pulls change nothing, the greedy oracle is optimal.

    Args:
        bases: the mean of each process.
        gamma: the correlation of a mean with the next, in [0, 1).
        spread: the standard deviation of the means.
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Slivkins, Upfal. Adapting to a changing environment: the Brownian restless bandits. COLT 2008. Liu, Kuang, Van Roy.
        Nonstationary bandit learning via predictive sampling. arXiv 2205.01970.

    Example:
        >>> import rotting
        >>> one, two = (rotting.play(policy, autoregressive(), horizon=50) for policy in (rotting.UCB1(), rotting.Uniform()))
        >>> bool((one.means == two.means).all()), bool((one.arm == two.arm).all())
        (True, False)
    """
    shared = _MEMORY.check("gamma", gamma), NONNEGATIVE.check("spread", spread)
    arms = [
        Stateful(stationary_level, level_mean, next_level, Autoregression(base, *shared), clock="rounds")
        for base in _numbers("bases", bases, FINITE)
    ]
    return Problem(arms, Gaussian(sigma), horizon, named("autoregressive", sigma))


class Chain(NamedTuple):
    """The parameters of `markov`."""

    fall: float
    rise: float


def stationary_state(p: Chain, key: int) -> float:
    """Return 1 in the good state and 0 in the bad one, from the stationary distribution."""
    return 1.0 if uniform(key, 0, 0) * (p.rise + p.fall) < p.rise else 0.0


def state_mean(p: Chain, s: float, t: int, n: int) -> float:
    """Return the state, which is the mean."""
    return s


def next_state(p: Chain, s: float, t: int, n: int, pulled: int, key: int) -> float:
    """Return the state of the next round."""
    u = uniform(key, t, 0)
    if s == 1.0:
        return 0.0 if u < p.fall else 1.0
    return 1.0 if u < p.rise else 0.0


@preset
def markov(
    falls: Sequence[float] = (0.001, 0.002, 0.005, 0.01),
    rise: float = 0.002,
    horizon: int = 10_000,
    sigma: float = 1.0,
) -> Problem:
    """Return restless arms that are Markov chains between 0 and 1 (Gilbert, Elliott), the same in a run for all policies.

    Args:
        falls: the probability with which the mean of each arm falls to 0 in a round, above 0.
        rise: the probability with which it rises to 1, above 0.
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Whittle. Restless bandits: activity allocation in a changing world. Journal of Applied Probability, 1988. Ortner,
        Ryabko, Auer, Munos. Regret bounds for restless Markov bandits. Theoretical Computer Science, 2014.

    Example:
        >>> import rotting
        >>> sorted(set(rotting.play(rotting.UCB1(), markov(), horizon=500).means.ravel().tolist()))
        [0.0, 1.0]
    """
    up = FRACTION.check("rise", rise)
    arms = [
        Stateful(stationary_state, state_mean, next_state, Chain(fall, up), clock="rounds")
        for fall in _numbers("falls", falls, FRACTION)
    ]
    return Problem(arms, Gaussian(sigma), horizon, named("markov", sigma))


class Reservoir(NamedTuple):
    """The parameters of `many_arms`."""

    rotting: float
    beta: float


def drawn_mean(p: Reservoir, key: int) -> float:
    """Return the mean of a fresh arm."""
    return 1.0 - power(uniform(key, 0, 0), 1.0 / p.beta)


def rotten_mean(p: Reservoir, s: float, t: int, n: int) -> float:
    """Return the mean after n pulls."""
    return s - p.rotting * n


def keep(p: object, s: float, t: int, n: int, pulled: int) -> float:
    """Return the state unchanged."""
    return s


def keep_resting(p: object, s: float, t: int, n: int, rounds: int) -> float:
    """Return the state unchanged."""
    return s


@preset
def many_arms(
    n_arms: int = 1_000, rotting: float = 0.001, beta: float = 1.0, horizon: int = 10_000, sigma: float = 1.0
) -> Problem:
    """Return very many arms with random first means, new ones in every run, all of which rot with each pull.

    A fresh mean is above `1 - x` with probability `x^beta`; every pull lowers it by `rotting`. The papers have infinitely many
    arms. The greedy oracle, which the regret is measured against, is optimal, although the library cannot know it of arms with
    a memory: means fall with pulls alone.

    Args:
        n_arms: K.
        rotting: how much a pull costs an arm.
        beta: how rare good arms are; 1 for uniform means.
        horizon: the length of the game.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Kim, Vojnovic, Yun. Rotting infinitely many-armed bandits. ICML 2022. Kim, Vojnovic, Yun. An adaptive approach for
        infinitely many-armed bandits under generalized rotting constraints. NeurIPS 2024.

    Example:
        >>> import rotting
        >>> game = rotting.play(rotting.GreedyOracle(), many_arms(n_arms=50), horizon=3)
        >>> bool((game.means[0] == game.means[2]).sum() >= 48), game.problem.kind
        (True, 'stateful')
    """
    p = Reservoir(NONNEGATIVE.check("rotting", rotting), POSITIVE.check("beta", beta))
    arm = Stateful(drawn_mean, rotten_mean, keep, p, rest=keep_resting)
    return Problem([arm] * positive_int("n_arms", n_arms), Gaussian(sigma), horizon, named("many-arms", sigma))


# --- A negative control; another one is `autoregressive` ----------------------------------------------------------------------


@preset
def comeback(horizon: int = 10_000, sigma: float = 1.0) -> Problem:
    """Return a negative control: a restless arm at 0 that rises to 1 at half of the game, beside one at 0.5.

    RAW-UCB takes an arm for what its worst window says, and so is slow to forgive: this is outside its theorems. In
    500 runs of 10,000 rounds its mean regret is 1,056; that of SW-UCB is 249, that of D-UCB 194.

    Args:
        horizon: the length of the game, which also places the rise.
        sigma: the standard deviation of the Gaussian rewards.

    Example:
        >>> problem = comeback(horizon=100)
        >>> problem.mean(1, t=50, n=0), problem.mean(1, t=51, n=0)
        (0.0, 1.0)
    """
    rounds = positive_int("horizon", horizon)
    arms = [Restless(Constant(0.5)), Restless(Abrupt(0.0, 1.0, at=rounds // 2))]
    return Problem(arms, Gaussian(sigma), rounds, named("comeback", sigma))
