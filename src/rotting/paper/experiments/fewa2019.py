"""The two games of FEWA's paper: one arm that drops by L, and nine arms that drop by very little to very much."""

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
    """Return FEWA, wSWA with several tunings, and the policies for changes, which get the number of drops."""
    T, drops = problem.resolve_horizon(), problem.n_arms - 1
    return {
        "FEWA 0.06": [FEWA(alpha=0.06, sigma=1.0)],
        **{f"wSWA {alpha:g}": [WSWA(alpha=alpha, sigma=1.0)] for alpha in ALPHAS},
        "SW-UCB": [SWUCB.from_breakpoints(T, drops, B=1.0)],
        "D-UCB": [DUCB.from_breakpoints(T, drops, B=1.0)],
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
            "The values of L are every sixth of the grid of the paper of 2020, and the tunings of wSWA are ours, around the "
            "one that it uses. The claims are in the words of that paper. The efficient version is left out."
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
