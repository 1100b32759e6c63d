"""What the simplest game does not need: late rewards, arms that come, leave, recover or have a memory, functions, records.

Each feature is a few functions that replace functions of `game.py`. Those of a problem read their parameters from
`ExtendedMeans` and write to `GameMemory`; a record of every round is written into a `RoundRecord`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.errors import InvalidValueError
from rotting.policies.kernels.binding import KernelFunction, plain_function, slot
from rotting.policies.kernels.policy_functions import explain, new_state, update
from rotting.policies.kernels.random_numbers import derive_key, reward_uniform
from rotting.policy import Params, Policy
from rotting.problems import Problem
from rotting.problems.delays import Delay
from rotting.problems.mean_table import Means, join, mean_at, seek
from rotting.problems.stateful import ArmKernel
from rotting.simulation.engines.game import (
    Board,
    HasPropensity,
    count,
    deliver_due_rewards,
    is_full,
    list_available,
    mean_now,
    memory_of_run,
    observe,
    record_of_run,
    record_round,
    record_state,
    set_propensity,
    write_propensity,
)
from rotting.simulation.engines.memories import memory_of_arms, memory_parts

_NEVER = np.iinfo(np.int64).max
MOST_BYTES = 1 << 33
"""The size of the largest record that is allowed: 8 GiB."""


class ExtendedMeans(NamedTuple):
    """The fields of `Means`, and the parameters of the extensions."""

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
    first: Ints  # [K] the first round in which an arm is present
    last: Ints  # [K] the last round in which it is
    recovers: Ints  # [K] 1 if the arm's means depend on the rounds since its last pull, not on the number of its pulls
    delay: Floats  # the parameters of the delay
    lost: Floats  # [1] the share of the rewards that never arrive
    delay_key: Ints  # [1]
    arm_kinds: Ints  # [K] the number of the arm's `ArmKernel`, or that after the last one for an arm with a table
    arm_params: Floats  # [K, columns] the parameters of arms with a memory
    arm_states: Floats  # [K, columns] zeros: the room for their states
    memory_key: Ints  # [1]


OF_ARMS = ("first", "last", "recovers", "arm_kinds", "arm_params", "arm_states")
"""The fields of `ExtendedMeans`, beside those of `Means`, that have a row for each arm."""


class GameMemory(NamedTuple):
    """What the extensions remember of a game. The rewards due after the same round are a linked list of pulls."""

    last_pull: Ints  # [K] the round of the arm's last pull, 0 before the first
    n_present: Ints  # [1] the number of arms that are present
    next_change: Ints  # [1] the next round in which an arm comes or has left
    first_due: Ints  # [T + 1] the first pull whose reward arrives after this round, 0 if there is none
    last_due: Ints  # [T + 1] the last such pull
    next_due: Ints  # [T + 1] by pull: the next pull in the list
    arms: Ints  # [T + 1] by pull
    rewards: Floats  # [T + 1] by pull
    propensities: Floats  # [T + 1] by pull


def new_memory(m: ExtendedMeans, n_arms: int, horizon: int) -> GameMemory:
    """Return the memory of a new game. Rewards need room only if they are delayed."""
    rounds = horizon + 1 if m.delay.size > 0 else 0
    return GameMemory(
        np.zeros(n_arms, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds, np.int64),
        np.zeros(rounds),
        np.zeros(rounds),
    )


# Arms that come, leave and recover; means by a function.


def mean_of_present_arm(m: Any, b: Board, i: int, t: int) -> float:
    """Return the mean of arm i at round t, or NaN if the arm is not present."""
    if t < m.first[i] or t > m.last[i]:
        return np.nan
    return mean_of_visitor(m, b, i, t)


def mean_of_visitor(m: Any, b: Board, i: int, t: int) -> float:
    """Return the mean of arm i, which is present, at round t."""
    ticks = b.pulls[i]
    if m.recovers[i] != 0 and ticks > 0:
        ticks = t - b.memory.last_pull[i]
    b.round_piece[i] = seek(m.round_starts, b.round_piece[i], m.round_first[i + 1], t)
    b.pull_piece[i] = seek(m.pull_starts, b.pull_piece[i], m.pull_first[i + 1], ticks)
    return mean_at(m, i, b.round_piece[i], b.pull_piece[i])


def count_visitor(m: ExtendedMeans, b: Board, i: int, t: int) -> None:
    """Count a pull."""
    b.pulls[i] += 1


def count_and_remember(m: ExtendedMeans, b: Board, i: int, t: int) -> None:
    """Count a pull, and remember its round for an arm that recovers."""
    count_visitor(m, b, i, t)
    b.memory.last_pull[i] = t
    if m.recovers[i] != 0:
        b.pull_piece[i] = m.pull_first[i]


def list_present(p: Params, s: object, b: Board, m: ExtendedMeans, t: int, arms: Ints) -> int:
    """Make `arms` begin with those that are present at round t, and return their number.

    They are listed only in rounds in which an arm comes or has left; every other round finds them as they are.
    """
    e = b.memory
    if t < e.next_change[0]:
        return int(e.n_present[0])
    found, next_change = 0, _NEVER
    for i in range(m.first.size):
        if t < m.first[i]:
            next_change = min(next_change, m.first[i])
        elif t <= m.last[i]:
            arms[found] = i
            found += 1
            next_change = min(next_change, m.last[i] + 1)
    e.n_present[0], e.next_change[0] = found, next_change
    return found


@slot
def mean_formula(i: int, t: int, n: int) -> float:
    """Slot: the function that gives the means."""
    raise NotImplementedError


def mean_by_formula(m: ExtendedMeans, b: Board, i: int, t: int) -> float:
    """Return the mean of arm i at round t, from the function."""
    return float(mean_formula(i, t, b.pulls[i]))


# Delayed rewards.


@slot
def draw_delay(scale: Floats, key: int, run: int, t: int) -> int:
    """Slot: the delay's `draw`."""
    raise NotImplementedError


