"""The two kinds of rewards that a policy can be made for: bounded, in a declared range, or Gaussian.

Such a policy has the parameters `kind`, whose first word means bounded and whose second means Gaussian, `low`, `high` and
`outside`. Its own scale is [0, 1] if rewards are bounded, and the units of the rewards if not.
"""

from rotting.common.rules import option
from rotting.errors import InvalidValueError
from rotting.policy import Params, Policy, Reason


def to_unit(low: float, high: float, reward: float) -> float:
    """Return `(reward - low) / (high - low)`, cut to [0, 1].

    Example:
        >>> to_unit(-1.0, 3.0, 0.0), to_unit(0.0, 1.0, 7.0)
        (0.25, 1.0)
    """
    return min(1.0, max(0.0, (reward - low) / (high - low)))


def check_range(policy: Policy) -> None:
    """Refuse a policy whose range of rewards is empty."""
    low, high = policy.params.low, policy.params.high
    if not low < high:
        raise InvalidValueError("low", "be below high", low, got=f"low={low!r} and high={high!r}")


BOUNDED, GAUSSIAN = 0, 1
OUTSIDE = option("refuse", "clip")


def to_policy_scale(p: Params, reward: float) -> float:
    """Return the reward on the policy's scale: in [0, 1] if rewards are bounded, else as it is."""
    return to_unit(p.low, p.high, reward) if p.kind == BOUNDED else reward


def in_reward_units(p: Params, reason: Reason) -> Reason:
    """Return a reason on the policy's scale in the units of the rewards."""
    if p.kind == GAUSSIAN:
        return reason
    span = p.high - p.low
    return Reason(p.low + span * reason.value, p.low + span * reason.mean, reason.window, span * reason.width)


def declared_range(policy: Policy) -> tuple[float, float] | None:
    """Return the rewards that the policy accepts, if they are bounded: `reward_range` of such a policy."""
    return None if policy.params.kind == GAUSSIAN or policy.params.outside == 1 else (policy.params.low, policy.params.high)
