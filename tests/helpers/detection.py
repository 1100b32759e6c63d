"""Games for policies that detect changes, and the alarms that they raise."""

from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.ad_switch import AdSwitch
from rotting.policies.cusum_ucb import CUSUMUCB
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.m_ucb import MUCB
from rotting.policies.parts.hull import pulls
from rotting.policy import Policy
from tests.conftest import INTERPRETED
from tests.helpers.games import Player

T = 80 if INTERPRETED else 240

UNBOUNDED: list[Policy] = [
    GLRUCB(),
    GLRUCB(restart="global", rate=0.1),
    GLRUCB(delta=0.9, sigma=0.5, threshold="theory", c=0.0),
    GLRUCB(delta=0.5),
    GLRUCB(horizon=T, bound="bernoulli"),
]

BOUNDED: list[Policy] = [
    GLRKLUCB(delta=0.1),
    GLRKLUCB(restart="global", rate=0.3, c=0.0),
    GLRKLUCB(delta=0.9, threshold="theory"),
    GLRKLUCB(horizon=T, low=0.1, high=0.95, outside="clip"),
    CUSUMUCB(M=10, h=2.0, rate=0.2),
    CUSUMUCB(M=5, h=1.0, epsilon=0.2, restart="global", xi=0.5),
    CUSUMUCB(horizon=T, breakpoints=4, M=8, low=0.1, high=0.8, outside="clip"),
    MUCB(w=10, b=3.0, gamma=0.1),
    MUCB(w=6, b=1.9, gamma=0.0),
    MUCB(horizon=T, breakpoints=3, w=60),
    MUCB(horizon=T, breakpoints=1, change=1.0),
    AdSwitch(horizon=T),
    AdSwitch(horizon=T, C1=0.1),
    AdSwitch(horizon=4, C1=2.0),
    AdSwitch(horizon=4, C1=0.5, low=-0.1, high=1.0, outside="clip"),
]


def tables(policy: Policy, n_arms: int, horizon: int) -> dict[str, Floats]:
    """Return rewards with jumps, ties and offsets; they are in [0, 1] if the policy requires that."""
    rng = np.random.default_rng(3)
    late = np.arange(horizon) >= np.linspace(horizon / 5, horizon / 2, n_arms)[:, None]
    coins = (rng.random((n_arms, horizon)) < np.where(late, 0.1, 0.9)).astype(float)
    found = {
        "coins": coins,
        "rising coins": 1.0 - coins,
        "constant": np.full((n_arms, horizon), 0.1),
        "zero": np.zeros((n_arms, horizon)),
        "one": np.ones((n_arms, horizon)),
        "fractions": np.round(rng.random((n_arms, horizon)), 1),
        "step": np.where(late, 0.25, 0.75),
    }
    if policy in UNBOUNDED:
        noise = rng.normal(size=(n_arms, horizon)) - 3.0 * late
        found |= {"noise": noise, "offset": 1e6 + noise, "far offset": 1e9 + noise, "offset coins": 4.0 * coins - 1e6}
    return found


def samples_of(state: Any) -> Ints:
    """Return the number of samples of each arm since its last restart."""
    if hasattr(state, "upper"):
        return np.array([pulls(state.upper, i) for i in range(state.restart.size)])
    found: Ints = (state.history if hasattr(state, "history") else state).pulls
    return found


def restarts(policy: Policy, table: Floats, horizon: int) -> int:
    """Return how often a pull restarts its arm: the arm then has no samples."""
    player = Player(policy, len(table), horizon)
    paid, found = [0] * len(table), 0
    for t in range(1, horizon + 1):
        arm = player.choose(t, np.arange(len(table)))
        player.update(t, arm, table[arm, paid[arm]])
        paid[arm] += 1
        found += int(samples_of(player.state)[arm] == 0)
    return found


def dyadic(seed: int, shape: tuple[int, ...]) -> Floats:
    return np.random.default_rng(seed).integers(-(2**20), 2**20, shape) / 2**20


def alarms(policy: Policy, samples: Floats) -> list[int]:
    """Return the numbers of the samples at which a single arm restarts."""
    player = Player(policy, 1, len(samples))
    found = []
    for t, x in enumerate(samples, 1):
        player.update(t, 0, float(x))
        if samples_of(player.state)[0] == 0:
            found.append(t)
    return found
