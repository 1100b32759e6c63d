"""The five regret bounds, as functions of the constants of a problem, and the policies that they cover.

Each bound holds at every horizon T. All take the policy, with its alpha, sigma and m; `C` is `constant(policy)`. An alpha
outside the range of the theorem is refused. The theorems require that the noise be sigma-sub-Gaussian for the sigma of the
policy.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting.common.rules import nonnegative, positive_int
from rotting.errors import InvalidValueError
from rotting.policy import Policy
from rotting.problems.noise import Noise

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
        >>> from rotting.problems.noise import Bernoulli, Beta, Binomial, Gaussian, Noiseless, Poisson
        >>> [subgaussian_scale(noise) for noise in (Gaussian(0.3), Bernoulli(), Binomial(16), Beta(3), Noiseless(), Poisson())]
        [0.3, 0.5, 2.0, 0.25, 0.0, None]
    """
    return noise.subgaussian_scale


def why_wrong_scale(policy: Policy, noise: Noise, scale: float) -> str | None:
    """Return why a policy's sigma is too small for the noise and its sub-Gaussian scale, or None."""
    if policy.params.sigma < scale:
        return f"sigma must be at least {scale:g}, the sub-Gaussian scale of {noise!r}, got {policy.params.sigma!r}"
    return None


# --- The unfavourable event of a round -------------------------------------------------------------------------------------


def unfavourable(policy: Policy, t: int, n_arms: int) -> float:
    """Return a bound on the probability that at round t some mean of a window is off by more than `c(h, delta_t)`.

    - RAW-UCB and FEWA, all windows h <= n of all n <= t - 1 pulls: `K t^2 delta_t / 2 = K t^(2 - alpha)`.
    - EFF-RAW-UCB and EFF-FEWA with m = 2, the delayed windows: `3 K t delta_t = 6 K t^(1 - alpha)`.

    With `delta_t = 2 t^-alpha` and `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`; never more than 1. It holds at every round,
    also before the first K pulls are done, for any alpha. The policy's sigma must be large enough that the
    rewards are sigma-sub-Gaussian: at least `subgaussian_scale(noise)`.

    The proofs count `t (t - 1) / 2` and `3 (t - 1)` statistics an arm, and round up to `t^2 / 2` and `3 t`. The `6 K V` and
    `6 K L` need the `t - 1` for the efficient policies, a slip of Lemma 6 (lem:FP) and Lemma 10 (lem:rested-B): the sum
    over t of `6 K t^(1 - alpha)` is `pi^2 K` at alpha = 3, about 9.9 K, and not below 5 K as they say; that of
    `6 K (t - 1) t^-alpha` is `6 (zeta(2) - zeta(3)) K`, about 2.7 K. (As no probability is above 1, as here, the sum is below
    5 K as well.)

    Args:
        policy: one of the four, for its alpha and its windows.
        t: the round.
        n_arms: K.

    Example:
        >>> from rotting.registry import make
        >>> unfavourable(make("raw-ucb", alpha=4), t=10, n_arms=2), unfavourable(make("eff-fewa", alpha=3), t=10, n_arms=2)
        (0.02, 0.12)

    Reference: Proposition 2 (prop:prb_favorable_event), Proposition 11 (prop:prb_favorable_event_eff).
    """
    if (error := why_no_theory(policy)) is not None:
        raise error
    t, K = positive_int("t", t), positive_int("n_arms", n_arms)
    if THEORIES[policy.name].efficient:
        return float(min(1.0, 6 * K * t ** (1 - policy.params.alpha)))
    return float(min(1.0, K * t ** (2 - policy.params.alpha)))


# --- Regret ----------------------------------------------------------------------------------------------------------------


def _width(policy: Policy, setting: str, horizon: int) -> float:
    """Return `C sigma sqrt(ln T)`."""
    return checked_constant(policy, setting) * float(policy.params.sigma) * math.sqrt(math.log(horizon))


