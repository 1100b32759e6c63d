"""The theorems that apply to a policy on a problem, and their bounds, round by round and as tables."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.display.figures import Curve, Panel
from rotting.common.display.tables import Column, FormattedTable, Row
from rotting.common.html_parts import block, drawing
from rotting.common.rules import positive_int
from rotting.common.short_numbers import plural
from rotting.errors import InvalidValueError
from rotting.paper.theory.constants import SHOWN_PIECES, Constants, RestedConstants, RestlessConstants, constants
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
from rotting.policy import Policy, labels_of
from rotting.problems.problem import Problem
from rotting.registry import make

NONE, VACUOUS = "-", "*"


@dataclass(frozen=True, eq=False)
class Theorem:
    """A regret bound of the paper.

    Args:
        name: in a few words.
        reference: its number and its label.
        setting: "restless" or "rested".
        bound: `bound(policy, t, constants)` returns the bound at horizon t. Here and below, `constants` are those of the
            setting: `RestlessConstants` or `RestedConstants`.
        shown: `shown(constants)` returns the constants of the problem in the bound, as text.
        arms: `arms(policy, constants)` returns lists with one number per arm, by name; None if there are none.
    """

    name: str
    reference: str
    setting: str
    bound: Callable[[Policy, int, Any], float]
    shown: Callable[[Any], str]
    arms: Callable[[Policy, Any], Mapping[str, Sequence[float | None]] | None] = lambda policy, of: None

    @property
    def title(self) -> str:
        """Its name and its number."""
        return _title(self.name, self.reference)

    def constants(self, known: Constants) -> RestlessConstants | RestedConstants | None:
        """Return the constants of the theorem's setting."""
        return known.restless if self.setting == RESTLESS else known.rested


def _title(name: str, reference: str) -> str:
    return f"{name}, {reference.partition(' (')[0]}"


def _overpulls(policy: Policy, of: RestedConstants) -> Mapping[str, Sequence[float | None]]:
    gaps = [gap if math.isfinite(gap) else None for gap in of.pseudo_gaps(policy)]
    return {"overpulls": of.overpulls(policy), "pseudo_gaps": gaps}


def _pieces(of: RestlessConstants) -> str:
    return f"Upsilon_T = {of.pieces():,}, V = {of.spread():g}"


def _fall(of: RestedConstants) -> str:
    return f"L = {of.largest_fall():g}"


