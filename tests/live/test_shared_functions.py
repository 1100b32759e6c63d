"""Bandits of one kind of policy share its functions, and no others do."""

import threading
from typing import Any

import numpy as np

import rotting
from rotting.live.shared_functions import shared
from rotting.policies.kernels.policy_functions import new_state
from rotting.policy import Kernel, Policy
from rotting.simulation.engines.tiers import CompileMode


def make_object(policy: Policy, mode: CompileMode) -> object:
    """Return a new object."""
    return object()


def found(policy: Policy, n_arms: int = 2, capacity: int = 8, mode: CompileMode = "now") -> object:
    return shared(policy, new_state(policy, n_arms, capacity), mode, make_object)


def test_parameters_and_sizes_do_not_matter() -> None:
    first = found(rotting.EffRAWUCB())
    assert found(rotting.EffRAWUCB(alpha=4, sigma=0.5, m=3), n_arms=50, capacity=1_000) is first
    assert found(rotting.UCB1()) is not first
    assert found(rotting.EffRAWUCB(), mode="never") is not found(rotting.EffRAWUCB(), mode="never")


def test_other_types_of_a_state_get_functions_of_their_own() -> None:
    policy = rotting.UCB1()
    state = new_state(policy, 2, 8)
    columns = type(state)(*(np.zeros((4, *each.shape))[::2] if isinstance(each, np.ndarray) else each for each in state))
    assert shared(policy, columns, "now", make_object) is not shared(policy, state, "now", make_object)


def test_code_from_outside_the_library_is_not_shared() -> None:
    kernel = rotting.UCB1.kernel

    def choose(p: Any, s: Any, t: int, key: int, arms: Any) -> int:
        return int(arms[0])

    class Mine(rotting.UCB1):
        name = "mine"

    Mine.kernel = Kernel(kernel.init, choose, kernel.update)
    assert found(Mine()) is not found(Mine())
    assert found(rotting.UCB1()) is found(rotting.UCB1())


def test_threads_share_functions() -> None:
    """Even if several of them make some at once."""
    barrier = threading.Barrier(4)
    results: list[object] = []

    def make(policy: Policy, mode: CompileMode) -> object:
        barrier.wait()
        return object()

    def run() -> None:
        policy = rotting.UCB1()
        results.append(shared(policy, new_state(policy, 2, 8), "now", make))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(results)) == 1
