"""The rewards of a log as queues for each arm and bucket of time.

If arms wear out with time alone, the rewards of an arm within a short bucket of time are exchangeable. A policy that gets its
rewards from such queues, each drawn anew, plays a game that it could have played in the world of the log. This needs some
rewards of every arm in every bucket: the log must have explored all the time.
"""

from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.logs.log import Log
from rotting.logs.stacks import RewardStacks

# docs/log-intervals.md measures with these values how often the bounds of a replay hold.
FEWEST_IN_BUCKET = 5
"""Rewards that each arm must have in each bucket."""
_NUMBERS = (32, 16, 8, 4)  # of buckets: the first one that every arm fills is taken


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
