"""The constants of a problem in the restless or the rested setting; fails if there are none."""

from rotting import theory
from rotting.problems import Problem


def restless(problem: Problem, T: int | None = None) -> theory.RestlessConstants:
    known = theory.constants(problem, T).restless
    assert known is not None
    return known


def rested(problem: Problem, T: int | None = None) -> theory.RestedConstants:
    known = theory.constants(problem, T).rested
    assert known is not None
    return known
