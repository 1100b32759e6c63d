"""Long streams of rewards of every kind, and the rounds in which tests check the state."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rotting.policies.kernels.policy_functions import new_state
from rotting.policy import Policy
from tests.helpers.games import compiled_kernels


def streams(length: int) -> dict[str, np.ndarray]:
    """Return streams whose best window begins at the start, at a break or near the end, or is one of many equal ones."""
    rng = np.random.default_rng(2)
    noise = rng.normal(size=length)
    time = np.arange(length)
    return {
        "stationary": noise,
        "break": noise - 2.0 * (time > 0.8 * length),
        "breaks": noise - 0.5 * (7 * time // length),
        "slope": noise - 4.0 * time / length,
        "rising": noise + 4.0 * time / length,
        "constant": np.full(length, 0.1),
        "coins": rng.integers(0, 2, length).astype(float),
        "waves": np.sin(time / 50),
        "offset": 1e6 + noise,
        "large offset": -1e12 + noise,
        "wild": noise * np.exp(3 * np.sin(time / 300)),
    }


def rounds_to_check(length: int) -> set[int]:
    return {*range(1, 40), *np.linspace(40, length, 60).astype(int).tolist()}


def states_to_check(policy: Policy, rewards: np.ndarray) -> Iterator[tuple[int, Any]]:
    """Learn the rewards of a single arm; yield each round to check, with the state after it."""
    update, s = compiled_kernels(policy)[1], new_state(policy, 1, rewards.size)
    check = rounds_to_check(rewards.size)
    for t, reward in enumerate(rewards, start=1):
        update(policy.params, s, t, 0, reward)
        if t in check:
            yield t, s
