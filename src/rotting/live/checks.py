"""`check_policy`: checks that a policy keeps the contract of policies."""

import dis
import json
import math
from dataclasses import fields
from itertools import combinations
from types import FunctionType

import numpy as np

from rotting.errors import CheckError, InvalidTypeError, InvalidValueError, KernelError
from rotting.kernels.binding import digest, plain_function, reached_functions
from rotting.kernels.code_checks import check_exact, place
from rotting.kernels.nested_state import flatten
from rotting.kernels.readable_errors import naming_owner, with_readable_errors
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.checked_games import (
    ARMS,
    KEY,
    ROUNDS,
    compiled_kernels,
    interpreted_kernels,
    play_game,
    require,
    require_same_arms,
    reward_table,
    same_state,
)
from rotting.live.draw_checks import check_randomness, checked_propensities
from rotting.live.learner import Learner
from rotting.live.removal_checks import check_removal
from rotting.policy import Policy
from rotting.registry import from_json

_MASKS: tuple[tuple[int, ...], ...] = ((0, 2), (1, 2), (1,), (0, 1))  # available arms, in turn


def _check_value(policy: Policy) -> None:
    require("equal parameters must make equal policies", type(policy)(*policy.params) == policy, policy)
    require("equal policies must have equal hashes", hash(type(policy)(*policy.params)) == hash(policy), policy)
    require("a policy must survive JSON", from_json(json.loads(json.dumps(policy.to_json()))) == policy, policy)


def _check_state(policy: Policy) -> None:
    named = flatten(states.new_state(policy, ARMS, 8))
    for (name, array), (other, another) in combinations(named.items(), 2):
        alone = not np.shares_memory(array, another)
        require("each array of a state must have memory of its own", alone, f"{name} and {other}")
    longer, larger = states.new_state(policy, ARMS, 16), states.new_state(policy, ARMS + 1, 16)
    others = zip(states.has_arm_axis(policy), states.arrays(longer), states.arrays(larger), strict=True)
    for (name, small), (by_arm, long, wide) in zip(named.items(), others, strict=True):
        large = wide if by_arm else long  # an array without an axis of arms may depend on their number
        corner = large[tuple(slice(0, size) for size in small.shape)]
        require("a small state must be the corner of a large one", np.array_equal(corner, small), name)
        if by_arm:
            require("the axis of arms must come first", small.shape[0] == ARMS, name)
            require("init must treat all arms alike", all(np.array_equal(row, small[0]) for row in small), name)


def _check_code(policy: Policy) -> None:
    """Check the code before any game: this finds the cause, where a game would only show the symptom."""
    with naming_owner(policy):
        for field in fields(policy.kernel):
            function = getattr(policy.kernel, field.name)
            if function is not None:
                digest(plain_function(field.name, function))
                for reached in reached_functions(function):
                    _check_no_memory(reached)
                    check_exact(reached)


