"""Multi-armed bandits whose arms wear out: simulate, compare, reproduce, decide live.

>>> import rotting
>>> problem = rotting.problems.two_arms(L=0.3, horizon=1_000)
>>> result = rotting.simulate([rotting.RAWUCB(alpha=1.4), rotting.UCB1()], problem, runs=10, seed=0)
>>> result.regret.shape
(2, 10, 200)

Simulate
    simulate, Result                 policies play a problem; their regret, as tables, plots and files
    sweep, grid, Study               grids of policy and problem parameters; which is the best, over what
    simulate_all, Simulation         several simulations at once
    play, Trajectory                 one run of one policy, round by round, with all that decided it
    Problem, problems                what they play: decays, arms, and the problems of the papers
    ProblemFamily                    a new problem in every run
    Gaussian, Bernoulli, Binomial, Beta, Poisson, Noiseless, Laplace, Student, LogNormal, Contaminated, ByArm
                                     the noise of the rewards
    datasets                         problems from data
    display                          the look of the report's figures, for figures of your own

Policies
    RAWUCB, EffRAWUCB, FEWA, EffFEWA, UCB1, ...
                                     `list_policies()` has them all, `make(name)` makes one by its name
    doubling                         plays without a horizon what is tuned to one
    list_policies, make, registry    policies by name

Decide live
    open                             a bandit in a file: what it replied outlives the process
    Client, AsyncClient              the same over HTTP: the bandits of `rotting serve`
    Bandit                           decide and reward, with arms that come and go and a state that can be saved
    Decision                         what it chose, with id, propensity and reason
    RewardsWarning                   it tells that rewards seem to be missing

Other libraries
    adapters                         Gymnasium's environments and agents, River's bandits

Theory
    theory                           the theorems of the paper, evaluated

Write your own
    kit                              all that the author of a policy or of a noise imports
    Policy, Kernel, Reason           what a policy is
    check_policy, check_noise        which rule is broken, in one sentence

errors                               every exception and warning, in one tree

Names are imported when they are first used, so that `import rotting` costs nothing and compiles nothing.
"""

import importlib
import sys
from typing import Any

from rotting.common.version import __version__ as __version__

_PATH = __path__
del __path__  # asked for in `__getattr__`

_HOMES = {
    "AsyncClient": "service.client",
    "Bandit": "live.bandit",
    "Bernoulli": "problems.noise",
    "Beta": "problems.noise",
    "Binomial": "problems.noise",
    "ByArm": "problems.noise",
    "Client": "service.client",
    "Contaminated": "problems.noise",
    "Decision": "live.decisions",
    "Gaussian": "problems.noise",
    "Kernel": "policy",
    "Laplace": "problems.noise",
    "LogNormal": "problems.noise",
    "Noiseless": "problems.noise",
    "Poisson": "problems.noise",
    "Policy": "policy",
    "Problem": "problems",
    "ProblemFamily": "problems",
    "Reason": "policy",
    "Result": "simulation.result",
    "RewardsWarning": "errors",
    "Simulation": "simulation.plan",
    "Student": "problems.noise",
    "Study": "simulation.study",
    "Trajectory": "simulation.trajectory",
    "adapters": "",
    "check_noise": "live.noise_checks",
    "check_policy": "live.checks",
    "datasets": "",
    "display": "",
    "doubling": "parts.doubling",
    "errors": "",
    "grid": "simulation.sweep",
    "kit": "",
    "list_policies": "registry",
    "make": "registry",
    "open": "store.durable",
    "play": "simulation.play",
    "problems": "",
    "registry": "",
    "simulate": "simulation.simulate",
    "simulate_all": "simulation.simulate",
    "sweep": "simulation.sweep",
    "theory": "",
}


def _policy_classes() -> dict[str, Any]:
    classes = importlib.import_module("rotting.registry").list_policies()
    return {each.__name__: each for each in classes if each.__module__.startswith("rotting.policies.")}


def __getattr__(name: str) -> Any:
    if name == "__path__":
        # The import system finds the modules of the package by it. So would `help`, and list them all; it shall show the names
        # that are public.
        if sys._getframe(1).f_globals.get("__name__") == "pydoc":
            raise AttributeError(name)
        return _PATH
    if name in _HOMES:
        home = _HOMES[name]
        module = importlib.import_module(f"rotting.{home or name}")
        value = getattr(module, name) if home else module
    elif name == "__all__":
        value = sorted({"__version__", *_HOMES, *_policy_classes()})
    elif name.startswith("_") or name not in (known := _policy_classes()):
        from rotting.common.module_names import no_such_name  # noqa: PLC0415 - only to word an error

        raise no_such_name(__name__, name, _HOMES if name.startswith("_") else [*_HOMES, *known])
    else:
        value = known[name]
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
