"""Exponential weights: what Exp3, Exp3.S and Rexp3 share, and Tsallis-INF but for its probabilities.

The weights are kept as logarithms, relative to the largest one: they cannot overflow, none is lost by underflow, and an arm
that is added starts equal to the leader.
"""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.elementary import exp
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.presence import Presence, new_presence
from rotting.policies.parts.reward_scale import to_unit
from rotting.policy import Params


class Weights(NamedTuple):
    """The state of these policies."""

    log_weights: Floats  # [K] ln(w_i / max_j w_j)
    propensity: Floats  # [K] the probability with which each arm was last drawn
    scratch: Floats  # [K] working space of `draw_arm`
    rates: Floats  # [2] gamma, of exploration, and alpha, of sharing (Exp3.S)
    batch: Ints  # [2] rounds between two restarts (Rexp3; 0 = none), and restarts so far
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)
    presence: Presence  # K, for the tuning, and the arms that share


def new_weights(n_arms: int) -> Weights:
    """Return equal weights, without rates yet: the policy's `tune` sets them."""
    return Weights(
        log_weights=np.zeros(n_arms),
        propensity=np.ones(n_arms),
        scratch=np.zeros(n_arms),
        rates=np.zeros(2),
        batch=np.zeros(2, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )


def equalise(s: Weights, horizon: int) -> None:
    """Make all weights equal, for a game of `horizon` rounds."""
    s.log_weights[:] = 0.0
    s.batch[1] = 0
    s.epoch[0], s.epoch[1] = 0, horizon


def probabilities(s: Weights, arms: Ints, out: Floats) -> None:
    """Write `p_i = (1 - gamma) w_i / W + gamma / |A|` of the available arms A into `out`, in their order."""
    gamma = s.rates[0]
    top, total = -math.inf, 0.0
    for i in arms:
        top = max(top, s.log_weights[i])
    for k in range(arms.size):
        out[k] = exp(s.log_weights[arms[k]] - top)
        total += out[k]
    for k in range(arms.size):
        out[k] = (1.0 - gamma) * (out[k] / total) + gamma / arms.size


def draw_arm(s: Weights, t: int, key: int, arms: Ints) -> int:
    """Return an arm drawn with the probabilities of `probabilities`, and keep the probability of that draw."""
    probabilities(s, arms, s.scratch)
    u, below = uniform(key, t, 0), 0.0
    last = arms.size - 1
    for k in range(arms.size):
        below += s.scratch[k]
        if u < below or k == last:
            s.propensity[arms[k]] = s.scratch[k]
            return int(arms[k])
    return int(arms[last])


def boost(p: Params, s: Weights, arm: int, reward: float) -> None:
    """Multiply the arm's weight by `exp(gamma xhat / K)`, where xhat is its reward over the probability of its draw."""
    xhat = to_unit(p.low, p.high, reward) / s.propensity[arm]
    s.log_weights[arm] += s.rates[0] * xhat / s.presence.number[0]


def rescale(s: Weights) -> None:
    """Make the largest log-weight of the arms present zero."""
    top = -math.inf
    for i in range(s.log_weights.size):
        if s.presence.here[i] == 1:
            top = max(top, s.log_weights[i])
    for i in range(s.log_weights.size):
        s.log_weights[i] -= top


def forget(p: Params, s: Weights, arm: int) -> None:
    """Make the largest log-weight of the other arms zero: a new arm starts there, equal to their leader."""
    top = -math.inf
    for i in range(s.log_weights.size):
        if i != arm and s.presence.here[i] == 1:
            top = max(top, s.log_weights[i])
    if top == -math.inf:
        return
    for i in range(s.log_weights.size):
        if i != arm:
            s.log_weights[i] -= top
