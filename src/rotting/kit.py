"""All that the author of a policy or of a noise imports, in one place.

What a policy is
    Policy, parameter                the class of a policy, and its fields
    Kernel, Params, Reason           its functions, the numbers that they get, and why an arm was chosen
    Ints, Floats                     the arrays that a state is made of
    doubling                         plays without a horizon what is tuned to one

Rules of its parameters
    FINITE, POSITIVE, NONNEGATIVE    a finite number; above zero; zero or more
    FRACTION, PROBABILITY, ABOVE_ONE in (0, 1]; in [0, 1]; above 1
    COUNT, INDEX                     a whole number, from 1 on; from 0 on
    SPREAD                           the scale of a noise
    SCALE                            a policy's sigma: a positive number, or "estimate"
    Rule, option                     a rule of your own; one of a few words
    OUTSIDE, check_range, to_unit    rewards in a declared range: the word for those outside, the check, the way to [0, 1]

Index policies
    by_index                         pulls the arm with the largest index
    restarting                       the same after new arms and forced exploration, for policies that restart
    by_tightest_bound                the smallest upper bound over all windows, of width level / sqrt(h)
    Windows, new_windows             the state that it works on
    by_block_bound                   the same for widths of any other form
    BlockWindows, new_block_windows  the state that it works on, with a History in its field `history`
    by_delayed_bound                 the smallest upper bound over delayed windows
    DelayedWindows, new_delayed_windows
                                     the state that it works on, with a Grid in its field `grid`
    lazy_choice                      the module behind the three: `choose_lazily` and its slots

Windows
    width                            sigma sqrt(2 alpha ln(t) / h)
    History, new_history, record     every reward of every arm
    window_mean, mean_range          the mean over one window, and bounds of the means over many, from a History
    Grid, new_grid, eff_update       the delayed windows of EFF_UPDATE

The scale of the noise, given or estimated
    NoiseScale, new_noise_scale      what it is estimated from, in a field `noise` of the state
    observe_noise, forget_noise      for `update` and `forget`
    sigma_of, scale_of               the scale of an arm's noise; the same over the sigma that was given
    given_sigma, is_estimated        for levels and for the three `by_..._bound`

Numbers
    add, difference, times           exact sums, kept as pairs
    uniform                          random numbers of a policy: `uniform(key, t, draw)`
    reward_uniform                   random numbers of a noise: `reward_uniform(key, run, arm, clock, draw)`
    normal_quantile                  turns a uniform number into a normal one
    log, log1p, exp, expm1, power    the same to the last bit on every machine and every GPU, which those of `math` are not
    floor, ceil                      whole numbers everywhere

Putting functions together
    slot, bind, bind_all             a stub that stands for a function, and what fills it

Noises
    Noise                            the base of a reward distribution

Checks
    check_policy, check_noise        say which rule is broken, in one sentence

Example, a policy that pulls the arm with the largest last reward:

    >>> from rotting.kit import *
    >>> import math
    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> class LastReward(Policy):
    ...     weight: float = parameter(FRACTION, "share of the last reward in the index", default=1.0)
    ...     name = "last-reward"
    ...     has_index = True
    >>> class State(NamedTuple):
    ...     last: Floats  # [K], infinite before the first reward
    >>> def init(p: Params, n_arms: int, capacity: int) -> State:
    ...     return State(last=np.full(n_arms, math.inf))
    >>> def index(p: Params, s: State, t: int, i: int) -> Reason:
    ...     return Reason(p.weight * s.last[i], s.last[i], 1, 0.0)
    >>> def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    ...     s.last[arm] = reward
    >>> LastReward.kernel = Kernel(init, update=update, **by_index(index))
    >>> policy, kernel, arms = LastReward(weight=0.5), LastReward.kernel, np.arange(2)
    >>> state = kernel.init(policy.params, 2, 10)
    >>> kernel.update(policy.params, state, 1, kernel.choose(policy.params, state, 1, 0, arms), 0.5)
    >>> kernel.choose(policy.params, state, 2, 0, arms)
    1

CONTRIBUTING has a policy and a noise in full.
"""

import importlib
from typing import TYPE_CHECKING, Any

from rotting.common.arrays import Floats, Ints
from rotting.common.module_names import no_such_name
from rotting.common.rules import (
    ABOVE_ONE,
    COUNT,
    FINITE,
    FRACTION,
    INDEX,
    NONNEGATIVE,
    POSITIVE,
    PROBABILITY,
    SCALE,
    SPREAD,
    Rule,
    option,
)
from rotting.kernels.binding import bind, bind_all, slot
from rotting.kernels.elementary import ceil, exp, expm1, floor, log, log1p, power
from rotting.kernels.exact_sums import add, difference, times
from rotting.kernels.random_numbers import normal_quantile, reward_uniform, uniform
from rotting.parts import lazy_choice
from rotting.parts.block_windows import BlockWindows, by_block_bound
from rotting.parts.block_windows import new_windows as new_block_windows
from rotting.parts.confidence import width
from rotting.parts.delayed_windows import DelayedWindows, Grid, by_delayed_bound, eff_update, new_delayed_windows, new_grid
from rotting.parts.doubling import doubling
from rotting.parts.hull_windows import Windows, by_tightest_bound, new_windows
from rotting.parts.largest_index import by_index
from rotting.parts.noise_scale import (
    NoiseScale,
    forget_noise,
    given_sigma,
    is_estimated,
    new_noise_scale,
    observe_noise,
    scale_of,
    sigma_of,
)
from rotting.parts.prefix_blocks import History, mean_range, new_history, record, window_mean
from rotting.parts.restarts import restarting
from rotting.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, Reason, parameter
from rotting.problems.noise import Noise

if TYPE_CHECKING:
    from rotting.live.checks import check_policy
    from rotting.live.noise_checks import check_noise

__all__ = [
    "ABOVE_ONE",
    "COUNT",
    "FINITE",
    "FRACTION",
    "INDEX",
    "NONNEGATIVE",
    "OUTSIDE",
    "POSITIVE",
    "PROBABILITY",
    "SCALE",
    "SPREAD",
    "BlockWindows",
    "DelayedWindows",
    "Floats",
    "Grid",
    "History",
    "Ints",
    "Kernel",
    "Noise",
    "NoiseScale",
    "Params",
    "Policy",
    "Reason",
    "Rule",
    "Windows",
    "add",
    "bind",
    "bind_all",
    "by_block_bound",
    "by_delayed_bound",
    "by_index",
    "by_tightest_bound",
    "ceil",
    "check_noise",
    "check_policy",
    "check_range",
    "difference",
    "doubling",
    "eff_update",
    "exp",
    "expm1",
    "floor",
    "forget_noise",
    "given_sigma",
    "is_estimated",
    "lazy_choice",
    "log",
    "log1p",
    "mean_range",
    "new_block_windows",
    "new_delayed_windows",
    "new_grid",
    "new_history",
    "new_noise_scale",
    "new_windows",
    "normal_quantile",
    "observe_noise",
    "option",
    "parameter",
    "power",
    "record",
    "restarting",
    "reward_uniform",
    "scale_of",
    "sigma_of",
    "slot",
    "times",
    "to_unit",
    "uniform",
    "width",
    "window_mean",
]


_LATE = {"check_noise": "rotting.live.noise_checks", "check_policy": "rotting.live.checks"}
"""They compile. A policy that imports this module must not load the compiler; and they know all policies."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise no_such_name(__name__, name, __all__)
    return getattr(importlib.import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return __all__
