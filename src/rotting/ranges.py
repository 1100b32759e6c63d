"""Rewards in a declared range, mapped to [0, 1]."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotting.policy import Policy


def to_unit(low: float, high: float, reward: float) -> float:
    """Return `(reward - low) / (high - low)`, cut to [0, 1].

    Example:
        >>> to_unit(-1.0, 3.0, 0.0), to_unit(0.0, 1.0, 7.0)
        (0.25, 1.0)
    """
    return min(1.0, max(0.0, (reward - low) / (high - low)))


def check_range(policy: "Policy") -> None:
    """Refuse a policy whose parameters `low` and `high` enclose nothing."""
    low, high = policy.params.low, policy.params.high
    if not low < high:
        raise ValueError(f"low must be below high, got low={low!r} and high={high!r}")
