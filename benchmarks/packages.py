"""Peers from PyPI: `pip install rotting[benchmark]` installs them; without one, its rows say so.

None of them plays rested rotting, so they are compared live (any policy can choose and learn) and on a stationary problem.
"""

import importlib
import importlib.metadata
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import rotting
from benchmarks import numpy_style
from benchmarks.measure import Contestant, Sample, UnavailableError

NAMES = ("river", "pymab", "mabwiser")
_WARM_UP = 1_000  # rounds before the clock starts: compiling, growing, first pulls

Rewards = list[list[float]]
Live = tuple[Callable[[], int], Callable[[int, float], object]]  # pull, update


def version(name: str) -> str | None:
    """Return the installed version of a package."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise UnavailableError(f"{package} is not installed: pip install {package}") from error


def coins(n_arms: int, rounds: int) -> Rewards:
    """Return Bernoulli rewards, which every policy here accepts: the n-th pull of arm i pays `[i][n]`."""
    chances = np.linspace(0.1, 0.6, n_arms)
    table: Rewards = (np.random.default_rng(2).random((n_arms, rounds)) < chances[:, None]).astype(float).tolist()
    return table


def live(make: Callable[[int], Live], n_arms: int, rounds: int) -> Contestant:
    """Return `rounds` rounds of pull and update on one object, rewards from a table."""
    table = coins(n_arms, _WARM_UP + rounds)

    def turn() -> Sample:
        pull, update = make(n_arms)
        pulls = [0] * n_arms
        began = 0.0
        for t in range(_WARM_UP + rounds):
            if t == _WARM_UP:
                began = time.thread_time()
            arm = pull()
            update(arm, table[arm][pulls[arm]])
            pulls[arm] += 1
        spent = time.thread_time() - began
        return Sample(spent * 1e6 / rounds, spent)

    return turn


def bandit(policy: rotting.Policy) -> Callable[[int], Live]:
    """Return our live object."""

    def make(n_arms: int) -> Live:
        found: Any = rotting.Bandit(policy, arms=range(n_arms))
        return found.pull, found.update

    return make


def numpy_peer(name: str, alpha: float, sigma: float) -> Callable[[int], Live]:
    """Return the NumPy-style peer of one of our policies."""

    def make(n_arms: int) -> Live:
        peer = numpy_style.make(name, n_arms, alpha, sigma)
        return peer.choice, peer.get_reward

    return make


def river(policy: str) -> Callable[[int], Live]:
    """Return a policy of River, as its documentation uses it."""

    def make(n_arms: int) -> Live:
        bandits, proba = _load("river.bandit"), _load("river.proba")
        arms = list(range(n_arms))
        if policy == "UCB":
            found = bandits.UCB(delta=1, seed=0)
        elif policy == "Thompson":
            found = bandits.ThompsonSampling(reward_obj=proba.Beta(), seed=0)
        else:
            found = bandits.Exp3(gamma=0.1, seed=0)
        return (lambda: found.pull(arms)), found.update

    return make


def pymab(policy: str) -> Callable[[int], Live]:
    """Return a policy object of PyMAB: Rust behind a Python object, asked round by round."""

    def make(n_arms: int) -> Live:
        found = getattr(_load("pymab.policies"), policy)(n_arms=n_arms)
        rng = np.random.default_rng(0)
        return (lambda: found.select_action(rng=rng)), (lambda arm, reward: found.update(action=arm, reward=reward))

    return make


def mabwiser(policy: str) -> Callable[[int], Live]:
    """Return a learning policy of MABWiser, asked and taught round by round."""

    def make(n_arms: int) -> Live:
        mab = _load("mabwiser.mab")
        found = mab.MAB(arms=list(range(n_arms)), learning_policy=getattr(mab.LearningPolicy, policy)())
        found.fit(list(range(n_arms)), [0.0] * n_arms)  # it must be fitted before it predicts
        return found.predict, (lambda arm, reward: found.partial_fit([arm], [reward]))

    return make


def pymab_experiment(means: list[float], horizon: int, runs: int) -> Contestant:
    """Return PyMAB's UCB in its Rust experiment runner, on stationary Gaussian arms; the whole call is timed."""

    def turn() -> Sample:
        package, policies = _load("pymab"), _load("pymab.policies")
        experiment = package.Experiment(
            environment=package.BanditEnvironment(means=np.array(means)),
            policies={"ucb": policies.UCBPolicy(n_arms=len(means))},
            config=package.ExperimentConfig(horizon=horizon, n_replicates=runs, seed=0, backend="rust"),
        )
        began = time.perf_counter()
        experiment.run()
        spent = time.perf_counter() - began
        return Sample(spent * 1e6 / (runs * horizon), spent)

    return turn
