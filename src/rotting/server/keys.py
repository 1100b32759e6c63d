"""Idempotency keys: they are remembered for a day, and those of the clients say when they were made.

A key that is forgotten looks like a new one. So that a request that comes late, perhaps after its key was cancelled, decides
nothing, a service refuses a key that is older than it remembers keys.
"""

import re
import time

from rotting.live.values import new_id

KEY_LIFETIME = 24 * 3600
"""Seconds for which an idempotency key is remembered, at least."""
_KEY = re.compile(r"rot-([0-9a-f]{8})-[\w-]{16}")


def new_key() -> str:
    """Return a new key, which has the time in it."""
    return f"rot-{int(time.time()):08x}-{new_id()}"


def key_time(key: str) -> float:
    """Return when a key was made, in seconds since 1970; infinity if it does not say so.

    Example:
        >>> key_time("rot-68f0a2c0-0123456789abcdef"), key_time("page 17")
        (1760600768.0, inf)
    """
    found = _KEY.fullmatch(key)
    return float("inf") if found is None else float(int(found[1], 16))
