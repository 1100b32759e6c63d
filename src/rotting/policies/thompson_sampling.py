"""Thompson sampling: draw each arm's mean from its posterior, play the largest."""

from typing import Annotated, NamedTuple

from rotting.common.rules import FINITE, POSITIVE, option
from rotting.parts.posteriors import thompson
from rotting.parts.reward_scale import OUTSIDE, check_range, declared_range
from rotting.policies.kl_ucb import update
from rotting.policies.ucb1 import State
from rotting.policies.ucb1 import init as new_sums
from rotting.policy import Kernel, Policy


class Params(NamedTuple):
    kind: Annotated[int, option("beta", "gaussian"), "posterior"] = 0
    a: Annotated[float, POSITIVE, "beta: prior successes"] = 1.0
    b: Annotated[float, POSITIVE, "beta: prior failures"] = 1.0
    sigma: Annotated[float, POSITIVE, "gaussian: standard deviation of the rewards"] = 1.0
    low: Annotated[float, FINITE, "beta: smallest reward"] = 0.0
    high: Annotated[float, FINITE, "beta: largest reward"] = 1.0
    outside: Annotated[int, OUTSIDE, "beta: what to do with rewards outside [low, high]"] = 0


def init(p: Params, n_arms: int, capacity: int) -> State:
    return new_sums(p, n_arms, capacity)  # type: ignore[arg-type]


def evidence(p: Params, s: State, t: int, i: int) -> tuple[float, float]:
    return float(s.pulls[i]), s.high[i]


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

    name = "thompson-sampling"
    title = "Thompson sampling"
    kernel = Kernel(Params, init, update=update, **thompson(evidence))
    check = check_range
    reward_range = property(declared_range)
    randomised = True