def propensity_of(s: object, i: int) -> float:
    """Return 1 for a policy that does not use propensities."""
    return 1.0


def own_propensity(s: HasPropensity, i: int) -> float:
    """Return the probability of the choice, by which the policy's `update` divides."""
    return float(s.propensity[i])


def delay_reward(p: Params, s: object, b: Board, m: ExtendedMeans, t: int, i: int, reward: float, run: int) -> None:
    """Add a reward to the list of the round after which it arrives, unless it is lost or arrives after the game."""
    key = m.delay_key[0]
    if m.lost[0] > 0.0 and reward_uniform(key, run, 0, t, 1) < m.lost[0]:
        return
    due = t + draw_delay(m.delay, key, run, t)
    e = b.memory
    if due >= e.first_due.size:
        return
    e.arms[t], e.rewards[t], e.propensities[t], e.next_due[t] = i, reward, propensity_of(s, i), 0
    if e.first_due[due] == 0:
        e.first_due[due] = t
    else:
        e.next_due[e.last_due[due]] = t
    e.last_due[due] = t


def deliver_delayed_rewards(p: Params, s: object, b: Board, m: ExtendedMeans, t: int) -> None:
    """Show the policy the rewards that arrive after round t - 1. A reward that finds the state full stays in the list."""
    e = b.memory
    while e.first_due[t - 1] != 0:
        pull = e.first_due[t - 1]
        set_propensity(s, e.arms[pull], e.propensities[pull])
        update(p, s, t - 1, e.arms[pull], e.rewards[pull])
        if is_full(s):
            return
        e.first_due[t - 1] = e.next_due[pull]


