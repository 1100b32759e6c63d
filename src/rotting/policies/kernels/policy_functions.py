"""What code that works with any policy uses: its functions as slots, which `bind` fills in, and its state as a tree.

A state is a NamedTuple of arrays, some of them one level down in NamedTuples of their own. An array one level down has a dotted
name, such as `noise.variance`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, TypeVar

import numpy as np

from rotting.common.arrays import AnyArray, Floats, Ints
from rotting.errors import KernelError
from rotting.policies.kernels.binding import slot
from rotting.policies.kernels.readable_errors import naming_owner, with_readable_errors

if TYPE_CHECKING:
    from rotting.policy import Params, Policy, Reason

State = TypeVar("State", bound=NamedTuple)


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


def is_nested(field: object) -> TypeGuard[NamedTuple]:
    """Return whether a field of a state is a NamedTuple."""
    return isinstance(field, tuple) and hasattr(field, "_fields")


def new_state(policy: "Policy", n_arms: int, capacity: int) -> Any:
    """Return the initial state of a policy, with room for `capacity` rounds."""
    init = policy.kernel.init
    state = with_readable_errors(policy, init, init)(policy.params, n_arms, capacity)
    with naming_owner(policy):
        check_state(state)
        if policy.kernel.enlarge is not None and "full" not in state._fields:
            raise KernelError(
                "a state that can be enlarged must have a field `full`, which `update` sets if there is no room, got none"
            )
    return state


def check_state(state: object) -> None:
    """Refuse what an `init` returned if it is not a state.

    Example:
        >>> check_state((1, 2))
        Traceback (most recent call last):
        ...
        rotting.errors.KernelError: init must return a NamedTuple of arrays, or of NamedTuples of arrays, got a tuple
    """
    rule = "init must return a NamedTuple of arrays, or of NamedTuples of arrays"
    if not is_nested(state):
        raise KernelError(f"{rule}, got a {type(state).__name__}")
    for name, array in flatten(state).items():
        if not isinstance(array, np.ndarray):
            raise KernelError(f"{rule}, got a {type(array).__name__} as {name}")


def flatten(state: NamedTuple) -> dict[str, AnyArray]:
    """Return the arrays of a state by their dotted names.

    Example:
        >>> from typing import NamedTuple
        >>> class Inner(NamedTuple):
        ...     sums: list
        >>> class State(NamedTuple):
        ...     pulls: list
        ...     inner: Inner
        >>> flatten(State(pulls=[1], inner=Inner(sums=[2.0])))
        {'pulls': [1], 'inner.sums': [2.0]}
    """
    found = {}
    for name, field in state._asdict().items():
        if is_nested(field):
            found.update({f"{name}.{inner}": array for inner, array in field._asdict().items()})
        else:
            found[name] = field
    return found


def unflatten(like: State, arrays: Iterator[AnyArray]) -> State:
    """Return a state of the same classes as `like` with other arrays, in the order of `flatten`."""
    return like._make(field._make(next(arrays) for _ in field) if is_nested(field) else next(arrays) for field in like)


def classes(state: NamedTuple) -> list[type[NamedTuple]]:
    """Return the NamedTuple classes that a state is made of, its own first."""
    return [type(state), *(type(field) for field in state if is_nested(field))]
