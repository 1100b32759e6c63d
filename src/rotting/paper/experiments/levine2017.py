"""The games of SWA's paper: an arm that drops once, and arms that fall step by step.

The settings, the grids and the claims were written from memory of the paper, and are not checked against its text.
"""

import math

from rotting.paper.other_papers import Beats, Grid, other_paper
from rotting.policies.d_ucb import DUCB
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.swa import SWA
from rotting.policies.ucb1 import UCB1
from rotting.problems import Problem, levine_two_arms, levine_vanishing

SIGMA = math.sqrt(0.2)
GAME = "non-parametric"
SOURCE = "section 5, from memory: not checked against the text"


def policies(problem: Problem) -> Grid:
    """Return SWA and the policies that the paper compares it with, on grids like its own, and RAW-UCB, which needs none."""
    T = problem.resolve_horizon()
    return {
        "SWA": [SWA(horizon=T, alpha=tenths / 10, sigma=SIGMA) for tenths in (2, 4, 6, 8, 10)],
        "UCB1": [UCB1(sigma=SIGMA)],
        "D-UCB": [DUCB(gamma=gamma, sigma=SIGMA) for gamma in (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)],
        "SW-UCB": [SWUCB(tau=thousands * 1_000, sigma=SIGMA) for thousands in (1, 2, 5, 10, 20)],
        "RAW-UCB 1.4": [RAWUCB(alpha=1.4, sigma=SIGMA)],
    }


EXPERIMENT = other_paper(
    "levine2017",
    "Rotting bandits",
    "Levine, Crammer, Mannor, NeurIPS 2017, section 5",
    (
        (
            "Gaussian rewards of variance 0.2 and T = 30,000. Non-parametric: one of two arms is worth 0.5, the other one 1 "
            "for 7,500 pulls and 0.4 after. Parametric: ten arms fall after every 100 pulls, with powers of their steps. As in "
            "the paper, each policy has the best parameter of a grid, for each game."
        ),
        (
            "The settings, the grids and the claims were written from memory of the paper: none of them is checked against its "
            "text. The paper draws the powers at random; here they are ours, and the same in all runs. Powers with a constant "
            "added are left out, and so are CTO and D-CTO, which need to know the form of the fall, and with these the claims "
            "on the parametric games. RAW-UCB is later than the paper."
        ),
    ),
    {GAME: levine_two_arms(), "vanishing": levine_vanishing()},
    policies,
    [
        Beats(f"levine2017-{other.lower()}", SOURCE, f"SWA outperforms {other} (non-parametric).", "SWA", other, (GAME,))
        for other in ("UCB1", "D-UCB", "SW-UCB")
    ],
    runs=100,
    order=21,
)
