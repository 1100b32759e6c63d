"""The constants of a problem in the bounds, at its horizon or at any earlier round."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import positive_int
from rotting.errors import InvalidValueError
from rotting.paper.theory.upper_bounds import constant, subgaussian_scale
from rotting.policy import Policy
from rotting.problems.mean_table import PRODUCT, Means, column_of, pulls_of, rounds_of, row_of
from rotting.problems.oracle import cumulative_sum
from rotting.problems.problem import Problem, Rotting

SHOWN_PIECES = 12  # stationary pieces whose gaps are listed; a drift has one per round


@dataclass(frozen=True, eq=False)
class RestlessConstants:
    """The constants of the restless theorems, for means that follow the rounds or stay constant.

    Every method takes a horizon `t`, by default the problem's own.

    Args:
        horizon: the last round known.
        starts: `[U]`, the first round of each stationary piece, from 1: the rounds at which some mean changes.
        means: `[U, K]`, the mean of each arm in each piece.
    """

    horizon: int
    starts: Ints
    means: Floats

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return int(self.means.shape[1])

    def pieces(self, t: int | None = None) -> int:
        """Return Upsilon_t, the number of stationary pieces up to round t: one more than the breakpoints (Assumption 3)."""
        return int(np.searchsorted(self.starts, _round(t, self.horizon), side="right"))

    def variation(self, t: int | None = None) -> float:
        """Return the sum over the rounds s < t of `max over i of |mu_i(s) - mu_i(s + 1)|` (Assumption 2)."""
        return float(self._variations[self.pieces(t) - 1])

    def spread(self, t: int | None = None) -> float:
        """Return V, the length of the interval that holds all means up to round t (Assumption 3).

        The paper's means lie in [-V, 0]; regret does not change when a number is added to all of them.
        """
        return float(self._spreads[self.pieces(t) - 1])

    def budget(self, t: int | None = None) -> float:
        """Return V_t, the smallest budget that satisfies Assumption 2: the larger of variation and spread."""
        return max(self.variation(t), self.spread(t))

    def lengths(self, t: int | None = None) -> Ints:
        """Return `[Upsilon_t]`, tau_k: how many rounds up to t each piece has (written `t_{k+1} - t_k` in Appendix D)."""
        return np.diff(self.starts[: self.pieces(t)], append=_round(t, self.horizon) + 1)

    def gaps(self, t: int | None = None) -> Floats:
        """Return `[Upsilon_t, K]`, Delta_{i,k}: how far each arm is below the best of each piece up to round t.

        Reference: before Lemma 8 (lem:OP-piecewise) and in Theorem 3 (th:piecewise_pd).
        """
        return self._gaps[: self.pieces(t)]

    def gap_range(self, t: int | None = None) -> tuple[float, float] | None:
        """Return the smallest positive gap up to round t and the largest; None if all arms are equal."""
        gaps = self.gaps(t)
        positive = gaps[gaps > 0]
        return (float(positive.min()), float(positive.max())) if positive.size else None

    def largest_regret(self, t: int | None = None) -> float:
        """Return the regret of the worst play of t rounds, always the worst arm: a bound above it is vacuous."""
        return float(self.lengths(t) @ self.gaps(t).max(axis=1))

    @cached_property
    def _variations(self) -> Floats:
        falls = np.abs(np.diff(self.means, axis=0)).max(axis=1)
        return np.concatenate([[0.0], np.cumsum(falls)])

    @cached_property
    def _spreads(self) -> Floats:
        highs, lows = self.means.max(axis=1), self.means.min(axis=1)
        return np.asarray(np.maximum.accumulate(highs) - np.minimum.accumulate(lows))

    @cached_property
    def _gaps(self) -> Floats:
        return np.asarray(self.means.max(axis=1, keepdims=True) - self.means)


@dataclass(frozen=True, eq=False)
class RestedConstants:
    """The constants of the rested propositions, for means that fall with the pulls or stay constant.

    Every method takes a horizon `t`, by default the problem's own.

    Args:
        horizon: the last round known.
        means: `[K, T]`, the mean of each arm after 0, 1, ... pulls.
    """

    horizon: int
    means: Floats

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return len(self.means)

    def largest_fall(self, t: int | None = None) -> float:
        """Return L: the largest `mu_i(n - 1) - mu_i(n)` over i and n < t, where `mu_i(-1)` is the best first mean.

        Reference: equation eq:LT of Section 5. A slip of the paper: its sign is reversed there.
        """
        return float(self._falls[_round(t, self.horizon) - 1])

    def smallest_reward(self, t: int | None = None) -> float:
        """Return `mu_t^-`, the smallest mean that the optimal policy collects in t rounds: the t-th largest of all.

        Reference: Lemma 12 (lem:UB-OP-PD).
        """
        return float(self._sorted[-_round(t, self.horizon)])

    def optimal_pulls(self, t: int | None = None) -> list[int]:
        """Return `N_{i,t}*`, how often the optimal policy pulls each arm in t rounds; ties go to the lowest arm.

        The optimal policy takes the t largest means (Heidari, Kearns, Roth 2016).

        Reference: the proof of Lemma 9 (lem:regret-decompo).
        """
        t = _round(t, self.horizon)
        least = self.smallest_reward(t)
        above = [int(np.searchsorted(row, -least, side="left")) for row in self._negated]
        at_least = [int(np.searchsorted(row, -least, side="right")) for row in self._negated]
        left = t - sum(above)
        pulls = []
        for more, most in zip(above, at_least, strict=True):
            ties = min(most - more, left)
            pulls.append(more + ties)
            left -= ties
        return pulls

    def limits(self, t: int | None = None) -> list[int]:
        """Return how often each arm can be overpulled in t rounds, `t - N_{i,t}*`.

        Reference: the largest value of `h_{i,T}` in Lemma 9 (lem:regret-decompo).
        """
        t = _round(t, self.horizon)
        return [t - pulls for pulls in self.optimal_pulls(t)]

    def overpulls(self, policy: Policy, t: int | None = None) -> list[int]:
        """Return `h_{i,t}+` of each arm: the largest `h <= t - N_{i,t}*` with `h <= 1 + C^2 sigma^2 ln(t) / Delta_{i,h-1}^2`.

        Lemma 12 (lem:UB-OP-PD) writes `h <= t`, and so asks for means after more than t pulls; no arm is overpulled more than
        `t - N*` times, zero for the only arm worth pulling.
        """
        t = _round(t, self.horizon)
        least, pulls = self.smallest_reward(t), self.optimal_pulls(t)
        most = constant(policy) ** 2 * policy.params.sigma**2 * math.log(t)
        found = []
        for i in range(self.n_arms):

            def needed(h: int, i: int = i) -> float:
                return h * self._gap(i, h, least, pulls[i]) ** 2 if h else 0.0

            # The first overpulls are the best ones, so the pseudo-gap, and h times its square, never fall with h.
            found.append(bisect_right(range(t - pulls[i]), most, key=needed))
        return found

    def pseudo_gaps(self, policy: Policy, t: int | None = None) -> list[float]:
        """Return `Delta_{i,h-1}` at `h = h_{i,t}+` of each arm; `math.inf` where `h <= 1`, which costs nothing.

        `Delta_{i,h}` is the smallest optimal reward minus the mean of the first h overpulls of arm i, `mu_t^- - (mu_i(N*) + ...
        + mu_i(N* + h - 1)) / h` with `N* = N_{i,t}*`. Two slips of the paper: the mean of a window in Section 5 is one pull
        late, `mu_i(N* + 1)` to `mu_i(N* + h)`; the last of N pulls has the mean `mu_i(N - 1)`; and `min over all j of
        mu_j(N_j* - 1)` in Proposition 7 is over the arms that the optimal policy pulls, as in Lemma 12.
        """
        least, pulls = self.smallest_reward(t), self.optimal_pulls(t)
        return [self._gap(i, h - 1, least, pulls[i]) if h > 1 else math.inf for i, h in enumerate(self.overpulls(policy, t))]

    def largest_regret(self, t: int | None = None) -> float:
        """Return the regret of the worst play of t rounds: a bound above it is vacuous.

        The reward of n pulls of a falling arm is concave in n, so no mixture of arms is worth less than the worst single arm.
        """
        t = _round(t, self.horizon)
        return float(self._best[t - 1]) - min(float(total[t]) for total in self._totals)

    def _gap(self, i: int, h: int, least: float, pulls: int) -> float:
        mean = float(self._totals[i][pulls + h] - self._totals[i][pulls]) / h
        return max(0.0, least - mean)

    @cached_property
    def _totals(self) -> list[Floats]:
        return [np.concatenate([[0.0], cumulative_sum(row)]) for row in self.means]

    @cached_property
    def _negated(self) -> Floats:
        return -self.means

    @cached_property
    def _sorted(self) -> Floats:
        return np.sort(self.means, axis=None)

    @cached_property
    def _best(self) -> Floats:
        return cumulative_sum(self._sorted[: -self.horizon - 1 : -1])

    @cached_property
    def _falls(self) -> Floats:
        first = float(self.means[:, 0].max() - self.means[:, 0].min())
        falls = -np.diff(self.means, axis=1).min(axis=0)
        return np.asarray(np.maximum.accumulate(np.concatenate([[first], falls])))


@dataclass(frozen=True, eq=False)
class Constants:
    """The constants of a problem.

    Args:
        horizon: T.
        n_arms: K.
        kind: the clocks that matter up to the horizon: "stationary", "rested", "restless" or "both".
        rotting: whether no mean rises.
        sigma: the sub-Gaussian scale of the noise, None if it has none.
        restless: those of the restless theorems, if no mean follows the pulls.
        rested: those of the rested propositions, if no mean follows the rounds and none rises.
    """

    horizon: int
    n_arms: int
    kind: str
    rotting: Rotting
    sigma: float | None
    restless: RestlessConstants | None
    rested: RestedConstants | None

    def __str__(self) -> str:
        sigma = "unknown" if self.sigma is None else f"{self.sigma:g}"
        return f"T = {self.horizon:,}, K = {self.n_arms}, sigma = {sigma}, {self.kind}, {self.rotting}"

    def largest_regret(self, t: int | None = None) -> float | None:
        """Return the regret of the worst play of t rounds (the horizon by default); None if no theorem applies.

        No policy can have more, so a bound above it is vacuous.
        """
        known = self.restless or self.rested
        return None if known is None else known.largest_regret(t)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers at the horizon, for strict JSON; None for the setting that is not the problem's.

        `gaps` has a list of gaps per piece, and is None where there are more than 12 pieces; `gap_range` is the smallest
        positive gap and the largest, None if all arms are equal.
        """
        return {
            "horizon": self.horizon,
            "n_arms": self.n_arms,
            "kind": self.kind,
            "rotting": bool(self.rotting),
            "sigma": self.sigma,
            "largest_regret": self.largest_regret(),
            "restless": None if self.restless is None else _restless_numbers(self.restless),
            "rested": None if self.rested is None else _rested_numbers(self.rested),
        }


