"""Exp3.S: exponential weights that are shared, to follow an adversary whose best arm changes."""

import math
from typing import Literal

from rotting.common.rules import FINITE, FRACTION, INDEX, NONNEGATIVE, PROBABILITY
from rotting.errors import InvalidValueError
from rotting.policies.exp3 import choose, propensities
from rotting.policies.exp3 import update as update_without_sharing
from rotting.policies.kernels.elementary import exp, log, log1p, power
from rotting.policies.parts.exponential_weights import Weights, boost, equalise, forget, new_weights, rescale
from rotting.policies.parts.reward_scale import OUTSIDE, check_range
from rotting.policy import Kernel, Params, Policy, parameter


class Exp3S(Policy):
    """Exp3.S: Exp3 whose arms share their weights, so that a new best arm can take over.

    Draws arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`, as Exp3 does, and then, with `xhat_i = x / p_i` for
    the arm played and 0 for the others, does `w_i = w_i exp(gamma xhat_i / K) + (e alpha / K) W` for all arms. Rewards x are
    mapped from [low, high] to [0, 1]. A reward that comes late is divided by the probability with which its arm was drawn.

    Args:
        gamma: rate of exploration, in (0, 1]; not to be given with a horizon.
        alpha: rate of sharing, in [0, 1]; 0 is Exp3; not to be given with a horizon.
        horizon: number of rounds T to tune for; 0 for gamma and alpha as given.
        segments: S = 1 + number of changes of the best arm, with a horizon; 0 if not known.
        budget: V, the total variation of the means in units of high - low, with a horizon; 0 if not known.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: with a horizon, always `alpha = 1 / T`;
    `Exp3S(horizon=T)`: `gamma = min(1, sqrt(K ln(KT) / T))`, as in the scripts of the RAW-UCB paper's authors;
    `Exp3S(horizon=T, segments=S)`: `gamma = min(1, sqrt(K (S ln(KT) + e) / ((e - 1) T)))`, where S is the publication's
    hardness;
    `Exp3S(horizon=T, budget=V)`: `gamma = min(1, (4 V K ln(KT) / ((e - 1)^2 T))^(1/3))`, from Besbes, Gur, Zeevi 2019.
    The first publication bounds the regret against S segments by `K (S ln(KT) + e) / gamma + (e - 1) gamma T`, which is least
    at the second gamma. The third gamma follows from it. In at most `S = 2 T / D` batches of D rounds, the best arms of the
    batches lose at most `2 V D` to the best arms of all rounds. `2 V D + 2 K T ln(KT) / (D gamma)` is
    `4 sqrt(V K T ln(KT) / gamma)` at the best D, and the sum of that and `(e - 1) gamma T` is least at the third gamma.
    Needs the horizon, better with the changes or the variation, and the range of the rewards. Sound for restless rotting, not
    for rested: its regret is against a sequence of arms whose rewards do not depend on its choices.

    Example:
        >>> Exp3S(horizon=10_000, segments=5)
        Exp3S(horizon=10000, segments=5, budget=0.0, low=0.0, high=1.0, outside='refuse')
        >>> Exp3S(gamma=0.05, alpha=0.001)
        Exp3S(gamma=0.05, alpha=0.001, horizon=0, low=0.0, high=1.0, outside='refuse')

    Reference: Auer, Cesa-Bianchi, Freund, Schapire, "The nonstochastic multiarmed bandit problem", SIAM Journal on Computing
    2002, section 8; Besbes, Gur, Zeevi, "Optimal exploration-exploitation in a multi-armed bandit problem with non-stationary
    rewards", Stochastic Systems 2019.
    """

    gamma: float = parameter(FRACTION, "rate of exploration, without a horizon", default=0.1)
    alpha: float = parameter(PROBABILITY, "rate of sharing, without a horizon", default=0.001)
    horizon: int = parameter(INDEX, "number of rounds to tune for; 0 = gamma and alpha as given", default=0)
    segments: int = parameter(INDEX, "1 + number of changes of the best arm; 0 = not known", default=0)
    budget: float = parameter(NONNEGATIVE, "total variation of the means, in units of the range; 0 = not known", default=0.0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "exp3-s"
    title = "Exp3.S"
    first_pulls = False
    manual_params = ("gamma", "alpha")
    tuning_params = ("segments", "budget")
    needs_horizon = True
    randomised = True
    restless = True

    def check(self) -> None:
        """Refuse an empty range, and two kinds of knowledge at once."""
        check_range(self)
        if self.segments > 0 and self.budget > 0:
            raise InvalidValueError("budget", "be left out when segments is given", self.budget)


def init(p: Params, n_arms: int, capacity: int) -> Weights:
    s = new_weights(n_arms)
    reset(p, s, p.horizon)
    return s


def update(p: Params, s: Weights, t: int, arm: int, reward: float) -> None:
    """Set `w_i = w_i exp(gamma xhat_i / K) + (e alpha / K) W` for all arms, in logarithms."""
    alpha = s.rates[1]
    if alpha == 0.0:
        update_without_sharing(p, s, t, arm, reward)
        return
    total = 0.0
    for i in range(s.log_weights.size):
        if s.presence.here[i] == 1:
            total += exp(s.log_weights[i])
    boost(p, s, arm, reward)
    shared = 1.0 + log(alpha) + log(total / s.presence.number[0])
    for i in range(s.log_weights.size):
        if s.presence.here[i] == 1:
            own = s.log_weights[i]
            s.log_weights[i] = max(own, shared) + log1p(exp(-abs(own - shared)))  # ln(exp(own) + exp(shared))
    rescale(s)


def tuned_gamma(n_arms: int, horizon: int, segments: int, budget: float) -> float:
    """Return the gamma of the tuning that the knowledge at hand allows."""
    length = log(n_arms * horizon)
    if segments > 0:
        return min(1.0, math.sqrt(n_arms * (segments * length + math.e) / ((math.e - 1.0) * horizon)))
    if budget > 0.0:
        return min(1.0, power(4.0 * budget * n_arms * length / ((math.e - 1.0) * (math.e - 1.0) * horizon), 1.0 / 3.0))
    return min(1.0, math.sqrt(n_arms * length / horizon))


def tune(p: Params, s: Weights) -> None:
    horizon = int(s.epoch[1])
    if horizon > 0:
        s.rates[0], s.rates[1] = tuned_gamma(s.presence.number[0], horizon, p.segments, p.budget), 1.0 / horizon
    else:
        s.rates[0], s.rates[1] = p.gamma, p.alpha


def reset(p: Params, s: Weights, horizon: int) -> None:
    equalise(s, horizon)
    tune(p, s)


Exp3S.kernel = Kernel(init, choose, update, propensities=propensities, forget=forget, reset=reset, tune=tune)
