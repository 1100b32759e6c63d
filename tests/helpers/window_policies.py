"""Three versions of RAW-UCB, written with `rotting.kit` alone, as users would write them; sigma is 1."""

import math
from typing import NamedTuple

import numpy as np

from rotting.kit import (
    BLOCK_WINDOWS,
    DELAYED_WINDOWS,
    HULL_WINDOWS,
    POSITIVE,
    BlockLines,
    Grid,
    HullLines,
    Ints,
    Kernel,
    Params,
    Policy,
    PrefixSums,
    Reason,
    Stacks,
    bind_all,
    eff_update,
    enlarged,
    largest_index,
    log,
    new_block_lines,
    new_grid,
    new_hull_lines,
    new_prefix_sums,
    new_stacks,
    parameter,
    record_in_blocks,
    record_on_hull,
    release,
    tightest_delayed,
    tightest_in_blocks,
    tightest_on_hull,
)


class Own(Policy):
    """The parameter that the three policies share."""

    alpha: float = parameter(POSITIVE, "confidence level", default=1.4)


def level_at(p: Params, t: int) -> float:
    return math.sqrt(2.0 * p.alpha * log(t))


def choose(p: Params, s: "HullState | BlockState | DelayedState", t: int, key: int, arms: Ints) -> int:
    return largest_index(p, s, level_at(p, t), arms)


class OwnRAWUCB(Own):
    """RAW-UCB on hulls."""

    name = "own-raw-ucb"


class HullState(NamedTuple):
    """The windows that can have the tightest bound."""

    hull: Stacks
    lines: HullLines
    full: Ints


def init_hull(p: Params, n_arms: int, capacity: int) -> HullState:
    return HullState(new_stacks(n_arms, capacity), new_hull_lines(n_arms), np.zeros(1, np.int64))


def hull_index(p: Params, s: HullState, t: int, arms: Ints, i: int) -> Reason:
    return tightest_on_hull(p, s, level_at(p, t), i)


def update_hull(p: Params, s: HullState, t: int, arm: int, reward: float) -> None:
    record_on_hull(s, arm, reward)


def forget_hull(p: Params, s: HullState, arm: int) -> None:
    release(s.hull, arm)


def enlarge_hull(p: Params, s: HullState, capacity: int) -> HullState:
    return HullState(enlarged(s.hull, capacity), s.lines, np.zeros(1, np.int64))


OwnRAWUCB.kernel = Kernel(
    init_hull,
    update=update_hull,
    forget=forget_hull,
    enlarge=enlarge_hull,
    **bind_all({"choose": choose, "explain": hull_index}, HULL_WINDOWS),
)


class OwnRAWUCBOfAnyWidth(Own):
    """RAW-UCB on blocks of windows."""

    name = "own-raw-ucb-of-any-width"


class BlockState(NamedTuple):
    """All windows."""

    history: PrefixSums
    lines: BlockLines


def init_blocks(p: Params, n_arms: int, capacity: int) -> BlockState:
    return BlockState(new_prefix_sums(n_arms, capacity), new_block_lines(n_arms))


def block_index(p: Params, s: BlockState, t: int, arms: Ints, i: int) -> Reason:
    return tightest_in_blocks(p, s, level_at(p, t), i)


def update_blocks(p: Params, s: BlockState, t: int, arm: int, reward: float) -> None:
    record_in_blocks(s, arm, reward)


OwnRAWUCBOfAnyWidth.kernel = Kernel(
    init_blocks, update=update_blocks, **bind_all({"choose": choose, "explain": block_index}, BLOCK_WINDOWS)
)


class OwnEffRAWUCB(Own):
    """EFF-RAW-UCB with m = 2."""

    name = "own-eff-raw-ucb"


class DelayedState(NamedTuple):
    """The delayed windows."""

    grid: Grid
    line: Ints


def init_delayed(p: Params, n_arms: int, capacity: int) -> DelayedState:
    return DelayedState(new_grid(2.0, n_arms, capacity), np.zeros(n_arms, np.int64))


def delayed_index(p: Params, s: DelayedState, t: int, arms: Ints, i: int) -> Reason:
    return tightest_delayed(p, s, level_at(p, t), i)


def update_delayed(p: Params, s: DelayedState, t: int, arm: int, reward: float) -> None:
    eff_update(s, arm, reward)


OwnEffRAWUCB.kernel = Kernel(
    init_delayed, update=update_delayed, **bind_all({"choose": choose, "explain": delayed_index}, DELAYED_WINDOWS)
)
