"""The five regret bounds, as functions of the constants of a problem. Each holds at every horizon T.

All take the policy, with its alpha, sigma and m; `C` is `constant(policy)`. An alpha outside the range of the theorem is
refused. The theorems require that the noise be sigma-sub-Gaussian for the sigma of the policy.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rotting.common.rules import nonnegative, positive_int
from rotting.errors import InvalidValueError
from rotting.policy import Policy
from rotting.theory.tuning import RESTED, RESTLESS, checked_constant


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
