"""The doubling trick: any policy that is tuned to a horizon, played without one."""

from functools import cache
from typing import Any

from rotting.arrays import Ints
from rotting.linking import rebind
from rotting.policy import Kernel, Policy
from rotting.rng import subkey


def choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    """Stand for the policy's own `choose`; `doubled_kernel` binds it."""
    raise NotImplementedError


def update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    """Stand for the policy's own `update`; `doubled_kernel` binds it."""
    raise NotImplementedError


def reset(p: Any, s: Any, horizon: int) -> None:
    """Stand for the policy's own `reset`; `doubled_kernel` binds it."""
    raise NotImplementedError


def _choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    if t > s.epoch[0] + s.epoch[1]:
        start, length = s.epoch[0] + s.epoch[1], 2 * s.epoch[1]
        reset(p, s, length)
        s.epoch[0], s.epoch[1] = start, length
    # A key for each epoch: its rounds count from 1 again, and must not repeat the draws of the epochs before.
    return choose(p, s, t - s.epoch[0], subkey(key, s.epoch[0]), arms)


def _update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    update(p, s, t - s.epoch[0], arm, reward)


def doubled_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel that plays epochs of length H, 2H, 4H, ..., each from nothing and tuned to its own length."""
    if kernel.reset is None:
        raise ValueError("kernel must have a reset, got one that is not tuned to a horizon")
    return Kernel(
        kernel.params,
        kernel.init,
        rebind(_choose, choose=kernel.choose, reset=kernel.reset),
        rebind(_update, update=kernel.update),
        forget=kernel.forget,
    )


@cache
def doubled(policy_class: type[Policy]) -> type[Policy]:
    """Return the class of `doubling(policy)` for policies of one class."""
    if policy_class.kernel.reset is None:
        raise ValueError(f"policy must be tuned to a horizon, got {policy_class.__name__}, which needs none")

    class Doubled(Policy):
        name = f"doubling({policy_class.name})"
        kernel = doubled_kernel(policy_class.kernel)
        first_pulls = False

        @property
        def limit(self) -> None:
            return None

        def __repr__(self) -> str:
            return f"doubling({policy_class(*self.params)!r})"

    Doubled.__doc__ = f"{policy_class.__name__} in epochs of doubling length, each from nothing: needs no horizon."
    Doubled.__name__ = Doubled.__qualname__ = f"Doubled{policy_class.__name__}"
    return Doubled


def doubling(policy: Policy) -> Policy:
    """Return `policy`, tuned to a horizon H, as a policy that needs none: epochs of H, 2H, 4H, ... rounds, each from nothing.

    Args:
        policy: any policy with a parameter `horizon`; its value is the length of the first epoch.
    """
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a policy that is tuned to a horizon, got {policy!r}")
    policy_class: Any = type(policy)
    made = doubled(policy_class)(*policy.params)
    if policy.limit is None:
        raise ValueError(f"policy must be tuned to a horizon, got {policy!r}, which is not")
    return made
