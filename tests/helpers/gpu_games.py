"""Games that every engine plays alike: every policy, every noise, arms of both clocks."""

from rotting.policy import Policy
from rotting.problems import Abrupt, Linear, Problem, Rested, Restless
from rotting.problems.noise import (
    Bernoulli,
    Beta,
    Binomial,
    ByArm,
    Contaminated,
    Gaussian,
    Laplace,
    LogNormal,
    Noise,
    Noiseless,
    Poisson,
    Resampled,
    Student,
)
from rotting.registry import list_policies

NOISES: tuple[Noise, ...] = (
    Gaussian(0.5),
    Bernoulli(),
    Binomial(7),
    Beta(4.0),
    Poisson(),
    Noiseless(),
    Laplace(0.5),
    Student(3.0),
    LogNormal(0.5),
    Contaminated(0.5, share=0.2),
    Resampled([-0.5, -0.25, 0.75]),
    ByArm([Gaussian(0.1), Gaussian(0.2), Gaussian(0.4), Gaussian(0.8)]),
    ByArm([Student(3.0), Student(4.0), Student(5.0), Student(6.0)]),
)


def problem(noise: Noise) -> Problem:
    """Four arms, two on each clock, with means that every noise can have."""
    arms = [
        Rested(Abrupt(0.8, 0.1, at=400)),
        Restless(Linear(0.9, slope=-0.0001)),
        Rested(0.45),
        Restless(Abrupt(0.7, 0.2, at=1_500)),
    ]
    return Problem(arms, noise=noise)


PROBLEM = problem(Gaussian(0.5))


def players(horizon: int) -> list[Policy]:
    """Every policy of the library, tuned to a horizon where it must be, and clipping rewards where it has a range."""
    found = []
    for kind in list_policies():
        if kind.__module__.startswith("rotting.policies"):
            policy = kind(**{each.name: horizon for each in kind.parameters() if each.required})
            clips = {"outside": "clip"} if policy.reward_range is not None else {}
            found.append(kind(**{**policy.shown_params(), **clips}))
    return found
