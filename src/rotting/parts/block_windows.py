"""The exact index `min over h <= N_i of mean_i^h + width(h)` for widths that the hull does not cover: RAW-UCB++'s.

The search goes from the newest start to the oldest. It skips every block whose bound (`prefix_blocks.py`) lies above what is
sought. `lazy_choice.py` searches about one arm a round.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import bind, slot
from rotting.parts.lazy_choice import choose_lazily, level_at, line, pulled, search
from rotting.parts.noise_scale import (
    NoiseScale,
    forget,
    is_estimated,
    is_never_estimated,
    new_noise_scale,
    observe_noise,
    scale_of,
)
from rotting.parts.prefix_blocks import (
    FAN,
    History,
    blocks_within,
    largest_block,
    lowest_mean,
    new_history,
    record,
    window_floor,
    window_mean,
)
from rotting.policy import Reason


class Lines(NamedTuple):
    """The window that each arm keeps; its upper bound is the arm's line, and is at least the arm's index."""

    mean: Floats  # [K] mean of the window
    window: Ints  # [K] its length h


class BlockWindows(NamedTuple):
    """The state of a policy that chooses by its exact index over every window."""

    history: History
    lines: Lines
    noise: NoiseScale


def new_windows(n_arms: int, capacity: int) -> BlockWindows:
    """Return the state of a policy that has seen nothing."""
    return BlockWindows(
        history=new_history(n_arms, capacity),
        lines=Lines(mean=np.zeros(n_arms), window=np.zeros(n_arms, np.int64)),
        noise=new_noise_scale(n_arms),
    )


@slot
def width(p: Any, level: float, h: int, root: float) -> float:
    """Stand for the width of window h, with root = sqrt(h); it must not increase with h."""
    raise NotImplementedError


def _try_window(p: Any, s: BlockWindows, level: float, scale: float, i: int, h: int, best: float, threshold: float) -> float:
    """Return the lowest bound so far; if it is that of window h, that becomes the arm's line."""
    c = scale * width(p, level, h, math.sqrt(h))
    if window_floor(s.history, i, h, c) > min(best, threshold):
        return best
    mean = window_mean(s.history, i, h)
    if mean + c < best:
        s.lines.mean[i], s.lines.window[i] = mean, h
        return mean + c
    return best


def _search(p: Any, s: BlockWindows, level: float, i: int, threshold: float) -> float:
    n, scale = s.history.pulls[i], scale_of(p, s.noise, i)
    best = _line(p, s, level, i)
    if threshold == -math.inf:  # there is no other arm
        return best
    end = n - n % FAN
    for h in range(1, n - end + 1):
        best = _try_window(p, s, level, scale, i, h, best, threshold)
    block = s.history.filled[i] - 1
    while end > 0:
        size = largest_block(end)
        while True:
            longest, shortest = n - end + size, n - end + 1
            low = lowest_mean(s.history, i, block, longest, shortest) + scale * width(p, level, longest, math.sqrt(longest))
            if low > min(best, threshold) or size == FAN:
                break
            size //= FAN  # the last part of the block has the number before it
            block -= 1
        if not low > min(best, threshold):
            for h in range(shortest, longest + 1):
                best = _try_window(p, s, level, scale, i, h, best, threshold)
        end -= size
        block -= blocks_within(size)
    return best


def _line(p: Any, s: BlockWindows, level: float, i: int) -> float:
    h = s.lines.window[i]
    return float(s.lines.mean[i] + scale_of(p, s.noise, i) * width(p, level, h, math.sqrt(h)))


def _update(p: Any, s: BlockWindows, t: int, arm: int, reward: float) -> None:
    record(s.history, arm, reward)
    h = s.lines.window[arm] + 1  # the line keeps its start
    s.lines.mean[arm], s.lines.window[arm] = window_mean(s.history, arm, h), h
    observe_noise(p, s.noise, arm, reward)


def _was_pulled(s: BlockWindows, i: int) -> bool:
    return bool(s.history.pulls[i] > 0)


def _explain(p: Any, s: BlockWindows, t: int, arms: Ints, i: int) -> Reason:
    level, scale, best = level_at(p, t, arms.size), scale_of(p, s.noise, i), Reason(math.inf, math.nan, 0, math.inf)
    for h in range(1, s.history.pulls[i] + 1):
        mean, c = window_mean(s.history, i, h), scale * width(p, level, h, math.sqrt(h))
        if mean + c < best.value:
            best = Reason(mean + c, mean, h, c)
    return best


def by_block_bound(
    policy_level: Callable[..., float],
    window_width: Callable[..., float],
    estimated: Callable[..., bool] = is_never_estimated,
) -> dict[str, Any]:
    """Return the entries of the kernel, but for `init`, of the policy with index `min over h of mean^h + width(h)`.

    Each arm goes first once, in order; then the arm with the largest index, the lowest of them on a tie. That arm is found
    without computing every index, and without looking at every window. The state is `BlockWindows`.

    Args:
        policy_level: `policy_level(p, t, n_arms)`, what the width needs to know of round t, computed once a round.
        window_width: `window_width(p, level, h, root)`, the width of window h, with root = sqrt(h); it must not increase
            with h.
        estimated: `estimated(p)`, whether the width is multiplied by the estimated scale of the arm's noise, as
            `noise_scale.is_estimated` says of policies with a `sigma`.
    """
    shared: dict[Any, Any] = {level_at: policy_level, width: window_width, is_estimated: estimated}
    return {
        **choose_lazily({**shared, pulled: _was_pulled, search: _search, line: _line}),
        "update": bind(_update, {is_estimated: estimated}),
        "forget": forget,
        "explain": bind(_explain, shared),
    }
