"""The paper's regret bounds as functions, below everything that simulates; users meet them in `rotting.theory`.

The paper: Seznec, Menard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits", AISTATS 2020.
Theorems, propositions and lemmas are numbered in the order of its text, and the label of its source follows. Where a statement
or a proof has a slip, the docstring says so, and what is meant.
"""

from rotting.guarantees.constants import Constants, Rested, Restless, constants
from rotting.guarantees.events import unfavourable
from rotting.guarantees.lower import PIECEWISE_RATE, VARIATION_RATE, HardFamily, piecewise_lower, variation_lower
from rotting.guarantees.theorems import (
    THEOREMS,
    Bound,
    Theorem,
    applicable,
    bounds,
    table,
    theoretical_policies,
    why_no_bounds,
)
from rotting.guarantees.tuning import constant, subgaussian_scale
from rotting.guarantees.upper import (
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
    "Rested",
    "Restless",
    "Theorem",
    "applicable",
    "bounds",
    "constant",
    "constants",
    "piecewise_gap_dependent",
    "piecewise_lower",
    "piecewise_minimax",
    "rested_gap_dependent",
    "rested_gap_free",
    "subgaussian_scale",
    "table",
    "theoretical_policies",
    "unfavourable",
    "variation_budget",
    "variation_lower",
    "why_no_bounds",
]