@dataclass(frozen=True)
class Extensions:
    """The extensions of a problem.

    Args:
        formula: the function that gives the means, if no table does.
        dynamic_arms: whether arms come, leave or recover.
        delay: the delay of the rewards, if there is one.
        kernels: those of the arms with a memory, each once.
    """

    formula: Callable[[int, int, int], float] | None = None
    dynamic_arms: bool = False
    delay: Delay | None = None
    kernels: tuple[ArmKernel, ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the extensions that a problem needs."""
        return cls(problem.formula, problem.has_dynamic_arms, problem.delay, problem.kernels)

    def __bool__(self) -> bool:
        """Return whether the means are `ExtendedMeans`."""
        return self.dynamic_arms or self.delay is not None or bool(self.kernels)

    @property
    def draws(self) -> bool:
        """Whether the means of a run are random, so that every run has its own optimum."""
        return any(kernel.draws for kernel in self.kernels)

    @property
    def on_means(self) -> dict[KernelFunction, KernelFunction]:
        """The functions to bind so that means are those of the problem; the greedy oracle needs no others."""
        if self.formula is not None:
            return {mean_now: mean_by_formula, mean_formula: self.formula}
        mean, counted = (mean_of_visitor, count_visitor) if self.dynamic_arms else (mean_now, count)
        found = memory_parts(self.kernels, mean, counted) if self.kernels else {}
        if self.dynamic_arms:
            found |= {mean_now: mean_of_present_arm, count: count_and_remember, memory_of_run: new_memory}
        return found

    def parts(self, policy: Policy) -> dict[KernelFunction, KernelFunction]:
        """Return the functions to bind into the game loop."""
        found = dict(self.on_means)
        if self.dynamic_arms:
            found[list_available] = list_present
        if self.delay is not None:
            found |= {deliver_due_rewards: deliver_delayed_rewards, observe: delay_reward, draw_delay: self.delay.draw}
            found[memory_of_run] = new_memory
            if "propensity" in new_state(policy, 1, 1)._fields:
                found |= {propensity_of: own_propensity, set_propensity: write_propensity}
        return found


NO_EXTENSIONS = Extensions()


def extend_means(m: Means, problem: Problem, kernels: tuple[ArmKernel, ...], seed: int) -> ExtendedMeans:
    """Return the means with the parameters of a problem's extensions; `kernels` are those of its arms, and perhaps more."""
    delay = problem.delay
    scale, lost = (np.empty(0), 0.0) if delay is None else (delay.scale, delay.lost)
    delay_key, memory_key = (np.array([derive_key(seed, purpose)]) for purpose in ("delay", "memory"))
    visits = (*problem.presence_rounds(), problem.recovers())
    return ExtendedMeans(*m, *visits, scale, np.array([lost]), delay_key, *memory_of_arms(problem, kernels), memory_key)


def join_extended(parts: Sequence[ExtendedMeans]) -> ExtendedMeans:
    """Return the means of several runs, one after the other."""
    table = join([Means(**{name: getattr(part, name) for name in Means._fields}) for part in parts])
    rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in OF_ARMS}
    return parts[0]._replace(**table._asdict(), **rows)


def extended_by_run(m: ExtendedMeans, r: int, n_arms: int) -> ExtendedMeans:
    """Return the means of the r-th run, where `m` holds those of several runs one after the other."""
    a, b = r * n_arms, (r + 1) * n_arms
    return ExtendedMeans(
        m.kinds[a:b],
        m.on_rounds[a:b],
        m.round_starts,
        m.round_values,
        m.round_first[a : b + 1],
        m.pull_starts,
        m.pull_values,
        m.pull_first[a : b + 1],
        m.grid,
        m.grid_first[a : b + 1],
        m.first[a:b],
        m.last[a:b],
        m.recovers[a:b],
        m.delay,
        m.lost,
        m.delay_key,
        m.arm_kinds[a:b],
        m.arm_params[a:b],
        m.arm_states[a:b],
        m.memory_key,
    )


# Records of every round.


class RoundRecord(NamedTuple):
    """A record of the rounds of some runs. An array that is not recorded has no rounds."""

    arms: NDArray[np.unsignedinteger[Any]]  # [runs, T] the arm that was pulled
    rewards: Floats  # [runs, T] its reward
    means: Floats  # [runs, T, K] the mean of every arm before the pull
    indices: Floats  # [runs, T, K] the index of every arm, of a policy that explains its choices
    windows: Ints  # [runs, T, K] the window of that index
    widths: Floats  # [runs, T, K] the width of its confidence interval