def _check_no_memory(function: FunctionType) -> None:
    """Refuse arrays and lists outside the state that a function could write to: games would not be repeatable."""
    code = function.__code__
    used = sorted({each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"})
    values = [(f"the global {name}", function.__globals__.get(name)) for name in used]
    values += [("a default", value) for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())]
    for name, value in values:
        writable = value.flags.writeable if isinstance(value, np.ndarray) else isinstance(value, list | dict | set | bytearray)
        require(
            "what a policy writes must be in its state, and an array that it only reads must be read-only",
            not writable,
            f"{place(code)} uses {name}",
        )


def _check_games(policy: Policy) -> None:
    table = reward_table(ARMS, ROUNDS)
    compiled, plain = compiled_kernels(policy), interpreted_kernels(policy)  # compiled first: it raises simulate's errors
    first, state = play_game(policy, *plain, table, ROUNDS)
    second, same = play_game(policy, *plain, table, ROUNDS)
    require("a second game must equal the first", first == second and same_state(state, same))
    fast, fast_state = play_game(policy, *compiled, table, ROUNDS)
    require("compiled must choose as interpreted does", fast == first, f"{fast} against {first}")
    require("compiled must leave the state that interpreted leaves", same_state(fast_state, state))
    roomy, _ = play_game(policy, *plain, table, 4 * ROUNDS)
    require("a larger capacity must not change the choices", roomy == first)
    explain = policy.kernel.explain
    if explain is not None:
        explained, _ = play_game(policy, *plain, table, ROUNDS, with_readable_errors(policy, explain, explain))
        require("explain must change nothing that a choice depends on", explained == first)
    if policy.kernel.enlarge is not None:
        cramped, _ = play_game(policy, *plain, table, 1)
        require("an update that finds no room must change nothing that a choice depends on", cramped == roomy)
    play_game(policy, *plain, table[:1], ROUNDS)  # with a single arm
    short, _ = play_game(policy, *plain, reward_table(ARMS, ARMS - 1), ARMS - 1)
    if policy.first_pulls:
        rule = "the first pulls must go in the order of the arms, unless the class says `first_pulls = False`"
        require(rule, first[:ARMS] == list(range(ARMS)), first[:ARMS])
        require("a game shorter than the arms must start the same", short == list(range(ARMS - 1)), short)


def _check_mask(policy: Policy) -> None:
    state = states.new_state(policy, ARMS, states.first_capacity(policy, ARMS, ROUNDS))
    choose, update = interpreted_kernels(policy)
    for t in range(1, ROUNDS + 1):
        arms = np.array(_MASKS[t % len(_MASKS)])
        given = arms.copy()
        checked_propensities(policy, state, t, arms)
        arm = choose(policy.params, state, t, 5, arms)
        require_same_arms(arms, given, t)
        require("an arm that is not available must not be chosen", arm in given, f"round {t}: {arm!r}")
        update(policy.params, state, t, arm, float(t % 3) / 2.0)


def _check_index(policy: Policy) -> None:
    """Check a policy that declares an index: a bandit lowers the index of arms with pending rewards, and chooses by it."""
    if not policy.has_index:
        return
    require("a policy that draws must not say `has_index = True`", not policy.randomised, policy)
    learner, arms, indices = Learner.new(policy, 1), np.zeros(1, np.int64), []
    for t in range(1, ROUNDS + 1):
        learner.learn(t, 0, 0.5)
        indices.append(learner.choose_and_explain(t + 1, KEY, arms)[1])
    # Not in every round: a policy with epochs has no index while it explores.
    known = not all(map(math.isnan, indices))
    require("explain must return an index that is not NaN, unless the class says `has_index = False`", known, policy)


def _check_learning(policy: Policy) -> None:
    """Reward an arm with zeros only, or ones only, each time after another arm was chosen, as late rewards may come."""
    arms, means = np.arange(ARMS), []
    for reward in (0.0, 1.0):
        learner = Learner.new(policy, ARMS)
        for t in range(1, ROUNDS + 1):
            arm = t % ARMS
            learner.choose(t, KEY, np.delete(arms, arm))
            learner.learn(t, arm, reward if arm == 1 else 0.5)
        means.append(learner.explain(ROUNDS + 1, arms, 1).mean)
    low, high = means
    where = f"{low} after rewards of 0, {high} after rewards of 1"
    # Both are NaN if the policy computes no mean.
    require("the mean that explain returns must grow with the rewards of its arm", not low >= high, where)


def _check_growth(policy: Policy) -> None:
    grown, begun = Bandit(policy, range(1), seed=3), Bandit(policy, range(ARMS), seed=3)
    for arm in range(1, ARMS):
        grown.add_arm(arm)
    require(
        "a bandit that grew before its first reward must equal one that began with all arms; the kernel's `tune` must tune "
        "again what depends on their number",
        grown.get_state() == begun.get_state(),
        policy,
    )


def _check_live(policy: Policy) -> None:
    table = reward_table(ARMS + 1, 3 * ROUNDS)
    bandit = Bandit(policy, arms=["a", "b", "c"], seed=3)
    pulls = dict.fromkeys("abcd", 0)

    def step(each: Bandit) -> str:
        arm = str(each.pull())
        require("an arm that was removed must never be pulled", arm in each.arms, f"round {each.rounds}")
        each.update(arm, float(table["abcd".index(arm), pulls[arm]]))
        return arm

    for _ in range(2 * ROUNDS):  # beyond the first capacity, so that the state grows
        pulls[step(bandit)] += 1
    twin = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    added = {10: "d", 30: "a"}
    for k in range(ROUNDS):
        for player in (bandit, twin):
            if k in added:
                player.add_arm(added[k])
            elif k == 20:
                player.remove_arm("a")
        arm, other = step(bandit), step(twin)
        require("a bandit that was saved and restored must decide as the original", arm == other, f"round {bandit.rounds}")
        if policy.first_pulls and k in added:
            require("an arm that is added must be explored at the next pull", arm == added[k], arm)
        pulls[arm] += 1
    reasons = bandit.explain()
    require("explain must include every arm", list(reasons) == list(bandit.arms), list(reasons))


def check_policy(policy: Policy) -> None:
    """Raise a `CheckError` if `policy` breaks the contract of a policy.

    The checks:

    - The policy is a value: equality, hash, JSON. It keeps nothing outside its state, which can grow and be saved.
    - Its functions use no powers and logarithms whose last bit may differ between machines.
    - It plays the same game interpreted and compiled, a second time, with more room, enlarged many times, and explained or not.
      It plays with one arm, and with fewer rounds than arms.
    - It chooses among the available arms only, and mostly the arm with the largest index that `explain` returns. The means that
      `explain` returns follow the rewards. If it draws, it declares that, with the right propensities. If it declares an
      index, it has one.
    - When an arm is removed and another one takes its slot, nothing of the old arm is left, and nothing of other arms is lost.
      A bandit that grew before its first reward equals one that began with all arms.
    - It works live: saved and restored, with arms added and removed.

    The propensities are checked by a statistical test, with the same random numbers every time: 2,000 draws in each of five
    states find an error of 0.1, and 500 in each of four others find one of 0.2, once among five arms. Fewer than one sound
    policy in a million is refused. Traces of a removed arm are found if they show within 900 rounds: check a policy with a
    window once with a short one.

    Args:
        policy: the policy to check. It gets rewards in [0, 1].

    Example:
        >>> import rotting
        >>> check_policy(rotting.RAWUCB(alpha=1.4))
    """
    if not isinstance(policy, Policy):
        raise InvalidTypeError("policy", "be a policy such as RAWUCB(alpha=1.4)", policy)
    checks = [_check_value, _check_code, _check_state, _check_games, _check_mask, check_randomness]
    if not policy.sees_means:
        checks += [_check_horizon, _check_index, _check_learning, check_removal, _check_growth, _check_live]
    try:
        for check in checks:
            check(policy)
    except KernelError as error:
        raise CheckError(str(error)) from None


def _check_horizon(policy: Policy) -> None:
    if policy.max_rounds is not None and policy.max_rounds < 3 * ROUNDS:
        raise InvalidValueError("policy", f"be tuned for at least {3 * ROUNDS} rounds to be checked", policy)