def _restless_numbers(of: RestlessConstants) -> dict[str, object]:
    return {
        "pieces": of.pieces(),
        "variation": of.variation(),
        "spread": of.spread(),
        "budget": of.budget(),
        "gap_range": of.gap_range(),
        "gaps": of.gaps().tolist() if of.pieces() <= SHOWN_PIECES else None,
    }


def _rested_numbers(of: RestedConstants) -> dict[str, object]:
    fall, least, pulls = of.largest_fall(), of.smallest_reward(), of.optimal_pulls()
    return {"largest_fall": fall, "smallest_reward": least, "optimal_pulls": pulls}


def constants(problem: Problem, horizon: int | None = None) -> Constants:
    """Return the constants of a problem in the theorems' bounds.

    Args:
        problem: any; its clocks decide which constants there are.
        horizon: T; the problem's own by default.

    Example:
        >>> from rotting.problems import Abrupt, two_arms
        >>> known = constants(Problem.restless([0.5, Abrupt(1.0, 0.25, at=60)], horizon=100)).restless
        >>> known.pieces(), known.variation(), known.spread(), known.gaps().tolist()
        (2, 0.75, 0.75, [[0.5, 0.0], [0.0, 0.25]])
        >>> known = constants(two_arms(L=0.5, horizon=100)).rested
        >>> known.largest_fall(), known.optimal_pulls(), known.smallest_reward()
        (0.5, [75, 25], 0.0)
    """
    T = problem.resolve_horizon(horizon)
    m = problem.means(T)
    rotting = problem.is_rotting(T)
    pulls, rounds = (any(follows(m, i) for i in range(problem.n_arms)) for follows in (_follows_pulls, _follows_rounds))
    kind = "both" if pulls and rounds else "rested" if pulls else "restless" if rounds else "stationary"
    restless = None if pulls else _restless(m, T)
    rested = None if rounds or not rotting else _rested(m, T)
    return Constants(T, problem.n_arms, kind, rotting, subgaussian_scale(problem.noise), restless, rested)


