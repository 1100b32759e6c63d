"""Multi-armed bandits whose arms wear out: simulate, compare, reproduce, decide live.

>>> import rotting
>>> problem = rotting.problems.two_arms(L=0.3, horizon=1_000)
>>> result = rotting.simulate([rotting.RAWUCB(alpha=1.4), rotting.UCB1()], problem, runs=10, seed=0)
>>> result.regret.shape
(2, 10, 200)

Simulate
    simulate, Result                 policies play a problem; their regret, as tables, plots and files
    sweep, grid, Study               grids of policy and problem parameters, and the best of them
    simulate_all, Simulation         several simulations at once
    play, Trajectory                 one run of one policy, round by round, with the reasons of its choices
    Problem, problems                problems: decays, arms, and the problems of the papers
    ProblemFamily                    a new problem in every run
    Gaussian, Bernoulli, Binomial, Beta, Poisson, Noiseless, Laplace, Student, LogNormal, Contaminated, Resampled, ByArm
                                     the noise of the rewards
    datasets                         problems from data
    display                          the look of the report's figures, for figures of your own

Policies
    RAWUCB, EffRAWUCB, FEWA, EffFEWA, UCB1, ...
                                     one class for each policy
    list_policies, make, registry    all policies, and one by its name
    doubling                         plays a policy that needs a horizon without one (doubling trick)
    tuned                            makes a policy for the horizon of each simulation

Decide live
    Bandit                           decide and reward, with arms that come and go and a state that can be saved
    open                             a durable bandit, whose decisions and rewards are kept in a file
    Client, AsyncClient              the bandits of `rotting serve`, over HTTP
    Decision                         a choice, with id, propensity and reason
    RewardsWarning                   the warning that rewards seem to be missing

Learn from a log
    Log                              past decisions: a data frame, a CSV or Parquet file, or a store
    diagnose, Diagnosis              which arms wear out, and along which clock
    replay, Replay                   what other policies would have earned on the rewards of a log
    fit                              problems that the log could have come from, to simulate on
    advise, Advice                   which policy to take, whichever way the arms wear out

Other libraries
    adapters                         Gymnasium's environments and agents, River's bandits

Theory
    theory                           the theorems of the paper, evaluated

Write your own
    kit                              everything that the author of a policy or a noise imports
    Policy, Kernel, Reason           what a policy is made of
    check_policy, check_noise        check a policy or a noise, and report the first rule that it breaks

errors                               every exception and warning, in one tree

Names are imported when they are first used, so that `import rotting` is fast and compiles nothing.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING

from rotting.common.version import __version__ as __version__

# For type checkers and editors. At run time, `__getattr__` below imports a name when it is first used.
if TYPE_CHECKING:
    __all__: list[str]
    from rotting import adapters as adapters
    from rotting import errors as errors
    from rotting import kit as kit
    from rotting import problems as problems
    from rotting import registry as registry
    from rotting.common import display as display
    from rotting.errors import RewardsWarning as RewardsWarning
    from rotting.live.bandit import Bandit as Bandit
    from rotting.live.checks import check_policy as check_policy
    from rotting.live.noise_checks import check_noise as check_noise
    from rotting.live.values import Decision as Decision
    from rotting.logs.advice import Advice as Advice
    from rotting.logs.advice import advise as advise
    from rotting.logs.diagnosis import Diagnosis as Diagnosis
    from rotting.logs.diagnosis import diagnose as diagnose
    from rotting.logs.fit import fit as fit
    from rotting.logs.log import Log as Log
    from rotting.logs.replay import Replay as Replay
    from rotting.logs.replay import replay as replay
    from rotting.paper import datasets as datasets
    from rotting.paper import theory as theory
    from rotting.policies.ad_switch import AdSwitch as AdSwitch
    from rotting.policies.ada_iltcb import AdaILTCB as AdaILTCB
    from rotting.policies.bob import BOB as BOB
    from rotting.policies.cusum_ucb import CUSUMUCB as CUSUMUCB
    from rotting.policies.d_ucb import DUCB as DUCB
    from rotting.policies.discounted_ts import DiscountedTS as DiscountedTS
    from rotting.policies.eff_fewa import EffFEWA as EffFEWA
    from rotting.policies.eff_raw_ucb import EffRAWUCB as EffRAWUCB
    from rotting.policies.eff_raw_ucb_pp import EffRAWUCBpp as EffRAWUCBpp
    from rotting.policies.exp3 import Exp3 as Exp3
    from rotting.policies.exp3_s import Exp3S as Exp3S
    from rotting.policies.f_dsw_ts import FDSWTS as FDSWTS
    from rotting.policies.fewa import FEWA as FEWA
    from rotting.policies.glr_kl_ucb import GLRKLUCB as GLRKLUCB
    from rotting.policies.glr_ucb import GLRUCB as GLRUCB
    from rotting.policies.greedy_oracle import GreedyOracle as GreedyOracle
    from rotting.policies.kl_ucb import KLUCB as KLUCB
    from rotting.policies.m_ucb import MUCB as MUCB
    from rotting.policies.master import MASTER as MASTER
    from rotting.policies.meta import META as META
    from rotting.policies.parts.doubling import doubling as doubling
    from rotting.policies.raw_kl_ucb import RAWKLUCB as RAWKLUCB
    from rotting.policies.raw_ucb import RAWUCB as RAWUCB
    from rotting.policies.raw_ucb_pp import RAWUCBpp as RAWUCBpp
    from rotting.policies.rcbe import RCBE as RCBE
    from rotting.policies.red_ucb import RedUCB as RedUCB
    from rotting.policies.rexp3 import Rexp3 as Rexp3
    from rotting.policies.sliding_window_ts import SlidingWindowTS as SlidingWindowTS
    from rotting.policies.sw_ucb import SWUCB as SWUCB
    from rotting.policies.swa import SWA as SWA
    from rotting.policies.thompson_sampling import ThompsonSampling as ThompsonSampling
    from rotting.policies.tsallis_inf import TsallisINF as TsallisINF
    from rotting.policies.ucb1 import UCB1 as UCB1
    from rotting.policies.ucb_tp import UCBTP as UCBTP
    from rotting.policies.ucbt_asw import UCBTASW as UCBTASW
    from rotting.policies.uniform import Uniform as Uniform
    from rotting.policies.wswa import WSWA as WSWA
    from rotting.policy import Kernel as Kernel
    from rotting.policy import Policy as Policy
    from rotting.policy import Reason as Reason
    from rotting.problems import Problem as Problem
    from rotting.problems import ProblemFamily as ProblemFamily
    from rotting.problems.noise import Bernoulli as Bernoulli
    from rotting.problems.noise import Beta as Beta
    from rotting.problems.noise import Binomial as Binomial
    from rotting.problems.noise import ByArm as ByArm
    from rotting.problems.noise import Contaminated as Contaminated
    from rotting.problems.noise import Gaussian as Gaussian
    from rotting.problems.noise import Laplace as Laplace
    from rotting.problems.noise import LogNormal as LogNormal
    from rotting.problems.noise import Noiseless as Noiseless
    from rotting.problems.noise import Poisson as Poisson
    from rotting.problems.noise import Resampled as Resampled
    from rotting.problems.noise import Student as Student
    from rotting.registry import list_policies as list_policies
    from rotting.registry import make as make
    from rotting.server.client.client import AsyncClient as AsyncClient
    from rotting.server.client.client import Client as Client
    from rotting.server.store.durable import open as open  # noqa: A004 - as `gzip.open` does
    from rotting.simulation.plan import Simulation as Simulation
    from rotting.simulation.plan import tuned as tuned
    from rotting.simulation.result import Result as Result
    from rotting.simulation.simulate import simulate as simulate
    from rotting.simulation.simulate import simulate_all as simulate_all
    from rotting.simulation.study import Study as Study
    from rotting.simulation.sweep import grid as grid
    from rotting.simulation.sweep import sweep as sweep
    from rotting.simulation.trajectory import Trajectory as Trajectory
    from rotting.simulation.trajectory import play as play

# The public names of each module, except policies, which the registry finds.
_NAMES = {
    "errors": ("RewardsWarning",),
    "live.bandit": ("Bandit",),
    "live.checks": ("check_policy",),
    "live.values": ("Decision",),
    "live.noise_checks": ("check_noise",),
    "logs.advice": ("Advice", "advise"),
    "logs.diagnosis": ("Diagnosis", "diagnose"),
    "logs.fit": ("fit",),
    "logs.log": ("Log",),
    "logs.replay": ("Replay", "replay"),
    "policies.parts.doubling": ("doubling",),
    "policy": ("Kernel", "Policy", "Reason"),
    "problems": ("Problem", "ProblemFamily"),
    "problems.noise": (
        *("Bernoulli", "Beta", "Binomial", "ByArm", "Contaminated", "Gaussian", "Laplace", "LogNormal", "Noiseless"),
        *("Poisson", "Resampled", "Student"),
    ),
    "registry": ("list_policies", "make"),
    "server.client.client": ("AsyncClient", "Client"),
    "simulation.plan": ("Simulation", "tuned"),
    "simulation.result": ("Result",),
    "simulation.simulate": ("simulate", "simulate_all"),
    "simulation.study": ("Study",),
    "simulation.sweep": ("grid", "sweep"),
    "simulation.trajectory": ("Trajectory", "play"),
    "server.store.durable": ("open",),
}
# Public modules, and where they are.
_MODULES = {
    **{name: name for name in ("adapters", "errors", "kit", "problems", "registry")},
    "datasets": "paper.datasets",
    "display": "common.display",
    "theory": "paper.theory",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def _policy_classes() -> dict[str, type]:
    classes = importlib.import_module("rotting.registry").list_policies()
    return {each.__name__: each for each in classes if each.__module__.rpartition(".")[0] == "rotting.policies"}


def _policy_in_its_own_module(name: str) -> type | None:
    """Return a policy from the module that has its name, without importing all policies; None if there is none."""
    policies = importlib.import_module("rotting.policies")
    for _, module, is_package in pkgutil.iter_modules(policies.__path__):
        if not is_package and module.replace("_", "") == name.lower():
            return getattr(importlib.import_module(f"rotting.policies.{module}"), name, None)
    return None


if not TYPE_CHECKING:  # or a type checker would accept every name

    def __getattr__(name: str) -> object:
        public = [*_HOMES, *_MODULES]
        if name in _MODULES:
            value = importlib.import_module(f"rotting.{_MODULES[name]}")
        elif name in _HOMES:
            value = getattr(importlib.import_module(f"rotting.{_HOMES[name]}"), name)
        elif name == "__all__":
            value = sorted({"__version__", *public, *_policy_classes()})
        elif not name.startswith("_") and (found := _policy_in_its_own_module(name)) is not None:
            value = found
        elif name.startswith("_") or name not in (known := _policy_classes()):
            from rotting.common.rules import no_such_name  # noqa: PLC0415 - only to word an error

            raise no_such_name(__name__, name, public if name.startswith("_") else [*public, *known])
        else:
            value = known[name]
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(importlib.import_module(__name__).__all__)
