"""The functions of a policy, as slots: code that works with any policy calls these, and `bind` fills them in."""

from typing import TYPE_CHECKING, Any

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import slot

if TYPE_CHECKING:
    from rotting.policy import Reason


@slot
def init(p: Any, n_arms: int, capacity: int) -> Any:
    """Slot: the policy's `init`."""
    raise NotImplementedError


@slot
def choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    """Slot: the policy's `choose`."""
    raise NotImplementedError


@slot
def update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    """Slot: the policy's `update`."""
    raise NotImplementedError


@slot
def reset(p: Any, s: Any, horizon: int) -> None:
    """Slot: the policy's `reset`."""
    raise NotImplementedError


@slot
def explain(p: Any, s: Any, t: int, arms: Ints, arm: int) -> "Reason":
    """Slot: the policy's `explain`."""
    raise NotImplementedError


@slot
def propensities(p: Any, s: Any, t: int, arms: Ints, out: Floats) -> None:
    """Slot: the policy's `propensities`."""
    raise NotImplementedError
