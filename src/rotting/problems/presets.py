"""Problems by function or by name, of which the first three are here. To add one, write a function and mark it `@preset`."""

import inspect
from collections.abc import Callable, Sequence
from typing import TypeVar

from rotting.common.rules import finite, nonnegative, positive_int, suggest
from rotting.common.short_numbers import short
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.policies.kernels.elementary import power
from rotting.problems.arms import Rested
from rotting.problems.decays import Abrupt, Constant
from rotting.problems.noise import Gaussian, Noise
from rotting.problems.problem import STANDARD_NOISE, Problem

_Preset = TypeVar("_Preset", bound=Callable[..., Problem])
_PRESETS: dict[str, Callable[..., Problem]] = {}


def preset(function: _Preset) -> _Preset:
    """Register a function under its name, with hyphens."""
    _PRESETS[function.__name__.replace("_", "-")] = function
    return function


@preset
def two_arms(L: float = 0.3, horizon: int = 10_000, sigma: float = 1.0) -> Problem:
    """Return the rested two-arm benchmark: 0 for ever, against +L/2 for horizon // 4 pulls and -L/2 after.

    Args:
        L: the size of the drop, zero or more.
        horizon: the length of the game, which also places the drop.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Seznec, Menard, Lazaric, Valko. A single algorithm for both restless and rested rotting bandits.
        AISTATS 2020.

    Example:
        >>> problem = two_arms(L=0.5, horizon=100)
        >>> problem.mean(1, t=100, n=24), problem.mean(1, t=100, n=25)
        (0.25, -0.25)
    """
    half = nonnegative("L", L) / 2
    rounds = positive_int("horizon", horizon)
    arms = [Rested(Constant(0.0)), Rested(Abrupt(half, -half, at=rounds // 4))]
    return Problem(arms, Gaussian(sigma), rounds, named("two-arms", sigma, L=2 * half))


@preset
def ten_arms(horizon: int = 25_000, sigma: float = 1.0) -> Problem:
    """Return the rested ten-arm benchmark: +mu for 1,000 pulls, then -mu.

    mu is 0 for the first arm and 0.001 sqrt(10)^i, i = 0, ..., 8, for the others.

    Args:
        horizon: the length of the game; the drop is always after 1,000 pulls.
        sigma: the standard deviation of the Gaussian rewards.

    Reference:
        Seznec, Locatelli, Carpentier, Lazaric, Valko. Rotting bandits are no harder than stochastic ones.
        AISTATS 2019.

    Example:
        >>> problem = ten_arms()
        >>> problem.mean(9, t=2_000, n=999), problem.mean(9, t=2_000, n=1_000)
        (10.0, -10.0)
    """
    sizes = [0.001 * power(10.0, i / 2) for i in range(9)]
    arms = [Rested(Constant(0.0)), *(Rested(Abrupt(mu, -mu, at=1_000)) for mu in sizes)]
    return Problem(arms, Gaussian(sigma), horizon, named("ten-arms", sigma))


@preset
def stationary(means: Sequence[float], noise: Noise = STANDARD_NOISE, horizon: int | None = None) -> Problem:
    """Return a problem whose means never change.

    Args:
        means: one number per arm.
        noise: the distribution of the rewards around their means.
        horizon: the default length of a game.

    Example:
        >>> stationary([0.5, 0.25]).kind
        'stationary'
    """
    values = [finite(f"means[{i}]", mean) for i, mean in enumerate(means)]
    return Problem([Rested(Constant(value)) for value in values], noise, horizon, "stationary")


def named(name: str, sigma: float, default: float = 1.0, **parameters: float) -> str:
    """Return the name of a problem with its parameters, and with sigma unless it is the default."""
    shown = {**parameters, **({} if sigma == default else {"sigma": sigma})}
    return f"{name}({', '.join(f'{key}={short(value)}' for key, value in shown.items())})" if shown else name


def list_problems() -> dict[str, Callable[..., Problem]]:
    """Return the functions of the presets by name.

    Example:
        >>> list(list_problems())[:3]
        ['two-arms', 'ten-arms', 'stationary']
    """
    return dict(_PRESETS)


def make(name: str, **params: object) -> Problem:
    """Return the preset called `name`.

    Example:
        >>> make("two-arms", L=0.5) == two_arms(L=0.5)
        True
        >>> make("two-arm")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: problem must be one of two-arms, ten-arms, ..., got 'two-arm'; did you mean ...?
    """
    if name not in _PRESETS:
        raise InvalidValueError("problem", f"be one of {', '.join(_PRESETS)}", name, hint=suggest(str(name), _PRESETS))
    known = inspect.signature(_PRESETS[name]).parameters
    for param in params:
        if param not in known:
            raise InvalidTypeError(f"parameters of {name}", f"be among {', '.join(known)}", param, hint=suggest(param, known))
    for param, rule in known.items():
        if rule.default is rule.empty and param not in params:
            raise InvalidTypeError(param, f"be given for {name}", None, got="nothing")
    return _PRESETS[name](**params)
