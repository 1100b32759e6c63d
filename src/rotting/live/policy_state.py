"""Functions on the state of any policy: grow it, reset one arm, write it as JSON and read it back.

A state is a NamedTuple of arrays, or of NamedTuples of arrays (`policy_functions.py`). Calling `init` with other sizes
shows which arrays have an axis of arms (always the first). A smaller state is the leading corner of a larger one, except for
what is tuned to the number of arms (`Kernel.tune`). Nothing else needs to be known about the policy.
"""

import base64
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, NamedTuple, TypedDict, TypeVar

import numpy as np

from rotting.common.arrays import AnyArray, Ints
from rotting.errors import InvalidValueError
from rotting.policies.kernels.binding import KernelFunction
from rotting.policies.kernels.policy_functions import State, flatten, unflatten
from rotting.policies.kernels.policy_functions import new_state as new_state  # noqa: PLC0414 - part of this module's interface
from rotting.policies.kernels.readable_errors import is_library_code, with_readable_errors
from rotting.policies.parts.presence import Presence
from rotting.policy import Kernel, Policy, small_capacity
from rotting.simulation.engines.tiers import CompileMode, resolve_mode


def first_capacity(policy: Policy, n_arms: int, rounds: int) -> int:
    """Return the capacity of a new state for so many rounds; a policy that can `enlarge` its state starts small."""
    return rounds if policy.kernel.enlarge is None else small_capacity(n_arms, rounds)


def arrays(state: NamedTuple) -> list[AnyArray]:
    """Return all arrays of a state, including those of nested NamedTuples."""
    return list(flatten(state).values())


def copy(state: State) -> State:
    """Return an independent copy of a state."""
    return unflatten(state, (array.copy() for array in arrays(state)))


def grow(policy: Policy, state: State, n_arms: int, capacity: int) -> State:
    """Return a larger state with the content of `state`, tuned to its number of arms."""
    larger: State = new_state(policy, n_arms, capacity)
    for old, new in zip(arrays(state), arrays(larger), strict=True):
        new[tuple(slice(0, size) for size in old.shape)] = old
    presence = _presence(larger)
    if presence is not None:
        presence.number[0] = presence.here.sum()
    _tune(policy, larger)
    return larger


def _presence(state: NamedTuple) -> Presence | None:
    return getattr(state, "presence", None)


# --- Compiled functions -------------------------------------------------------------------------------------------------------

T = TypeVar("T")
_MOST = 1_000  # functions that are kept; a service has a few for each kind of policy
_made: dict[Hashable, Any] = {}


def shared(policy: Policy, state: object, compile: CompileMode, make: Callable[[Policy, CompileMode], T]) -> T:
    """Return `make(policy, mode)`, or what it returned before for the same code, types and mode of compiling.

    Binding the functions of a policy and looking them up takes as long as hundreds of decisions, even if they are compiled
    already. A process with thousands of bandits does it once for each kind of policy.

    The result must depend on the kernel of the policy and on the types of its parameters and its state only. Policies with
    code from outside the library share nothing: their errors name the policy, and their code may be edited while it is in use.
    Functions that are never compiled are not shared, since looking up machine code is what takes long.

    Args:
        policy: the policy.
        state: a state of the policy.
        compile: when the functions are compiled; `resolve_mode` makes the mode of it.
        make: a function or a class at the top level of a module.
    """
    mode = resolve_mode(compile)
    if mode == "never" or not is_library_kernel(policy.kernel):
        return make(policy, mode)
    key = (make, mode, policy.kernel, _types(policy.params), _types(state))
    found: T | None = _made.get(key)
    if found is None:
        if len(_made) >= _MOST:
            _made.clear()
        found = _made.setdefault(key, make(policy, mode))  # of those that several threads make, all take one
    return found


@lru_cache(_MOST)
def is_library_kernel(kernel: Kernel) -> bool:
    """Return whether all functions of a kernel belong to the library."""
    return all(is_library_code(each) for each in vars(kernel).values() if each is not None)


def _types(value: object) -> object:
    """Return what compiled code distinguishes: the classes of tuples, and the type, dimensions and layout of arrays."""
    if isinstance(value, tuple):
        return (type(value), *map(_types, value))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.ndim, value.flags.num
    return type(value)


def _call(function: KernelFunction, policy: Policy, state: NamedTuple, *arguments: object) -> None:
    """Call the function `tune` or `forget` of a policy, interpreted: they are called only when arms come or go."""
    with_readable_errors(policy, function, function)(policy.params, state, *arguments)


def _tune(policy: Policy, state: NamedTuple) -> None:
    if policy.kernel.tune is not None:
        _call(policy.kernel.tune, policy, state)


def set_present(policy: Policy, state: NamedTuple, arms: Ints) -> None:
    """Write which arms are present into the state, if it has a field for it."""
    presence = _presence(state)
    if presence is not None:
        presence.here[:] = 0
        presence.here[arms] = 1
        presence.number[0] = arms.size
        _tune(policy, state)


def has_arm_axis(policy: Policy) -> list[bool]:
    """Return for each array of the policy's state whether its first axis is the arms."""
    one, two = new_state(policy, 1, 1), new_state(policy, 2, 1)
    return [a.shape != b.shape for a, b in zip(arrays(one), arrays(two), strict=True)]


def forget_arm(policy: Policy, state: NamedTuple, arm: int, capacity: int) -> None:
    """Make one arm of the state as if it had never been pulled."""
    fresh = arrays(new_state(policy, 1, capacity))
    by_arm = [pair for *pair, is_by_arm in zip(arrays(state), fresh, has_arm_axis(policy), strict=True) if is_by_arm]
    if policy.kernel.forget is not None:
        _call(policy.kernel.forget, policy, state, arm)
    for array, new in by_arm:
        array[arm] = new[0]


class SavedArray(TypedDict):
    """An array as JSON-able data, bit for bit."""

    dtype: str
    shape: list[int]
    data: str  # its bytes, little-endian, in base 64


def to_json(state: NamedTuple) -> dict[str, SavedArray]:
    """Return the arrays as JSON-able data, under their dotted names."""
    return {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "data": base64.b64encode(_raw(array)).decode()}
        for name, array in flatten(state).items()
    }


def _raw(array: AnyArray) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def from_json(policy: Policy, data: Any, n_arms: int, capacity: int) -> Any:
    """Return the state that `to_json` wrote, or raise an error that names the array that does not fit."""
    state = new_state(policy, n_arms, capacity)
    named = flatten(state)
    if not isinstance(data, dict) or set(data) != set(named):
        raise InvalidValueError("state", f"hold the arrays {', '.join(named)}", sorted(data))
    for name, array in named.items():
        item = data[name]
        if item.get("dtype") != str(array.dtype) or item.get("shape") != list(array.shape):
            rule, got = f"be {array.dtype} of shape {list(array.shape)}", f"{item.get('dtype')} of shape {item.get('shape')}"
            raise InvalidValueError(f"state.{name}", rule, item, got=got)
        raw = base64.b64decode(item["data"], validate=True)
        if len(raw) != array.nbytes:
            raise InvalidValueError(f"state.{name}", f"hold {array.nbytes} bytes", len(raw))
        array[...] = np.frombuffer(raw, array.dtype.newbyteorder("<")).reshape(array.shape)
    return state
