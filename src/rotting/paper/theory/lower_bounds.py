"""Lower bounds on the regret of every policy, and the problems that prove them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import COUNT, POSITIVE, check_fields, nonnegative_int, positive, positive_int
from rotting.errors import InvalidValueError
from rotting.policies.kernels.random_numbers import derive_key, uniform
from rotting.problems.decays import Piecewise
from rotting.problems.noise import Gaussian
from rotting.problems.problem import Problem

PIECEWISE_RATE = 1 / 32
VARIATION_RATE = 1 / (16 * math.sqrt(2))


def _check(horizon: int, n_arms: int, sigma: float) -> tuple[int, int, float]:
    arms = positive_int("n_arms", n_arms)
    if arms < 2:
        raise InvalidValueError("n_arms", "be 2 or more, as one arm leaves nothing to learn", arms)
    return positive_int("horizon", horizon), arms, positive("sigma", sigma)


def _check_pieces(pieces: int, horizon: int) -> int:
    checked = positive_int("pieces", pieces)
    if checked > horizon:
        raise InvalidValueError("pieces", f"be at most the horizon {horizon}", checked)
    return checked


def _cube_root(x: float) -> int:
    """Return the largest whole number whose cube is at most x.

    Example:
        >>> _cube_root(8.0), _cube_root(math.nextafter(8.0, 0.0)), _cube_root(512.0)
        (2, 1, 8)
    """
    root = round(math.cbrt(x))  # the one wanted, or one more
    return root if root**3 <= x else root - 1


def piecewise_lower(horizon: int, n_arms: int, pieces: int, sigma: float = 1.0, V: float | None = None) -> float:
    """Return a lower bound for every policy, on some problem of `pieces` stationary pieces: `sigma sqrt(U K T) / 32`.

    Args:
        horizon: T.
        n_arms: K, 2 or more.
        pieces: U, written Upsilon_T in the paper; at most T.
        sigma: the standard deviation of the Gaussian rewards.
        V: the means lie in an interval of this length, and then `U <= (32 V^2 T / (K sigma^2))^(1/3)`; None for any means.

    Example:
        >>> piecewise_lower(horizon=10_000, n_arms=2, pieces=2)
        6.25

    Reference: Proposition 4 (prop:piecewise_lb).
    """
    T, K, sigma = _check(horizon, n_arms, sigma)
    pieces = _check_pieces(pieces, T)
    if V is not None:
        most = _cube_root(32 * positive("V", V) ** 2 * T / (K * sigma**2))
        if pieces > most:
            raise InvalidValueError("pieces", f"be at most {most}, (32 V^2 T / (K sigma^2))^(1/3) with V = {V:g}", pieces)
    return PIECEWISE_RATE * sigma * math.sqrt(pieces * K * T)


def variation_lower(horizon: int, n_arms: int, V: float, sigma: float = 1.0) -> float:
    """Return a lower bound for every policy, on some problem of budget V: `(sigma^2 V K T^2)^(1/3) / (16 sqrt 2)`.

    The constant follows from the proof of Lemma 5 (lem:lb), which ends with `sigma sqrt(U K T) / (16 sqrt 2)`; its statement
    rounds that down to 1/32, from which only 1/32 would follow here. The family has at most T pieces, so it proves the rate for
    `V <= sigma T sqrt(K)` only, a condition that the paper leaves out.

    Args:
        horizon: T.
        n_arms: K, 2 or more.
        V: V_T, from `sigma sqrt(K / (8 T))` to `sigma T sqrt(K)`.
        sigma: the standard deviation of the Gaussian rewards.

    Example:
        >>> round(variation_lower(horizon=1_000, n_arms=8, V=1.0), 4)
        8.8388

    Reference: Proposition 3 (prop:variation_lb).
    """
    T, K, sigma = _check(horizon, n_arms, sigma)
    V = _check_budget(T, K, sigma, V)
    return VARIATION_RATE * math.cbrt(sigma**2 * V * K * T**2)


def _check_budget(T: int, K: int, sigma: float, V: float) -> float:
    V, low, high = positive("V", V), sigma * math.sqrt(K / (8 * T)), sigma * T * math.sqrt(K)
    if not low <= V <= high:
        raise InvalidValueError("V", f"be in [sigma sqrt(K / (8 T)), sigma T sqrt(K)] = [{low:g}, {high:g}]", V, got=f"{V:g}")
    return V


@dataclass(frozen=True)
class HardFamily:
    """Problems on which no policy does well: in each piece, one arm is better than the others by a small gap.

    In piece k = 0, ..., U - 1 the best arm is worth `-k Delta` and every other `-(k + 1) Delta`, with `Delta = sqrt(sigma^2 K U
    / (2 T)) / 4`, too small to be detected in the T / U rounds of a piece. Rewards are Gaussian. No mean ever rises: a new best
    arm stays where it is, and the others fall by Delta, or by 2 Delta after having been the best.

    For every policy, the expected regret on average over all K^U choices of the best arms, and so on the worst of them, is at
    least `bound`. Slips of the paper: the lemma's pieces run over `t_{k-1} + 1, ..., t_k` from k = 0, where `t_{-1}` is not
    defined (from 1 the means would leave [-V, 0]); and arms are said to fall by Delta or 2 Delta, never by 0.

    Args:
        n_arms: K, 2 or more.
        horizon: T.
        pieces: U, written Upsilon in the paper; from 1 to T.
        sigma: the standard deviation of the rewards.

    Example:
        >>> family = HardFamily(n_arms=2, horizon=10, pieces=3)
        >>> family.lengths.tolist(), round(family.gap, 4)
        ([4, 3, 3], 0.1369)
        >>> family.problem([1, 1, 0]).is_rotting(), family.problem([1, 1, 0]).kind
        (Rotting(horizon=10, where=None), 'restless')

    Reference: Lemma 5 (lem:lb).
    """

    n_arms: int
    horizon: int
    pieces: int
    sigma: float = 1.0

    def __post_init__(self) -> None:
        _check(self.horizon, self.n_arms, self.sigma)
        check_fields(self, horizon=COUNT, n_arms=COUNT, sigma=POSITIVE, pieces=COUNT)
        _check_pieces(self.pieces, self.horizon)

    @classmethod
    def of_budget(cls, n_arms: int, horizon: int, V: float, sigma: float = 1.0) -> "HardFamily":
        """Return the family with as many pieces as a budget allows: `floor(2 (V^2 T / (K sigma^2))^(1/3))`, from 1 to T.

        Args:
            n_arms: K, 2 or more.
            horizon: T.
            V: V_T, from `sigma sqrt(K / (8 T))` to `sigma T sqrt(K)`.
            sigma: the standard deviation of the rewards.

        Example:
            >>> HardFamily.of_budget(n_arms=2, horizon=2_000, V=1.0).pieces
            20

        Reference: the proof of Proposition 3 (prop:variation_lb), equation eq:set_upsilon. A slip: for one piece it asks for
        `Delta <= V`, which is `V >= sigma sqrt(K / (32 T))`, and prints `V >= sigma sqrt(K / (8 T))`, which is `2 Delta <= V`:
        that is sufficient, and we ask for it as printed.
        """
        T, K, sigma = _check(horizon, n_arms, sigma)
        V = _check_budget(T, K, sigma, V)
        return cls(K, T, min(max(_cube_root(8 * V**2 * T / (K * sigma**2)), 1), T), sigma)

    @property
    def gap(self) -> float:
        """The gap, Delta."""
        return math.sqrt(self.sigma**2 * self.n_arms * self.pieces / (2 * self.horizon)) / 4

    @property
    def lengths(self) -> Ints:
        """The rounds of each piece: T / U rounded up for the first T mod U pieces, down for the others."""
        short, longer = divmod(self.horizon, self.pieces)
        return short + (np.arange(self.pieces) < longer)

    @property
    def bound(self) -> float:
        """The least expected regret of any policy on the worst problem, as Lemma 5 says: `sigma sqrt(U K T) / 32`."""
        return piecewise_lower(self.horizon, self.n_arms, self.pieces, self.sigma)

    def problem(self, best: Sequence[int | None]) -> Problem:
        """Return the problem with these best arms, one per piece; None for a piece whose arms are all equal."""
        if len(best) != self.pieces:
            raise InvalidValueError("best", f"name one arm per piece, {self.pieces}", len(best))
        for k, arm in enumerate(best):
            if arm is not None and nonnegative_int(f"best[{k}]", arm) >= self.n_arms:
                raise InvalidValueError(f"best[{k}]", f"be an arm below {self.n_arms} or None", arm)
        starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        means = [[-(k + (arm != i)) * self.gap for k, arm in enumerate(best)] for i in range(self.n_arms)]
        decays = [Piecewise(row, starts=starts) for row in means]
        return Problem.restless(decays, Gaussian(self.sigma), self.horizon, "hard-instance")

    def random_best(self, seed: int) -> list[int]:
        """Return best arms drawn uniformly, one per piece; the same seed gives the same."""
        key = derive_key(nonnegative_int("seed", seed), "hard instance")
        return [int(uniform(key, k, 0) * self.n_arms) for k in range(self.pieces)]

    def random(self, seed: int) -> Problem:
        """Return the problem with best arms drawn uniformly; the same seed gives the same problem.

        On average over the seeds, every policy's expected regret is at least `bound`.
        """
        return self.problem(self.random_best(seed))
