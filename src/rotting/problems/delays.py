"""Rewards that come late, or never: how many rounds lie between a pull and the round in which its reward is seen.

A reward of round t with a delay of d rounds is seen after round t + d: with d = 0 before the next choice, as if there were no
delay. Regret does not ask what a policy has seen: it is measured on the means of the arms that were pulled.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.rules import Rule, finite
from rotting.errors import InvalidValueError
from rotting.kernels.elementary import floor, log, log1p
from rotting.kernels.random_numbers import reward_uniform

_LONGEST = 2**53  # rounds: what a float and a round's number both hold
_ROUNDS = Rule("a whole number of rounds, from 0 to 2^53", low=0, high=_LONGEST, whole=True)
_MEAN = Rule("a number of rounds, from 0 to 2^53", low=0, high=_LONGEST)
_NEVER_LATE = 1e-300  # a mean below it is as good as none


def _fixed(scale: Floats, key: int, run: int, t: int) -> int:
    return int(scale[0])


def _uniform(scale: Floats, key: int, run: int, t: int) -> int:
    return int(scale[0] + floor(reward_uniform(key, run, 0, t, 0) * (scale[1] - scale[0] + 1.0)))


def _geometric(scale: Floats, key: int, run: int, t: int) -> int:
    if scale[0] < _NEVER_LATE:
        return 0
    # The logarithm of mean / (1 + mean), which is 1 in floats if the mean is large.
    return int(min(log(reward_uniform(key, run, 0, t, 0)) / -log1p(1.0 / scale[0]), 2.0**53))


@dataclass(frozen=True, kw_only=True)
class Delay:
    """A distribution of delays; use one of its subclasses.

    A delay is a function of the seed, the run and the round of the pull: the same for all policies.

    Args:
        lost: the share of the rewards that are never seen.
    """

    lost: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lost", finite("lost", self.lost))
        if not 0 <= self.lost <= 1:
            raise InvalidValueError("lost", "be in [0, 1]", self.lost)

    @staticmethod
    def draw(scale: Floats, key: int, run: int, t: int) -> int:
        """Return the delay of round t: the kernel of this distribution, compiled."""
        raise NotImplementedError

    @property
    def scale(self) -> Floats:
        """The parameters of the kernel."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
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

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounds", int(_ROUNDS.check("rounds", self.rounds)))

    @property
    def scale(self) -> Floats:
        """The rounds."""
        return np.array([self.rounds], np.float64)


@dataclass(frozen=True)
class UniformDelay(Delay):
    """A reward is `low`, ..., `high` rounds late, each as likely.

    Example:
        >>> UniformDelay(0, 20).scale
        array([ 0., 20.])
    """

    low: int
    high: int
    draw = staticmethod(_uniform)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, int(_ROUNDS.check(name, getattr(self, name))))
        if self.low > self.high:
            raise InvalidValueError("low", f"be at most high = {self.high}", self.low)

    @property
    def scale(self) -> Floats:
        """The shortest and the longest delay."""
        return np.array([self.low, self.high], np.float64)


@dataclass(frozen=True)
class GeometricDelay(Delay):
    """A reward that was not seen yet is seen after any round with the same probability; it is `mean` rounds late on average.

    Example:
        >>> GeometricDelay(100)
        GeometricDelay(lost=0.0, mean=100.0)
    """

    mean: float
    draw = staticmethod(_geometric)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mean", _MEAN.check("mean", self.mean))

    @property
    def scale(self) -> Floats:
        """The mean."""
        return np.array([self.mean], np.float64)


def from_json(data: dict[str, Any]) -> Delay:
    """Return the delay that `to_json` wrote.

    Example:
        >>> from_json(UniformDelay(0, 20).to_json())
        UniformDelay(lost=0.0, low=0, high=20)
    """
    given = dict(data)
    known = {each.__name__: each for each in Delay.__subclasses__()}
    return known[given.pop("delay")](**given)
