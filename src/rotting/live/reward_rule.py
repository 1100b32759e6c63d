"""The rule for rewards: finite numbers, in the range that the policy declares."""

import math
import numbers

import numpy as np

from rotting.common.rules import LARGEST
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policy import Policy, how_to_accept, range_error


class RewardRule:
    """The rule for the rewards of a policy: they must be in its `reward_range`."""

    __slots__ = ("_policy", "least", "most")

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        low, high = policy.reward_range or (-math.inf, math.inf)
        self.least, self.most = max(low, -LARGEST), min(high, LARGEST)
        """The smallest and the largest reward that `check` accepts."""

    @property
    def middle(self) -> float:
        """A reward that `check` accepts."""
        low, high = (each if math.isfinite(each) else 0.0 for each in self._policy.reward_range or (0.0, 0.0))
        return (low + high) / 2.0

    def check(self, reward: object, name: str = "reward") -> float:
        """Return the reward as a float, or raise an error that calls it `name`."""
        if type(reward) is float and self.least <= reward <= self.most:  # almost all are: first, since every reward pays for it
            return reward
        value = check_number(reward, name)
        if not self.least <= value <= self.most:
            raise range_error(self._policy, name, reward, how_to_accept(self._policy, value, value))
        return value


def check_number(reward: object, name: str) -> float:
    """Return a reward of any policy as a float, or raise an error that calls it `name`."""
    if type(reward) is not float and (isinstance(reward, bool | np.bool_) or not isinstance(reward, numbers.Real)):
        raise InvalidTypeError(name, "be a finite number", reward, hint=_hint(reward))
    try:
        value = float(reward)
    except OverflowError:
        value = math.inf
    if not abs(value) <= LARGEST:
        raise InvalidValueError(name, f"be a finite number of at most {LARGEST:g} in size", reward)
    return value


def _hint(reward: object) -> str:
    """Return a hint for a value that could be converted to a reward."""
    if isinstance(reward, bool | np.bool_):
        return "; pass 1.0 or 0.0 if that is the reward"
    return "; write float(reward)" if hasattr(reward, "__float__") else ""
