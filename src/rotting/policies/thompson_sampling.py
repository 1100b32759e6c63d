"""Thompson sampling: draw each arm's mean from its posterior, play the largest."""

from typing import Literal

from rotting.common.rules import FINITE, POSITIVE
from rotting.policies.kernels.exact_sums import add
from rotting.policies.parts.posteriors import POSTERIOR, thompson
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, declared_range, to_policy_scale
from rotting.policies.ucb1 import State, init  # its field noise stays unused: sigma is given
from rotting.policy import Kernel, Params, Policy, parameter


class ThompsonSampling(Policy):
    """Thompson sampling over all rewards ever seen.

    Draws a mean for each arm from its posterior and plays the arm with the largest. With `S_i` the sum of arm i's N_i rewards,
    the posterior is Beta(a + S_i, b + N_i - S_i) for rewards in a declared range, mapped to [0, 1] (a reward in between counts
    as that much of a success), or N(S_i / N_i, sigma^2 / N_i), from a flat prior. Each arm once first.

    Args:
        kind: posterior, "beta" or "gaussian".
        a: prior successes ("beta" only).
        b: prior failures ("beta" only).
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("beta" only).
        high: largest reward ("beta" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("beta" only).

    Needs to know the range, or sigma, in advance, and nothing else. Never forgets: not sound for rotting, rested or restless.
    Propensities are integrals over the posteriors, to about 1e-9.

    Example:
        >>> ThompsonSampling("gaussian", sigma=0.5).kernel.propensities is None
        False

    Reference: Thompson, "On the likelihood that one unknown probability exceeds another", Biometrika 1933; Agrawal, Goyal,
    "Analysis of Thompson sampling for the multi-armed bandit problem", COLT 2012.
    """

    kind: Literal["beta", "gaussian"] = parameter(POSTERIOR, "posterior", default="beta")
    a: float = parameter(POSITIVE, "beta: prior successes", default=1.0)
    b: float = parameter(POSITIVE, "beta: prior failures", default=1.0)
    sigma: float = parameter(POSITIVE, "gaussian: standard deviation of the rewards", default=1.0)
    low: float = parameter(FINITE, "beta: smallest reward", default=0.0)
    high: float = parameter(FINITE, "beta: largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "beta: rewards outside [low, high]", default="refuse")

    name = "thompson-sampling"
    title = "Thompson sampling"
    check = check_range
    reward_range = property(declared_range)
    randomised = True


def evidence(p: Params, s: State, t: int, i: int) -> tuple[float, float]:
    """Return N_i and S_i."""
    return float(s.pulls[i]), s.high[i]


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], to_policy_scale(p, reward))
    s.pulls[arm] += 1


ThompsonSampling.kernel = Kernel(init, update=update, **thompson(evidence))
