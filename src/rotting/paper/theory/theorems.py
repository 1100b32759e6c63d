"""The theorems that apply to a policy on a problem, and their bounds, round by round."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import positive_int
from rotting.errors import InvalidValueError
from rotting.paper.theory.constants import Constants, RestedConstants, RestlessConstants, constants
from rotting.paper.theory.upper_bounds import (
    RESTED,
    RESTLESS,
    THEORIES,
    piecewise_gap_dependent,
    piecewise_minimax,
    rested_gap_dependent,
    rested_gap_free,
    variation_budget,
    why_no_bound,
    why_wrong_scale,
)
from rotting.policy import Policy
from rotting.problems.problem import Problem
from rotting.registry import make


@dataclass(frozen=True, eq=False)
class Theorem:
    """A regret bound of the paper.

    Args:
        name: in a few words.
        reference: its number and its label.
        setting: "restless" or "rested".
        bound: `bound(policy, t, constants)` returns the bound at horizon t. The constants are those of the setting:
            `RestlessConstants` or `RestedConstants`.
    """

    name: str
    reference: str
    setting: str
    bound: Callable[[Policy, int, Any], float]

    @property
    def title(self) -> str:
        """Its name and its number."""
        return _title(self.name, self.reference)

    def constants(self, known: Constants) -> RestlessConstants | RestedConstants | None:
        """Return the constants of the theorem's setting."""
        return known.restless if self.setting == RESTLESS else known.rested


def _title(name: str, reference: str) -> str:
    return f"{name}, {reference.partition(' (')[0]}"


THEOREMS = (
    Theorem(
        "variation budget",
        "Theorem 1 (th:variation-minimax)",
        RESTLESS,
        lambda policy, t, of: variation_budget(policy, t, of.n_arms, of.budget(t)),
    ),
    Theorem(
        "piecewise minimax",
        "Theorem 2 (th:piecewise-minimax)",
        RESTLESS,
        lambda policy, t, of: piecewise_minimax(policy, t, of.n_arms, of.pieces(t), of.spread(t)),
    ),
    Theorem(
        "piecewise gap-dependent",
        "Theorem 3 (th:piecewise_pd)",
        RESTLESS,
        lambda policy, t, of: piecewise_gap_dependent(policy, t, of.gaps(t), of.spread(t), of.lengths(t)),
    ),
    Theorem(
        "rested gap-free",
        "Proposition 6 (prop:rested-PI)",
        RESTED,
        lambda policy, t, of: rested_gap_free(policy, t, of.n_arms, of.largest_fall(t)),
    ),
    Theorem(
        "rested gap-dependent",
        "Proposition 7 (prop:rested-PD)",
        RESTED,
        lambda policy, t, of: rested_gap_dependent(policy, t, of.pseudo_gaps(policy, t), of.largest_fall(t), of.limits(t)),
    ),
)
"""All regret bounds of the paper."""


@dataclass(frozen=True, eq=False)
class Bound:
    """The bound of a theorem for a policy on a problem, at some rounds.

    Args:
        name: of the theorem.
        reference: its number and its label.
        policy: whose regret it bounds.
        checkpoints: rounds.
        values: the bound on the expected regret at each of them, with the problem's constants at that round.
    """

    name: str
    reference: str
    policy: Policy
    checkpoints: Ints
    values: Floats

    @property
    def theorem(self) -> str:
        """The name of the theorem and its number."""
        return _title(self.name, self.reference)

    @property
    def label(self) -> str:
        """The label in a legend."""
        return f"{self.policy.label}: {self.theorem}"


class Bounds(tuple[Bound, ...]):
    """A tuple of the bounds that apply to a policy on a problem, with the reasons why other theorems do not apply.

    Printed, it has a line for each theorem.

    Args:
        bounds: those that apply.
        why_not: for each theorem that does not apply, the assumption that fails, by the theorem's name and number.
    """

    why_not: dict[str, str]

    def __new__(cls, bounds: Iterable[Bound], why_not: Mapping[str, str]) -> Self:
        """Make the tuple of the bounds."""
        made = super().__new__(cls, bounds)
        made.why_not = dict(why_not)
        return made

    def __getnewargs__(self) -> tuple[tuple[Bound, ...], dict[str, str]]:  # of copies and pickles
        return tuple(self), self.why_not

    def __repr__(self) -> str:
        found = [
            f"{each.theorem}: expected regret of at most {value:,.4g} at round {t:,}"
            for each in self
            for t, value in zip(each.checkpoints[-1:], each.values[-1:], strict=True)
        ]
        return "\n".join([*found, *(f"{theorem}: does not apply: {why}" for theorem, why in self.why_not.items())])


