"""Multi-armed bandits whose arms wear out: simulate, compare, reproduce, decide live.

>>> import rotting
>>> problem = rotting.problems.two_arms(L=0.3, horizon=1_000)
>>> result = rotting.simulate([rotting.RAWUCB(alpha=1.4), rotting.UCB1()], problem, runs=10, seed=0)
>>> result.regret.shape
(2, 10, 200)

Names are imported when they are first used, so that `import rotting` costs nothing and compiles nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from rotting.version import __version__

if TYPE_CHECKING:
    from rotting import problems, registry
    from rotting.anytime import doubling
    from rotting.bandit import Bandit
    from rotting.checks import check_policy
    from rotting.noise import Bernoulli, Beta, Binomial, Gaussian, Noiseless, Poisson
    from rotting.policy import Kernel, Policy, Reason
    from rotting.problems import Problem
    from rotting.registry import list_policies, make
    from rotting.results import Result
    from rotting.simulation import simulate

_HOMES = {
    "Bandit": "bandit",
    "Bernoulli": "noise",
    "Beta": "noise",
    "Binomial": "noise",
    "Gaussian": "noise",
    "Kernel": "policy",
    "Noiseless": "noise",
    "Poisson": "noise",
    "Policy": "policy",
    "Problem": "problems",
    "Reason": "policy",
    "Result": "results",
    "check_policy": "checks",
    "doubling": "anytime",
    "list_policies": "registry",
    "make": "registry",
    "problems": "",
    "registry": "",
    "simulate": "simulation",
}


def _policy_classes() -> dict[str, Any]:
    classes = importlib.import_module("rotting.registry").list_policies()
    return {each.__name__: each for each in classes if each.__module__.startswith("rotting.policies.")}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = _HOMES[name]
        module = importlib.import_module(f"rotting.{home or name}")
        value = getattr(module, name) if home else module
    elif name == "__all__":
        value = sorted({"__version__", *_HOMES, *_policy_classes()})
    elif name.startswith("_") or name not in (known := _policy_classes()):
        from rotting.rules import suggest  # noqa: PLC0415 - only to word an error

        names = [] if name.startswith("_") else [*_HOMES, *known]
        raise AttributeError(f"module 'rotting' has no attribute {name!r}{suggest(name, names)}")
    else:
        value = known[name]
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
