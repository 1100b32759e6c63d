"""f-dsw TS: Thompson sampling that sees every arm twice, through a discount and through a window of its own pulls."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT, FINITE, FRACTION
from rotting.policies.kernels.elementary import exp, power
from rotting.policies.kernels.exact_sums import add
from rotting.policies.parts.forgetting import (
    Discounted,
    add_discounted,
    discount_to,
    forget_discounted,
    new_discounted,
    start_discounted,
)
from rotting.policies.parts.indices import first_new
from rotting.policies.parts.paired_draws import AGGREGATION, MAX, MIN, winning_probabilities
from rotting.policies.parts.posteriors import sample
from rotting.policies.parts.reward_scale import BOUNDED, OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class FDSWTS(Policy):
    """f-discounted sliding-window Thompson sampling: one draw from all rewards, discounted, one from the last n of the arm.

    Draws two means for each arm and plays the arm with the largest `f(x_i, y_i)`:

    - `x_i` from Beta(1 + S_i, 1 + F_i), where the counts `S_i` and `F_i` of successes and failures start at 1, are multiplied
      by gamma in every round, whatever is played, and grow with the rewards of arm i;
    - `y_i` from Beta(1 + successes, 1 + failures) of the last n rewards of arm i, however old they are.

    Rewards are mapped from [low, high] to [0, 1]; one in between counts as that much of a success. Each arm once first, which
    the authors leave to the draws. An arm that is added later counts as if it had been there, unpulled, from round 1.

    Args:
        f: "min" (pessimistic: an arm must look good in both views), "max" (optimistic: in one of them), or "mean".
        gamma: discount of a round, in (0, 1]; about `1 / (1 - gamma)` rounds are remembered.
        n: window: how many of an arm's own rewards count.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: in the authors' experiments with abrupt changes, gamma and n are 0.99 and 50 for "max" and "mean", 0.95 and 75 for
    "min"; with slow changes, 0.99 and 25 for "max", 0.95 and 25 for "mean", 0.95 and 100 for "min".

    Needs to know the range in advance, and how fast means change, for gamma and n. Meant for restless arms; not sound for
    rested rotting, where an arm is as good after a rest as before. Propensities are integrals over the posteriors, to about
    1e-6; those of "mean" take time in proportion to the larger of n and 1 / (1 - gamma).

    Example:
        >>> FDSWTS("min", gamma=0.95, n=75)
        FDSWTS(f='min', gamma=0.95, n=75, low=0.0, high=1.0, outside='refuse')

    Reference: Cavenaghi, Sottocornola, Stella, Zanker, "Non stationary multi-armed bandit: empirical evaluation of a new
    concept drift-aware algorithm", Entropy 2021.
    """

    f: Literal["min", "max", "mean"] = parameter(AGGREGATION, "what is made of an arm's two draws", default="max")
    gamma: float = parameter(FRACTION, "discount: a reward of k rounds ago counts gamma**(k - 1)", default=0.99)
    n: int = parameter(COUNT, "window: how many of an arm's own rewards count", default=50)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "f-dsw-ts"
    title = "f-dsw TS"
    check = check_range
    needs_changes = True
    randomised = True
    restless = True
    memory = "O(K n)"


class State(NamedTuple):
    pulls: Ints  # [K] N_i
    discounted: Discounted
    last: Floats  # [K, min(n, capacity)] the last n rewards of the arm; a new one takes the place of the oldest
    high: Floats  # [K] their sum, as high + low
    low: Floats


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        pulls=np.zeros(n_arms, np.int64),
        discounted=new_discounted(n_arms),
        last=np.zeros((n_arms, min(p.n, capacity))),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
    )
    start_discounted(s.discounted, p.gamma)
    return s


def discounted_posterior(p: Params, s: State, t: int, i: int) -> tuple[float, float]:
    """Return 1 + S_i and 1 + F_i: of the 1 that each count starts at, round t still has gamma^(t - 1)."""
    number, successes = s.discounted.pulls_high[i], s.discounted.high[i]
    prior = 1.0 + power(p.gamma, t - 1.0)
    return prior + successes, prior + max(0.0, number - successes)


def window_posterior(p: Params, s: State, i: int) -> tuple[float, float]:
    """Return 1 + successes and 1 + failures among the last n rewards of arm i."""
    return 1.0 + s.high[i], 1.0 + max(0.0, min(s.pulls[i], p.n) - s.high[i])


def aggregate(p: Params, x: float, y: float) -> float:
    if p.f == MIN:
        return min(x, y)
    if p.f == MAX:
        return max(x, y)
    return 0.5 * (x + y)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    discount_to(s.discounted, t)
    arm = first_new(s, arms)
    if arm >= 0:
        return arm
    largest, draw = -1.0, 0
    for i in arms:
        a, b = discounted_posterior(p, s, t, i)
        x, draw = sample(BOUNDED, a, b, key, t, draw)
        a, b = window_posterior(p, s, i)
        y, draw = sample(BOUNDED, a, b, key, t, draw)
        value = aggregate(p, 1.0 / (1.0 + exp(-x)), 1.0 / (1.0 + exp(-y)))  # samples are log-odds
        if value > largest:  # strictly: ties go to the lowest arm
            arm, largest = int(i), value
    return arm


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    x = to_unit(p.low, p.high, reward)
    add_discounted(s.discounted, t, arm, x)
    place = s.pulls[arm] % p.n
    if s.pulls[arm] >= p.n:
        s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], -s.last[arm, place])
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], x)
    s.last[arm, place] = x
    s.pulls[arm] += 1


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return f of the two posterior means as the mean of arm i."""
    if s.pulls[i] == 0:
        return Reason(math.nan, math.nan, 0, math.inf)
    discount_to(s.discounted, t)
    a, b = discounted_posterior(p, s, t, i)
    c, d = window_posterior(p, s, i)
    mean = aggregate(p, a / (a + b), c / (c + d))
    return Reason(math.nan, p.low + (p.high - p.low) * mean, min(s.pulls[i], p.n), math.nan)


def forget(p: Params, s: State, arm: int) -> None:
    forget_discounted(s.discounted, arm)


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    new = first_new(s, arms)
    if new >= 0:
        for k in range(arms.size):
            out[k] = 1.0 if arms[k] == new else 0.0
        return
    discount_to(s.discounted, t)
    shapes = np.empty((arms.size, 4))  # a and b of x, a and b of y
    for k in range(arms.size):
        shapes[k, 0], shapes[k, 1] = discounted_posterior(p, s, t, arms[k])
        shapes[k, 2], shapes[k, 3] = window_posterior(p, s, arms[k])
    winning_probabilities(p.f, shapes, out)


FDSWTS.kernel = Kernel(init, choose, update, explain, propensities, forget)