PLAYED = ("arms", "rewards", "means")
REASONS = ("indices", "windows", "widths")


def arm_type(n_arms: int) -> np.dtype[Any]:
    """Return the smallest integer type that holds the number of an arm.

    Example:
        >>> arm_type(256), arm_type(257)
        (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(n_arms - 1)


def new_record(fields: tuple[str, ...], runs: int, horizon: int, n_arms: int) -> RoundRecord | tuple[()]:
    """Return empty arrays for these fields of a record, or nothing if there are none.

    Example:
        >>> record = new_record(("arms",), runs=2, horizon=100, n_arms=3)
        >>> record.arms.shape, record.arms.dtype, record.means.shape
        ((2, 100), dtype('uint8'), (2, 0, 3))
    """
    if not fields:
        return ()
    rounds = {name: horizon if name in fields else 0 for name in RoundRecord._fields}
    return RoundRecord(
        arms=np.zeros((runs, rounds["arms"]), arm_type(n_arms)),
        rewards=np.zeros((runs, rounds["rewards"])),
        means=np.zeros((runs, rounds["means"], n_arms)),
        indices=np.zeros((runs, rounds["indices"], n_arms)),
        windows=np.zeros((runs, rounds["windows"], n_arms), np.int64),
        widths=np.zeros((runs, rounds["widths"], n_arms)),
    )


def check_size(fields: tuple[str, ...], runs: int, horizon: int, n_arms: int) -> None:
    """Refuse a record that is too large for the memory.

    Example:
        >>> check_size(("rewards",), runs=2_000, horizon=1_000_000, n_arms=2)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: record must fit in 8 GiB, got 2,000 runs of 1,000,000 rounds, which take 14.9 GiB
    """
    one = new_record(fields, 1, 1, n_arms)
    size = sum(array.nbytes for array in one) * runs * horizon
    if size > MOST_BYTES:
        asked = f"{runs:,} runs of {horizon:,} rounds" if runs > 1 else f"{horizon:,} rounds of {n_arms:,} arms"
        most, needed = (f"{each / (1 << 30):,.3g} GiB" for each in (MOST_BYTES, size))
        raise InvalidValueError("record", f"fit in {most}", size, got=f"{asked}, which take {needed}")


def record_by_run(record: RoundRecord, r: int) -> RoundRecord:
    """Return the part of the r-th run."""
    return RoundRecord(
        record.arms[r], record.rewards[r], record.means[r], record.indices[r], record.windows[r], record.widths[r]
    )


def write_round(b: Board, t: int, i: int, reward: float) -> None:
    """Record the arm and the reward, if they are to be recorded. A round that is played again is recorded again."""
    if t <= b.record.arms.size:
        b.record.arms[t - 1] = i
    if t <= b.record.rewards.size:
        b.record.rewards[t - 1] = reward


def write_means(p: Params, s: object, m: Means, b: Board, t: int, arms: Ints) -> None:
    """Record the mean of every arm."""
    for i in range(b.pulls.size):
        b.record.means[t - 1, i] = mean_now(m, b, i, t)


def write_means_and_reasons(p: Params, s: object, m: Means, b: Board, t: int, arms: Ints) -> None:
    """Record the mean of every arm, and how the policy explains its index."""
    write_means(p, s, m, b, t, arms)
    for i in range(b.pulls.size):
        value, _, window, width = explain(p, s, t, arms, i)
        b.record.indices[t - 1, i] = value
        b.record.windows[t - 1, i] = window
        b.record.widths[t - 1, i] = width


def recording(policy: Policy, fields: tuple[str, ...]) -> dict[KernelFunction, KernelFunction]:
    """Return the functions to bind into the game loop, so that it records these fields."""
    if not fields:
        return {}
    parts: dict[KernelFunction, KernelFunction] = {record_of_run: record_by_run, record_round: write_round}
    if "indices" in fields:
        return {**parts, record_state: write_means_and_reasons, explain: plain_function("explain", policy.kernel.explain)}
    return {**parts, record_state: write_means} if "means" in fields else parts
