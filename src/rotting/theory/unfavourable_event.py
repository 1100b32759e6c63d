"""The probability of the unfavourable event of a round: some estimate is off by more than its width."""

from rotting.common.rules import positive_int
from rotting.policy import Policy
from rotting.theory.tuning import THEORIES, why_no_theory


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
