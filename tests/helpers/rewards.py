"""Rewards that are the same in every process: the `hash` of a text is not."""

import zlib


def reward_at(arm: object, k: int) -> float:
    """Return the k-th reward of an arm: one of 0, 1/4, ..., 1, without a pattern."""
    return zlib.crc32(repr((arm, k)).encode()) % 5 / 4.0
