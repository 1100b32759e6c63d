"""Policies with one fault each, and the rule of `check_policy` that each breaks."""

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.random_numbers import uniform
from rotting.policy import Kernel, Params, Policy, Reason


def make_policy(name: str, *functions: Callable[..., Any], **more: Any) -> Policy:
    """Return a policy of these functions; `more` are other functions, and flags of its class."""
    flags: dict[str, Any] = {flag: more.pop(flag) for flag in ("randomised", "first_pulls") if flag in more}
    attributes = {"name": name, "listed": False, "kernel": Kernel(*functions, **more), **flags}
    policy: Policy = type(name, (Policy,), attributes)()
    return policy


# --- A sound policy: the arm with the largest mean of all its rewards ---------------------------------------------------------


class Sums(NamedTuple):
    """The number of pulls and the sum of rewards of each arm."""

    pulls: Ints  # [K]
    total: Floats  # [K]


def init(p: Params, n_arms: int, capacity: int) -> Sums:
    return Sums(np.zeros(n_arms, np.int64), np.zeros(n_arms))


def choose(p: Params, s: Any, t: int, key: int, arms: Ints) -> int:
    best = arms[0]
    for i in arms:
        if s.pulls[i] == 0:
            return int(i)
        if s.total[i] / s.pulls[i] > s.total[best] / s.pulls[best]:
            best = i
    return int(best)


def update(p: Params, s: Any, t: int, arm: int, reward: float) -> None:
    s.pulls[arm] += 1
    s.total[arm] += reward


def explain(p: Params, s: Any, t: int, arms: Ints, arm: int) -> Reason:
    if s.pulls[arm] == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean = s.total[arm] / s.pulls[arm]
    return Reason(mean, mean, s.pulls[arm], 0.0)


class Pooled(NamedTuple):
    """What each arm paid, and all arms together."""

    pulls: Ints  # [K]
    total: Floats  # [K]
    paid: Floats  # [1]


def init_pooled(p: Params, n_arms: int, capacity: int) -> Pooled:
    return Pooled(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(1))


def update_pooled(p: Params, s: Pooled, t: int, arm: int, reward: float) -> None:
    update(p, s, t, arm, reward)
    s.paid[0] += reward


def explain_pooled(p: Params, s: Pooled, t: int, arms: Ints, arm: int) -> Reason:
    """Return a width that depends on the rewards of all arms."""
    value, mean, window, _ = explain(p, s, t, arms, arm)
    return Reason(value, mean, window, abs(s.paid[0]) / t)


def explain_by_rows(p: Params, s: Sums, t: int, arms: Ints, arm: int) -> Reason:
    """Return a width that depends on the number of rows, those of removed arms included."""
    value, mean, window, _ = explain(p, s, t, arms, arm)
    return Reason(value, mean, window, float(s.pulls.size))


# --- A sound policy that needs `forget`: the same for the rewards of the last rounds, which are in one log --------------------

_TAU = 25


class Window(NamedTuple):
    """The rewards of the last rounds."""

    pulls: Ints  # [K] in the window
    total: Floats  # [K] of their rewards
    marks: Ints  # [2] first entry of the log in the window, number of entries
    rounds: Ints  # [capacity] of each entry
    arms: Ints  # [capacity] -1 once the arm is forgotten
    rewards: Floats  # [capacity]


def init_window(p: Params, n_arms: int, capacity: int) -> Window:
    return Window(
        pulls=np.zeros(n_arms, np.int64),
        total=np.zeros(n_arms),
        marks=np.zeros(2, np.int64),
        rounds=np.zeros(capacity, np.int64),
        arms=np.zeros(capacity, np.int64),
        rewards=np.zeros(capacity),
    )


def slide(s: Window, t: int) -> None:
    while s.marks[0] < s.marks[1] and s.rounds[s.marks[0]] < t - _TAU:
        i = s.arms[s.marks[0]]
        if i >= 0:
            s.pulls[i] -= 1
            s.total[i] -= s.rewards[s.marks[0]]
        s.marks[0] += 1


def update_window(p: Params, s: Window, t: int, arm: int, reward: float) -> None:
    slide(s, t)
    e = s.marks[1]
    s.rounds[e], s.arms[e], s.rewards[e] = t, arm, reward
    s.marks[1] += 1
    update(p, s, t, arm, reward)


