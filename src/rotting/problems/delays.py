"""Delays: how many rounds after a pull the policy sees its reward, if ever.

The reward of round t with a delay of d rounds is seen after round t + d; with d = 0 it is seen before the next choice, as if
there were no delay. Delays do not change how regret is measured: by the means of the arms that were pulled.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.json_data import JsonDict
from rotting.common.rules import PROBABILITY, Rule, check_fields
from rotting.errors import InvalidValueError
from rotting.policies.kernels.elementary import floor, log, log1p
from rotting.policies.kernels.random_numbers import reward_uniform

_LONGEST = 2**53  # rounds: whole numbers up to here are exact as floats
_ROUNDS = Rule("a whole number of rounds, from 0 to 2^53", low=0, high=_LONGEST, whole=True)
_MEAN = Rule("a number of rounds, from 0 to 2^53", low=0, high=_LONGEST)
_NEVER_LATE = 1e-300  # a smaller mean is taken for zero


def _fixed(scale: Floats, key: int, run: int, t: int) -> int:
    return int(scale[0])


def _uniform(scale: Floats, key: int, run: int, t: int) -> int:
    return int(scale[0] + floor(reward_uniform(key, run, 0, t, 0) * (scale[1] - scale[0] + 1.0)))


def _geometric(scale: Floats, key: int, run: int, t: int) -> int:
    if scale[0] < _NEVER_LATE:
        return 0
    # Not log(mean / (1 + mean)): for a large mean, that quotient is 1 in floats.
    return int(min(log(reward_uniform(key, run, 0, t, 0)) / -log1p(1.0 / scale[0]), 2.0**53))


@dataclass(frozen=True, kw_only=True)
class Delay:
    """A distribution of delays; use one of its subclasses.

    A delay is a function of the seed, the run and the round of the pull: the same for all policies.

    Args:
        lost: the probability that a reward is never seen.
    """

    lost: float = 0.0
    rules: ClassVar[Mapping[str, Rule]]

    def __post_init__(self) -> None:
        check_fields(self, lost=PROBABILITY, **self.rules)

    @staticmethod
    def draw(scale: Floats, key: int, run: int, t: int) -> int:
        """Return the delay of the reward of round t. This is the kernel of the distribution, which is compiled."""
        raise NotImplementedError

    @property
    def scale(self) -> Floats:
        """The parameters that `draw` gets."""
        return np.array([getattr(self, name) for name in self.rules], np.float64)

    def to_json(self) -> JsonDict:
        """Return the delay as JSON-able data."""
        return {"delay": type(self).__name__, **asdict(self)}


@dataclass(frozen=True)
class FixedDelay(Delay):
    """Every reward is `rounds` rounds late.

    Example:
        >>> FixedDelay(10, lost=0.1)
        FixedDelay(lost=0.1, rounds=10)
    """

    rounds: int
    draw = staticmethod(_fixed)
    rules: ClassVar = {"rounds": _ROUNDS}


@dataclass(frozen=True)
class UniformDelay(Delay):
    """A reward is `low`, ..., `high` rounds late, with equal probabilities.

    Example:
        >>> UniformDelay(0, 20).scale
        array([ 0., 20.])
    """

    low: int
    high: int
    draw = staticmethod(_uniform)
    rules: ClassVar = {"low": _ROUNDS, "high": _ROUNDS}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise InvalidValueError("low", f"be at most high = {self.high}", self.low)


@dataclass(frozen=True)
class GeometricDelay(Delay):
    """After every round, a pending reward is seen with the same probability; it is `mean` rounds late on average.

    Example:
        >>> GeometricDelay(100)
        GeometricDelay(lost=0.0, mean=100.0)
    """

    mean: float
    draw = staticmethod(_geometric)
    rules: ClassVar = {"mean": _MEAN}


def from_json(data: JsonDict) -> Delay:
    """Return the delay that `to_json` wrote.

    Example:
        >>> from_json(UniformDelay(0, 20).to_json())
        UniformDelay(lost=0.0, low=0, high=20)
    """
    given = dict(data)
    known = {each.__name__: each for each in Delay.__subclasses__()}
    return known[given.pop("delay")](**given)
