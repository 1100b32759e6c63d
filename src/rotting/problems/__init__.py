"""Problems: decays along a clock, arms that follow pulls, rounds or both, and the problems of the papers."""

from rotting.problems.arms import Arm, General, Product, Recovering, Rested, Restless, Sum, Visiting
from rotting.problems.benchmarks import (
    autoregressive,
    blocking,
    comeback,
    concave_rising,
    last_switch,
    levine_two_arms,
    levine_vanishing,
    many_arms,
    markov,
    rebounding,
    rise_then_rot,
)
from rotting.problems.decays import (
    Abrupt,
    Constant,
    Decay,
    Exponential,
    Function,
    Linear,
    Logistic,
    Piecewise,
    Polynomial,
    Table,
)
from rotting.problems.delays import Delay, FixedDelay, GeometricDelay, UniformDelay
from rotting.problems.families import DirichletDecay, FallingGaussianProcess, ProblemFamily, RandomBreakpoints, ReflectedWalk
from rotting.problems.oracle import optimal_rewards
from rotting.problems.presets import list_problems as _list_problems
from rotting.problems.presets import make, stationary, ten_arms, two_arms
from rotting.problems.problem import Problem, Rotting
from rotting.problems.stateful import Stateful

__all__ = [
    "Abrupt",
    "Arm",
    "Constant",
    "Decay",
    "Delay",
    "DirichletDecay",
    "Exponential",
    "FallingGaussianProcess",
    "FixedDelay",
    "Function",
    "General",
    "GeometricDelay",
    "Linear",
    "Logistic",
    "Piecewise",
    "Polynomial",
    "Problem",
    "ProblemFamily",
    "Product",
    "RandomBreakpoints",
    "Recovering",
    "ReflectedWalk",
    "Rested",
    "Restless",
    "Rotting",
    "Stateful",
    "Sum",
    "Table",
    "UniformDelay",
    "Visiting",
    "autoregressive",
    "blocking",
    "comeback",
    "concave_rising",
    "last_switch",
    "levine_two_arms",
    "levine_vanishing",
    "make",
    "many_arms",
    "markov",
    "optimal_rewards",
    "rebounding",
    "rise_then_rot",
    "stationary",
    "ten_arms",
    "two_arms",
]

list = _list_problems  # noqa: A001 - `rotting.problems.list()`; not in `__all__`, since `import *` would hide that of Python
