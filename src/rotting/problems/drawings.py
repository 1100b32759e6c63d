"""Small pictures of the means of a problem, for notebooks."""

import math
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.html_parts import MAX_CURVES, Line, drawing
from rotting.problems.mean_table import lookup

if TYPE_CHECKING:
    from rotting.problems.problem import Problem

_ROUNDS = 200  # drawn at most, and the length of the picture of a problem without a horizon


def means_picture(problem: "Problem") -> str:
    """Return a small picture of the means, as HTML.

    Example:
        >>> from rotting.problems import Problem
        >>> "arm 1" in means_picture(Problem.rested([0.5, 0.4]))
        True
    """
    horizon = problem.horizon or _ROUNDS
    rounds = np.unique(np.linspace(1, horizon, min(horizon, _ROUNDS)).round().astype(np.int64))
    curves = [
        Line(f"arm {i}", rounds, means_if_always_pulled(problem, i, rounds)) for i in range(min(problem.n_arms, MAX_CURVES))
    ]
    return drawing(curves, "round t", "mean")


def means_caption(problem: "Problem") -> str:
    """Return what `means_picture` shows, in words.

    Example:
        >>> from rotting.problems import Problem
        >>> means_caption(Problem.rested([0.5, 0.4]))
        'the mean of each arm, if pulled in every round'
    """
    first = f"the first {MAX_CURVES} arms" if problem.n_arms > MAX_CURVES else "each arm"
    rests = ", or in its first one alone if it recovers" if problem.recovers().any() else ""
    return f"the mean of {first}, if pulled in every round{rests}"


def means_if_always_pulled(problem: "Problem", i: int, rounds: Ints) -> Floats:
    """Return the mean of arm i in each round if it is pulled in every round in which it is present.

    A recovering arm is pulled in the first of these rounds only.
    """
    if problem.formula is not None:
        return np.array([problem.mean(i, t, t - 1) for t in rounds.tolist()])
    # The table of all arms is cached, but only a problem with a horizon is known to have one.
    table, arm = (problem.arm_table(i, int(rounds[-1])), 0) if problem.horizon is None else (problem.tables(), i)
    first, last = (int(each[i]) for each in problem.presence_rounds())
    return np.array([lookup(table, arm, t, t - first) if first <= t <= last else math.nan for t in rounds.tolist()])