def _restless(m: Means, horizon: int) -> RestlessConstants:
    arms = range(len(m.kinds))
    starts = np.unique(np.concatenate([rounds_of(m, i)[0] for i in arms]))
    columns = [column_of(m, i, 0)[np.searchsorted(rounds_of(m, i)[0], starts, side="right") - 1] for i in arms]
    means = np.stack(columns, axis=1)
    # A piece starts where some mean changes; a product with zero has steps without a change.
    changes = np.concatenate([[True], np.any(means[1:] != means[:-1], axis=1)])
    return RestlessConstants(horizon, starts[changes], means[changes])


def _follows_pulls(m: Means, i: int) -> bool:
    return len(pulls_of(m, i)[0]) > 1 and not _stays_zero(m, i, rounds_of(m, i)[1])


def _follows_rounds(m: Means, i: int) -> bool:
    return len(rounds_of(m, i)[0]) > 1 and not _stays_zero(m, i, pulls_of(m, i)[1])


def _stays_zero(m: Means, i: int, factors: Floats) -> bool:
    """Whether an arm is a product whose other factor is always zero, so that this factor does not matter."""
    return bool(m.kinds[i] == PRODUCT and not factors.any())


def _rested(m: Means, horizon: int) -> RestedConstants:
    rows = [np.repeat(row_of(m, i, 0), np.diff(pulls_of(m, i)[0], append=horizon)) for i in range(len(m.kinds))]
    return RestedConstants(horizon, np.stack(rows))


def _round(t: int | None, horizon: int) -> int:
    if t is None:
        return horizon
    checked = positive_int("t", t)
    if checked > horizon:
        raise InvalidValueError("t", f"be at most the horizon {horizon}", checked)
    return checked