def _why_not(theorem: Theorem, known: Constants, problem: Problem, policy: Policy) -> str | None:
    """Return why a theorem does not apply to a policy on a problem, or None."""
    if problem.delay is not None:
        return "rewards come late"
    if not known.rotting:
        return str(known.rotting)
    if known.sigma is None:
        return "the noise is not sub-Gaussian"
    if known.kind == "both":
        return "means follow pulls and rounds: no policy can learn all such problems (Proposition 1)"
    if theorem.constants(known) is None:
        return f"means follow the {'pulls' if theorem.setting == RESTLESS else 'rounds'}"
    error = why_no_bound(policy, theorem.setting)
    return why_wrong_scale(policy, problem.noise, known.sigma) if error is None else str(error)


def bounds(problem: Problem, policy: Policy, horizon: int | None = None, checkpoints: Iterable[int] | None = None) -> Bounds:
    """Return every bound that applies to a policy on a problem, round by round.

    At round t the constants are the problem's up to t, so that each value is a theorem at horizon t.

    Args:
        problem: any.
        policy: any.
        horizon: T; the problem's own by default.
        checkpoints: rounds; by default only the horizon.

    Returns:
        A tuple of the bounds, empty if no theorem applies. Printed, and in `why_not`, it says which assumption of each other
        theorem fails.

    Example:
        >>> from rotting.problems import two_arms
        >>> free, dependent = bounds(two_arms(L=0.5, horizon=1000), make("raw-ucb", alpha=5), checkpoints=[100, 1000])
        >>> free.label
        'RAW-UCB 5: rested gap-free, Proposition 6'
        >>> free.values.round(1).tolist(), dependent.values.round(1).tolist()
        ([222.1, 782.6], [165.2, 756.5])
        >>> bounds(two_arms(L=0.5, horizon=1000), make("raw-ucb", alpha=1.4)).why_not["rested gap-free, Proposition 6"]
        'alpha must be in [5, inf) for RAW-UCB in Propositions 6 and 7 (rested), got 1.4'
    """
    known = constants(problem, horizon)
    rounds = np.array(
        [known.horizon] if checkpoints is None else [positive_int("checkpoints", each) for each in checkpoints], np.int64
    )
    reasons = {each: _why_not(each, known, problem, policy) for each in THEOREMS}
    found = (
        Bound(
            each.name,
            each.reference,
            policy,
            rounds,
            np.array([each.bound(policy, int(t), each.constants(known)) for t in rounds]),
        )
        for each, why in reasons.items()
        if why is None
    )
    return Bounds(found, {each.title: why for each, why in reasons.items() if why is not None})


def theoretical_policies(setting: str, sigma: float = 1.0) -> tuple[Policy, ...]:
    """Return the four policies with the smallest alpha that the theorems of a setting allow.

    Args:
        setting: "restless" or "rested".
        sigma: sub-Gaussian scale of the rewards.

    Example:
        >>> theoretical_policies("rested")[:2]
        (RAWUCB(alpha=5.0, sigma=1.0), EffRAWUCB(alpha=4.0, sigma=1.0, m=2.0))
    """
    if setting not in {RESTLESS, RESTED}:
        raise InvalidValueError("setting", "be 'restless' or 'rested'", setting)
    return tuple(make(name, alpha=theory.least[setting], sigma=sigma) for name, theory in THEORIES.items())


def is_vacuous(bound: float, most: float | None) -> bool:
    """Return whether a bound is vacuous: no play has more regret than `most`, None where that is unknown.

    Example:
        >>> is_vacuous(10.0, 10.0), is_vacuous(9.9, 10.0), is_vacuous(10.0, None)
        (True, False, False)
    """
    return most is not None and bound >= most
