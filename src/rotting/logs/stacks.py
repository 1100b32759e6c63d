"""The rewards of a log as stacks, and the game of a policy on them.

Let X(i, n) be the reward of the n-th pull of arm i, whenever that pull comes: the arms are rested. A log shows X(i, 1), X(i,
2), ... in their order, whatever policy wrote it. A policy that gets its rewards from these stacks plays the game that it would
have played live, decision by decision, until it asks for a reward that the log does not have.

If arms wear out with time alone, the rewards of an arm within a short bucket of time are exchangeable. A policy that gets its
rewards from queues of these, each drawn anew, plays a game that it could have played in the world of the log. This needs some
rewards of every arm in every bucket: the log must have explored all the time.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import nonnegative_int
from rotting.live.policy_state import first_capacity, grow
from rotting.logs.log import Log, positions
from rotting.policies.kernels.binding import bind
from rotting.policies.kernels.policy_functions import choose, new_state, update
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policy import Params, Policy
from rotting.simulation.engines.game import full_parts, is_full
from rotting.simulation.engines.tiers import COMPILE_SECONDS, EntryPoint, interpreted, resolve_mode

FEW_ROUNDS = round(COMPILE_SECONDS / 100e-6)
"""Rounds of a log that take about as long interpreted, at 60 to 200 us each, as compiling the loop."""
# docs/log-intervals.md measures with these values how often the bounds of a replay hold.
FEWEST_IN_BUCKET = 5
"""Rewards that each arm must have in each bucket."""
_NUMBERS = (32, 16, 8, 4)  # of buckets: the first one that every arm fills is taken


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
    few = rounds < FEW_ROUNDS and entry.is_library_code and not entry.is_available
    if mode == "never" or (mode == "auto" and few):
        return interpreted(entry)
    from rotting.simulation.engines.compile import guarded_for  # noqa: PLC0415 - imports Numba

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


# --- Wear with time: queues for each arm and bucket ---------------------------------------------------------------------------


class Buckets(NamedTuple):
    """The rewards of each bucket and arm."""

    rewards: Floats  # in the order of their places
    counts: Ints  # [bucket * K + arm]
    bucket: Ints  # [round]
    n_arms: int


class EmptyBucket(NamedTuple):
    """An arm that has too few rewards in some bucket, even with the fewest buckets that are tried."""

    arm: int
    bucket: int
    buckets: int
    rewards: int


def buckets_of(log: Log) -> Buckets | EmptyBucket:
    """Return the buckets of a log, as many as possible, or an arm that leaves one empty."""
    arm, reward, n_arms = log.arm[log.known], log.reward[log.known], len(log.arms)
    empty = EmptyBucket(0, 0, 1, 0)
    for number in _NUMBERS:
        bucket = np.arange(arm.size) * number // max(arm.size, 1)
        places = bucket * n_arms + arm
        counts = np.bincount(places, minlength=number * n_arms)
        place = int(np.argmin(counts))
        if counts[place] >= FEWEST_IN_BUCKET:
            return Buckets(reward[np.argsort(places, kind="stable")], counts, bucket, n_arms)
        empty = EmptyBucket(place % n_arms, place // n_arms, number, int(counts[place]))
    return empty


def draw_queues(buckets: Buckets, rng: np.random.Generator) -> RewardStacks:
    """Return queues for one game. Each reward is drawn from a resample of its bucket, since the log itself is a sample."""
    starts = np.concatenate([[0], np.cumsum(buckets.counts)])
    rounds = np.repeat(np.bincount(buckets.bucket), buckets.n_arms)  # a policy may choose one arm in all rounds of a bucket
    queues = []
    for start, count, length in zip(starts[:-1], buckets.counts, rounds, strict=True):
        pool = buckets.rewards[start : start + count]
        pool = pool[rng.integers(0, count, count)]
        queues.append(pool[rng.integers(0, count, length)])
    return RewardStacks(np.concatenate(queues), np.concatenate([[0], np.cumsum(rounds)]), buckets.bucket, buckets.n_arms)
