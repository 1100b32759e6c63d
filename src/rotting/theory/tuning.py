"""The policies that the theorems of the paper cover: their constant C, their range of alpha, their sigma."""

import math
from typing import NamedTuple

from rotting.errors import InvalidValueError
from rotting.policy import Policy
from rotting.problems.noise import Bernoulli, Beta, Binomial, ByArm, Contaminated, Gaussian, Noise, Noiseless

RESTLESS, RESTED = "restless", "rested"


class Theory(NamedTuple):
    """What the theorems need to know about one of the four policies."""

    title: str  # its name in the paper
    factor: float  # C = factor * sqrt(alpha)
    efficient: bool  # whether it has EFF_UPDATE's windows; m must then be 2
    least: dict[str, float]  # the smallest alpha, by setting


_ROOT = math.sqrt(2.0)
THEORIES = {
    "raw-ucb": Theory("RAW-UCB", 2 * _ROOT, False, {RESTLESS: 4.0, RESTED: 5.0}),
    "eff-raw-ucb": Theory("EFF-RAW-UCB", 4 / (_ROOT - 1), True, {RESTLESS: 3.0, RESTED: 4.0}),
    "fewa": Theory("FEWA", 4 * _ROOT, False, {RESTLESS: 4.0, RESTED: 5.0}),
    "eff-fewa": Theory("EFF-FEWA", 8 / (_ROOT - 1), True, {RESTLESS: 3.0, RESTED: 4.0}),
}
RESULTS = {RESTLESS: "Theorems 1 to 3", RESTED: "Propositions 6 and 7"}


def why_no_theory(policy: Policy) -> InvalidValueError | None:
    """Return the error that says why nothing is proved about this policy, or None."""
    if policy.name not in THEORIES:
        titles = ", ".join(each.title for each in THEORIES.values())
        return InvalidValueError("policy", f"be one of {titles}, which the theorems are about", policy)
    theorems = f"the theorems of {THEORIES[policy.name].title}"
    sigma = policy.shown_params()["sigma"]
    if sigma == "estimate":
        return InvalidValueError("sigma", f"be given for {theorems}", sigma, hint=", which none covers")
    if THEORIES[policy.name].efficient and policy.params.m != 2:
        return InvalidValueError("m", f"be 2, the only value that {theorems} cover", policy.params.m)
    return None


def why_no_bound(policy: Policy, setting: str) -> InvalidValueError | None:
    """Return the error that says why no regret bound of a setting ("restless" or "rested") holds for this policy, or None."""
    if (error := why_no_theory(policy)) is not None:
        return error
    title, _, _, least = THEORIES[policy.name]
    if policy.params.alpha < least[setting]:
        rule = f"be in [{least[setting]:g}, inf) for {title} in {RESULTS[setting]} ({setting})"
        return InvalidValueError("alpha", rule, policy.params.alpha)
    return None


def constant(policy: Policy) -> float:
    """Return C of a policy: 2 sqrt(2 alpha), 4 sqrt(2 alpha), 4 sqrt(alpha) / (sqrt 2 - 1) or 8 sqrt(alpha) / (sqrt 2 - 1).

    On the favourable event, every mean of the last h pulls of the chosen arm is at most `C sigma sqrt(ln(t) / h)` below the
    best available mean: two widths for RAW-UCB, four for FEWA, and `sqrt(2) / (sqrt 2 - 1)`, about 3.4, times as many for their
    efficient versions with m = 2.

    Args:
        policy: `RAWUCB`, `FEWA`, `EffRAWUCB(m=2)` or `EffFEWA(m=2)`, with any alpha.

    Example:
        >>> from rotting.registry import make
        >>> round(constant(make("raw-ucb", alpha=2)), 6), round(constant(make("eff-fewa", alpha=4)), 6)
        (4.0, 38.627417)

    Reference: Lemma 4 (lem:core-full).
    """
    if (error := why_no_theory(policy)) is not None:
        raise error
    return THEORIES[policy.name].factor * math.sqrt(policy.params.alpha)


def checked_constant(policy: Policy, setting: str) -> float:
    """Return C, or raise if alpha is outside the range of the setting's theorems."""
    if (error := why_no_bound(policy, setting)) is not None:
        raise error
    return constant(policy)


def subgaussian_scale(noise: Noise) -> float | None:
    """Return a sigma for which the noise is sigma-sub-Gaussian whatever the mean, or None if there is none.

    Sub-Gaussian means `E[exp(x noise)] <= exp(sigma^2 x^2 / 2)`; a slip of the paper prints `sigma` for `sigma^2`. It is the
    standard deviation of Gaussian rewards, and half the range of a Bernoulli (Hoeffding): sqrt(n) / 2 for n independent ones.
    For a Beta half the range can be divided by the root of one plus its concentration (Marchal and Arbel, 2017). A mixture of
    Gaussians has that of the widest, and a noise that differs by arm the largest of the arms'. Poisson rewards have no such
    scale.

    Example:
        >>> from rotting.problems.noise import Poisson
        >>> [subgaussian_scale(noise) for noise in (Gaussian(0.3), Bernoulli(), Binomial(16), Beta(3), Noiseless(), Poisson())]
        [0.3, 0.5, 2.0, 0.25, 0.0, None]
    """
    match noise:
        case Gaussian():
            return noise.sigma
        case Bernoulli():
            return 0.5
        case Binomial():
            return math.sqrt(noise.n) / 2
        case Beta():
            return 0.5 / math.sqrt(1 + noise.concentration)
        case Noiseless():
            return 0.0
        case Contaminated():
            return noise.sigma * max(1.0, noise.times)
        case ByArm():
            scales = [subgaussian_scale(each) for each in noise.noises]
            return None if None in scales else max(filter(None, scales), default=0.0)
    return None


def why_wrong_scale(policy: Policy, noise: Noise, scale: float) -> str | None:
    """Return why a policy's sigma is too small for the noise and its sub-Gaussian scale, or None."""
    if policy.params.sigma < scale:
        return f"sigma must be at least {scale:g}, the sub-Gaussian scale of {noise!r}, got {policy.params.sigma!r}"
    return None
