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

from rotting.common.version import __version__ as __version__

if TYPE_CHECKING:
    from rotting import datasets as datasets
    from rotting import errors as errors
    from rotting import problems as problems
    from rotting import registry as registry
    from rotting import theory as theory
    from rotting.live.bandit import Bandit as Bandit
    from rotting.live.checks import check_policy as check_policy
    from rotting.parts.doubling import doubling as doubling
    from rotting.policy import Kernel as Kernel
    from rotting.policy import Policy as Policy
    from rotting.policy import Reason as Reason
    from rotting.problems import Problem as Problem
    from rotting.problems.noise import Bernoulli as Bernoulli
    from rotting.problems.noise import Beta as Beta
    from rotting.problems.noise import Binomial as Binomial
    from rotting.problems.noise import Gaussian as Gaussian
    from rotting.problems.noise import Noiseless as Noiseless
    from rotting.problems.noise import Poisson as Poisson
    from rotting.registry import list_policies as list_policies
    from rotting.registry import make as make
    from rotting.simulation.result import Result as Result
    from rotting.simulation.simulate import simulate as simulate

_HOMES = {
    "Bandit": "live.bandit",
    "Bernoulli": "problems.noise",
    "Beta": "problems.noise",
    "Binomial": "problems.noise",
    "Gaussian": "problems.noise",
    "Kernel": "policy",
    "Noiseless": "problems.noise",
    "Poisson": "problems.noise",
    "Policy": "policy",
    "Problem": "problems",
    "Reason": "policy",
    "Result": "simulation.result",
    "check_noise": "live.noise_checks",
    "check_policy": "live.checks",
    "datasets": "",
    "doubling": "parts.doubling",
    "errors": "",
    "kit": "",
    "list_policies": "registry",
    "make": "registry",
    "problems": "",
    "registry": "",
    "simulate": "simulation.simulate",
    "theory": "",
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
        from rotting.common.rules import suggest  # noqa: PLC0415 - only to word an error

        names = [] if name.startswith("_") else [*_HOMES, *known]
        raise AttributeError(f"module 'rotting' has no attribute {name!r}{suggest(name, names)}")
    else:
        value = known[name]
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
