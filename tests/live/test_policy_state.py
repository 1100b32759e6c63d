"""Policy states as data: they grow, forget an arm, and come back from JSON, whatever the policy."""

import base64
import json
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import rotting
from rotting.errors import InvalidValueError
from rotting.live import policy_state as states
from rotting.live.policy_state import shared
from rotting.policies.kernels.policy_functions import flatten, new_state
from rotting.policy import Kernel, Policy
from rotting.registry import make
from rotting.simulation.engines.tiers import CompileMode
from tests.helpers.games import learners

LEARNERS = learners()


def used(policy: Policy, n_arms: int, rounds: int, capacity: int) -> Any:
    """A state that has seen rewards of every arm."""
    state = states.new_state(policy, n_arms, capacity)
    for t in range(1, rounds + 1):
        policy.kernel.update(policy.params, state, t, (t - 1) % n_arms, 0.25 * (t % 4))
    assert "full" not in state._fields or state.full[0] == 0
    return state


def same(one: Any, other: Any) -> bool:
    return states.to_json(one) == states.to_json(other)


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_a_copy_has_the_content_and_not_the_arrays(policy: Policy) -> None:
    state = used(policy, 2, 6, 64)
    twin = states.copy(state)
    assert same(state, twin)
    policy.kernel.update(policy.params, twin, 7, 0, 1.0)
    assert not same(state, twin)
    assert same(state, used(policy, 2, 6, 64))


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_json_gives_back_every_bit(policy: Policy) -> None:
    state = used(policy, 3, 9, 64)
    written = json.loads(json.dumps(states.to_json(state), allow_nan=False))
    assert same(states.from_json(policy, written, 3, 64), state)


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_a_larger_capacity_changes_nothing_else(policy: Policy) -> None:
    grown = states.grow(policy, used(policy, 2, 6, 64), 2, 128)
    assert same(grown, used(policy, 2, 6, 128))


@pytest.mark.parametrize("policy", [make("raw-ucb"), make("eff-raw-ucb"), make("fewa"), make("ucb1")], ids=repr)
def test_a_forgotten_arm_is_one_never_pulled(policy: Policy) -> None:
    state = used(policy, 2, 6, 64)
    states.forget_arm(policy, state, 0, 64)
    counts = [array for name, array in flatten(state).items() if name.rpartition(".")[2] in {"pulls", "size"}]
    assert [bool(n > 0) for n in counts[0]] == [False, True]
    fresh = states.new_state(policy, 2, 64)
    for array, new, by_arm in zip(states.arrays(state), states.arrays(fresh), states.has_arm_axis(policy), strict=True):
        if by_arm:
            assert np.array_equal(array[0], new[0])
    assert policy.kernel.choose(policy.params, state, 7, 0, np.arange(2)) == 0


def test_what_does_not_fit_is_named() -> None:
    policy = make("ucb1")
    data = states.to_json(used(policy, 2, 4, 4))
    changes: list[tuple[dict[str, Any], str]] = [
        ({}, r"state must hold the arrays pulls, high, low, noise\.seen, .*, got \[\]"),
        ({**data, "more": data["high"]}, "state must hold the arrays"),
        (
            {**data, "high": {**data["high"], "shape": [3]}},
            r"state\.high must be float64 of shape \[2\], got .* \[3\]",
        ),
        ({**data, "high": {**data["high"], "dtype": "int64"}}, r"state\.high must be float64 of shape \[2\], got int64"),
        ({**data, "high": {**data["high"], "data": ""}}, r"state\.high must hold 16 bytes, got 0"),
    ]
    for wrong, words in changes:
        with pytest.raises(InvalidValueError, match=words):
            states.from_json(policy, wrong, 2, 4)


@pytest.mark.parametrize("size", [0, 1, 3 * 8_192, 3 * 8_192 + 1])
def test_an_array_is_written_to_its_last_byte(size: int) -> None:
    class Flags(NamedTuple):
        flags: Any

    written = states.to_json(Flags(np.arange(size, dtype=np.uint8)))["flags"]["data"]
    assert base64.b64decode(written, validate=True) == np.arange(size, dtype=np.uint8).tobytes()


# --- Bandits of one kind of policy share its functions, and no others do ------------------------------------------------------


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
