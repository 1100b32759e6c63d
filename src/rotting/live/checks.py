"""`check_policy`: checks that a policy keeps the contract of policies."""

import dis
import json
import math
from collections.abc import Callable
from dataclasses import fields
from itertools import combinations
from types import FunctionType
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import ESTIMATE
from rotting.errors import CheckError, InvalidTypeError, InvalidValueError, KernelError
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.learner import Learner
from rotting.policies.kernels.binding import digest, plain_function, reached_functions
from rotting.policies.kernels.code_checks import check_exact, place
from rotting.policies.kernels.policy_functions import flatten
from rotting.policies.kernels.random_numbers import normal_quantile, uniform
from rotting.policies.kernels.readable_errors import naming_owner, with_readable_errors
from rotting.policies.parts.divergences import kl_bernoulli
from rotting.policy import Policy, Reason
from rotting.registry import from_json
from rotting.simulation.engines.compile import guarded_for
from rotting.simulation.engines.kernel_errors import check_choice, check_reason
from rotting.simulation.engines.tiers import EntryPoint

Choose = Callable[..., int]
Update = Callable[..., None]

ROUNDS = 60
"""The rounds of a game."""
ARMS = 3
"""The arms of a game."""
KEY = 11
"""The key of the random numbers of the policy."""
_MAX_CAPACITY = 1 << 24  # far more than any policy needs for a few dozen rewards
_CHOSEN_BY_INDEX = 0.1  # smallest share of rounds; one that explores in turn still chooses the largest index by chance


def require(rule: str, kept: bool, where: object = "") -> None:
    """Raise a `CheckError` that names the rule and the place unless the rule is kept."""
    if not kept:
        found = str(where)  # an array cannot be compared with ""
        raise CheckError(f"{rule}{f' ({found})' if found else ''}")