def choose_window(p: Params, s: Window, t: int, key: int, arms: Ints) -> int:
    slide(s, t)
    return choose(p, s, t, key, arms)


def explain_window(p: Params, s: Window, t: int, arms: Ints, arm: int) -> Reason:
    slide(s, t)
    return explain(p, s, t, arms, arm)


def forget_window(p: Params, s: Window, arm: int) -> None:
    for e in range(s.marks[1]):
        if s.arms[e] == arm:
            s.arms[e] = -1


def forget_rewards_alone(p: Params, s: Window, arm: int) -> None:
    """Forget the rewards of the arm, but not the number of its pulls."""
    for e in range(s.marks[1]):
        if s.arms[e] == arm:
            s.rewards[e] = 0.0


def forget_the_next(p: Params, s: Sums, arm: int) -> None:
    """Also forget the arm after this one."""
    other = (arm + 1) % s.pulls.size
    s.pulls[other], s.total[other] = 0, 0.0


def forget_the_one_before(p: Params, s: Sums, arm: int) -> None:
    """Also forget the arm before this one."""
    s.pulls[arm - 1], s.total[arm - 1] = 0, 0.0


def forget_all(p: Params, s: Window, arm: int) -> None:
    """Mark the log entries of all arms as forgotten, but keep the sums."""
    s.arms[:] = -1


def forget_the_others(p: Params, s: Sums, arm: int) -> None:
    """Forget all arms if this one was pulled."""
    if s.pulls[arm] > 0:
        s.pulls[:] = 0
        s.total[:] = 0.0


def give_to_the_first(p: Params, s: Window, arm: int) -> None:
    """Give the arm's entries of the log to arm 0."""
    for e in range(s.marks[1]):
        if s.arms[e] == arm:
            s.arms[e] = 0


def forget_but_the_first(p: Params, s: Window, arm: int) -> None:
    """Forget every arm but the one in slot 0."""
    if arm > 0:
        forget_window(p, s, arm)


def forget_but_the_last(p: Params, s: Window, arm: int) -> None:
    """Forget every arm but the one in the last slot."""
    if arm < s.pulls.size - 1:
        forget_window(p, s, arm)


def forget_but_the_newest(p: Params, s: Window, arm: int) -> None:
    """Forget all entries of the arm except the newest entry of the log."""
    for e in range(s.marks[0], s.marks[1] - 1):
        if s.arms[e] == arm:
            s.arms[e] = -1


def forget_but_the_oldest(p: Params, s: Window, arm: int) -> None:
    """Forget all entries of the arm except the oldest entry of the window."""
    for e in range(s.marks[0] + 1, s.marks[1]):
        if s.arms[e] == arm:
            s.arms[e] = -1


# --- A sound policy that draws ------------------------------------------------------------------------------------------------


def _weight(s: Any, i: int) -> float:
    return float(0.5 + abs(s.total[i]))


def draw(p: Params, s: Any, t: int, key: int, arms: Ints) -> int:
    """Draw an arm in proportion to its weight: 0.5 plus the size of its sum of rewards."""
    total = 0.0
    for i in arms:
        total += _weight(s, i)
    left = uniform(key, t, 0) * total
    for i in arms:
        left -= _weight(s, i)
        if left < 0.0:
            return int(i)
    return int(arms[-1])


def chances(p: Params, s: Any, t: int, arms: Ints, out: Floats) -> None:
    total = 0.0
    for i in arms:
        total += _weight(s, i)
    for k in range(arms.size):
        out[k] = _weight(s, arms[k]) / total


def draw_window(p: Params, s: Window, t: int, key: int, arms: Ints) -> int:
    slide(s, t)
    return draw(p, s, t, key, arms)


def chances_window(p: Params, s: Window, t: int, arms: Ints, out: Floats) -> None:
    slide(s, t)
    chances(p, s, t, arms, out)


