"""The paper's theorems, executable: regret bounds, hard instances, and what cannot be learned.

>>> import rotting
>>> problem = rotting.problems.two_arms(L=0.5, horizon=10_000, sigma=0.1)
>>> policy = rotting.RAWUCB(alpha=5, sigma=0.1)
>>> [(bound.name, round(float(bound.values[-1]))) for bound in bounds(problem, policy)]
[('rested gap-free', 281), ('rested gap-dependent', 121)]
>>> constants(problem).largest_regret()
1875.0

- `bounds(problem, policy)` gives what is proved of a policy on a problem, round by round; `applicable` says which theorem
  applies and why another does not, `table` shows it all, and `constants(problem)` is what the bounds are made of. Its
  `largest_regret()` is that of the worst play: a bound above it says nothing.
- `variation_budget`, `piecewise_minimax`, `piecewise_gap_dependent`, `rested_gap_free` and `rested_gap_dependent` are the
  bounds as functions of such constants; `constant(policy)` is the C in them, `unfavourable` bounds the probability of the event
  that they leave out.
- `piecewise_lower` and `variation_lower` are what no policy can beat, `HardFamily` the problems that prove it, and `worst`
  finds the hardest of them for a policy.
- `unlearnable` are the two problems of a rested and a restless arm that no policy can learn, `play_unlearnable` plays them.

The paper: Seznec, Menard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits", AISTATS 2020.
Theorems, propositions and lemmas are numbered in the order of its text, and the label of its source follows. Where a statement
or a proof has a slip, the docstring says so, and what is meant.
"""

from rotting.theory.constants import Constants, RestedConstants, RestlessConstants, constants
from rotting.theory.events import unfavourable
from rotting.theory.hard import Worst, worst
from rotting.theory.impossible import (
    Unlearnable,
    greedy_floor,
    learner_floor,
    optimal_arms,
    play_unlearnable,
    unlearnable,
)
from rotting.theory.lower import PIECEWISE_RATE, VARIATION_RATE, HardFamily, piecewise_lower, variation_lower
from rotting.theory.theorems import THEOREMS, Bound, Theorem, applicable, bounds, table, theoretical_policies
from rotting.theory.tuning import constant, subgaussian_scale
from rotting.theory.upper import (
    piecewise_gap_dependent,
    piecewise_minimax,
    rested_gap_dependent,
    rested_gap_free,
    variation_budget,
)

__all__ = [
    "PIECEWISE_RATE",
    "THEOREMS",
    "VARIATION_RATE",
    "Bound",
    "Constants",
    "HardFamily",
    "RestedConstants",
    "RestlessConstants",
    "Theorem",
    "Unlearnable",
    "Worst",
    "applicable",
    "bounds",
    "constant",
    "constants",
    "greedy_floor",
    "learner_floor",
    "optimal_arms",
    "piecewise_gap_dependent",
    "piecewise_lower",
    "piecewise_minimax",
    "play_unlearnable",
    "rested_gap_dependent",
    "rested_gap_free",
    "subgaussian_scale",
    "table",
    "theoretical_policies",
    "unfavourable",
    "unlearnable",
    "variation_budget",
    "variation_lower",
    "worst",
]
