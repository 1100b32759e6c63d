"""Games between a policy and a table of rewards: the n-th pull of arm i pays table[i][n]."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rotting.engines.compile import compiled
from rotting.experiments.theory import problems
from rotting.kernels.random_numbers import uniform
from rotting.live import policy_state as states
from rotting.policy import Policy
from rotting.problems import (
    Abrupt,
    Constant,
    Exponential,
    Linear,
    Logistic,
    Piecewise,
    Polynomial,
    Problem,
    stationary,
    ten_arms,
    two_arms,
)
from rotting.problems.noise import Bernoulli, Beta, Binomial, Gaussian, Noiseless
from rotting.registry import list_policies
from rotting.theory.lower import HardFamily
from tests.reference import naive

KEY = 7

NAIVE: dict[str, type[naive.Policy]] = {
    "raw-ucb": naive.RAWUCB,
    "eff-raw-ucb": naive.EffRAWUCB,
    "fewa": naive.FEWA,
    "eff-fewa": naive.EffFEWA,
    "ucb1": naive.UCB1,
    "uniform": naive.Uniform,
    "exp3": naive.Exp3,
    "exp3-s": naive.Exp3S,
    "rexp3": naive.Rexp3,
    "sw-ucb": naive.SWUCB,
    "d-ucb": naive.DUCB,
    "swa": naive.SWA,
    "wswa": naive.WSWA,
    "glr-ucb": naive.GLRUCB,
    "glr-kl-ucb": naive.GLRKLUCB,
    "cusum-ucb": naive.CUSUMUCB,
    "m-ucb": naive.MUCB,
    "ad-switch": naive.AdSwitch,
    "kl-ucb": naive.KLUCB,
    "raw-ucb-pp": naive.RAWUCBpp,
    "eff-raw-ucb-pp": naive.EffRAWUCBpp,
    "raw-kl-ucb": naive.RAWKLUCB,
    "thompson-sampling": naive.ThompsonSampling,
    "discounted-ts": naive.DiscountedTS,
    "sliding-window-ts": naive.SlidingWindowTS,
}


def examples() -> list[Policy]:
    """Every policy of the library with its defaults; a parameter that has none is a horizon."""
    classes = [each for each in list_policies() if each.__module__.startswith("rotting.policies")]
    return [each(**{every.name: 1_000 for every in each.parameters() if every.required}) for each in classes]


def exp3_s_tuning(p: Any, K: int) -> dict[str, Any]:
    if p.segments > 0:
        gamma = naive.exp3s_gamma_switches(K, p.horizon, p.segments)
    elif p.budget > 0:
        gamma = naive.exp3s_gamma_budget(K, p.horizon, p.budget)
    else:
        gamma = naive.exp3s_gamma(K, p.horizon)
    return {"gamma": gamma, "alpha": 1 / p.horizon}


def rexp3_tuning(p: Any, K: int) -> dict[str, Any]:
    batch = naive.rexp3_batch(K, p.horizon, p.budget)
    return {"gamma": naive.exp3_gamma(K, batch), "batch": batch}


def m_ucb_tuning(p: Any, K: int) -> dict[str, Any]:
    w = naive.mucb_w(K, p.horizon, p.change) if p.change > 0 else p.w
    b = naive.mucb_b(K, p.horizon, w)
    return {"w": w, "b": b, "gamma": naive.mucb_gamma(K, p.horizon, p.breakpoints + 1, w, b)}


def cusum_ucb_tuning(p: Any, K: int) -> dict[str, Any]:
    return {"h": naive.cusum_h(p.horizon, p.breakpoints), "rate": naive.cusum_rate(p.horizon, p.breakpoints)}


TUNING: dict[str, Callable[[Any, int], dict[str, Any]]] = {
    "exp3": lambda p, K: {"gamma": naive.exp3_gamma(K, p.horizon)},
    "exp3-s": exp3_s_tuning,
    "rexp3": rexp3_tuning,
    "sw-ucb": lambda p, K: {"tau": naive.swucb_tau(p.horizon, p.breakpoints, p.B)},
    "d-ucb": lambda p, K: {"gamma": naive.ducb_gamma(p.horizon, p.breakpoints, p.B)},
    "glr-ucb": lambda p, K: {"delta": naive.glr_delta(p.horizon)},
    "glr-kl-ucb": lambda p, K: {"delta": naive.glr_delta(p.horizon)},
    "cusum-ucb": cusum_ucb_tuning,
    "m-ucb": m_ucb_tuning,
}
"""What a policy's horizon makes of its other parameters, for K arms."""


def reference(policy: Policy, n_arms: int) -> naive.Policy:
    """The slow, obvious version of a policy."""
    params = {each.name: each.rule.show(getattr(policy.params, each.name)) for each in policy.parameters()}
    if policy.max_rounds is not None and policy.name in TUNING:
        params.update(TUNING[policy.name](policy.params, n_arms))
    params["local"] = params.get("restart") == "local"
    params["uniform"] = lambda t, draw: uniform(KEY, t, draw)
    slow = NAIVE[policy.name]
    known = inspect.signature(slow).parameters
    return slow(n_arms, **{name: value for name, value in params.items() if name in known})


Available = Callable[[int], list[int]]  # round -> the arms that may be pulled


