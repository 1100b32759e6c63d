"""A policy that reaches outside an array."""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.policies.parts.indices import by_index
from rotting.policy import Kernel, Params, Policy, Reason


class BadState(NamedTuple):
    """The state of a policy whose index is wrong."""

    last: Floats


def bad_init(p: Params, n_arms: int, capacity: int) -> BadState:
    """Make a state."""
    return BadState(np.zeros(n_arms))


def bad_index(p: Params, s: BadState, t: int, i: int) -> Reason:
    """Read the entry of the next arm: outside the array for the last arm."""
    return Reason(s.last[i + 1], 0.0, 1, 0.0)


def bad_update(p: Params, s: BadState, t: int, arm: int, reward: float) -> None:
    """Keep the last reward."""
    s.last[arm] = reward


class Bad(Policy):
    """Reaches outside an array."""

    name = "bad"
    kernel = Kernel(bad_init, update=bad_update, **by_index(bad_index))
