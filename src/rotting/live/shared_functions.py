"""Shares the compiled functions of a policy between all bandits that call the same code with the same types.

Binding the functions of a policy and looking them up takes as long as hundreds of decisions, even if they are compiled already.
A process with thousands of bandits does it once for each kind of policy.
"""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from rotting.policies.kernels.readable_errors import is_library_code
from rotting.policy import Kernel, Policy
from rotting.simulation.engines.tiers import CompileMode, resolve_mode

T = TypeVar("T")

_MOST = 1_000  # functions that are kept; a service has a few for each kind of policy
_made: dict[Hashable, Any] = {}


def shared(policy: Policy, state: object, compile: CompileMode, make: Callable[[Policy, CompileMode], T]) -> T:
    """Return `make(policy, mode)`, or what it returned before for the same code, types and mode of compiling.

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
