"""Rewards that are the same in every process, unlike those made with `hash`."""

import zlib


def reward_at(arm: object, k: int) -> float:
    """Return the k-th reward of an arm: 0, 1/4, ... or 1, pseudo-random."""
    return zlib.crc32(repr((arm, k)).encode()) % 5 / 4.0