def reward_table(n_arms: int, rounds: int) -> Floats:
    """Return rewards that wear out at different speeds, with noise and, in every fourth round, ties."""
    table = np.empty((n_arms, rounds))
    for i in range(n_arms):
        for n in range(rounds):
            noise = 0.0 if n % 4 == 0 else 0.3 * normal_quantile(uniform(i, n + 1, 0))
            table[i, n] = min(1.0, max(0.0, 0.9 - 0.2 * i * (n > rounds // (2 * n_arms)) + noise))
    return table


def require_same_arms(arms: Ints, given: Ints, t: int) -> None:
    """Require that the policy has not written to the array of available arms."""
    require("choose and explain must leave `arms` as they are", np.array_equal(arms, given), f"round {t}: {arms}")


class _Player:
    """A policy in a game: its functions and its state, which is enlarged when it is full."""

    def __init__(self, policy: Policy, choose: Choose, update: Update, n_arms: int, capacity: int) -> None:
        self._policy = policy
        self._choose = choose
        self._update = update
        self._capacity = capacity
        self.state = states.new_state(policy, n_arms, capacity)
        self._layout = _layout(self.state)

    def choose(self, t: int, arms: Ints) -> int:
        """Return the arm that the policy chooses."""
        given = arms.copy()
        arm: int = self._choose(self._policy.params, self.state, t, KEY, arms)
        require_same_arms(arms, given, t)
        check_choice(self._policy, arm, arms)
        return arm

    def learn(self, t: int, arms: Ints, arm: int, reward: float) -> None:
        """Update the state, and enlarge it if there is no room for the reward."""
        self._update(self._policy.params, self.state, t, arm, reward)
        while self._policy.kernel.enlarge is not None and self.state.full[0]:
            self._enlarge(t)
            again = self.choose(t, arms)
            require("a state that was enlarged must choose as before", arm == again, f"round {t}: {again} instead of {arm}")
            self._update(self._policy.params, self.state, t, arm, reward)
        kept = self._layout == _layout(self.state)
        require("choose and update must keep every array's shape and type", kept, f"round {t}")

    def _enlarge(self, t: int) -> None:
        enlarge = self._policy.kernel.enlarge
        assert enlarge is not None
        small, self._capacity = self._capacity, 2 * self._capacity
        require("enlarge must make room for an update", self._capacity < _MAX_CAPACITY, f"round {t}, capacity {small}")
        self.state = with_readable_errors(self._policy, enlarge, enlarge)(self._policy.params, self.state, self._capacity)
        require("enlarge must return a state that is not `full`", not self.state.full[0], f"round {t}")
        self._layout = _layout(self.state)


def play_game(
    policy: Policy, choose: Choose, update: Update, table: Floats, capacity: int, explain: Callable[..., Reason] | None = None
) -> tuple[list[int], NamedTuple]:
    """Play a game. If `explain` is given, every arm is explained before every choice, and the indices must fit the choices."""
    n_arms, rounds = table.shape
    player = _Player(policy, choose, update, n_arms, capacity)
    largest: list[bool] = []  # for each round in which the indices differ: whether the arm with the largest is chosen
    arms = np.arange(n_arms)
    pulls = [0] * n_arms
    chosen = []
    for t in range(1, rounds + 1):
        if policy.sees_means:
            player.state.means[:] = [table[i, pulls[i]] for i in range(n_arms)]
        indices = [] if explain is None else _indices(policy, explain, player.state, t, arms)
        arm = player.choose(t, arms)
        if indices and min(indices) < max(indices):  # not if one of them is NaN
            largest.append(indices[arm] == max(indices))
        player.learn(t, arms, arm, table[arm, pulls[arm]])
        pulls[arm] += 1
        chosen.append(int(arm))
    if not policy.randomised:
        require(
            "the chosen arm must have the largest index that explain returns, except in rounds that explore",
            sum(largest) >= _CHOSEN_BY_INDEX * len(largest),
            f"in {sum(largest)} of {len(largest)} rounds it has",
        )
    return chosen, player.state


def _indices(policy: Policy, explain: Callable[..., Reason], state: NamedTuple, t: int, arms: Ints) -> list[float]:
    """Return the index of every arm, as the policy explains it."""
    given = arms.copy()
    reasons = [explain(policy.params, state, t, arms, arm) for arm in range(arms.size)]
    require_same_arms(arms, given, t)
    for reason in reasons:
        check_reason(policy, reason)
    return [float(reason.value) for reason in reasons]


def _layout(state: NamedTuple) -> list[tuple[tuple[int, ...], object]]:
    return [(array.shape, array.dtype) for array in states.arrays(state)]


def compiled_kernels(policy: Policy) -> tuple[Choose, Update]:
    """Return `choose` and `update` of a policy, compiled."""
    kernel, state = policy.kernel, states.new_state(policy, ARMS, ROUNDS)
    choose = guarded_for(EntryPoint(kernel.choose, policy, (policy.params, state, 1, KEY, np.arange(ARMS))))
    return choose, guarded_for(EntryPoint(kernel.update, policy, (policy.params, state, 1, 0, 0.0)))


def interpreted_kernels(policy: Policy) -> tuple[Choose, Update]:
    """Return `choose` and `update` of a policy as Python runs them."""
    kernel = policy.kernel
    choose, update = (with_readable_errors(policy, each, each) for each in (kernel.choose, kernel.update))
    return choose, update


def same_state(a: NamedTuple, b: NamedTuple) -> bool:
    """Return whether two states have equal arrays."""
    pairs = zip(states.arrays(a), states.arrays(b), strict=True)
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


# --- What a policy draws, and with which propensities -------------------------------------------------------------------------


class _Draws(NamedTuple):
    """A state in which draws are compared with propensities."""

    rounds: int  # played before
    available: tuple[int, ...]
    n_arms: int = ARMS
    keys: int = 500  # tried if the policy draws: enough to find an error of 0.2


_MANY_KEYS = 2_000  # enough to find an error of 0.1
_DRAWS = (
    _Draws(0, (0, 1, 2), keys=_MANY_KEYS),
    _Draws(ARMS, (0, 1, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS // 3, (0, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS, (0, 1, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS, (1, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS // 5, (0, 1, 2)),
    _Draws(ROUNDS // 2, (0, 1)),
    _Draws(2 * ROUNDS, (0, 1, 2)),
    _Draws(ROUNDS // 2, (0, 1, 2, 3, 4), n_arms=5),
)
_FEW_KEYS = 200  # if the policy declares that it does not draw
_ALARM = 1e-6  # the largest probability with which a policy with right propensities is refused
_EXACT = 1e-6  # allowed error of probabilities


def _check_randomness(policy: Policy) -> None:
    """Try many keys in several states: a policy that depends on its key must declare that, with the right propensities."""
    choose, update = compiled_kernels(policy)
    for draws in _DRAWS:
        table = reward_table(draws.n_arms, max(ROUNDS, draws.rounds))
        _, state = play_game(policy, choose, update, table[:, : draws.rounds], draws.rounds + 1)
        keys = draws.keys if policy.randomised else _FEW_KEYS
        _check_draws(policy, choose, state, draws.rounds + 1, np.array(draws.available), keys)


def _check_draws(policy: Policy, choose: Choose, state: NamedTuple, t: int, arms: Ints, keys: int) -> None:
    propensities = checked_propensities(policy, state, t, arms)
    drawn, trial = np.zeros(arms.size), states.copy(state)
    written: Floats | None = getattr(trial, "propensity", None)
    arrays = list(zip(states.arrays(trial), states.arrays(state), strict=True))
    for key in range(keys):
        for array, kept in arrays:
            array[...] = kept
        arm = choose(policy.params, trial, t, key, arms)
        check_choice(policy, arm, arms)
        k = int(np.searchsorted(arms, arm))
        drawn[k] += 1
        if propensities is not None and written is not None:
            require(
                "choose must write the propensity of the arm that it returns into the field `propensity` of the state",
                bool(abs(written[arm] - propensities[k]) < _EXACT),
                f"round {t}, arms {arms}: {written[arm]} instead of {propensities[k]}",
            )
    if not policy.randomised:
        require("a policy that depends on its key must say `randomised = True`", drawn.max() == keys, f"{policy}, round {t}")
    if propensities is None:
        require("a randomised policy must give its `propensities`", not policy.randomised, policy)
        return
    # Chernoff: n kl(share, p) is above x with a probability below exp(-x) on each side of p, for each arm in each state.
    limit = math.log(2 * sum(len(draws.available) for draws in _DRAWS) / _ALARM)
    for p, share in zip(propensities, drawn / keys, strict=True):
        fits = keys * kl_bernoulli(share, min(1.0, max(0.0, p))) <= limit
        where = f"round {t}, arms {arms}: {propensities} against {drawn / keys}"
        require("propensities must be those of `choose`", fits, where)


def checked_propensities(policy: Policy, state: NamedTuple, t: int, arms: Ints) -> Floats | None:
    """Return the propensities of `arms`, after checks, if the policy has a function for them."""
    propensities = policy.kernel.propensities
    if propensities is None:
        return None
    out, trial = np.zeros(arms.size), states.copy(state)
    arguments = policy.params, trial, t, arms, out
    guarded_for(EntryPoint(propensities, policy, arguments, allocates=True))(*arguments)
    where = f"round {t}, arms {arms}: {out}"
    require("propensities must lie between 0 and 1", bool(np.all((out > -_EXACT) & (out < 1.0 + _EXACT))), where)
    require("propensities must sum to 1", bool(abs(out.sum() - 1.0) < _EXACT), where)
    return out


# --- What an arm leaves behind when it is removed -----------------------------------------------------------------------------

_FAR = 1_000  # rounds, so late that a short window has lost everything before
_SAME = 1e-9  # allowed difference of indices and means, since sums over arms may be taken in another order
_COUNT_RULE = (
    "slots without an arm must not count: a formula with the number of arms must read `s.presence.number[0]`, or the size of "
    "`arms`, not that of an array of the state"
)


def _behaviour(learner: Learner, t: int, arms: Ints, with_propensities: bool) -> Floats:
    """Return the choice, explanations and propensities of a policy as numbers that do not depend on the slots of `arms`."""
    chosen = learner.choose(t, KEY, arms)
    reasons = [value for arm in arms.tolist() for value in learner.explain(t, arms, arm)]
    if not learner.policy.randomised:
        return np.array([np.searchsorted(arms, chosen), *reasons])
    propensities = learner.copy().probabilities(t, arms) if with_propensities else None
    return np.array(reasons if propensities is None else [*reasons, *propensities])


def _later_rounds(policy: Policy) -> list[int]:
    """Return rounds after `ROUNDS`; the last ones are so late that windows have lost everything before."""
    last = min(_FAR, policy.max_rounds or _FAR)
    return [*range(ROUNDS + 1, ROUNDS + 31), *range(last - 15, last + 1)]


def _require_same(rule: str, one: Learner, arms: Ints, other: Learner, others: Ints) -> None:
    """Give `arms` of one learner and `others` of the other the same rewards for many rounds: both must behave alike."""
    rounds = _later_rounds(one.policy)
    table = reward_table(ARMS, len(rounds))
    for k, t in enumerate(rounds):
        found, expected = (_behaviour(*each, with_propensities=k % 20 == 0) for each in ((one, t, arms), (other, t, others)))
        _require_close(rule, t, found, expected)
        i = k % ARMS
        one.learn(t, int(arms[i]), table[i, k])
        other.learn(t, int(others[i]), table[i, k])


def _require_close(rule: str, t: int, found: Floats, expected: Floats) -> None:
    same = np.isclose(found, expected, rtol=_SAME, atol=_SAME, equal_nan=True)
    where = "" if same.all() else f"round {t}: {found[~same][0]:.6g} instead of {expected[~same][0]:.6g}"
    require(rule, not where, where)


def _means_and_windows(learner: Learner, t: int, arms: Ints) -> Floats:
    """Return the mean and the window in the explanation of each arm, `[arm, 2]`."""
    reasons = [learner.explain(t, arms, arm) for arm in arms.tolist()]
    return np.array([(reason.mean, reason.window) for reason in reasons], np.float64)


def _require_same_knowledge(rule: str, one: Learner, other: Learner, arms: Ints) -> None:
    """Give the arms of two learners the same rewards for many rounds: their means and windows must stay the same.

    An estimated sigma pools the noise of all arms. Without one of them, another window of an arm can be the tightest; then only
    arms with the same window are compared.
    """
    pools_noise = getattr(one.policy.params, "sigma", None) == ESTIMATE
    for k, t in enumerate(_later_rounds(one.policy)):
        if k % 3 == 0:
            found, expected = _means_and_windows(one, t, arms), _means_and_windows(other, t, arms)
            compared = found[:, 1] == expected[:, 1] if pools_noise else np.full(arms.size, fill_value=True)
            _require_close(rule, t, found[compared], expected[compared])
        for learner in (one, other):
            learner.learn(t, int(arms[k % arms.size]), 0.25 * (k % 4))


def _forget(learner: Learner, slot: int, here: Ints) -> None:
    learner.forget(slot)
    learner.set_present(here)


def _played(policy: Policy, here: Ints, removed: int, slots: int = ARMS + 1, factor: float = 1.0) -> Learner:
    """Return a learner with rewards of the arms `here`; the oldest and the newest are of the arm that will be removed.

    The rewards of that arm are multiplied by the factor.
    """
    learner = Learner.new(policy, slots)
    learner.set_present(here)
    table = reward_table(ARMS, ROUNDS)
    place = int(np.searchsorted(here, removed))
    table[place] *= factor
    for t in range(1, ROUNDS + 1):
        i = place if t in {1, ROUNDS} else t % ARMS
        learner.learn(t, int(here[i]), table[i, t - 1])
    return learner


def _require_no_trace(rule: str, policy: Policy, here: Ints, removed: int) -> None:
    """Remove an arm from two learners that differ in its rewards: the other arms must be alike.

    The rewards differ so little that no test for a change can raise its alarm for one learner only.
    """
    left = here[here != removed]
    one, other = (_played(policy, here, removed, factor=factor) for factor in (1.0, 1.0 - 2.0**-12))
    for learner in (one, other):
        _forget(learner, removed, left)
    for t in _later_rounds(policy)[:3]:
        found, expected = (_behaviour(each, t, left, with_propensities=False) for each in (one, other))
        _require_close(rule, t, found, expected)


def _check_removal(policy: Policy) -> None:
    """Forget the first, a middle and the last arm, and use its slot again: nothing of it may be left, and nothing else lost."""
    for removed, unused in ((1, 2), (0, 1), (ARMS, ARMS - 1)):  # neighbours, so that the order of the other arms stays
        here = np.delete(np.arange(ARMS + 1), unused)
        learner = _played(policy, here, removed)
        if removed == 1:
            every = np.arange(ARMS)
            _require_same(_COUNT_RULE, learner.copy(), here, _played(policy, every, removed, slots=ARMS), every)
            forgetful, spared = learner.copy(), learner.copy()
            _forget(forgetful, unused, here)
            _require_same("to forget an arm that was never pulled must change nothing", forgetful, here, spared, here)

        left = here[here != removed]
        again, retired = learner.copy(), learner.copy()
        _forget(again, removed, left)
        retired.set_present(left)
        fresh, rest = again.copy(), again.copy()
        _require_same_knowledge("to forget an arm must change no mean and no window of another arm", rest, retired, left)

        others = np.sort(np.append(left, unused))
        _forget(again, removed, here)  # as a bandit does before it adds an arm
        _forget(fresh, unused, others)
        remedy = "if a state keeps anything about an arm outside the arm's own rows, the kernel's `forget` must remove it"
        _require_same(f"an arm in the slot of a removed one must be as new: {remedy}", again, here, fresh, others)
        _require_no_trace(f"nothing of a removed arm may change the others: {remedy}", policy, here, removed)


# --- The other checks ---------------------------------------------------------------------------------------------------------

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
        learner.choose(t + 1, KEY, arms)
        indices.append(learner.explain(t + 1, arms, 0).value)
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
    checks = [_check_value, _check_code, _check_state, _check_games, _check_mask, _check_randomness]
    if not policy.sees_means:
        checks += [_check_horizon, _check_index, _check_learning, _check_removal, _check_growth, _check_live]
    try:
        for check in checks:
            check(policy)
    except KernelError as error:
        raise CheckError(str(error)) from None


def _check_horizon(policy: Policy) -> None:
    if policy.max_rounds is not None and policy.max_rounds < 3 * ROUNDS:
        raise InvalidValueError("policy", f"be tuned for at least {3 * ROUNDS} rounds to be checked", policy)
