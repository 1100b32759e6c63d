"""The two games of FEWA's paper: one arm that drops by L, and nine arms that drop by very little to very much.

The settings are those of the authors' code, which is public; the text of the paper was not at hand.
"""

from rotting.paper.experiments.rested_two_arms import GRID, game_name
from rotting.paper.other_papers import Beats, Grid, other_paper
from rotting.policies.d_ucb import DUCB
from rotting.policies.fewa import FEWA
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.wswa import WSWA
from rotting.problems import Problem, ten_arms, two_arms

DROPS = GRID[2::6]
TWO, TEN = tuple(game_name(L) for L in DROPS), ("ten-arms",)
CITED = "as the paper of 2020 cites it, appendix, algorithms and parameters"
ALPHAS = (0.002, 0.02, 0.2)


def policies(problem: Problem) -> Grid:
    """Return FEWA, wSWA with several tunings, and two policies for changes, tuned as in the code for ten arms."""
    return {
        "FEWA 0.06": [FEWA(alpha=0.06, sigma=1.0)],
        **{f"wSWA {alpha:g}": [WSWA(alpha=alpha, sigma=1.0)] for alpha in ALPHAS},
        "SW-UCB": [SWUCB(tau=200, B=1.0)],
        "D-UCB": [DUCB(gamma=0.997, B=1.0)],
    }


EXPERIMENT = other_paper(
    "fewa2019",
    "Rotting bandits are no harder than stochastic ones",
    "Seznec, Locatelli, Carpentier, Lazaric, Valko, AISTATS 2019",
    (
        (
            "One arm is worth 0. Of two arms, the other one is worth +L/2 for T/4 pulls and -L/2 after; of ten, the others +mu "
            "for 1,000 pulls and -mu after, with mu from 0.001 to 10. The rewards are Gaussian, of variance 1."
        ),
        (
            "The games and the tunings are those of the authors' public code, with every sixth of its values of L; the text of "
            "the paper was not at hand. The claims are in the words in which the paper of 2020 cites it. The number of runs is "
            "ours, the width of D-UCB is that of its own paper, and the efficient version is left out."
        ),
    ),
    {**{game_name(L): two_arms(L, 10_000) for L in DROPS}, TEN[0]: ten_arms()},
    policies,
    (
        *(
            Beats(
                f"fewa2019-{name}-wswa-{alpha:g}",
                CITED,
                f"SWA is less consistent than FEWA on rested rotting bandits ({name} arms, alpha = {alpha:g}).",
                "FEWA 0.06",
                f"wSWA {alpha:g}",
                games,
            )
            for name, games in (("two", TWO), ("ten", TEN))
            for alpha in ALPHAS
        ),
        *(
            Beats(
                f"fewa2019-{name.lower()}", CITED, f"{name} is unable to learn in the rested setting.", "FEWA 0.06", name, TEN
            )
            for name in ("SW-UCB", "D-UCB")
        ),
    ),
    runs=500,
    order=20,
)
