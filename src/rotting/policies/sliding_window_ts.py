"""Sliding-window Thompson sampling: only the last rounds count."""

from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import COUNT, FINITE, POSITIVE
from rotting.policies.parts.forgetting import Recent, add_recent, forget_recent, new_recent, recent_sum, slide_to, start_recent
from rotting.policies.parts.posteriors import POSTERIOR, thompson
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, declared_range, to_policy_scale
from rotting.policy import Kernel, Params, Policy, parameter


class SlidingWindowTS(Policy):
    """Sliding-window Thompson sampling: only the rewards of the last tau rounds count.

    Draws a mean for each arm from its posterior and plays the arm with the largest. With `N_i` the number and `S_i` the sum of
    arm i's rewards in rounds t - tau, ..., t - 1, the posterior is Beta(a + S_i, b + N_i - S_i) for rewards in a declared
    range, mapped to [0, 1], or N(S_i / N_i, sigma^2 / N_i). An arm without a reward in the window has its prior again ("beta")
    or is played at once ("gaussian"). Each arm once first. (Live, a late reward counts for the tau rounds after it came.)

    Args:
        tau: window: how many rounds count. From the horizon on, it is Thompson sampling.
        kind: posterior, "beta" or "gaussian".
        a: prior successes ("beta" only).
        b: prior failures ("beta" only).
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("beta" only).
        high: largest reward ("beta" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("beta" only).

    Needs to know the range, or sigma, in advance, and how fast means change, for tau. Meant for restless arms; not sound for
    rested rotting, where an arm is as good after a rest as before. Propensities are integrals over the posteriors, to about
    1e-9.

    Example:
        >>> SlidingWindowTS(tau=200).tau
        200

    Reference: Trovò, Paladino, Restelli, Gatti, "Sliding-window Thompson sampling for non-stationary settings", JAIR 2020.
    """

    tau: int = parameter(COUNT, "window: how many rounds count", default=1_000)
    kind: Literal["beta", "gaussian"] = parameter(POSTERIOR, "posterior", default="beta")
    a: float = parameter(POSITIVE, "beta: prior successes", default=1.0)
    b: float = parameter(POSITIVE, "beta: prior failures", default=1.0)
    sigma: float = parameter(POSITIVE, "gaussian: standard deviation of the rewards", default=1.0)
    low: float = parameter(FINITE, "beta: smallest reward", default=0.0)
    high: float = parameter(FINITE, "beta: largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "beta: rewards outside [low, high]", default="refuse")

    name = "sliding-window-ts"
    title = "SW-TS"
    check = check_range
    reward_range = property(declared_range)
    needs_changes = True
    randomised = True
    restless = True
    memory = "O(K + t)"


class State(NamedTuple):
    recent: Recent  # the rewards of the last tau rounds
    ever: Ints  # [K] rewards in the whole game


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(recent=new_recent(n_arms, capacity), ever=np.zeros(n_arms, np.int64))
    start_recent(s.recent, p.tau)
    return s


def pulled(s: State, i: int) -> bool:
    return bool(s.ever[i] > 0)


def evidence(p: Params, s: State, t: int, i: int) -> tuple[float, float]:
    """Return N_i and S_i, of the window that ends before round t."""
    slide_to(s.recent, t)
    return float(s.recent.pulls[i]), recent_sum(s.recent, i)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    add_recent(s.recent, t, arm, to_policy_scale(p, reward))
    s.ever[arm] += 1


def forget(p: Params, s: State, arm: int) -> None:
    forget_recent(s.recent, arm)


SlidingWindowTS.kernel = Kernel(init, update=update, forget=forget, **thompson(evidence, pulled))
