"""The games of docs/delays.md as one compiled loop: what a `Bandit` does with late and lost rewards, much faster.

The functions of the policy are its own, and the rule for pending decisions is that of `rotting.live.pending_rule`. What the
bandit keeps in its ledger is kept in arrays here. That every choice is the same is tested.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import compiled_for
from rotting.engines.entry_points import EntryPoint
from rotting.engines.game import full_parts, is_full
from rotting.kernels.binding import bind, slot
from rotting.kernels.nested_state import State, flatten, unflatten
from rotting.kernels.policy_slots import choose, explain, update
from rotting.kernels.random_numbers import derive_key
from rotting.live import policy_state as states
from rotting.live.learner import FIRST_CAPACITY, Learner
from rotting.live.pending_decisions import PendingDecisions
from rotting.live.pending_rule import Counts, choose_and_compete, fewest_pending, shrinks_width, split_waiting
from rotting.policy import Kernel, Params, Policy


class Chance(NamedTuple):
    """What all policies meet in one run."""

    rates: Floats  # [generation] click rates: the arm in slot i of generation g is number i + K g
    clicks: Floats  # [round] a number in (0, 1): a click if it is below the arm's rate
    delays: Ints  # [round] how many rounds later the reward comes; negative: it never does


class Book(NamedTuple):
    """What is known of each decision: the bandit's ledger."""

    numbers: Ints  # [round] number of the arm that was chosen
    propensity: Floats  # [round] of the draw
    reward: Floats  # [round]
    due: Ints  # [round] first decision whose reward comes in this round, or -1
    due_last: Ints  # [round]
    due_next: Ints  # [round] the next decision with a reward in the same round, or -1
    listed: Ints  # [K] working space


def new_book(rounds: int, n_arms: int) -> Book:
    """Return an empty one."""

    def none(n: int) -> Ints:
        return np.full(n, -1)

    return Book(
        numbers=none(rounds),
        propensity=np.ones(rounds),
        reward=np.zeros(rounds),
        due=none(rounds),
        due_last=none(rounds),
        due_next=none(rounds),
        listed=none(n_arms),
    )


class Weighed(Protocol):
    """The state of a policy that weighs rewards by the probabilities of its draws."""

    propensity: Floats  # [K]


class Rows(NamedTuple):
    """Where a packed state has the rows of its arms, and what a new arm has there."""

    start: Ints  # [array] place of its first row
    size: Ints  # [array] of a row
    fresh: Ints  # the rows of a new arm, one after the other


def packed(state: State) -> tuple[Ints, State]:
    """Return the words of a state, and the same state made of views into them."""
    arrays = list(flatten(state).values())
    assert all(array.dtype.itemsize == 8 for array in arrays), "a word is 8 bytes long"
    words = np.concatenate([array.reshape(-1).view(np.int64) for array in arrays])
    ends = np.cumsum([array.size for array in arrays])
    views = (words[end - each.size : end].view(each.dtype).reshape(each.shape) for each, end in zip(arrays, ends, strict=True))
    return words, unflatten(state, views)


def rows_of(policy: Policy, state: NamedTuple, capacity: int) -> Rows:
    """Return where a state of this policy has the rows of an arm."""
    arrays, fresh = states.arrays(state), states.arrays(states.new_state(policy, 1, capacity))
    starts = np.cumsum([0, *(array.size for array in arrays)])
    by_arm = [k for k, is_so in enumerate(states.has_arm_axis(policy)) if is_so]
    return Rows(
        start=starts[by_arm],
        size=np.array([arrays[k][0].size for k in by_arm]),
        fresh=np.concatenate([fresh[k].reshape(-1).view(np.int64) for k in by_arm]),
    )


def _without_index(p: Params, s: object, t: int, key: int, arms: Ints, counts: Counts, new_first: bool, listed: Ints) -> int:
    """Choose one of `arms` by a policy that draws, or has no index: arms without rewards wait."""
    n = split_waiting(counts, arms, False, new_first, listed)
    return choose(p, s, t, key, listed[:n]) if n > 0 else fewest_pending(counts, arms)


def _by_index(p: Params, s: object, t: int, key: int, arms: Ints, counts: Counts, new_first: bool, listed: Ints) -> int:
    """Choose one of `arms` by a policy that has an index."""
    return choose_and_compete(p, s, t, key, arms, counts, new_first, listed)[0]


def _decide_alone(p: Params, s: object, t: int, key: int, arms: Ints, counts: Counts, new_first: bool, listed: Ints) -> int:
    return choose(p, s, t, key, arms)


def _rule(kernel: Kernel, pending: PendingDecisions) -> Callable[..., int]:
    """Return the choice with the functions of a kernel."""
    if pending.by_index:
        return bind(_by_index, {choose: kernel.choose, explain: kernel.explain})
    return bind(_without_index if pending.has_rule else _decide_alone, {choose: kernel.choose})


@slot
def decide(p: Params, s: object, t: int, key: int, arms: Ints, counts: Counts, new_first: bool, listed: Ints) -> int:
    """Stand for the choice: by the rule for decisions under way, or by the policy alone."""
    raise NotImplementedError


@slot
def forget(p: Params, s: object, arm: int) -> None:
    """Stand for the policy's own `forget`."""
    raise NotImplementedError


@slot
def drawn_with(s: object, arm: int) -> float:
    """Stand for the probability of the last draw of an arm, if the policy weighs by it."""
    raise NotImplementedError


@slot
def put_back(s: object, arm: int, propensity: float) -> None:
    """Stand for telling the policy the probability of the draw that is rewarded."""
    raise NotImplementedError


def _forget_nothing(p: Params, s: object, arm: int) -> None:
    return


