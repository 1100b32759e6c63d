"""States one level deep: taken apart under dotted names, put together again, grown, saved and compiled."""

import json
from typing import Any, NamedTuple

import numpy as np
import pytest

from rotting.common.arrays import Floats, Ints
from rotting.errors import CheckError, KernelError
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.policies.kernels.policy_functions import classes, flatten, is_nested, unflatten
from rotting.policies.parts.indices import by_index
from rotting.policy import Kernel, Params, Policy, Reason, defined_policies
from rotting.problems import Problem
from rotting.problems.noise import Noiseless
from rotting.registry import list_policies, make
from rotting.simulation.engines.compile import compiled
from rotting.simulation.simulate import simulate


class Sums(NamedTuple):
    total: Floats  # [K]
    log: Floats  # [capacity]


class State(NamedTuple):
    pulls: Ints  # [K]
    sums: Sums
    rounds: Ints  # [1]


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        pulls=np.zeros(n_arms, np.int64),
        sums=Sums(total=np.zeros(n_arms), log=np.zeros(capacity)),
        rounds=np.zeros(1, np.int64),
    )


def index(p: Params, s: State, t: int, i: int) -> Reason:
    n = s.pulls[i]
    if n == 0:
        return Reason(np.inf, np.nan, 0, np.inf)
    return Reason(s.sums.total[i] / n, s.sums.total[i] / n, n, 0.0)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.pulls[arm] += 1
    s.sums.total[arm] += reward
    s.sums.log[s.rounds[0]] = reward
    s.rounds[0] += 1


class Nested(Policy):
    """The largest mean, on a state of two NamedTuples."""

    name = "nested-for-tests"
    kernel = Kernel(init, update=update, **by_index(index))


class Others(NamedTuple):
    total: Floats
    log: Floats


def init_others(p: Params, n_arms: int, capacity: int) -> Any:
    state: Any = init(p, n_arms, capacity)
    return state._replace(sums=Others(*state.sums))


class OtherSums(Policy):
    """The same, with another class inside its state."""

    name = "other-sums-for-tests"
    kernel = Kernel(init_others, update=update, **by_index(index))


del defined_policies[Nested.name], defined_policies[OtherSums.name]
NAMES = ["pulls", "sums.total", "sums.log", "rounds"]


def test_arrays_have_dotted_names_and_go_back_to_their_places() -> None:
    state = init(Nested().params, 2, 3)
    named = flatten(state)
    assert list(named) == NAMES
    again = unflatten(state, iter(named.values()))
    assert classes(again) == classes(state) == [State, Sums]
    assert again.sums.log is state.sums.log
    assert again.rounds is state.rounds


def test_only_named_tuples_are_nested() -> None:
    state = init(Nested().params, 2, 3)
    assert is_nested(state)
    assert is_nested(state.sums)
    for field in (state.pulls, (), tuple(state.sums), list(state.sums)):
        assert not is_nested(field)


def test_a_nested_state_grows_and_forgets_like_a_flat_one() -> None:
    policy = Nested()
    state = init(policy.params, 2, 3)
    for t, (arm, reward) in enumerate([(0, 1.0), (1, 2.0), (1, 4.0)], 1):
        update(policy.params, state, t, arm, reward)
    grown = states.grow(policy, state, 3, 5)
    assert grown.sums.total.tolist() == [1.0, 6.0, 0.0]
    assert grown.sums.log.tolist() == [1.0, 2.0, 4.0, 0.0, 0.0]
    assert states.has_arm_axis(policy) == [True, True, False, False]
    states.forget_arm(policy, grown, 1, 5)
    assert grown.sums.total.tolist() == [1.0, 0.0, 0.0]
    assert grown.pulls.tolist() == [1, 0, 0]
    assert grown.sums.log.tolist() == [1.0, 2.0, 4.0, 0.0, 0.0]


def test_a_nested_state_is_saved_under_dotted_names() -> None:
    policy = Nested()
    state = init(policy.params, 2, 3)
    update(policy.params, state, 1, 1, 0.1)
    data = json.loads(json.dumps(states.to_json(state)))
    assert list(data) == NAMES
    again = states.from_json(policy, data, 2, 3)
    assert [array.tolist() for array in states.arrays(again)] == [array.tolist() for array in states.arrays(state)]
    with pytest.raises(ValueError, match="state must hold the arrays pulls, sums.total, sums.log, rounds, got"):
        states.from_json(policy, {"pulls": data["pulls"], "sums": {}, "rounds": data["rounds"]}, 2, 3)
    data["sums.log"]["shape"] = [4]
    with pytest.raises(ValueError, match=r"state.sums.log must be float64 of shape \[3\], got float64 of shape \[4\]"):
        states.from_json(policy, data, 2, 3)


def test_a_policy_with_a_nested_state_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(defined_policies, Nested.name, Nested)
    check_policy(Nested())


class Deep(NamedTuple):
    inner: State


def deep(p: Params, n_arms: int, capacity: int) -> Any:
    return Deep(init(p, n_arms, capacity))


def test_two_levels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class TooDeep(Policy):
        name = "too-deep-for-tests"
        kernel = Kernel(deep, update=update, **by_index(index))

    del defined_policies[TooDeep.name]
    monkeypatch.setitem(defined_policies, TooDeep.name, TooDeep)
    with pytest.raises(CheckError, match=r"init must return a NamedTuple of arrays, .*, got a Sums as inner.sums"):
        check_policy(TooDeep())


def listed(p: Params, n_arms: int, capacity: int) -> Any:
    return init(p, n_arms, capacity)._replace(rounds=[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        (lambda p, n_arms, capacity: (np.zeros(n_arms),), "a tuple"),
        (lambda p, n_arms, capacity: {"pulls": np.zeros(n_arms)}, "a dict"),
        (lambda p, n_arms, capacity: None, "a NoneType"),
        (deep, "a Sums as inner.sums"),
        (listed, "a list as rounds"),
    ],
    ids=["tuple", "dict", "None", "deep", "list"],
)
def test_what_is_no_state_is_told_in_one_sentence(wrong: Any, got: str) -> None:
    class Wrong(Policy):
        name = "no-state-for-tests"
        kernel = Kernel(wrong, update=update, **by_index(index))

    del defined_policies[Wrong.name]
    message = f"Wrong(): init must return a NamedTuple of arrays, or of NamedTuples of arrays, got {got}"
    with pytest.raises(KernelError) as live:
        Bandit(Wrong(), arms=["a", "b"])
    with pytest.raises(KernelError) as simulated:
        simulate(Wrong(), Problem.rested([0.5, 0.25], noise=Noiseless(), horizon=30), runs=1)
    assert str(live.value) == str(simulated.value) == message


def test_the_classes_of_a_nested_state_are_part_of_what_is_compiled() -> None:
    assert compiled(update, Nested()) is compiled(update, Nested())
    assert compiled(update, Nested()) is not compiled(update, OtherSums())


def test_no_policy_of_the_library_nests_deeper() -> None:
    for each in list_policies():
        if not each.__module__.startswith("rotting.policies."):  # defined by another test in this process
            continue
        required = {parameter.name: 1_000 for parameter in each.parameters() if parameter.required}
        for name, array in flatten(states.new_state(make(each.name, **required), 2, 9)).items():
            assert isinstance(array, np.ndarray), (each.name, name)
