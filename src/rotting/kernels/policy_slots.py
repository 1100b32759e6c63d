"""The functions of a policy, as slots: code that works with any policy calls these, and `bind` fills them in."""

from typing import TYPE_CHECKING, NamedTuple

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import slot

if TYPE_CHECKING:
    from rotting.policy import Params, Reason


@slot
def init(p: "Params", n_arms: int, capacity: int) -> NamedTuple:
    """Slot: the policy's `init`."""
    raise NotImplementedError


@slot
def choose(p: "Params", s: object, t: int, key: int, arms: Ints) -> int:
    """Slot: the policy's `choose`."""
    raise NotImplementedError


@slot
def update(p: "Params", s: object, t: int, arm: int, reward: float) -> None:
    """Slot: the policy's `update`."""
    raise NotImplementedError


@slot
def reset(p: "Params", s: object, horizon: int) -> None:
    """Slot: the policy's `reset`."""
    raise NotImplementedError


@slot
def explain(p: "Params", s: object, t: int, arms: Ints, arm: int) -> "Reason":
    """Slot: the policy's `explain`."""
    raise NotImplementedError


@slot
def propensities(p: "Params", s: object, t: int, arms: Ints, out: Floats) -> None:
    """Slot: the policy's `propensities`."""
    raise NotImplementedError