def variation_budget(policy: Policy, horizon: int, n_arms: int, V: float) -> float:
    """Return the bound for restless arms that fall by a budget.

    `4 (C^2 sigma^2 V K T^2 ln T)^(1/3) + 2 (C sigma V^2 K^2 T sqrt(ln T))^(1/3) + 6 K V`: the statement keeps the first term,
    its proof all three. `unfavourable` explains why `6 K V` is right for the efficient policies, too.

    Args:
        policy: RAW-UCB or FEWA with alpha >= 4, EFF-RAW-UCB or EFF-FEWA with m = 2 and alpha >= 3.
        horizon: T.
        n_arms: K.
        V: V_T; the means lie in an interval of this length, and their largest falls from round to round add up to no more.

    Example:
        >>> from rotting.registry import make
        >>> round(variation_budget(make("raw-ucb", alpha=4), horizon=10_000, n_arms=2, V=1.0), 1)
        15755.7

    Reference: Theorem 1 (th:variation-minimax). In its proof, `sum over all arms of (h_i - 1) = tau_k - K` should run over the
    arms pulled in the batch; the next line holds all the same.
    """
    T, K, V = positive_int("horizon", horizon), positive_int("n_arms", n_arms), nonnegative("V", V)
    log, scale = math.log(T), checked_constant(policy, RESTLESS) * policy.params.sigma
    leading = 4 * math.cbrt(scale**2 * V * K * T**2 * log)
    return leading + 2 * math.cbrt(scale * V**2 * K**2 * T * math.sqrt(log)) + 6 * K * V


def piecewise_minimax(policy: Policy, horizon: int, n_arms: int, pieces: int, V: float) -> float:
    """Return the bound for restless arms with few changes: `C sigma sqrt(ln T) (sqrt(U K T) + U K) + 6 K V`.

    `unfavourable` explains why `6 K V` is right for the efficient policies, too.

    Args:
        policy: RAW-UCB or FEWA with alpha >= 4, EFF-RAW-UCB or EFF-FEWA with m = 2 and alpha >= 3.
        horizon: T.
        n_arms: K.
        pieces: U, written Upsilon_T in the paper: the number of stationary pieces, one more than the breakpoints.
        V: the means lie in an interval of this length.

    Example:
        >>> from rotting.registry import make
        >>> round(piecewise_minimax(make("raw-ucb", alpha=4), horizon=10_000, n_arms=2, pieces=3, V=1.0), 1)
        4320.2

    Reference: Theorem 2 (th:piecewise-minimax).
    """
    T, K, U = positive_int("horizon", horizon), positive_int("n_arms", n_arms), positive_int("pieces", pieces)
    width = _width(policy, RESTLESS, T)
    return width * (math.sqrt(U * K * T) + U * K) + 6 * K * nonnegative("V", V)


def piecewise_gap_dependent(
    policy: Policy, horizon: int, gaps: npt.ArrayLike, V: float, lengths: npt.ArrayLike | None = None
) -> float:
    """Return the bound for restless arms with few changes and clear gaps.

    `sum over pieces k and arms i with gap_{i,k} > 0 of C^2 sigma^2 ln(T) / gap_{i,k}, + C sigma U K sqrt(ln T) + 6 K V`.

    As printed, the first term goes to infinity as a gap goes to zero. It bounds the cost of the pulls after the first in a
    piece, `(h - 1) gap` by Lemma 8 (lem:OP-piecewise), and there are at most `h <= tau_k` of them: the smaller of
    `C^2 sigma^2 ln(T) / gap` and `(tau_k - 1) gap` is used if the lengths are given. (The lemma's third form,
    `C sigma sqrt((tau_k - 1) ln T)`, is the geometric mean of these two, and so never the smallest.)

    `unfavourable` explains why `6 K V` is right for the efficient policies, too.

    Args:
        policy: RAW-UCB or FEWA with alpha >= 4, EFF-RAW-UCB or EFF-FEWA with m = 2 and alpha >= 3.
        horizon: T.
        gaps: `[U, K]`, how far each arm is below the best of its piece; zero for the best.
        V: the means lie in an interval of this length.
        lengths: `[U]`, tau_k, the rounds of each piece; None for the bound as printed.

    Example:
        >>> from rotting.registry import make
        >>> round(piecewise_gap_dependent(make("raw-ucb", alpha=4), 10_000, gaps=[[0.0, 1.0], [0.5, 0.0]], V=1.0), 1)
        964.9
        >>> policy, gaps = make("raw-ucb", alpha=4), [[0.0, 1.0], [0.005, 0.0]]
        >>> round(piecewise_gap_dependent(policy, 10_000, gaps, V=1.0, lengths=[5_000, 5_000]), 1)
        400.4

    Reference: Theorem 3 (th:piecewise_pd), with the second-order terms of its proof. The statement sums over all arms, and so
    divides by zero for the best one of each piece: only the others count, as the proof says.
    """
    table = np.asarray(gaps, np.float64)
    if table.ndim != 2 or table.size == 0:
        raise InvalidValueError("gaps", "be a table [pieces, arms]", table, got=f"an array of shape {table.shape}")
    if not np.all(np.isfinite(table) & (table >= 0)):
        raise InvalidValueError("gaps", "be finite numbers, zero or more", table.tolist())
    V, width = nonnegative("V", V), _width(policy, RESTLESS, positive_int("horizon", horizon))
    pieces, n_arms = len(table), len(table[0])
    positive = table > 0
    costs = width**2 / table[positive]
    if lengths is not None:
        tau = np.asarray(lengths, np.float64)
        if tau.shape != (pieces,) or not np.all(tau >= 1):
            raise InvalidValueError("lengths", f"be {pieces} numbers of rounds, one per piece, each 1 or more", tau.tolist())
        costs = np.minimum(costs, ((tau[:, None] - 1) * table)[positive])
    return float(costs.sum()) + width * pieces * n_arms + 6 * n_arms * V


