"""Policies of a family, each in the settings that its tests play."""

from typing import Any

from rotting.policies.d_ucb import DUCB
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3_s import Exp3S
from rotting.policies.rexp3 import Rexp3
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.swa import SWA
from rotting.policies.wswa import WSWA
from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED

HORIZON = 60 if INTERPRETED else 250

WIDE: dict[str, Any] = {"low": -1e7, "high": 1e7, "outside": "clip"}

RANDOMISED: list[Policy] = [
    Exp3(gamma=0.3),
    Exp3(gamma=1.0, low=-3.0, high=3.0, outside="clip"),
    Exp3(gamma=0.05, **WIDE),
    Exp3(horizon=HORIZON, low=-3.0, high=3.0, outside="clip"),
    Exp3S(gamma=0.2, alpha=0.01, low=-3.0, high=3.0, outside="clip"),
    Exp3S(gamma=0.2, alpha=1.0, **WIDE),
    Exp3S(horizon=HORIZON, low=-3.0, high=3.0, outside="clip"),
    Exp3S(horizon=HORIZON, segments=4, low=-3.0, high=3.0, outside="clip"),
    Exp3S(horizon=HORIZON, budget=0.01, low=-3.0, high=3.0, outside="clip"),
    Rexp3(gamma=0.2, batch=17, low=-3.0, high=3.0, outside="clip"),
    Rexp3(batch=1),
    Rexp3(horizon=HORIZON, budget=5.0, low=-3.0, high=3.0, outside="clip"),
]

WINDOWED: list[Policy] = [
    SWUCB(tau=1),
    SWUCB(tau=7, xi=2.0),
    SWUCB(tau=40, B=0.1),
    SWUCB(tau=10_000),
    SWUCB(horizon=HORIZON, breakpoints=3),
    SWUCB(horizon=HORIZON, breakpoints=0),
    DUCB(gamma=1.0),
    DUCB(gamma=0.99, B=0.1),
    DUCB(gamma=0.9),
    DUCB(gamma=0.3),
    DUCB(horizon=HORIZON, breakpoints=3),
    DUCB(horizon=HORIZON, breakpoints=0),
    SWA(M=1),
    SWA(M=9),
    SWA(horizon=HORIZON, alpha=0.02),
    SWA(horizon=HORIZON, alpha=1.0, sigma=0.5),
    WSWA(),
    WSWA(alpha=0.02),
]


FINE = 1 + 1e-15


KL = [
    make("kl-ucb"),
    make("kl-ucb", c=3, low=-1, high=2),
    make("kl-ucb", kind="gaussian", c=3, sigma=0.5),
    make("raw-kl-ucb"),
    make("raw-kl-ucb", alpha=0.3, low=-3, high=3),
    make("raw-kl-ucb", kind="gaussian"),
]


PLUS = [
    make("raw-ucb-pp"),
    make("raw-ucb-pp", alpha=1, beta=3.5, sigma=0.5),
    make("raw-ucb-pp", alpha=0.3, beta=2),
    *(make("eff-raw-ucb-pp", alpha=1, beta=beta, m=m) for beta, m in [(0, 2), (3.5, 1.1), (1, FINE)]),
    make("eff-raw-ucb-pp", alpha=0.3, beta=2),
]


MEMORIES: list[tuple[str, dict[str, Any]]] = [
    ("thompson-sampling", {}),
    ("discounted-ts", {"gamma": 0.9}),
    ("discounted-ts", {"gamma": 1.0}),
    ("sliding-window-ts", {"tau": 7}),
    ("sliding-window-ts", {"tau": 10_000}),
]


PRIORS: list[dict[str, Any]] = [{}, {"a": 0.5, "b": 2.5, "low": -2, "high": 3}, {"kind": "gaussian", "sigma": 0.7}]


THOMPSON = [make(name, **memory, **prior) for name, memory in MEMORIES for prior in PRIORS]
