"""What the hulls took the place of: RAW-klUCB's scan of all windows, and the GLR test on blocks of splits. Contestants only."""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import bind
from rotting.kernels.exact_sums import difference
from rotting.parts import lazy_choice
from rotting.parts.divergences import BERNOULLI, kl_bernoulli, upper
from rotting.parts.first_pulls import pulled
from rotting.parts.lazy_choice import largest_index
from rotting.parts.prefix_blocks import FAN, PrefixSums, blocks_within, largest_block, new_prefix_sums, record
from rotting.parts.prefix_sums import window_mean
from rotting.parts.reward_scale import to_policy_scale
from rotting.policies.glr_ucb import beta, curvature, kl
from rotting.policies.raw_kl_ucb import RAWKLUCB, level_at
from rotting.policy import Kernel, Params

_SLACK, _MARGIN = 2.0**-48, 1.0 - 1e-6  # of the GLR test: for the roundings of sums, and of products


class KLState(NamedTuple):
    """Every reward, and the window that each arm keeps."""

    history: PrefixSums
    mean: Floats  # [K]
    window: Ints  # [K]


def _init(p: Params, n_arms: int, capacity: int) -> KLState:
    return KLState(new_prefix_sums(n_arms, capacity), np.zeros(n_arms), np.zeros(n_arms, np.int64))


def _pulled(s: KLState, i: int) -> bool:
    return bool(s.window[i] > 0)


def _line(p: Params, s: KLState, level: float, i: int) -> float:
    return upper(p.kind, s.mean[i], level / s.window[i], p.sigma)


def _search(p: Params, s: KLState, level: float, i: int, threshold: float) -> float:
    best = _line(p, s, level, i)
    for h in range(1, s.history.pulls[i] + 1):
        mean, d = window_mean(s.history, i, h), level / h
        # One divergence tells whether the bound is below `best`, and most windows need no more.
        if mean < best and not (p.kind == BERNOULLI and kl_bernoulli(mean, best) <= d):
            value = upper(p.kind, mean, d, p.sigma)
            if value < best:
                best, s.mean[i], s.window[i] = value, mean, h
    return best


def _update(p: Params, s: KLState, t: int, arm: int, reward: float) -> None:
    record(s.history, arm, to_policy_scale(p, reward))
    s.window[arm] += 1
    s.mean[arm] = window_mean(s.history, arm, s.window[arm])


def _choose(p: Params, s: KLState, t: int, key: int, arms: Ints) -> int:
    return largest_index(p, s, level_at(p, t), arms)


class RAWKLUCBScan(RAWKLUCB):
    """RAW-klUCB that scans all windows of the arm in front, in all rewards."""

    name = "raw-kl-ucb-scan"
    kernel = Kernel(
        _init,
        bind(_choose, {pulled: _pulled, lazy_choice.line: _line, lazy_choice.search: _search}),
        _update,
    )
    listed = False


def _cannot_fire(s: PrefixSums, i: int, block: int, start: int, size: int, mean: float, bar: float) -> bool:
    n, last = s.pulls[i], start + size - 1
    c, top, bottom = s.slope[i, block], s.top[i, block], s.bottom[i, block]
    drift = c - mean
    most = top + max(drift * start, drift * last)
    least = bottom + min(drift * start, drift * last)
    d = max(most, -least) + _SLACK * (abs(s.high[i, n]) + abs(c) * last + max(abs(top), abs(bottom)))
    return bool(d * d * n < bar * min(float(start) * (n - start), float(last) * (n - last)))


def _fires(p: Params, s: PrefixSums, i: int, start: int, end: int, mean: float, threshold: float, bar: float) -> bool:
    n = s.pulls[i]
    for k in range(max(1, start), end):
        d = abs(s.high[i, k] - k * mean) + _SLACK * (abs(s.high[i, n]) + abs(s.high[i, k]))
        if d * d * n >= bar * k * (n - k):
            left = s.high[i, k] / k
            right = difference(s.high[i, n], s.low[i, n], s.high[i, k], s.low[i, k]) / (n - k)
            if k * kl(p, left, mean) + (n - k) * kl(p, right, mean) >= threshold:
                return True
    return False


def _alarm(p: Params, s: PrefixSums, i: int, threshold: float) -> bool:
    n = s.pulls[i]
    mean = s.high[i, n] / n
    bar = _MARGIN * threshold * curvature(p, mean)
    end, block = n - n % FAN, s.filled[i] - 1
    if _fires(p, s, i, end, n, mean, threshold, bar):
        return True
    while end > 0:
        size = largest_block(end)
        while size > FAN and not _cannot_fire(s, i, block, end - size, size, mean, bar):
            size //= FAN  # the last part of the block has the number before it
            block -= 1
        if (
            size == FAN
            and not _cannot_fire(s, i, block, end - size, size, mean, bar)
            and _fires(p, s, i, end - size, end, mean, threshold, bar)
        ):
            return True
        end -= size
        block -= blocks_within(size)
    return False


def glr_update(p: Params, s: PrefixSums, t: int, arm: int, reward: float) -> None:
    """Record a sample, and forget the arm's samples if a split raises the alarm, found by bounds of blocks of splits."""
    record(s, arm, reward)
    n = s.pulls[arm]
    if n > 1 and _alarm(p, s, arm, beta(p, n, 1.0 / math.sqrt(p.horizon))):
        s.pulls[arm], s.filled[arm] = 0, 0