def _drawn_with(s: Weighed, arm: int) -> float:
    return float(s.propensity[arm])


def _drawn_with_1(s: object, arm: int) -> float:
    return 1.0


def _put_back(s: Weighed, arm: int, propensity: float) -> None:
    s.propensity[arm] = propensity


def _put_back_nothing(s: object, arm: int, propensity: float) -> None:
    return


def _make_new(rows: Rows, words: Ints, arm: int) -> None:
    done = 0
    for k in range(rows.start.size):
        size = rows.size[k]
        first = rows.start[k] + arm * size
        for j in range(size):
            words[first + j] = rows.fresh[done + j]
        done += size


def _swap(p: Params, s: object, rows: Rows, words: Ints, counts: Counts, i: int) -> None:
    """Forget the arm in a slot, with its decisions, and put a new one there."""
    counts.pending[i], counts.rewards[i] = 0, 0
    forget(p, s, i)
    _make_new(rows, words, i)


def _expect(book: Book, decision: int, comes: int) -> None:
    """Append a decision to those whose reward comes in a round."""
    if book.due[comes] < 0:
        book.due[comes] = decision
    else:
        book.due_next[book.due_last[comes]] = decision
    book.due_last[comes] = decision


def _reward(p: Params, s: object, book: Book, counts: Counts, t: int, decision: int, i: int) -> bool:
    """Learn the reward of a decision, and tell whether there was room for it."""
    counts.pending[i] -= 1
    counts.rewards[i] += 1
    put_back(s, i, book.propensity[decision])
    update(p, s, t, i, book.reward[decision])
    return not is_full(s)


def play(
    p: Params,
    s: object,
    words: Ints,
    rows: Rows,
    chance: Chance,
    book: Book,
    counts: Counts,
    key: int,
    new_first: bool,
    arms: Ints,
    swapped: int,
) -> bool:
    """Play a game, and tell whether the state had room for all of it.

    Args:
        p: parameters of the policy.
        s: its state, which is made of `words`.
        words: see `packed`.
        rows: of the state.
        chance: rates, clicks and delays.
        book: is written to.
        counts: of each slot; is written to.
        key: of the policy's random numbers.
        new_first: whether the policy chooses arms without rewards first.
        arms: all slots.
        swapped: rounds between two swaps of an arm.
    """
    n_arms, rounds = arms.size, chance.clicks.size
    for now in range(rounds):
        t = now + 1
        if now > 0 and now % swapped == 0:
            _swap(p, s, rows, words, counts, (now // swapped - 1) % n_arms)
        i = decide(p, s, t, key, arms, counts, new_first, book.listed)
        shift = now // swapped  # swaps so far: the slots before it hold newer arms
        number = shift + (i - shift) % n_arms
        book.numbers[now], book.propensity[now] = number, drawn_with(s, i)
        counts.pending[i] += 1
        book.reward[now] = 1.0 if chance.clicks[now] < chance.rates[number] else 0.0
        comes = now + chance.delays[now]
        if now <= comes < rounds:
            _expect(book, now, comes)
        decision = book.due[now]
        while decision >= 0:
            number = book.numbers[decision]
            if number >= shift and not _reward(p, s, book, counts, t, decision, number % n_arms):  # else its arm is forgotten
                return False
            decision = book.due_next[decision]
    return True


Counted = Callable[[bool, int, int], bool]


@functools.cache
def bound_play(policy: Policy, counting: bool, counted: Counted = shrinks_width) -> Callable[..., bool]:
    """Return the loop for a policy, which counts decisions under way or does not."""
    kernel, learner = policy.kernel, Learner.new(policy, 1)
    under_way = PendingDecisions(learner, counting)
    weighs = learner.uses_propensity
    parts: dict[Callable[..., object], Callable[..., object]] = {
        update: kernel.update,
        forget: kernel.forget or _forget_nothing,
        decide: _rule(kernel, under_way),
        drawn_with: _drawn_with if weighs else _drawn_with_1,
        put_back: _put_back if weighs else _put_back_nothing,
        **full_parts(kernel),
    }
    if counted is not shrinks_width:
        parts[shrinks_width] = counted
    return bind(play, parts)


def choices(
    policy: Policy, counting: bool, chance: Chance, n_arms: int, swapped: int, seed: int, counted: Counted = shrinks_width
) -> Ints:
    """Return the number of the arm that is chosen in each round, as a bandit with this seed would choose it.

    Arm number n is in slot n modulo `n_arms`. Every `swapped` rounds the oldest arm is forgotten, and a new one takes its slot.

    Args:
        policy: what plays.
        counting: whether decisions under way count: `pending="shrink"`.
        chance: rates, clicks and delays.
        n_arms: that there are at a time.
        swapped: rounds between two swaps.
        seed: of the policy's random numbers.
        counted: another rule than the bandit's: whether the decisions under way to an arm count, given whether it leads, how
            many they are, and how many rewards it has.
    """
    rounds = chance.clicks.size
    capacity = rounds if policy.kernel.enlarge is None else states.first_capacity(policy, n_arms, FIRST_CAPACITY)
    while True:
        words, s = packed(states.new_state(policy, n_arms, capacity))
        book, counts = new_book(rounds, n_arms), Counts(np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64))
        rows, key, arms = rows_of(policy, s, capacity), derive_key(seed, "policy"), np.arange(n_arms)
        given = (policy.params, s, words, rows, chance, book, counts, key, policy.first_pulls, arms, swapped)
        if compiled_for(EntryPoint(bound_play(policy, counting, counted), policy, given))(*given):
            return book.numbers
        capacity *= 2  # and again from the start: the same choices come of it
