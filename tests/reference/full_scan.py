"""The scan of all windows, as kernels: what the fast searches and the fast filter are compared with on long histories.

A policy that keeps only the vertices of a hull has no history to scan. `RAWUCBWithHistory` and `RAWKLUCBWithHistory` are the
policies as they are, which keep every reward as well, so that both choose from one state. `RAWUCBByBlocks` is RAW-UCB by the
search that bounds blocks of windows, for games too long for a scan.
"""

import math
from typing import Any, NamedTuple

from rotting.common.arrays import Ints
from rotting.policies import raw_kl_ucb, raw_ucb, raw_ucb_pp
from rotting.policies.fewa import State as FilterState
from rotting.policies.kernels.binding import bind, bind_all, slot
from rotting.policies.parts.divergences import upper
from rotting.policies.parts.hull import FIRST, HullLines, Stacks
from rotting.policies.parts.indices import largest_index, window_width
from rotting.policies.parts.noise_scale import NoiseScale
from rotting.policies.parts.prefix_sums import (
    BLOCK_WINDOWS,
    PrefixSums,
    new_prefix_sums,
    record,
    tightest_in_blocks,
    window_mean,
)
from rotting.policies.raw_kl_ucb import RAWKLUCB, Tangents
from rotting.policies.raw_kl_ucb import level_at as kl_level_at
from rotting.policies.raw_ucb import RAWUCB, level_at
from rotting.policy import Kernel, Reason, defined_policies


def room_for(n_arms: int, rounds: int) -> int:
    """So many points that no hull is ever without room: an arm's places add up to less than four times its points."""
    return 4 * (rounds + FIRST * n_arms)


class RAWUCBState(NamedTuple):
    """RAW-UCB's state and every reward."""

    hull: Stacks
    lines: HullLines
    noise: NoiseScale
    full: Ints
    history: PrefixSums


class RAWKLUCBState(NamedTuple):
    """RAW-klUCB's state and every reward."""

    hull: Stacks
    lines: HullLines
    tangents: Tangents
    full: Ints
    history: PrefixSums


def _init(p: Any, n_arms: int, capacity: int) -> RAWUCBState:
    s = raw_ucb.init(p, n_arms, room_for(n_arms, capacity))
    return RAWUCBState(*s, new_prefix_sums(n_arms, capacity))


def _kl_init(p: Any, n_arms: int, capacity: int) -> RAWKLUCBState:
    s = raw_kl_ucb.init(p, n_arms, room_for(n_arms, capacity))
    return RAWKLUCBState(*s, new_prefix_sums(n_arms, capacity))


_update_hull: Any = RAWUCB.kernel.update
_update_kl_hull: Any = RAWKLUCB.kernel.update


def _update(p: Any, s: RAWUCBState, t: int, arm: int, reward: float) -> None:
    _update_hull(p, s, t, arm, reward)
    record(s.history, arm, reward)


def _kl_update(p: Any, s: RAWKLUCBState, t: int, arm: int, reward: float) -> None:
    _update_kl_hull(p, s, t, arm, reward)
    record(s.history, arm, reward)


def _block_choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    return largest_index(p, s, level_at(p, t), arms)


def _block_index(p: Any, s: Any, t: int, arms: Ints, i: int) -> Reason:
    return tightest_in_blocks(p, s, level_at(p, t), i)


class RAWUCBWithHistory(RAWUCB):
    """RAW-UCB, which keeps every reward beside its hulls."""

    name = "raw-ucb-with-history"
    kernel = Kernel(_init, RAWUCB.kernel.choose, _update, explain=RAWUCB.kernel.explain)


class RAWKLUCBWithHistory(RAWKLUCB):
    """RAW-klUCB for rewards in [0, 1] or Gaussian ones, which keeps every reward beside its hulls."""

    name = "raw-kl-ucb-with-history"
    kernel = Kernel(_kl_init, RAWKLUCB.kernel.choose, _kl_update, explain=RAWKLUCB.kernel.explain)


class RAWUCBByBlocks(RAWUCB):
    """RAW-UCB by the search of blocks, as RAW-UCB++ is computed."""

    name = "raw-ucb-by-blocks"
    kernel = Kernel(
        raw_ucb_pp.init,
        update=raw_ucb_pp.update,
        **bind_all({"choose": _block_choose, "explain": _block_index}, BLOCK_WINDOWS),
    )


for _policy in (RAWUCBWithHistory, RAWKLUCBWithHistory, RAWUCBByBlocks):
    del defined_policies[_policy.name]  # for tests and benchmarks, not for users


def index(p: Any, s: Any, t: int, i: int) -> float:
    """RAW-UCB's index: the smallest bound over every window."""
    level = level_at(p, t)
    best = math.inf
    for h in range(1, s.history.pulls[i] + 1):
        best = min(best, window_mean(s.history, i, h) + window_width(p, level, h, math.sqrt(h)))
    return best


def kl_index(p: Any, s: Any, t: int, i: int) -> float:
    """RAW-klUCB's index: the smallest bound over every window."""
    level = kl_level_at(p, t)
    best = math.inf
    for h in range(1, s.history.pulls[i] + 1):
        best = min(best, upper(p.kind, window_mean(s.history, i, h), level / h, p.sigma))
    return best


@slot
def smallest_bound(p: Any, s: Any, t: int, i: int) -> float:
    """Slot: the index of arm i."""
    raise NotImplementedError


def _choice(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    """The arm with the largest index, the first on a tie."""
    best, best_index = arms[0], -math.inf
    for i in arms:
        value = smallest_bound(p, s, t, i)
        if value > best_index:
            best, best_index = i, value
    return int(best)


raw_ucb_choice = bind(_choice, {smallest_bound: index})
raw_kl_ucb_choice = bind(_choice, {smallest_bound: kl_index})


def fewa(p: Any, s: FilterState, t: int, key: int, arms: Ints) -> int:
    """FEWA's choice: the filter on every window in turn."""
    kept, size = s.kept, arms.size
    for k in range(size):
        kept[k] = arms[k]
    level = level_at(p, t)
    h = 0
    while True:
        short = -1
        for k in range(size):
            if s.history.pulls[kept[k]] <= h and (short < 0 or s.history.pulls[kept[k]] < s.history.pulls[short]):
                short = kept[k]
        if short >= 0:
            return int(short)
        h += 1
        top = -math.inf
        for k in range(size):
            top = max(top, window_mean(s.history, kept[k], h))
        left = 0
        for k in range(size):
            if window_mean(s.history, kept[k], h) >= top - 2.0 * window_width(p, level, h, math.sqrt(h)):
                kept[left] = kept[k]
                left += 1
        size = left
