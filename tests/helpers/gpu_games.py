"""Games that every engine plays alike: every policy, every noise, arms of both clocks."""

import rotting
from rotting.policy import Policy
from rotting.problems import Abrupt, Linear, Problem, Rested, Restless
from rotting.problems.noise import Noise
from rotting.registry import list_policies

NOISES: tuple[Noise, ...] = (
    rotting.Gaussian(0.5),
    rotting.Bernoulli(),
    rotting.Binomial(7),
    rotting.Beta(4.0),
    rotting.Poisson(),
    rotting.Noiseless(),
    rotting.Laplace(0.5),
    rotting.Student(3.0),
    rotting.LogNormal(0.5),
    rotting.Contaminated(0.5, share=0.2),
    rotting.Resampled([-0.5, -0.25, 0.75]),
    rotting.ByArm([rotting.Gaussian(0.1), rotting.Gaussian(0.2), rotting.Gaussian(0.4), rotting.Gaussian(0.8)]),
    rotting.ByArm([rotting.Student(3.0), rotting.Student(4.0), rotting.Student(5.0), rotting.Student(6.0)]),
)


def problem(noise: Noise) -> Problem:
    """Return a problem with two rested and two restless arms, whose means every noise allows."""
    arms = [
        Rested(Abrupt(0.8, 0.1, at=400)),
        Restless(Linear(0.9, slope=-0.0001)),
        Rested(0.45),
        Restless(Abrupt(0.7, 0.2, at=1_500)),
    ]
    return Problem(arms, noise=noise)


PROBLEM = problem(rotting.Gaussian(0.5))


def players(horizon: int) -> list[Policy]:
    """Return every policy of the library, with a horizon if it needs one, and clipping rewards if it has a range."""
    found = []
    for kind in list_policies():
        if kind.__module__.startswith("rotting.policies"):
            policy = kind(**{each.name: horizon for each in kind.parameters() if each.required})
            clips = {"outside": "clip"} if policy.reward_range is not None else {}
            found.append(kind(**{**policy.shown_params(), **clips}))
    return found
