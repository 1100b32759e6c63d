"""The paper's theorems, executable: regret bounds, hard instances, and what cannot be learned.

>>> import rotting
>>> problem = rotting.problems.two_arms(L=0.5, horizon=10_000, sigma=0.1)
>>> policy = rotting.RAWUCB(alpha=5, sigma=0.1)
>>> [(bound.name, round(float(bound.values[-1]))) for bound in bounds(problem, policy)]
[('rested gap-free', 281), ('rested gap-dependent', 121)]
>>> constants(problem).largest_regret()
1875.0

- `bounds(problem, policy)` returns the bounds that apply to a policy on a problem, round by round, and why other
  theorems do not apply; `constants(problem)` are the numbers in the bounds. Its `largest_regret()` is the regret of the worst
  play: a bound above it is vacuous.
- `variation_budget`, `piecewise_minimax`, `piecewise_gap_dependent`, `rested_gap_free` and `rested_gap_dependent` are the
  bounds as functions of such constants; `constant(policy)` is the C in them, `unfavourable` bounds the probability of the event
  that they exclude.
- `piecewise_lower` and `variation_lower` are lower bounds for every policy, and `HardFamily` the problems that prove them.
- `unlearnable` returns the two problems with a rested and a restless arm that no policy can learn; `play_unlearnable` plays
  them.
- `hull` returns the few windows of an arm's rewards that can have the tightest bound (our theorem, in docs/hull.md).

The paper: Seznec, Menard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits", AISTATS 2020.
Theorems, propositions and lemmas are numbered in the order of its text, followed by the label in its source. Where a statement
or a proof has a slip, the docstring says so and gives the correct form.
"""

from rotting.paper.theory.constants import Constants, RestedConstants, RestlessConstants, constants
from rotting.paper.theory.hull import hull
from rotting.paper.theory.indistinguishable import (
    Unlearnable,
    greedy_floor,
    learner_floor,
    optimal_arms,
    play_unlearnable,
    unlearnable,
)
from rotting.paper.theory.lower_bounds import PIECEWISE_RATE, VARIATION_RATE, HardFamily, piecewise_lower, variation_lower
from rotting.paper.theory.theorems import THEOREMS, Bound, Bounds, Theorem, bounds, theoretical_policies
from rotting.paper.theory.upper_bounds import (
    constant,
    piecewise_gap_dependent,
    piecewise_minimax,
    rested_gap_dependent,
    rested_gap_free,
    subgaussian_scale,
    unfavourable,
    variation_budget,
)

__all__ = [
    "PIECEWISE_RATE",
    "THEOREMS",
    "VARIATION_RATE",
    "Bound",
    "Bounds",
    "Constants",
    "HardFamily",
    "RestedConstants",
    "RestlessConstants",
    "Theorem",
    "Unlearnable",
    "bounds",
    "constant",
    "constants",
    "greedy_floor",
    "hull",
    "learner_floor",
    "optimal_arms",
    "piecewise_gap_dependent",
    "piecewise_lower",
    "piecewise_minimax",
    "play_unlearnable",
    "rested_gap_dependent",
    "rested_gap_free",
    "subgaussian_scale",
    "theoretical_policies",
    "unfavourable",
    "unlearnable",
    "variation_budget",
    "variation_lower",
]
