"""RAW-UCB, EFF-RAW-UCB, FEWA and EFF-FEWA as Python code of the literature implements them.

That is: arrays of all windows, NaN where a window has no value yet, one call of `choice` and one of `get_reward` a round.
Written from scratch in the style of the authors' framework (SMPyBandits), which no longer installs, but faster: arrays double
instead of growing by one column at a time, and exact windows are summed by one shifted addition.
"""

import math
from collections.abc import Sequence

import numpy as np

from rotting.common.arrays import Floats, Ints


class AllWindows:
    """Statistics of the exact policies: the sum of the last h rewards of every arm, for every h."""

    def __init__(self, n_arms: int, alpha: float, sigma: float) -> None:
        self.alpha, self.sigma, self.t = alpha, sigma, 1
        self.pulls = np.zeros(n_arms, np.int64)
        self.used = 0  # windows that some arm has
        self.sums = np.full((n_arms, 1), np.nan)
        self.windows = np.ones(1)

    def _grow(self) -> None:
        size = self.sums.shape[1]
        self.sums = np.concatenate([self.sums, np.full_like(self.sums, np.nan)], axis=1)
        self.windows = np.arange(1.0, 2 * size + 1)

    def get_reward(self, arm: int, reward: float) -> None:
        """Learn from a reward."""
        n = self.pulls[arm]
        if n == self.sums.shape[1]:
            self._grow()
        self.sums[arm, 1 : n + 1] = self.sums[arm, :n] + reward
        self.sums[arm, 0] = reward
        self.pulls[arm] = n + 1
        self.used = max(self.used, int(n) + 1)
        self.t += 1

    def means(self) -> Floats:
        """Return the mean of every window: [K, windows]."""
        return self.sums[:, : self.used] / self.windows[: self.used]

    def widths(self) -> Floats:
        """Return the width of every window."""
        found: Floats = self.sigma * np.sqrt(2.0 * self.alpha * np.log(self.t) / self.windows[: self.used])
        return found


class EffWindows(AllWindows):
    """Statistics of the EFF policies (Algorithm 2): current sums, pending sums and their counts on the grid of windows."""

    def __init__(self, n_arms: int, alpha: float, sigma: float, m: float) -> None:
        super().__init__(n_arms, alpha, sigma)
        self.m = m
        self.windows = np.ones(1)
        self.pending = np.zeros((n_arms, 1))
        self.counts = np.zeros((n_arms, 1))
        self.totals = np.zeros(n_arms)

    def _grow(self) -> None:
        # A window that is new to all arms has every reward of each arm pending.
        n_arms = len(self.pulls)
        self.windows = np.append(self.windows, math.ceil(self.m * self.windows[-1]))
        self.sums = np.append(self.sums, np.full((n_arms, 1), np.nan), axis=1)
        self.pending = np.append(self.pending, self.totals[:, None], axis=1)
        self.counts = np.append(self.counts, self.pulls[:, None].astype(float), axis=1)

    def get_reward(self, arm: int, reward: float) -> None:
        """Learn from a reward: EFF_UPDATE."""
        if self.pulls[arm] + 1 > self.windows[-1]:
            self._grow()
        self.pending[arm, 0] = reward
        self.counts[arm, 0] = 1.0
        self.pending[arm, 1:] += reward
        self.counts[arm, 1:] += 1.0
        full = np.flatnonzero(self.counts[arm] == self.windows)
        self.sums[arm, full] = self.pending[arm, full]
        taken = full[full > 0]
        self.pending[arm, taken] = self.pending[arm, taken - 1]
        self.counts[arm, taken] = self.counts[arm, taken - 1]
        self.totals[arm] += reward
        self.pulls[arm] += 1
        self.used = len(self.windows)
        self.t += 1


def tightest_bound(s: AllWindows) -> int:
    """Return the arm that RAW-UCB pulls."""
    fresh = np.flatnonzero(s.pulls == 0)
    if fresh.size:
        return int(fresh[0])
    return int(np.nanmin(s.means() + s.widths(), axis=1).argmax())


def expanding_filter(s: AllWindows) -> int:
    """Return the arm that FEWA pulls."""
    fresh = np.flatnonzero(s.pulls == 0)
    if fresh.size:
        return int(fresh[0])
    means, reach = s.means(), 2.0 * s.widths()
    kept: Ints = np.arange(len(s.pulls))
    for j in range(s.used):
        values = means[kept, j]
        short = kept[np.isnan(values)]
        if short.size:
            return int(short[s.pulls[short].argmin()])
        kept = kept[values >= values.max() - reach[j]]
        if kept.size == 1:
            return int(kept[0])
    return int(kept[s.pulls[kept].argmin()])


class RAWUCB(AllWindows):
    """RAW-UCB."""

    choice = tightest_bound


class EffRAWUCB(EffWindows):
    """EFF-RAW-UCB."""

    choice = tightest_bound


class FEWA(AllWindows):
    """FEWA."""

    choice = expanding_filter


class EffFEWA(EffWindows):
    """EFF-FEWA."""

    choice = expanding_filter


Peer = RAWUCB | EffRAWUCB | FEWA | EffFEWA


def make(name: str, n_arms: int, alpha: float, sigma: float = 1.0, m: float = 2.0) -> Peer:
    """Return the peer of the policy of this name, with its parameters."""
    if name == "raw-ucb":
        return RAWUCB(n_arms, alpha, sigma)
    if name == "fewa":
        return FEWA(n_arms, alpha, sigma)
    if name == "eff-raw-ucb":
        return EffRAWUCB(n_arms, alpha, sigma, m)
    if name == "eff-fewa":
        return EffFEWA(n_arms, alpha, sigma, m)
    raise ValueError(f"name must be raw-ucb, eff-raw-ucb, fewa or eff-fewa, got {name!r}")


def play(peer: Peer, table: Sequence[Sequence[float]], horizon: int) -> list[int]:
    """Play a game on a table of rewards [K, pulls]; return the pulls of each arm."""
    pulls = [0] * len(table)
    for _ in range(horizon):
        arm = peer.choice()
        peer.get_reward(arm, table[arm][pulls[arm]])
        pulls[arm] += 1
    return pulls
