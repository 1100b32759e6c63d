"""What a problem adds to a table of means: rewards that come late, arms that come, go and recover, means by a function.

Each is a few functions that are bound into the one loop in the place of those that do nothing. What they read stands beside the
means, in `Terms`; what they write, in `Extra`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.game import (
    Board,
    available,
    count,
    extra_of_run,
    hear,
    is_full,
    mean_now,
    observe,
    play,
    update,
)
from rotting.engines.kernel_errors import new_state
from rotting.kernels.binding import allocating, slot
from rotting.kernels.random_numbers import reward_uniform
from rotting.policy import Policy
from rotting.problems.delays import Delay
from rotting.problems.mean_table import Means, mean_at, seek


class Terms(NamedTuple):
    """The means of all arms, as `Means` has them, and the terms on which they are played."""

    kinds: Ints
    on_rounds: Ints
    round_starts: Ints
    round_values: Floats
    round_first: Ints
    pull_starts: Ints
    pull_values: Floats
    pull_first: Ints
    grid: Floats
    grid_first: Ints
    first: Ints  # [K] the first round in which an arm is there
    last: Ints  # [K] the last one
    recovers: Ints  # [K] 1 if the pieces over pulls are over the rounds since the last pull, which are 0 before the first
    delay: Floats  # the parameters of the delay
    lost: Floats  # [1] the share of the rewards that never come
    delay_key: Ints  # [1]


class Extra(NamedTuple):
    """What a game with terms has to remember."""

    last_pull: Ints  # [K] its round, 0 before the first
    first_due: Ints  # [T + 1] the first of the pulls whose rewards are seen after a round, 0 if there is none
    last_due: Ints  # [T + 1] the last of them
    next_due: Ints  # [T + 1] the pull that follows, by pull
    arms: Ints  # [T + 1] by pull
    rewards: Floats  # [T + 1] by pull
    propensities: Floats  # [T + 1] by pull


def new_extra(m: Any, n_arms: int, horizon: int) -> Any:
    """Return what is to be remembered of a game that begins; rewards need no room where none is late."""
    rounds = horizon + 1 if m.delay.size > 0 else 0
    return Extra(
        np.zeros(n_arms, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds),
        np.zeros(rounds),
    )


# Means.


def mean_on_terms(m: Any, b: Board, i: int, t: int) -> float:
    """Return the mean that arm i would pay at round t; an arm that is not there has none."""
    if t < m.first[i] or t > m.last[i]:
        return np.nan
    ticks = b.pulls[i]
    if m.recovers[i] != 0 and ticks > 0:
        ticks = t - b.extra.last_pull[i]
    b.round_piece[i] = seek(m.round_starts, b.round_piece[i], m.round_first[i + 1], t)
    b.pull_piece[i] = seek(m.pull_starts, b.pull_piece[i], m.pull_first[i + 1], ticks)
    return mean_at(m, i, b.round_piece[i], b.pull_piece[i])


def count_on_terms(m: Any, b: Board, i: int, t: int) -> None:
    """Count a pull, after which an arm has to recover."""
    b.pulls[i] += 1
    b.extra.last_pull[i] = t
    if m.recovers[i] != 0:
        b.pull_piece[i] = m.pull_first[i]


def those_there(m: Any, t: int, arms: Ints) -> Ints:
    """Write the arms that are there at round t, and return that part."""
    found = 0
    for i in range(m.first.size):
        if m.first[i] <= t <= m.last[i]:
            arms[found] = i
            found += 1
    return arms[:found]


play_with_parts = allocating(play)  # a part of an array counts as one that is created


@slot
def mean_formula(i: int, t: int, n: int) -> float:
    """Stand for the function that gives the means."""
    raise NotImplementedError


def mean_by_formula(m: Any, b: Board, i: int, t: int) -> float:
    """Return the mean that arm i would pay at round t, from the function."""
    return float(mean_formula(i, t, b.pulls[i]))


# Rewards that come late.


@slot
def draw_delay(scale: Floats, key: int, run: int, t: int) -> int:
    """Stand for the delay's `draw`."""
    raise NotImplementedError


def propensity_of(s: Any, i: int) -> float:
    """Return nothing of a policy that does not divide by it."""
    return 1.0


def own_propensity(s: Any, i: int) -> float:
    """Return the probability of the choice, which the policy's update divides by."""
    return float(s.propensity[i])


def put_propensity(s: Any, i: int, value: float) -> None:
    """Change nothing in a policy that does not divide by it."""


def put_own_propensity(s: Any, i: int, value: float) -> None:
    """Put back the probability of the choice whose reward has come."""
    s.propensity[i] = value


def send(p: Any, s: Any, b: Board, m: Any, t: int, i: int, reward: float, run: int) -> None:
    """Put a reward on its way, unless it is lost or comes after the game."""
    key = m.delay_key[0]
    if m.lost[0] > 0.0 and reward_uniform(key, run, 0, t, 1) < m.lost[0]:
        return
    due = t + draw_delay(m.delay, key, run, t)
    e = b.extra
    if due >= e.first_due.size:
        return
    e.arms[t], e.rewards[t], e.propensities[t], e.next_due[t] = i, reward, propensity_of(s, i), 0
    if e.first_due[due] == 0:
        e.first_due[due] = t
    else:
        e.next_due[e.last_due[due]] = t
    e.last_due[due] = t


def receive(p: Any, s: Any, b: Board, m: Any, t: int) -> None:
    """Show the policy what is seen after round t - 1, pull by pull; one that finds no room comes again."""
    e = b.extra
    while e.first_due[t - 1] != 0:
        pull = e.first_due[t - 1]
        put_propensity(s, e.arms[pull], e.propensities[pull])
        update(p, s, t - 1, e.arms[pull], e.rewards[pull])
        if is_full(s):
            return
        e.first_due[t - 1] = e.next_due[pull]


@dataclass(frozen=True)
class Rules:
    """Which of these a problem has.

    Args:
        formula: what gives the means, if no table does.
        moves: whether arms come, go or recover.
        delay: of the rewards, if there is one.
    """

    formula: Callable[[int, int, int], float] | None = None
    moves: bool = False
    delay: Delay | None = None

    def __bool__(self) -> bool:
        return self != Rules()

    @property
    def on_means(self) -> dict[Any, Any]:
        """What is to be bound, so that means are those of the problem; the greedy oracle needs no more."""
        if self.formula is not None:
            return {mean_now: mean_by_formula, mean_formula: self.formula}
        return {mean_now: mean_on_terms, count: count_on_terms, extra_of_run: new_extra} if self.moves else {}

    def parts(self, policy: Policy) -> dict[Any, Any]:
        """Return what is to be bound into the loop of a game."""
        found = dict(self.on_means)
        if self.moves:
            found |= {available: those_there, play: play_with_parts}
        if self.delay is not None:
            found |= {hear: receive, observe: send, draw_delay: self.delay.draw, extra_of_run: new_extra}
            if "propensity" in new_state(policy, 1, 1)._fields:
                found |= {propensity_of: own_propensity, put_propensity: put_own_propensity}
        return found


NO_RULES = Rules()


def with_terms(m: Means, spans: tuple[Ints, Ints], recovers: Ints, delay: Delay | None, key: int) -> Terms:
    """Return the means with the terms of a problem."""
    scale, lost = (np.empty(0), 0.0) if delay is None else (delay.scale, delay.lost)
    return Terms(*m, *spans, recovers, scale, np.array([lost]), np.array([key]))
