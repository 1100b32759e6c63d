"""Every policy in the registry keeps the contract, and the checker sees what breaks it."""

import math
import re
import traceback
from typing import Any, NamedTuple

import numpy as np
import pytest

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import Rule
from rotting.errors import CheckError, KernelError
from rotting.live import checks, learner
from rotting.live.bandit import Bandit
from rotting.live.checks import ROUNDS, _check_mask, check_policy, play_game
from rotting.policies import ucb1
from rotting.policies.ad_switch import AdSwitch
from rotting.policies.greedy_oracle import GreedyOracle
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.noise_scale import NoiseScale
from rotting.policies.uniform import Uniform
from rotting.policy import Kernel, Params, Policy, Reason, defined_policies
from rotting.problems import two_arms
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.broken_policies import BROKEN, SOUND
from tests.helpers.games import examples, some
from tests.helpers.window_policies import OwnEffRAWUCB, OwnRAWUCB, OwnRAWUCBOfAnyWidth

UCB1State, init_ucb1, update_ucb1 = ucb1.State, ucb1.init, ucb1.update  # kernels use no names of modules
choose_ucb1 = ucb1.UCB1.kernel.choose
BUILT_IN = [type(each) for each in examples()]
for _own in (OwnRAWUCB, OwnRAWUCBOfAnyWidth, OwnEffRAWUCB):
    defined_policies.pop(_own.name, None)  # other tests list the policies of users


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_every_policy_keeps_the_contract(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize("policy_class", BUILT_IN, ids=lambda each: each.name)
def test_bad_parameters_are_refused_in_one_sentence(policy_class: type[Policy]) -> None:
    needed = {each.name: 1_000 for each in policy_class.parameters() if each.required}
    for each in policy_class.parameters():
        bad: Any
        for bad in (-1.0, float("nan"), float("inf"), True, "x", None):
            if type(each.rule) is Rule and isinstance(bad, float) and each.rule.low < bad < each.rule.high:
                continue
            with pytest.raises((ValueError, TypeError)) as error:
                policy_class(**{**needed, each.name: bad})
            assert each.name in str(error.value)
            assert repr(bad) in str(error.value)
            assert each.rule.text in str(error.value)


@pytest.mark.parametrize("policy_class", BUILT_IN, ids=lambda each: each.name)
def test_documentation_is_complete(policy_class: type[Policy]) -> None:
    text = policy_class.__doc__ or ""
    for part in ("Example:", "Reference:", "Needs"):
        assert part in text, part
    assert re.search("rested|restless|rotting", text), "for which rotting it is sound"
    assert ">>>" in text
    for each in policy_class.parameters():
        assert each.doc, each.name
        assert f"{each.name}:" in text, each.name


def broken(**changes: Any) -> Policy:
    """UCB1 with some of its functions replaced."""
    functions = {"init": ucb1.init, "update": ucb1.update, "choose": ucb1.UCB1.kernel.choose, **changes}

    class Broken(ucb1.UCB1):
        name = "broken"
        kernel = Kernel(**functions)
        has_index = "explain" in changes

    return Broken()


def test_a_sound_third_party_policy_passes() -> None:
    check_policy(broken())


@pytest.mark.parametrize("policy", some(SOUND), ids=lambda each: each.name)
def test_what_broken_policies_are_made_of_passes(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize(("policy", "rule"), some([*BROKEN.items()]), ids=lambda each: getattr(each, "name", ""))
def test_a_policy_with_one_fault_is_caught(policy: Policy, rule: str) -> None:
    with pytest.raises(CheckError, match=re.escape(rule)):
        check_policy(policy)


def test_a_policy_with_arms_missing_is_paid_in_the_unit_interval() -> None:
    paid = []

    def update(p: Params, s: ucb1.State, t: int, arm: int, reward: float) -> None:
        paid.append(reward)
        ucb1.update(p, s, t, arm, reward)

    _check_mask(broken(update=update))
    assert len(paid) == ROUNDS
    assert (min(paid), max(paid)) == (0.0, 1.0)


def test_a_policy_that_sees_the_means_is_shown_those_of_the_next_pulls() -> None:
    table = np.array([[0.5, 0.25, 0.0], [1.0, 0.25, 0.0]])
    policy = GreedyOracle()
    assert play_game(policy, policy.kernel.choose, policy.kernel.update, table, 3)[0] == [1, 0, 0]


def outside(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return 17


def half(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> Any:
    return 0.5 * arms[0]


def misspells(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return int(s.pull[0])  # type: ignore[attr-defined]


def divides(p: Params, s: ucb1.State, t: int, arm: int, reward: float) -> None:
    s.high[arm] = t // (t - t)


def calls_wrongly(p: Any, n_arms: int, capacity: int) -> Any:
    return UCB1State(np.zeros(n_arms, np.int64))  # type: ignore[call-arg]


def ignores_mask(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return int(np.argmin(s.pulls))


def wrong_order(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return int(arms[-1])


class BadState(NamedTuple):
    by_round: Ints


def arms_last(p: Any, n_arms: int, capacity: int) -> Any:
    return BadState(np.zeros((2, n_arms), np.int64))


def unequal_arms(p: Any, n_arms: int, capacity: int) -> Any:
    return init_ucb1(p, n_arms, capacity)._replace(pulls=np.arange(n_arms))


def not_a_corner(p: Any, n_arms: int, capacity: int) -> Any:
    return init_ucb1(p, n_arms, capacity)._replace(pulls=np.full(n_arms, capacity))


def draws_at_random(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return int(arms[int(np.random.rand() * arms.size)])  # noqa: NPY002


def reads_outside(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return int(arms[s.pulls[arms.size]])


def prints(p: Params, s: ucb1.State, t: int, arms: Ints, arm: int) -> None:
    print(t)


def no_state(p: Any, n_arms: int, capacity: int) -> Any:
    return (np.zeros(n_arms),)


class TunedState(NamedTuple):
    pulls: Ints
    high: Floats
    low: Floats
    noise: NoiseScale
    n_arms: Ints  # [1] stands for a tuning that depends on K


def tunes_once(p: Any, n_arms: int, capacity: int) -> Any:
    return TunedState(*init_ucb1(p, n_arms, capacity), np.array([n_arms]))


def tunes_again(p: Any, s: TunedState) -> None:
    s.n_arms[0] = s.pulls.size


def test_what_depends_on_the_number_of_arms_must_be_tuned_anew() -> None:
    with pytest.raises(CheckError, match="a bandit that grew before its first reward must equal one that began"):
        check_policy(broken(init=tunes_once))
    check_policy(broken(init=tunes_once, tune=tunes_again))


class Log(NamedTuple):
    pulls: Ints
    high: Floats
    low: Floats
    noise: NoiseScale
    paid: Floats  # [capacity] every reward
    used: Ints  # [1]
    full: Ints  # [1]


def with_log(p: Any, n_arms: int, capacity: int) -> Any:
    return Log(*init_ucb1(p, n_arms, capacity), np.zeros(capacity), np.zeros(1, np.int64), np.zeros(1, np.int64))


def logs(p: Params, s: Log, t: int, arm: int, reward: float) -> None:
    if s.used[0] == s.paid.size:
        s.full[0] = 1
        return
    s.paid[s.used[0]] = reward
    s.used[0] += 1
    update_ucb1(p, s, t, arm, reward)  # type: ignore[arg-type]


def counts_before_it_logs(p: Params, s: Log, t: int, arm: int, reward: float) -> None:
    update_ucb1(p, s, t, arm, reward)  # type: ignore[arg-type]
    if s.used[0] == s.paid.size:
        s.full[0] = 1
        return
    s.paid[s.used[0]] = reward
    s.used[0] += 1


def doubles_the_reward(p: Params, s: Log, t: int, arm: int, reward: float) -> None:
    full = s.used[0] == s.paid.size
    if full and arm == 0 and s.pulls[arm] > 0:
        s.high[arm] += reward  # arm 0 is in front already: its next choice is the same
    logs(p, s, t, arm, reward)


def longer_log(p: Any, s: Log, capacity: int) -> Any:
    paid = np.zeros(capacity)
    paid[: s.paid.size] = s.paid
    return Log(s.pulls, s.high, s.low, s.noise, paid, s.used, np.zeros(1, np.int64))


def still_full(p: Any, s: Log, capacity: int) -> Any:
    enlarged: Log = longer_log(p, s, capacity)
    return enlarged._replace(full=s.full)


def no_longer(p: Any, s: Log, capacity: int) -> Any:
    return s._replace(full=np.zeros(1, np.int64))


def forgets_a_pull(p: Any, s: Log, capacity: int) -> Any:
    s.pulls[0] = 0
    return longer_log(p, s, capacity)


def test_a_policy_whose_state_is_enlarged_passes() -> None:
    check_policy(broken(init=with_log, update=logs, enlarge=longer_log))


@pytest.mark.parametrize(
    ("update", "enlarge", "rule"),
    [
        (counts_before_it_logs, longer_log, r"a state that was enlarged must choose as before \(round 2: 2 instead of 1\)"),
        (doubles_the_reward, longer_log, "an update that finds no room must change nothing that a choice depends on"),
        (logs, still_full, "enlarge must return a state that is not `full` "),
        (logs, no_longer, "enlarge must make room for an update "),
        (logs, forgets_a_pull, "a state that was enlarged must choose as before "),
    ],
)
def test_what_is_wrong_with_room_is_caught(update: Any, enlarge: Any, rule: str) -> None:
    """At whichever capacity it shows: a state that begins with hardly any is enlarged again and again."""
    with pytest.raises(CheckError, match=rule):
        check_policy(broken(init=with_log, update=update, enlarge=enlarge))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"choose": outside}, r"^Broken\(sigma=1.0\): outside \(test_checks.py, line .*\) must return one of `arms`, got 17$"),
        ({"choose": half}, r"^Broken\(sigma=1.0\): half \(test_checks.py, line .*\) must return a whole number, got float$"),
        ({"choose": misspells}, r"^Broken\(sigma=1.0\): misspells \(.*: `return .*`\): State has no pull$"),
        ({"update": divides}, r"^Broken\(sigma=1.0\): divides \(.*: `s.high.*`\): ZeroDivisionError, "),
        ({"init": calls_wrongly}, r"^Broken\(sigma=1.0\): calls_wrongly \(.*\): TypeError, "),
        ({"choose": ignores_mask}, "an arm that is not available must not be chosen"),
        ({"choose": wrong_order}, "the first pulls must go in the order of the arms"),
        ({"init": arms_last}, "the axis of arms must come first"),
        ({"init": unequal_arms}, "init must treat all arms alike"),
        ({"choose": draws_at_random}, r"^Broken\(sigma=1.0\): draws_at_random \(.*must not use np.random"),
        (
            {"choose": reads_outside},
            r"^Broken\(sigma=1.0\): reads_outside \(test_checks.py, line .*\): index 3 is out of bounds",
        ),
        ({"explain": prints}, r"^Broken\(sigma=1.0\): prints \(test_checks.py, line .*\) must not print"),
        ({"init": no_state}, r"^Broken\(sigma=1.0\): init must return a NamedTuple of arrays, .*, got a tuple$"),
        ({"init": not_a_corner}, "a small state must be the corner of a large one"),
    ],
)
def test_a_broken_policy_is_caught(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(CheckError, match=rule):
        check_policy(broken(**changes))


def takes_a_logarithm(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return int(arms[0]) if math.log(t) < 0.0 else int(choose_ucb1(p, s, t, key, arms))


def squared(x: float) -> float:
    return x**2


def squares(p: Params, s: ucb1.State, t: int, arm: int, reward: float) -> None:
    update_ucb1(p, s, t, arm, squared(reward))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"choose": takes_a_logarithm},
            r"^Broken\(sigma=1.0\): takes_a_logarithm \(test_checks.py, line .*`\) must not use math.log, .*: use log of ",
        ),
        (
            {"update": squares},
            r"^Broken\(sigma=1.0\): squared \(test_checks.py, line .*: `return x\*\*2`\) must not use \*\*, ",
        ),
    ],
)
def test_what_differs_between_machines_is_refused_by_the_check_alone(changes: dict[str, Any], rule: str) -> None:
    policy = broken(**changes)
    with pytest.raises(CheckError, match=rule):
        check_policy(policy)
    bandit = Bandit(policy, arms=["a", "b"])
    bandit.update(bandit.pull(), 0.5)
    assert simulate(policy, two_arms(horizon=5), runs=1).pulls.sum() == 5


def no_index(p: Params, s: ucb1.State, t: int, arms: Ints, arm: int) -> Reason:
    return Reason(math.nan, math.nan, 0, math.nan)


def test_a_policy_that_declares_an_index_must_have_one() -> None:
    rule = r"explain must return an index that is not NaN, unless the class says `has_index = False` \(Broken\(sigma=1.0\)\)"
    with pytest.raises(CheckError, match=rule):
        check_policy(broken(explain=no_index))
    silent = broken()
    type(silent).has_index = True
    with pytest.raises(CheckError, match=rule):
        check_policy(silent)


def test_a_policy_that_draws_has_no_index() -> None:
    indexed = type("Indexed", (Uniform,), {"name": "indexed", "listed": False, "has_index": True})()
    with pytest.raises(CheckError, match=r"a policy that draws must not say `has_index = True` \(Indexed\(\)\)"):
        check_policy(indexed)


def draws_in_secret(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    if t <= arms.size or uniform(key, t, 0) < 0.5:
        return int(arms[(t - 1) % arms.size])
    return int(arms[-1])


def test_randomness_must_be_declared_with_its_propensities() -> None:
    with pytest.raises(CheckError, match="a policy that depends on its key must say `randomised = True`"):
        check_policy(broken(choose=draws_in_secret))
    policy = broken(choose=draws_in_secret)
    type(policy).randomised = True
    with pytest.raises(CheckError, match="a randomised policy must give its `propensities`"):
        check_policy(policy)
    with pytest.raises(TypeError, match="policy must give its propensities"):
        Bandit(policy, arms=["a", "b"]).propensities()


def too_much(p: Params, s: ucb1.State, t: int, arms: Ints, out: Floats) -> None:
    out[:] = 0.5


def test_propensities_must_sum_to_one() -> None:
    policy = broken(choose=draws_in_secret, propensities=too_much)
    type(policy).randomised = True
    with pytest.raises(CheckError, match=r"propensities must sum to 1 \(round 2, arms \[1\]: \[0.5\]\)"):
        check_policy(policy)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(
        ValueError, match="^name must be unique among policies, got 'ucb1' for UCB1 of rotting.policies.ucb1 and Mine of "
    ):
        type("Mine", (Policy,), {"name": "ucb1", "kernel": ucb1.UCB1.kernel})


CALLS = np.zeros(1, np.int64)


def counts_calls(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    CALLS[0] += 1  # hidden state is the fault under test
    return int(arms[CALLS[0] // 7 % arms.size])


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_what_does_not_compile_is_caught() -> None:
    with pytest.raises(CheckError, match=r"^Broken\(sigma=1.0\): makes_a_dict \(.*: a dict is not allowed") as caught:
        check_policy(broken(choose=makes_a_dict))
    assert "numba" not in "".join(traceback.format_exception(caught.value))


def makes_a_dict(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    {t: arms}  # noqa: B018 - a dict is the fault under test
    return int(choose_ucb1(p, s, t, key, arms))


def test_hidden_state_is_caught() -> None:
    with pytest.raises(CheckError, match=r"what a policy writes must be in its state.*uses the global CALLS"):
        check_policy(broken(choose=counts_calls))


def test_only_policies_can_be_checked() -> None:
    with pytest.raises(TypeError, match="policy must be a policy"):
        check_policy("raw-ucb")  # type: ignore[arg-type]


def test_policies_are_values() -> None:
    policy: Any = broken()
    with pytest.raises(AttributeError, match="is a value and cannot be changed"):
        policy.sigma = 3.0
    with pytest.raises(TypeError, match=r"parameters of \w+ must be among: .*, got 'sigam'; did you mean 'sigma'"):
        type(policy)(sigam=1.0)
    with pytest.raises(TypeError, match="parameters of Broken must be at most 1, got 2"):
        type(policy)(1.0, 2.0)
    with pytest.raises(TypeError, match="sigma must be given to Broken once, got it twice"):
        type(policy)(1.0, sigma=2.0)
    assert policy.sigma == 1.0
    assert len({policy, type(policy)(1), type(policy)(sigma=2)}) == 2


WHEN = 2 * ROUNDS + 21  # the check removes an arm after twenty rounds of its last part


def once(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return 0 if t == WHEN else int(arms[t % arms.size])


class PullsARemovedArm(ucb1.UCB1):
    """Takes turns, but for one round."""

    name = "pulls-a-removed-arm"
    kernel = Kernel(ucb1.init, once, ucb1.update)
    first_pulls = False
    has_index = False


def test_a_single_pull_of_an_arm_that_was_just_removed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckError, match=r"once \(test_checks.py, line .*\) must return one of `arms`, got 0"):
        check_policy(PullsARemovedArm())
    # A bandit trusts these functions; the check does not.
    monkeypatch.setattr(learner, "is_library_code", lambda function: True)
    with pytest.raises(CheckError, match="an arm that was removed must never be pulled"):
        check_policy(PullsARemovedArm())


def with_chances(p: Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    u = uniform(key, t, 0)
    return int(arms[0] if u < 0.5 else arms[-1] if u < 0.9 else arms[arms.size // 2])


def two_swapped(p: Params, s: ucb1.State, t: int, arms: Ints, out: Floats) -> None:
    out[:] = 0.0
    out[0] += 0.5
    out[arms.size // 2] += 0.4
    out[-1] += 0.1


def test_propensities_must_be_right_for_every_arm() -> None:
    policy = broken(choose=with_chances, propensities=two_swapped)
    type(policy).randomised, type(policy).first_pulls = True, False
    message = r"propensities must be those of `choose` \(round 1, arms \[0 1 2\]: \[0.5 0.4 0.1\] against \[0.5\d* 0.09"
    with pytest.raises(CheckError, match=message):
        check_policy(policy)


def test_a_policy_tuned_for_just_the_rounds_of_the_check_is_checked() -> None:
    check_policy(AdSwitch(horizon=3 * ROUNDS))
    with pytest.raises(ValueError, match=r"policy must be tuned for at least 180 rounds to be checked, got AdSwitch"):
        check_policy(AdSwitch(horizon=3 * ROUNDS - 1))


def test_a_compiler_that_leaves_another_state_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the compiler is at hand or not, by one that adds a little to a sum that no choice here depends on."""

    def update(p: Params, s: ucb1.State, t: int, arm: int, reward: float) -> None:
        ucb1.update(p, s, t, arm, reward)
        s.low[arm] += 2.0**-80

    policy = broken()
    monkeypatch.setattr(checks, "compiled_kernels", lambda policy: (policy.kernel.choose, update))
    with pytest.raises(CheckError, match="compiled must leave the state that interpreted leaves"):
        check_policy(policy)


def test_the_error_names_the_first_pulls() -> None:
    with pytest.raises(CheckError, match=r"the first pulls must go in the order of the arms, .* \(\[2, 2, 2\]\)$"):
        check_policy(broken(choose=wrong_order))


def test_a_bandit_that_is_restored_otherwise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one that is restored without what it learned."""
    policy = broken()
    monkeypatch.setattr(Bandit, "from_state", lambda state: Bandit(policy, [each["arm"] for each in state["arms"]], seed=3))
    with pytest.raises(CheckError, match=r"a bandit that was saved and restored must decide as the original \(round 12\d\)"):
        check_policy(policy)


def enlarges_what_is_never_full(p: Any, s: ucb1.State, capacity: int) -> ucb1.State:
    return s


def test_a_state_that_can_be_enlarged_must_say_when_it_is_full() -> None:
    policy = broken(enlarge=enlarges_what_is_never_full)
    for refused in (check_policy, lambda each: Bandit(each, ["a", "b"])):
        with pytest.raises((CheckError, KernelError), match="a state that can be enlarged must have a field `full`"):
            refused(policy)


@pytest.mark.parametrize("policy_class", some([OwnRAWUCB, OwnRAWUCBOfAnyWidth, OwnEffRAWUCB], 1), ids=lambda each: each.name)
def test_a_policy_over_windows_needs_no_sigma(policy_class: type[Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(defined_policies, policy_class.name, policy_class)
    check_policy(policy_class())
