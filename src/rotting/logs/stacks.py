"""The rewards of a log as stacks, and the game of a policy on them.

Let X(i, n) be the reward of the n-th pull of arm i, whenever that pull comes: the arms are rested. A log shows X(i, 1), X(i,
2), ... in their order, whatever policy wrote it. A policy that gets its rewards from these stacks plays the game that it would
have played live, decision by decision, until it asks for a reward that the log does not have.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import nonnegative_int
from rotting.engines.code_cache import is_cached
from rotting.engines.entry_points import EntryPoint, interpreted
from rotting.engines.game import full_parts, is_full
from rotting.engines.tiers import COMPILE_SECONDS, resolve_mode
from rotting.kernels.binding import bind
from rotting.kernels.nested_state import new_state
from rotting.kernels.policy_slots import choose, update
from rotting.kernels.random_numbers import derive_key
from rotting.live.policy_state import first_capacity, grow
from rotting.logs.log import Log, positions
from rotting.policy import Params, Policy

FEW_ROUNDS = round(COMPILE_SECONDS / 100e-6)
"""Rounds of a log that take about as long interpreted, at 60 to 200 us each, as compiling the loop."""


class RewardStacks(NamedTuple):
    """The known rewards of each unit and arm, in the order of their pulls."""

    rewards: Floats  # all stacks one after the other
    starts: Ints  # [unit * K + arm] where a stack begins; the next one begins where it ends
    units: Ints  # [round] the unit that each round of the log served
    n_arms: int


class StackGame(NamedTuple):
    """The game of a policy on stacks, up to the round in which a stack is empty."""

    choices: Ints  # [rounds played]
    rewards: Floats  # [rounds played]
    ran_out: int | None  # the arm that the policy asked for when the game ended; None if every round was played


def stacks_of(log: Log) -> RewardStacks:
    """Return the stacks of a log; rows without a reward are left out."""
    known, n_arms = log.known, len(log.arms)
    places = log.unit[known] * n_arms + log.arm[known]
    lengths = np.bincount(places, minlength=n_arms * len(log.units))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return RewardStacks(log.reward[known][np.argsort(places, kind="stable")], starts, log.unit[known].copy(), n_arms)


def play_rounds(
    p: Params,
    s: object,
    key: int,
    arms: Ints,
    units: Ints,
    starts: Ints,
    rewards: Floats,
    taken: Ints,
    choices: Ints,
    progress: Ints,
) -> bool:
    """Play rounds until one cannot be played; return whether the state must be enlarged first.

    `progress` holds the number of rounds played, and 1 if the arm of the next round is chosen already.
    """
    while progress[0] < units.size:
        k = progress[0]
        if progress[1] == 0:
            choices[k] = choose(p, s, k + 1, key, arms)
            progress[1] = 1
        place = units[k] * arms.size + choices[k]
        if starts[place] + taken[place] == starts[place + 1]:
            return False
        update(p, s, k + 1, choices[k], rewards[starts[place] + taken[place]])
        if is_full(s):
            return True
        taken[place] += 1
        progress[0], progress[1] = k + 1, 0
    return False


def stack_entry(policy: Policy) -> EntryPoint:
    """Return the loop of a policy on stacks as it is called."""
    kernel = policy.kernel
    loop = bind(play_rounds, {choose: kernel.choose, update: kernel.update, **full_parts(kernel)})
    numbers, rewards = np.zeros(1, np.int64), np.zeros(1)
    rest = (1, numbers, numbers, numbers, rewards, numbers, numbers, numbers)
    return EntryPoint(loop, policy, (policy.params, new_state(policy, 1, 1), *rest))


def stack_loop(policy: Policy, rounds: int) -> Callable[..., bool]:
    """Return the loop of a policy: interpreted if it is not compiled yet and few rounds are to be played, else machine code."""
    entry, mode = stack_entry(policy), resolve_mode("auto")
    few = rounds < FEW_ROUNDS and entry.is_library_code and not is_cached(entry.key)
    if mode == "never" or (mode == "auto" and few):
        return interpreted(entry)
    from rotting.engines.compile import guarded_for  # noqa: PLC0415 - imports Numba

    return guarded_for(entry)


def play_stacks(policy: Policy, stacks: RewardStacks, seed: int, loop: Callable[..., bool] | None = None) -> StackGame:
    """Let a policy play the rounds of a log on its stacks, as `Bandit(policy, arms, seed)` would play them live.

    `loop` is what `stack_loop` returns; several games can share it.
    """
    rounds, n_arms = stacks.units.size, stacks.n_arms
    capacity = first_capacity(policy, n_arms, rounds)
    state = new_state(policy, n_arms, capacity)
    key, arms = derive_key(nonnegative_int("seed", seed), "policy"), np.arange(n_arms)
    taken, choices, progress = np.zeros(stacks.starts.size - 1, np.int64), np.zeros(rounds, np.int64), np.zeros(2, np.int64)
    rest = (key, arms, stacks.units, stacks.starts, stacks.rewards, taken, choices, progress)
    play = loop or stack_loop(policy, rounds)
    with np.errstate(all="ignore"):  # as machine code, which does not warn
        while play(policy.params, state, *rest):
            state.full[0] = 0
            capacity *= 2
            state = grow(policy, state, n_arms, capacity)
    played, begun = int(progress[0]), bool(progress[1])
    chosen = choices[:played]
    places = stacks.units[:played] * n_arms + chosen
    paid = stacks.rewards[stacks.starts[places] + positions(places)]
    return StackGame(chosen, paid, int(choices[played]) if begun else None)
