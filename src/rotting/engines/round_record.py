"""A record of every round of a game, written by the game loop while it plays."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.engines.game import Board, mean_now, record_of_run, record_round, record_state
from rotting.errors import InvalidValueError
from rotting.kernels.binding import KernelFunction, plain_function
from rotting.kernels.policy_slots import explain
from rotting.policy import Params, Policy
from rotting.problems.mean_table import Means

MOST_BYTES = 1 << 33
"""The size of the largest record that is allowed: 8 GiB."""


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