def rested_gap_free(policy: Policy, horizon: int, n_arms: int, L: float) -> float:
    """Return the bound for rested arms: `C sigma sqrt(ln T) (sqrt(K T) + K) + 6 K L`.

    `unfavourable` explains why `6 K L` is right for the efficient policies, too.

    Args:
        policy: RAW-UCB or FEWA with alpha >= 5, EFF-RAW-UCB or EFF-FEWA with m = 2 and alpha >= 4.
        horizon: T.
        n_arms: K.
        L: the largest fall of a mean between two pulls, and the largest gap between first pulls.

    Example:
        >>> from rotting.registry import make
        >>> round(rested_gap_free(make("raw-ucb", alpha=5), horizon=10_000, n_arms=2, L=1.0), 1)
        2764.8

    Reference: Proposition 6 (prop:rested-PI).
    """
    T, K = positive_int("horizon", horizon), positive_int("n_arms", n_arms)
    width = _width(policy, RESTED, T)
    return width * (math.sqrt(K * T) + K) + 6 * K * nonnegative("L", L)


def rested_gap_dependent(
    policy: Policy, horizon: int, gaps: Sequence[float], L: float, limits: Sequence[int] | None = None
) -> float:
    """Return the bound for rested arms with clear pseudo-gaps.

    `sum over arms i of C^2 sigma^2 ln(T) / gap_i + C sigma sqrt(ln T) + 6 L`, with `gap_i = Delta_{i, h_i+ - 1}`.

    The first term bounds the cost of `h_i+` overpulls. As printed it is infinite where the pseudo-gap is zero, as for the
    first arm of `two_arms`, whose overpulls are worth what the optimal policy collects last. But no arm is overpulled more than
    `T - N_i*` times, so by Lemma 11 (lem:rested-A) they cost at most `C sigma sqrt((T - N_i* - 1) ln T)`: the smaller of the
    two is used. Where `h_i+ <= 1` they cost nothing: such an arm has the gap `math.inf`. `unfavourable` explains why `6 L` is
    right for the efficient policies, too.

    Args:
        policy: RAW-UCB or FEWA with alpha >= 5, EFF-RAW-UCB or EFF-FEWA with m = 2 and alpha >= 4.
        horizon: T.
        gaps: one pseudo-gap per arm, zero or more; `rested.pseudo_gaps(policy)` of a problem's `constants`.
        L: the largest fall of a mean between two pulls, and the largest gap between first pulls.
        limits: how often each arm can be overpulled, `T - N_i*`; T by default.

    Example:
        >>> import math
        >>> from rotting.registry import make
        >>> round(rested_gap_dependent(make("raw-ucb", alpha=5), 10_000, gaps=[math.inf, 0.5], L=0.5), 1)
        781.2

    Reference: Proposition 7 (prop:rested-PD), Lemma 12 (lem:UB-OP-PD). A slip in the proof of Lemma 11: it prints
    `A_1 <= 1 c(1, delta_t) <= 2 c(1, delta_T)`, where Lemma 4 (lem:core-full) gives `C / sqrt(2 alpha) c(1, delta_T)`, two
    widths for RAW-UCB and more for the others; its end, `A_1 <= C sigma sqrt(ln T)`, is right.
    """
    T, L = positive_int("horizon", horizon), nonnegative("L", L)
    if len(gaps) == 0:
        raise InvalidValueError("gaps", "have one pseudo-gap per arm", gaps)
    width = _width(policy, RESTED, T)
    if limits is None:
        limits = [T] * len(gaps)
    total = 0.0
    for i, (gap, limit) in enumerate(zip(gaps, limits, strict=True)):
        if not gap >= 0:
            raise InvalidValueError(f"gaps[{i}]", "be a number, zero or more", gap)
        most = width * math.sqrt(max(limit - 1, 0))
        total += min(width**2 / gap if gap > 0 else math.inf, most) + width + 6 * L
    return total
