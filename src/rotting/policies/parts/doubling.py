"""The doubling trick: any policy that is tuned to a horizon, played without one."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.kernels.binding import KernelFunction, bind_all
from rotting.policies.kernels.policy_functions import choose, explain, propensities, reset, update
from rotting.policies.kernels.random_numbers import subkey
from rotting.policy import Kernel, Params, Policy, Reason, defined_policies


class HasEpoch(Protocol):
    """A state that is tuned to an epoch."""

    @property
    def epoch(self) -> Ints:
        """[2] rounds before the epoch, and its length."""


def _advance(p: Params, s: HasEpoch, t: int) -> None:
    """Begin the epoch that round t belongs to, if it has not begun."""
    start, length = s.epoch[0], s.epoch[1]
    while t > start + length:
        start, length = start + length, 2 * length
    if start > s.epoch[0]:
        reset(p, s, length)
        s.epoch[0], s.epoch[1] = start, length


def _choose(p: Params, s: HasEpoch, t: int, key: int, arms: Ints) -> int:
    _advance(p, s, t)
    start = s.epoch[0]
    # A key for each epoch: its rounds count from 1 again, and must not repeat the draws of the epochs before.
    return choose(p, s, t - start, key if start == 0 else subkey(key, start), arms)


def _update(p: Params, s: HasEpoch, t: int, arm: int, reward: float) -> None:
    _advance(p, s, t)  # a reward may come in a round that began with no choice
    update(p, s, t - s.epoch[0], arm, reward)


def _explain(p: Params, s: HasEpoch, t: int, arms: Ints, arm: int) -> Reason:
    if t > s.epoch[0] + s.epoch[1]:
        return Reason(math.nan, math.nan, 0, math.nan)  # the next epoch has no rewards yet
    return explain(p, s, t - s.epoch[0], arms, arm)


def _propensities(p: Params, s: HasEpoch, t: int, arms: Ints, out: Floats) -> None:
    _advance(p, s, t)
    propensities(p, s, t - s.epoch[0], arms, out)


def doubled_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel that plays epochs of length H, 2H, 4H, ..., each from scratch and tuned to its own length.

    A reward that comes after the epoch of its choice counts in the epoch in which it comes.
    """
    if kernel.reset is None:
        raise InvalidValueError("kernel", "have a reset", kernel, got="one that is not tuned to a horizon")
    roots: dict[str, KernelFunction] = {"choose": _choose, "update": _update}
    parts: dict[KernelFunction, KernelFunction] = {reset: kernel.reset, choose: kernel.choose, update: kernel.update}
    if kernel.explain is not None:
        roots["explain"], parts[explain] = _explain, kernel.explain
    if kernel.propensities is not None:
        roots["propensities"], parts[propensities] = _propensities, kernel.propensities
    return Kernel(kernel.init, forget=kernel.forget, tune=kernel.tune, enlarge=kernel.enlarge, **bind_all(roots, parts))


@cache
def doubled(policy_class: type[Policy]) -> type[Policy]:
    """Return the class of `doubling(policy)` for policies of one class."""
    if policy_class.kernel.reset is None:
        raise InvalidValueError(
            "policy", "be tuned to a horizon", policy_class, got=policy_class.__name__, hint=", which needs none"
        )

    class Doubled(policy_class):  # type: ignore[misc, valid-type]
        name = f"doubling({policy_class.name})"
        title = f"doubling {policy_class.title}"
        kernel = doubled_kernel(policy_class.kernel)
        first_pulls = False
        needs_horizon = False

        @property
        def max_rounds(self) -> None:
            return None

        def check(self) -> None:
            if policy_class(*self.params).max_rounds is None:
                raise InvalidValueError("horizon", f"be {COUNT.text}, the length of the first epoch", self.params.horizon)

        def __repr__(self) -> str:
            return f"doubling({policy_class(*self.params)!r})"

        def __reduce__(self) -> tuple[Callable[..., Policy], tuple[object, ...]]:
            return (doubling, (policy_class(*self.params),))

    Doubled.__doc__ = f"{policy_class.__name__} in epochs of doubling length, each from scratch: needs no horizon."
    Doubled.__name__ = Doubled.__qualname__ = f"Doubled{policy_class.__name__}"
    del defined_policies[Doubled.name]  # the registry makes it from its name, and lists only what was written
    return Doubled


def doubling(policy: Policy) -> Policy:
    """Return `policy`, tuned to a horizon H, as a policy that needs none: epochs of H, 2H, 4H, ... rounds, each from scratch.

    In its first H rounds it plays as `policy` does.

    Args:
        policy: any policy with a parameter `horizon`; its value is the length of the first epoch.

    Example:
        >>> from rotting.policies.sw_ucb import SWUCB
        >>> policy = SWUCB(horizon=100, breakpoints=2)
        >>> policy.max_rounds, doubling(policy).max_rounds
        (100, None)
        >>> doubling(policy)
        doubling(SWUCB(xi=0.6, B=1.0, horizon=100, breakpoints=2, sigma='range'))
        >>> doubling(SWUCB(tau=50))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: policy must be tuned to a horizon, got SWUCB(tau=50, ...), which is not
    """
    if not isinstance(policy, Policy):
        raise InvalidTypeError("policy", "be a policy that is tuned to a horizon", policy)
    policy_class: Any = type(policy)
    made = doubled(policy_class)
    if policy.max_rounds is None:
        raise InvalidValueError("policy", "be tuned to a horizon", policy, hint=", which is not")
    return made(*policy.params)