def chances_off(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    """Report a probability of the first arm that is 0.1 too large, and one of the last arm that is 0.1 too small."""
    chances(p, s, t, arms, out)
    moved = min(0.1, out[-1])
    out[0] += moved
    out[-1] -= moved


def chances_at_the_start(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    """Report the probabilities of a state without rewards."""
    out[:] = 1.0 / arms.size


def chances_in_the_end(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    """Report probability 1 for the first arm until each arm was pulled twice."""
    if s.pulls.min() >= 2:
        chances(p, s, t, arms, out)
    else:
        out[:] = 0.0
        out[0] = 1.0


def chances_of_all(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    """Divide by the weights of all arms, also of those that are not available."""
    weight_of_all = 0.0
    for i in range(s.total.size):
        weight_of_all += _weight(s, i)
    for k in range(arms.size):
        out[k] = _weight(s, arms[k]) / weight_of_all


def chances_below_zero(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    """Report numbers that sum to 1, but one is negative and one exceeds 1."""
    chances(p, s, t, arms, out)
    out[0] += 1.0
    out[-1] -= 1.0


def _move(out: Floats) -> None:
    """Move a probability of 0.3, or less if there is less, from the last arm to the first."""
    moved = min(0.3, out[-1])
    out[0] += moved
    out[-1] -= moved


def chances_off_late(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    chances(p, s, t, arms, out)
    if t > 61:
        _move(out)


def chances_off_early(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    chances(p, s, t, arms, out)
    if 5 <= t <= 20:
        _move(out)


def chances_off_among_many(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    chances(p, s, t, arms, out)
    if arms.size > 3:
        _move(out)


def chances_off_among_two(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    chances(p, s, t, arms, out)
    if arms[0] == 0 and arms[-1] == 1:
        _move(out)


def chances_off_alone(p: Params, s: Sums, t: int, arms: Ints, out: Floats) -> None:
    """Report probability 0.5 if only one arm is available."""
    chances(p, s, t, arms, out)
    if arms.size == 1:
        out[0] = 0.5


class Weighted(NamedTuple):
    """Sums, and the probability of each arm's last draw."""

    pulls: Ints  # [K]
    total: Floats  # [K]
    propensity: Floats  # [K]


def init_weighted(p: Params, n_arms: int, capacity: int) -> Weighted:
    return Weighted(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.ones(n_arms))


def draw_weighted(p: Params, s: Weighted, t: int, key: int, arms: Ints) -> int:
    """Write the probability of the arm that is drawn."""
    total = 0.0
    for i in arms:
        total += _weight(s, i)
    i = draw(p, s, t, key, arms)
    s.propensity[i] = _weight(s, i) / total
    return i


def draw_unweighted(p: Params, s: Weighted, t: int, key: int, arms: Ints) -> int:
    """Write the probability of a uniform draw."""
    i = draw(p, s, t, key, arms)
    s.propensity[i] = 1.0 / arms.size
    return i


def draw_in_the_first_rounds(p: Params, s: Sums, t: int, key: int, arms: Ints) -> int:
    """Draw in rounds 4 to 39, although the policy does not declare that it draws."""
    k = int(uniform(key, t, 0) * arms.size)
    return int(arms[k]) if 3 < t < 40 else choose(p, s, t, key, arms)


def toss(p: Params, s: Sums, t: int, key: int, arms: Ints) -> int:
    """Draw without a key."""
    return int(arms[int(random.random() * arms.size)])


# --- Other faults -------------------------------------------------------------------------------------------------------------


def init_alias(p: Params, n_arms: int, capacity: int) -> Any:
    """Use one array for two fields."""
    both = np.zeros(n_arms)
    return Sums(both, both)  # type: ignore[arg-type]


KEPT = np.zeros(1_000)


def init_kept(p: Params, n_arms: int, capacity: int) -> Any:
    """Use one array for all states."""
    return Sums(np.zeros(n_arms, np.int64), KEPT[:n_arms])


def count_outside(p: Params, s: Sums, t: int, arm: int, reward: float) -> None:
    """Write into an array of the module."""
    update(p, s, t, arm, reward)
    KEPT[0] += 1.0


def count_in_a_default(p: Params, s: Sums, t: int, arm: int, reward: float, memo: Any = np.zeros(1)) -> None:  # noqa: B008
    """Write into an array that is the default of an argument."""
    update(p, s, t, arm, reward)
    memo[0] += 1.0


def explain_negated(p: Params, s: Sums, t: int, arms: Ints, arm: int) -> Reason:
    """Report the negative of the index, so that the arm with the smallest one is chosen."""
    value, mean, window, width = explain(p, s, t, arms, arm)
    return Reason(-value, mean, window, width)


class Tuned(NamedTuple):
    """Sums, and the capacity, on which a state must not depend."""

    pulls: Ints  # [K]
    total: Floats  # [K]
    capacity: Ints  # [1]


def init_for_capacity(p: Params, n_arms: int, capacity: int) -> Tuned:
    return Tuned(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.array([capacity]))


def count_alone(p: Params, s: Sums, t: int, arm: int, reward: float) -> None:
    """Ignore the reward."""
    s.pulls[arm] += 1
    s.total[arm] += 0.5


def credit_the_one_before(p: Params, s: Sums, t: int, arm: int, reward: float) -> None:
    """Give the reward to another arm."""
    s.pulls[arm] += 1
    s.total[arm - 1] += reward


class Noted(NamedTuple):
    """Sums, and the last choice."""

    pulls: Ints  # [K]
    total: Floats  # [K]
    chosen: Ints  # [1]


def init_noted(p: Params, n_arms: int, capacity: int) -> Noted:
    return Noted(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(1, np.int64))


def choose_and_note(p: Params, s: Noted, t: int, key: int, arms: Ints) -> int:
    s.chosen[0] = choose(p, s, t, key, arms)
    return int(s.chosen[0])


def credit_the_last_choice(p: Params, s: Noted, t: int, arm: int, reward: float) -> None:
    """Give the reward to the arm that was chosen last, even if another arm earned it."""
    update(p, s, t, int(s.chosen[0]), reward)


def explain_and_count(p: Params, s: Sums, t: int, arms: Ints, arm: int) -> Reason:
    """Count a pull whenever `explain` is called."""
    s.pulls[arm] += 1
    return explain(p, s, t, arms, arm)


def overwrite_arms(p: Params, s: Sums, t: int, key: int, arms: Ints) -> int:
    """Use `arms` as working space."""
    arms[0] = choose(p, s, t, key, arms)
    return int(arms[0])


def choose_zero_on_a_tie(p: Params, s: Sums, t: int, key: int, arms: Ints) -> int:
    """Start the search with arm 0, available or not."""
    best = 0
    for i in arms:
        if s.pulls[i] == 0:
            return int(i)
        if s.total[i] * s.pulls[best] > s.total[best] * s.pulls[i]:
            best = i
    return int(best)


SOUND = [
    make_policy("greedy", init, choose, update, explain),
    make_policy("greedy-in-silence", init, choose, update),
    make_policy("windowed", init_window, choose_window, update_window, explain_window, forget=forget_window),
    make_policy("windowed-in-silence", init_window, choose_window, update_window, forget=forget_window),
    make_policy("drawn", init, draw, update, propensities=chances, randomised=True, first_pulls=False),
    make_policy(
        "drawn-by-window",
        init_window,
        draw_window,
        update_window,
        propensities=chances_window,
        forget=forget_window,
        randomised=True,
        first_pulls=False,
    ),
    make_policy("weighted", init_weighted, draw_weighted, update, propensities=chances, randomised=True, first_pulls=False),
]
"""Policies that keep every rule; the broken ones are made from their functions."""

_USED_AGAIN = "an arm in the slot of a removed one must be as new"
_UNUSED = "to forget an arm that was never pulled must change nothing"
_MEAN = "the mean that explain returns must grow with the rewards of its arm"
_OTHERS = "to forget an arm must change no mean and no window of another arm"
_OUTSIDE = "what a policy writes must be in its state"
_CHANCES = "propensities must be those of `choose`"
_DRAWN = {"randomised": True, "first_pulls": False}

BROKEN = {
    make_policy("without-forget", init_window, choose_window, update_window, explain_window): _USED_AGAIN,
    make_policy("without-forget-in-silence", init_window, choose_window, update_window): _USED_AGAIN,
    make_policy(
        "without-forget-drawn", init_window, draw_window, update_window, propensities=chances_window, **_DRAWN
    ): _USED_AGAIN,
    make_policy(
        "forgets-rewards-alone", init_window, choose_window, update_window, explain_window, forget=forget_rewards_alone
    ): _USED_AGAIN,
    make_policy("pools-rewards", init_pooled, choose, update_pooled, explain_pooled): (
        "nothing of a removed arm may change the others"
    ),
    make_policy("counts-rows", init, choose, update, explain_by_rows): "slots without an arm must not count",
    make_policy("forgets-the-next", init, choose, update, explain, forget=forget_the_next): _UNUSED,
    make_policy("forgets-the-next-in-silence", init, choose, update, forget=forget_the_next): _UNUSED,
    make_policy("forgets-the-one-before", init, choose, update, explain, forget=forget_the_one_before): _UNUSED,
    make_policy("forgets-all", init_window, choose_window, update_window, explain_window, forget=forget_all): _UNUSED,
    make_policy("forgets-the-others", init, choose, update, explain, forget=forget_the_others): _OTHERS,
    **{
        make_policy(name, init_window, choose_window, update_window, explain_window, forget=forget): rule
        for name, forget, rule in (
            ("gives-to-the-first", give_to_the_first, _OTHERS),
            ("forgets-but-the-first", forget_but_the_first, _USED_AGAIN),
            ("forgets-but-the-last", forget_but_the_last, _USED_AGAIN),
            ("forgets-but-the-newest", forget_but_the_newest, _USED_AGAIN),
            ("forgets-but-the-oldest", forget_but_the_oldest, _USED_AGAIN),
        )
    },
    make_policy("chances-off-late", init, draw, update, propensities=chances_off_late, **_DRAWN): _CHANCES,
    make_policy("chances-off-early", init, draw, update, propensities=chances_off_early, **_DRAWN): _CHANCES,
    make_policy("chances-off-among-many", init, draw, update, propensities=chances_off_among_many, **_DRAWN): _CHANCES,
    make_policy("chances-off-among-two", init, draw, update, propensities=chances_off_among_two, **_DRAWN): _CHANCES,
    make_policy(
        "chances-off-alone", init, draw, update, propensities=chances_off_alone, **_DRAWN
    ): "propensities must sum to 1",
    make_policy("chances-off", init, draw, update, propensities=chances_off, **_DRAWN): _CHANCES,
    make_policy("chances-at-the-start", init, draw, update, propensities=chances_at_the_start, **_DRAWN): _CHANCES,
    make_policy("chances-in-the-end", init, draw, update, propensities=chances_in_the_end, **_DRAWN): _CHANCES,
    make_policy("chances-of-all", init, draw, update, propensities=chances_of_all, **_DRAWN): "propensities must sum to 1",
    make_policy("chances-below-zero", init, draw, update, propensities=chances_below_zero, **_DRAWN): (
        "propensities must lie between 0 and 1"
    ),
    make_policy("unweighted", init_weighted, draw_unweighted, update, propensities=chances, **_DRAWN): (
        "choose must write the propensity of the arm that it returns"
    ),
    make_policy("draws-in-the-first-rounds", init, draw_in_the_first_rounds, update): (
        "a policy that depends on its key must say `randomised = True`"
    ),
    make_policy("tosses", init, toss, update): "must not use random",
    make_policy("alias", init_alias, choose, update): "each array of a state must have memory of its own",
    make_policy("kept", init_kept, choose, update): _OUTSIDE,
    make_policy("counts-outside", init, choose, count_outside, explain): _OUTSIDE,
    make_policy("counts-in-a-default", init, choose, count_in_a_default, explain): _OUTSIDE,
    make_policy("explains-negated", init, choose, update, explain_negated): (
        "the chosen arm must have the largest index that explain returns"
    ),
    make_policy("for-capacity", init_for_capacity, choose, update): "a small state must be the corner of a large one",
    make_policy("counts-alone", init, choose, count_alone, explain): _MEAN,
    make_policy("credits-the-one-before", init, choose, credit_the_one_before, explain): _MEAN,
    make_policy("credits-the-last-choice", init_noted, choose_and_note, credit_the_last_choice, explain): _MEAN,
    make_policy("explains-and-counts", init, choose, update, explain_and_count): (
        "explain must change nothing that a choice depends on"
    ),
    make_policy("overwrites-arms", init, overwrite_arms, update): "choose and explain must leave `arms` as they are",
    make_policy("chooses-zero", init, choose_zero_on_a_tie, update): "an arm that is not available must not be chosen",
}
"""The broken policies, each with the rule that it breaks or another part of the error message."""