THEOREMS = (
    Theorem(
        "variation budget",
        "Theorem 1 (th:variation-minimax)",
        RESTLESS,
        lambda policy, t, of: variation_budget(policy, t, of.n_arms, of.budget(t)),
        lambda of: f"V_T = {of.budget():g}",
    ),
    Theorem(
        "piecewise minimax",
        "Theorem 2 (th:piecewise-minimax)",
        RESTLESS,
        lambda policy, t, of: piecewise_minimax(policy, t, of.n_arms, of.pieces(t), of.spread(t)),
        _pieces,
    ),
    Theorem(
        "piecewise gap-dependent",
        "Theorem 3 (th:piecewise_pd)",
        RESTLESS,
        lambda policy, t, of: piecewise_gap_dependent(policy, t, of.gaps(t), of.spread(t), of.lengths(t)),
        _pieces,
    ),
    Theorem(
        "rested gap-free",
        "Proposition 6 (prop:rested-PI)",
        RESTED,
        lambda policy, t, of: rested_gap_free(policy, t, of.n_arms, of.largest_fall(t)),
        _fall,
    ),
    Theorem(
        "rested gap-dependent",
        "Proposition 7 (prop:rested-PD)",
        RESTED,
        lambda policy, t, of: rested_gap_dependent(policy, t, of.pseudo_gaps(policy, t), of.largest_fall(t), of.limits(t)),
        _fall,
        _overpulls,
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

    def _repr_html_(self) -> str:
        curve = Curve("bound on the expected regret", self.checkpoints, self.values)
        end = f"At most {self.values[-1]:,.4g} expected regret at round {self.checkpoints[-1]:,}"
        picture = drawing(Panel("", "round t", "bound", (curve,))) if self.values.size > 1 else ""
        return block(self.label, picture, note=end)


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


def _why_not(theorem: Theorem, known: Constants) -> str | None:
    """Return why a theorem does not apply to a problem, or None."""
    if not known.rotting:
        return str(known.rotting)
    if known.sigma is None:
        return "the noise is not sub-Gaussian"
    if known.kind == "both":
        return "means follow pulls and rounds: no policy can learn all such problems (Proposition 1)"
    if theorem.constants(known) is None:
        return f"means follow the {'pulls' if theorem.setting == RESTLESS else 'rounds'}"
    return None


def _why(theorem: Theorem, known: Constants) -> str:
    """Return why a theorem applies, and with which constants."""
    return f"{known.kind} and rotting, {theorem.shown(theorem.constants(known))}"


def _why_not_for(theorem: Theorem, known: Constants, problem: Problem, policy: Policy) -> str | None:
    if problem.delay is not None:
        return "rewards come late"
    why = _why_not(theorem, known)
    if why is not None or known.sigma is None:
        return why
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
    reasons = {each: _why_not_for(each, known, problem, policy) for each in THEOREMS}
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


def table(problem: Problem, policies: Sequence[Policy] | None = None, horizon: int | None = None) -> FormattedTable:
    """Return the constants of a problem, and the bound of each theorem at the horizon.

    Args:
        problem: any.
        policies: by default the four, each with the smallest alpha that the theorem allows and the noise's sigma.
        horizon: T; the problem's own by default.

    Returns:
        A table, in which a star marks a vacuous bound, since no play can have that much regret. Its rows have
        the keys `theorem`, `reference`, `applies`, `why` (of the problem alone), and by policy `bounds` and
        `why_not`, one of which is None, and `arms`: for `rested gap-dependent`, `h_i+` (`overpulls`) and the pseudo-gap of each
        arm (`pseudo_gaps`, None where overpulls cost nothing).

    Example:
        >>> from rotting.problems import two_arms
        >>> shown = table(two_arms(L=0.5, horizon=1000), [make("raw-ucb", alpha=5, sigma=1.0)])
        >>> print(shown.lines[1])
        T = 1,000, K = 2, sigma = 1, rested, rotting: no mean rises up to round 1000
        >>> shown.rows[4]["arms"]
        {'RAW-UCB 5': {'overpulls': [250, 750], 'pseudo_gaps': [0.0, 0.25]}}
    """
    known = constants(problem, horizon)
    # Noise without a scale has no theorem; without noise the theorems hold for every sigma.
    sigma, most = known.sigma or 1.0, known.largest_regret()
    rows: list[Row] = []
    for theorem in THEOREMS:
        chosen = theoretical_policies(theorem.setting, sigma) if policies is None else policies
        heads = [theory.title for theory in THEORIES.values()] if policies is None else labels_of(chosen)
        reasons = [_why_not_for(theorem, known, problem, policy) for policy in chosen]
        columns_of = list(zip(heads, chosen, reasons, strict=True))
        why, of = _why_not(theorem, known), theorem.constants(known)
        rows.append(
            {
                "theorem": theorem.name,
                "reference": theorem.reference,
                "applies": why is None,
                "why": why or _why(theorem, known),
                "bounds": {head: None if no else theorem.bound(policy, known.horizon, of) for head, policy, no in columns_of},
                "why_not": {head: no for head, _, no in columns_of},
                "arms": {head: None if no else theorem.arms(policy, of) for head, policy, no in columns_of},
            }
        )

    def cell(head: str) -> Callable[[Row], str]:
        def write(row: Row) -> str:
            value = row["bounds"][head]
            return NONE if value is None else f"{value:,.1f}{VACUOUS * is_vacuous(value, most)}"

        return write

    columns = (
        Column("bound on the expected regret", lambda row: _title(row["theorem"], row["reference"])),
        *(Column(head, cell(head)) for head in rows[0]["bounds"]),
        Column("the problem", lambda row: str(row["why"])),
    )
    lines = [*_describe(problem, known), *_describe_policies(rows, known, default=policies is None)]
    return FormattedTable(tuple(lines), columns, rows)


def is_vacuous(bound: float, most: float | None) -> bool:
    """Return whether a bound is vacuous: no play has more regret than `most`, None where that is unknown.

    Example:
        >>> is_vacuous(10.0, 10.0), is_vacuous(9.9, 10.0), is_vacuous(10.0, None)
        (True, False, False)
    """
    return most is not None and bound >= most


def _describe(problem: Problem, known: Constants) -> list[str]:
    """Return the lines about the problem's constants."""
    sigma = "unknown" if known.sigma is None else f"{known.sigma:g}"
    lines = [
        f"{problem.name or 'problem'}: constants, and bounds at the horizon",
        f"T = {known.horizon:,}, K = {known.n_arms}, sigma = {sigma}, {known.kind}, {known.rotting}",
    ]
    if (rl := known.restless) is not None:
        span = rl.gap_range()
        gaps = "no gaps" if span is None else f"gaps from {span[0]:.4g} to {span[1]:.4g}"
        lines.append(
            f"restless: {plural(rl.pieces(), 'stationary piece')}, variation {rl.variation():.6g}, "
            f"spread V = {rl.spread():.6g}, budget V_T = {rl.budget():.6g}, {gaps}"
        )
        if rl.pieces() <= SHOWN_PIECES:
            ends = rl.starts + rl.lengths() - 1
            for first, last, row in zip(rl.starts, ends, rl.gaps(), strict=True):
                lines.append(f"  gaps in rounds {first:,} to {last:,}: {_listed(row)}")
    if (rd := known.rested) is not None:
        pulls = ", ".join(f"{each:,}" for each in rd.optimal_pulls())
        lines.append(
            f"rested: largest fall L = {rd.largest_fall():.6g}, smallest optimal reward {rd.smallest_reward():.6g}, "
            f"optimal pulls {pulls}"
        )
    if (most := known.largest_regret()) is not None:
        lines.append(
            f"largest regret of any play: {most:,.6g}; a bound that is not below it is vacuous, and is marked {VACUOUS}"
        )
    return lines


def _describe_policies(rows: Sequence[Row], known: Constants, default: bool) -> list[str]:
    """Return the lines about the policies of the table: their tuning, their constants, and why a bound does not hold."""
    lines = []
    if default:
        ranges = [f"{theory.title} {theory.least[RESTLESS]:g} / {theory.least[RESTED]:g}" for theory in THEORIES.values()]
        lines.append(f"alpha is the smallest allowed, restless / rested: {', '.join(ranges)}")
        if known.sigma == 0:
            lines.append(
                "sigma = 0, as there is no noise, but the policies' must be positive: the bounds are those of sigma = 1"
            )
    for row in rows:
        for head, arms in row["arms"].items():
            if arms is not None:
                gaps = _listed(arms["pseudo_gaps"])
                lines.append(f"{head}: most overpulls of each arm h+ = {_listed(arms['overpulls'])}, with pseudo-gaps {gaps}")
    fit = [row for row in rows if row["applies"]]
    for head in rows[0]["why_not"]:
        reasons = dict.fromkeys(row["why_not"][head] for row in fit if row["why_not"][head])
        lines += [f"{head}: {reason}" for reason in reasons]
    return lines


def _listed(values: Iterable[float | None]) -> str:
    return ", ".join(NONE if each is None else f"{each:,.4g}" for each in values)
