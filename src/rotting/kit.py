"""Everything that the author of a policy or a noise imports, in one place.

What a policy is made of
    Policy, parameter                the class of a policy, and its fields
    Kernel, Params, Reason           its functions, its parameters as numbers, and the reason for a choice
    Ints, Floats                     the arrays of a state
    doubling                         plays a policy that needs a horizon without one (doubling trick)

Rules of its parameters
    FINITE, POSITIVE, NONNEGATIVE    a finite number; above zero; zero or more
    FRACTION, PROBABILITY, ABOVE_ONE in (0, 1]; in [0, 1]; above 1
    COUNT, INDEX                     a whole number, 1 or more; 0 or more
    SPREAD                           the scale of a noise
    SCALE                            the sigma of a policy: a positive number, or "estimate"
    Rule, option                     a rule of your own; one of a few words
    OUTSIDE, check_range, to_unit    rewards in a declared range: the rule for rewards outside, the check, the map to [0, 1]

Index policies
    by_index                         pulls the arm with the largest index
    first_new, pulled                the lowest arm without a reward; bind your own `pulled` if the state has no field `pulls`

Number of arms
    Presence, new_presence           which arms are there and how many, in a field `presence` of the state

Indices that are minima over windows
    largest_index                    the arm with the largest index, found without computing all of them
    HULL_WINDOWS                     binds it to all windows of every arm, for widths level / sqrt(h)
    Stacks, new_stacks               a field `hull` of the state
    HullLines, new_hull_lines        a field `lines`
    record_on_hull, tightest_on_hull for `update`, and the index of one arm
    release, enlarged                for `forget` and `enlarge`
    BLOCK_WINDOWS                    binds it to all windows of every arm, for widths of any other form
    PrefixSums, new_prefix_sums      a field `history` of the state
    BlockLines, new_block_lines      a field `lines`
    record_in_blocks, tightest_in_blocks
                                     for `update`, and the index of one arm
    DELAYED_WINDOWS                  binds it to the delayed windows of EFF_UPDATE
    Grid, new_grid                   a field `grid` of the state, beside `line`
    eff_update, tightest_delayed     for `update`, and the index of one arm
    window_width, arm_scale          slots for other widths, and for widths that differ between arms
    indices                          the module of `largest_index` and its slots, for windows of your own

Windows
    width                            sigma sqrt(2 alpha ln(t) / h)
    record                           appends a reward to PrefixSums
    window_mean, mean_range          the mean over one window, and bounds of the means over many, from PrefixSums

The scale of the noise, given or estimated
    NoiseScale, new_noise_scale      the statistics of the estimate, a field `noise` of the state
    observe_noise, forget_noise      for `update` and `forget`
    sigma_of, scale_of               the scale of an arm's noise; the same divided by the given sigma
    given_sigma, is_estimated        for levels
    arm_noise                        bind it to `arm_scale`

Numbers
    add, difference, times           exact sums, as pairs of numbers
    uniform                          random numbers of a policy: `uniform(key, t, draw)`
    reward_uniform                   random numbers of a noise: `reward_uniform(key, run, arm, clock, draw)`
    normal_quantile                  turns a uniform number into a normal one
    log, log1p, exp, expm1, power    the same to the last bit on every machine and GPU, unlike those of `math`
    floor, ceil                      return whole numbers, also on a GPU

Putting functions together
    slot, bind, bind_all             a stub for a function that is chosen later, and what fills it in

Noises
    Noise                            the base class of a reward distribution

Checks
    check_policy, check_noise        check a policy or a noise, and report the first rule that it breaks

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

docs/your-own-policy.md has a policy and a noise in full.
"""

import importlib
from typing import TYPE_CHECKING

from rotting.common.arrays import Floats, Ints
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
    no_such_name,
    option,
)
from rotting.policies.kernels.binding import bind, bind_all, slot
from rotting.policies.kernels.elementary import ceil, exp, expm1, floor, log, log1p, power
from rotting.policies.kernels.exact_sums import add, difference, times
from rotting.policies.kernels.random_numbers import normal_quantile, reward_uniform, uniform
from rotting.policies.parts import indices
from rotting.policies.parts.delayed_windows import DELAYED_WINDOWS, Grid, eff_update, new_grid, tightest_delayed
from rotting.policies.parts.doubling import doubling
from rotting.policies.parts.hull import (
    HULL_WINDOWS,
    HullLines,
    Stacks,
    enlarged,
    new_hull_lines,
    new_stacks,
    record_on_hull,
    release,
    tightest_on_hull,
)
from rotting.policies.parts.indices import arm_scale, by_index, first_new, largest_index, pulled, width, window_width
from rotting.policies.parts.noise_scale import (
    NoiseScale,
    arm_noise,
    forget_noise,
    given_sigma,
    is_estimated,
    new_noise_scale,
    observe_noise,
    scale_of,
    sigma_of,
)
from rotting.policies.parts.prefix_sums import (
    BLOCK_WINDOWS,
    BlockLines,
    PrefixSums,
    mean_range,
    new_block_lines,
    new_prefix_sums,
    record,
    record_in_blocks,
    tightest_in_blocks,
    window_mean,
)
from rotting.policies.parts.presence import Presence, new_presence
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, Reason, parameter
from rotting.problems.noise import Noise

if TYPE_CHECKING:
    from rotting.live.checks import check_policy
    from rotting.live.noise_checks import check_noise

__all__ = [
    "ABOVE_ONE",
    "BLOCK_WINDOWS",
    "COUNT",
    "DELAYED_WINDOWS",
    "FINITE",
    "FRACTION",
    "HULL_WINDOWS",
    "INDEX",
    "NONNEGATIVE",
    "OUTSIDE",
    "POSITIVE",
    "PROBABILITY",
    "SCALE",
    "SPREAD",
    "BlockLines",
    "Floats",
    "Grid",
    "HullLines",
    "Ints",
    "Kernel",
    "Noise",
    "NoiseScale",
    "Params",
    "Policy",
    "PrefixSums",
    "Presence",
    "Reason",
    "Rule",
    "Stacks",
    "add",
    "arm_noise",
    "arm_scale",
    "bind",
    "bind_all",
    "by_index",
    "ceil",
    "check_noise",
    "check_policy",
    "check_range",
    "difference",
    "doubling",
    "eff_update",
    "enlarged",
    "exp",
    "expm1",
    "first_new",
    "floor",
    "forget_noise",
    "given_sigma",
    "indices",
    "is_estimated",
    "largest_index",
    "log",
    "log1p",
    "mean_range",
    "new_block_lines",
    "new_grid",
    "new_hull_lines",
    "new_noise_scale",
    "new_prefix_sums",
    "new_presence",
    "new_stacks",
    "normal_quantile",
    "observe_noise",
    "option",
    "parameter",
    "power",
    "pulled",
    "record",
    "record_in_blocks",
    "record_on_hull",
    "release",
    "reward_uniform",
    "scale_of",
    "sigma_of",
    "slot",
    "tightest_delayed",
    "tightest_in_blocks",
    "tightest_on_hull",
    "times",
    "to_unit",
    "uniform",
    "width",
    "window_mean",
    "window_width",
]


_LATE = {"check_noise": "rotting.live.noise_checks", "check_policy": "rotting.live.checks"}
"""Imported when they are first used: they load the compiler, and all policies."""


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise no_such_name(__name__, name, __all__)
    return getattr(importlib.import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return __all__
