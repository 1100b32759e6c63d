"""The delayed windows of EFF_UPDATE (Algorithm 2), and the index of the EFF policies on them.

The index is `min over h_j <= N_i of mean_i^{h_j} + width(h_j)`. Every mean is the correctly rounded sum of its rewards,
divided by h.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.binding import Bindings
from rotting.policies.kernels.elementary import ceil
from rotting.policies.kernels.exact_sums import add, difference
from rotting.policies.parts.indices import arm_scale, line, pulled, search, window_width
from rotting.policy import Params, Reason

_FARTHEST = 1 << 61  # a window that no history reaches; beyond it, compiled integers overflow


class Grid(NamedTuple):
    """The EFF statistics (Algorithm 2) of every arm: O(log t) delayed windows each. States have it in a field `grid`.

    Algorithm 2 keeps for each window h_j a pending sum p of the n last rewards. Since pending sums always end at the last
    reward, we keep instead where each one starts and the arm's total there: p and n are differences, a pull touches only the
    windows it refreshes, and nothing drifts however long the arm lives.
    """

    pulls: Ints  # [K] N_i
    high: Floats  # [K] sum of all rewards, as high + low
    low: Floats
    windows: Ints  # [J] h_j
    root: Floats  # [J] sqrt(h_j)
    known: Ints  # [K] how many windows have a value: those with h_j <= N_i
    start: Ints  # [K, J] pulls before the pending sum of h_j began
    start_high: Floats  # [K, J] the arm's total there
    start_low: Floats
    mean: Floats  # [K, J] current mean of h_j consecutive rewards


class HasGrid(Protocol):
    """A state with delayed windows."""

    @property
    def grid(self) -> Grid:
        """The delayed windows of each arm."""


class HasDelayedLines(HasGrid, Protocol):
    """A state in which each arm keeps one of its delayed windows as its line."""

    @property
    def line(self) -> Ints:
        """[K] the number of the window that each arm keeps."""


def next_window(m: float, h: int) -> int:
    """Return `ceil(m h)` in floating point, as the authors' code does: 1.1 leads 46 to 51, and 50 to 56.

    Example:
        >>> next_window(1.1, 50), next_window(2.0, 4), next_window(1 + 1e-15, 7)
        (56, 8, 8)
    """
    return max(h + 1, ceil(m * h)) if m * h < _FARTHEST else 2 * _FARTHEST


def new_grid(m: float, n_arms: int, capacity: int) -> Grid:
    """Return an empty grid `h_0 = 1, h_{j+1} = ceil(m h_j)` with every window up to `capacity`."""
    size, h = 0, 1
    while h <= capacity:
        size += 1
        h = next_window(m, h)
    windows = np.zeros(size, np.int64)
    h = 1
    for j in range(size):
        windows[j] = h
        h = next_window(m, h)
    return Grid(
        pulls=np.zeros(n_arms, np.int64),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
        windows=windows,
        root=np.sqrt(windows),
        known=np.zeros(n_arms, np.int64),
        start=np.zeros((n_arms, size), np.int64),
        start_high=np.zeros((n_arms, size)),
        start_low=np.zeros((n_arms, size)),
        mean=np.zeros((n_arms, size)),
    )


def eff_update(s: HasGrid, i: int, reward: float) -> None:
    """EFF_UPDATE (Algorithm 2) of `s.grid` with the new reward of arm i.

    The paper's slip: its windows start at h_0 = 1 in the algorithm and at h_1 = 1 in the definition; here h_0 = 1.
    """
    g = s.grid
    n = g.pulls[i] + 1
    # Window h_0: p = o_t, n = 1, that is, a pending sum which starts before this reward.
    g.start[i, 0] = n - 1
    g.start_high[i, 0] = g.high[i]
    g.start_low[i, 0] = g.low[i]
    g.mean[i, 0] = reward
    g.high[i], g.low[i] = add(g.high[i], g.low[i], reward)
    g.pulls[i] = n
    if g.known[i] < g.windows.size and g.windows[g.known[i]] == n:
        g.known[i] += 1
    # Descending, so that a window which refreshes takes over the longest pending sum below it.
    for j in range(g.known[i] - 1, 0, -1):
        h = g.windows[j]
        if n - g.start[i, j] == h:
            g.mean[i, j] = difference(g.high[i], g.low[i], g.start_high[i, j], g.start_low[i, j]) / h
            g.start[i, j] = g.start[i, j - 1]
            g.start_high[i, j] = g.start_high[i, j - 1]
            g.start_low[i, j] = g.start_low[i, j - 1]


# --- The fast choice of the largest index on these windows --------------------------------------------------------------------


def tightest_delayed(p: Params, s: HasGrid, level: float, i: int) -> Reason:
    """Return the smallest of arm i's bounds `mean + width(h_j)`, with its window."""
    scale, best = arm_scale(p, s, i), Reason(math.inf, math.nan, 0, math.inf)
    for j in range(s.grid.known[i]):
        mean, c = s.grid.mean[i, j], scale * window_width(p, level, s.grid.windows[j], s.grid.root[j])
        if mean + c < best.value:
            best = Reason(mean + c, mean, s.grid.windows[j], c)
    return best


def _was_pulled(s: HasGrid, i: int) -> bool:
    return bool(s.grid.pulls[i] > 0)


def _line(p: Params, s: HasDelayedLines, level: float, i: int) -> float:
    j = s.line[i]
    return float(s.grid.mean[i, j] + arm_scale(p, s, i) * window_width(p, level, s.grid.windows[j], s.grid.root[j]))


def _search(p: Params, s: HasDelayedLines, level: float, i: int, threshold: float) -> float:
    best, scale = math.inf, arm_scale(p, s, i)
    for j in range(s.grid.known[i]):
        mean = s.grid.mean[i, j]
        if mean < best:  # else the width, which costs more, cannot help
            value = mean + scale * window_width(p, level, s.grid.windows[j], s.grid.root[j])
            if value < best:
                best, s.line[i] = value, j
    return best


DELAYED_WINDOWS: Bindings = {pulled: _was_pulled, line: _line, search: _search}
"""Binds `largest_index` to the windows of the fields `grid` and `line` of the state."""