def play_naive(policy: Policy, table: Sequence[Sequence[float]], horizon: int, available: Available | None = None) -> list[int]:
    slow = reference(policy, len(table))
    pulls = [0] * len(table)
    chosen = []
    for t in range(1, horizon + 1):
        arm = slow.choose(t, None if available is None else available(t))
        slow.update(t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        chosen.append(arm)
    return chosen


def play(
    policy: Policy,
    table: Sequence[Sequence[float]],
    horizon: int,
    fast: bool = True,
    available: Available | None = None,
) -> list[int]:
    kernel = policy.kernel
    choose, update = (
        (compiled(kernel.choose, policy), compiled(kernel.update, policy)) if fast else (kernel.choose, kernel.update)
    )
    state = states.new_state(policy, len(table), horizon)
    arms = np.arange(len(table))
    pulls = [0] * len(table)
    chosen = []
    for t in range(1, horizon + 1):
        if available is not None:
            arms = np.array(available(t))
        arm = int(choose(policy.params, state, t, KEY, arms))
        update(policy.params, state, t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        chosen.append(arm)
    return chosen


def tables(n_arms: int, horizon: int) -> dict[str, np.ndarray]:
    """Tables of rewards that are hard in different ways."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(n_arms, horizon))
    fall = noise - np.linspace(0, 3, horizon) * np.arange(n_arms)[:, None]
    return {
        "noise": noise,
        "falling": fall,
        "coins": rng.integers(0, 2, (n_arms, horizon)).astype(float),
        "constant": np.full((n_arms, horizon), 0.1),
        "offset": 1e6 + noise,
        "negative offset": -1e6 + fall,
        "offset coins": 1e6 + rng.integers(0, 2, (n_arms, horizon)),
        "tiny": 1e-9 * noise,
    }


def suite(T: int) -> dict[str, Problem]:
    """Problems of the whole suite, of every kind that some theorem speaks of; little noise, so that the bounds say something.

    The presets, the problems of the experiments and of the lemmas, every kind of decay, and every noise with a scale.
    """
    quiet = Gaussian(0.01)
    pieces = [Piecewise([2.0, 0.0, -2.0], starts=[0, T // 3, T // 2]), Piecewise([1.0, -1.0], starts=[0, T // 3])]
    slow = [
        Linear(3.0, slope=-4 / T),
        Exponential(4.0, rate=8 / T),
        Logistic(2.0, -1.0, at=T / 3, width=T / 20),
        Constant(-1.0),
    ]
    steep = [Polynomial(2.0, power=0.5, scale=T / 50), Linear(1.5, slope=-2 / T, floor=0.2), Constant(0.1)]
    coins = [Abrupt(0.95, 0.05, at=T // 5), Linear(0.9, slope=-1 / T, floor=0.1), Constant(0.3)]
    once = [Abrupt(0.9, 0.05, at=30), Linear(0.8, slope=-0.004, floor=0.1), Constant(0.4)]  # of the lemmas' tests
    often = [Piecewise([0.95, 0.6, 0.02], starts=[0, 40, 90]), Exponential(0.85, rate=0.01, limit=0.05), Constant(0.35)]
    listed = {
        "rested lemma": Problem.rested(once, quiet, T),
        "restless lemma": Problem.restless(often, quiet, T),
        "two-arms": two_arms(L=1.0, horizon=T, sigma=0.02),
        "two-arms, a long fall": two_arms(L=20.0, horizon=T),
        "ten-arms": ten_arms(horizon=T, sigma=0.02),
        "stationary, two arms": stationary([1.0, 0.0], quiet, T),
        "stationary, no gap": stationary([0.5, 0.5], quiet, T),
        "rested pieces": Problem.rested(pieces, quiet, T),
        "rested, falling slowly": Problem.rested(slow, quiet, T),
        "rested, falling steeply": Problem.rested(steep, quiet, T),
        "restless pieces": Problem.restless([*pieces, Abrupt(0.5, -1.5, at=2 * T // 3)], quiet, T),
        "restless, falling slowly": Problem.restless(slow, quiet, T),
        "restless, falling steeply": Problem.restless(steep, quiet, T),
        "restless, a large fall": Problem.restless([Abrupt(50.0, -50.0, at=T // 2), 0.0], Gaussian(1.0), T),
        "rested coins": Problem.rested(coins, Bernoulli(), T),
        "restless coins": Problem.restless(coins, Bernoulli(), T),
        "stationary coins": stationary([0.95, 0.5, 0.05], Bernoulli(), T),
        "rested counts": Problem.rested([Abrupt(3.9, 0.1, at=T // 5), 2.0], Binomial(4), T),
        "restless counts": Problem.restless([Abrupt(3.9, 0.1, at=T // 5), 2.0], Binomial(4), T),
        "rested shares": Problem.rested(coins, Beta(9_999.0), T),
        "restless shares": Problem.restless(coins, Beta(9_999.0), T),
        "rested, no noise": Problem.rested([[40.0] * (T // 2) + [0.0] * (T - T // 2), 20.0], Noiseless(), T),
        "restless, no noise": Problem.restless([Abrupt(40.0, 0.0, at=T // 2), 20.0], Noiseless(), T),
        "hard": HardFamily(n_arms=3, horizon=T, pieces=4, sigma=0.02).random(seed=0),
    }
    return listed | problems(T, sigma=0.05)
