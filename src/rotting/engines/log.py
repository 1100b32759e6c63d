"""Every round of a game, written down while it is played: the same loop, with more to do in it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.engines.game import Board, log_of_run, look, mean_now, note
from rotting.errors import InvalidValueError
from rotting.kernels.binding import slot
from rotting.policy import Policy, Reason
from rotting.problems.mean_table import Means

MOST_BYTES = 1 << 33
"""The largest record that is begun: 8 GiB."""


class Log(NamedTuple):
    """What is recorded of some runs: an array that is not wanted has no rounds."""

    arms: NDArray[np.unsignedinteger[Any]]  # [runs, T] the arm that was pulled
    rewards: Floats  # [runs, T] what it paid
    means: Floats  # [runs, T, K] the mean of every arm before the pull
    indices: Floats  # [runs, T, K] the index of every arm, of a policy that explains its choices
    windows: Ints  # [runs, T, K] the window of that index
    widths: Floats  # [runs, T, K] the width of its confidence interval


PLAYED = ("arms", "rewards", "means")
REASONS = ("indices", "windows", "widths")


def arm_type(n_arms: int) -> np.dtype[Any]:
    """Return the smallest type of whole numbers that holds an arm.

    Example:
        >>> arm_type(256), arm_type(257)
        (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(n_arms - 1)


def new_log(record: tuple[str, ...], runs: int, horizon: int, n_arms: int) -> Log | tuple[()]:
    """Return arrays for what is to be recorded, or nothing.

    Example:
        >>> log = new_log(("arms",), runs=2, horizon=100, n_arms=3)
        >>> log.arms.shape, log.arms.dtype, log.means.shape
        ((2, 100), dtype('uint8'), (2, 0, 3))
    """
    if not record:
        return ()
    rounds = {name: horizon if name in record else 0 for name in Log._fields}
    return Log(
        arms=np.zeros((runs, rounds["arms"]), arm_type(n_arms)),
        rewards=np.zeros((runs, rounds["rewards"])),
        means=np.zeros((runs, rounds["means"], n_arms)),
        indices=np.zeros((runs, rounds["indices"], n_arms)),
        windows=np.zeros((runs, rounds["windows"], n_arms), np.int64),
        widths=np.zeros((runs, rounds["widths"], n_arms)),
    )


def check_size(record: tuple[str, ...], runs: int, horizon: int, n_arms: int) -> None:
    """Refuse a record that would fill the memory, with its size.

    Example:
        >>> check_size(("rewards",), runs=2_000, horizon=1_000_000, n_arms=2)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: record must fit in 8 GiB, got 2,000 runs of 1,000,000 rounds, which take 14.9 GiB
    """
    one = new_log(record, 1, 1, n_arms)
    size = sum(array.nbytes for array in one) * runs * horizon
    if size > MOST_BYTES:
        asked = f"{runs:,} runs of {horizon:,} rounds" if runs > 1 else f"{horizon:,} rounds of {n_arms:,} arms"
        raise InvalidValueError("record", f"fit in {_written(MOST_BYTES)}", size, got=f"{asked}, which take {_written(size)}")


def _written(size: int) -> str:
    return f"{size / (1 << 30):,.3g} GiB"


@slot
def explain(p: Any, s: Any, t: int, arms: Ints, arm: int) -> Reason:
    """Stand for the policy's `explain`."""
    raise NotImplementedError


def log_of(log: Log, r: int) -> Log:
    """Return the part of one run."""
    return Log(log.arms[r], log.rewards[r], log.means[r], log.indices[r], log.windows[r], log.widths[r])


def note_round(b: Board, t: int, i: int, reward: float) -> None:
    """Write down the arm and the reward, as far as they are wanted; a round that is played again is written again."""
    if t <= b.log.arms.size:
        b.log.arms[t - 1] = i
    if t <= b.log.rewards.size:
        b.log.rewards[t - 1] = reward


def look_at_means(p: Any, s: Any, m: Means, b: Board, t: int, arms: Ints) -> None:
    """Write down the mean of every arm."""
    for i in range(b.pulls.size):
        b.log.means[t - 1, i] = mean_now(m, b, i, t)


def look_at_reasons(p: Any, s: Any, m: Means, b: Board, t: int, arms: Ints) -> None:
    """Write down the mean of every arm, and what the policy says of it."""
    for i in range(b.pulls.size):
        b.log.means[t - 1, i] = mean_now(m, b, i, t)
        value, _, window, width = explain(p, s, t, arms, i)
        b.log.indices[t - 1, i] = value
        b.log.windows[t - 1, i] = window
        b.log.widths[t - 1, i] = width


def recording(policy: Policy, record: tuple[str, ...]) -> dict[Any, Any]:
    """Return what is to be bound into the loop of a game, so that it records."""
    if not record:
        return {}
    parts: dict[Any, Any] = {log_of_run: log_of, note: note_round}
    if "indices" in record:
        return {**parts, look: look_at_reasons, explain: policy.kernel.explain}
    return {**parts, look: look_at_means} if "means" in record else parts
