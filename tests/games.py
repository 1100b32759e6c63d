"""Games between a policy and a table of rewards: the n-th pull of arm i pays table[i][n]."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import naive
from rotting import states
from rotting.compile import compiled
from rotting.policy import Policy
from rotting.rng import uniform

KEY = 7

NAIVE: dict[str, type[naive.Policy]] = {
    "raw-ucb": naive.RAWUCB,
    "eff-raw-ucb": naive.EffRAWUCB,
    "fewa": naive.FEWA,
    "eff-fewa": naive.EffFEWA,
    "ucb1": naive.UCB1,
    "uniform": naive.Uniform,
}


def reference(policy: Policy, n_arms: int) -> naive.Policy:
    """The slow, obvious version of a policy."""
    params: dict[str, Any] = dict(policy.params._asdict())
    if policy.name == "uniform":
        params["uniform"] = lambda t, draw: uniform(KEY, t, draw)
    return NAIVE[policy.name](n_arms, **params)


def play_naive(policy: Policy, table: Sequence[Sequence[float]], horizon: int) -> list[int]:
    slow = reference(policy, len(table))
    pulls = [0] * len(table)
    chosen = []
    for t in range(1, horizon + 1):
        arm = slow.choose(t)
        slow.update(t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        chosen.append(arm)
    return chosen


def play(policy: Policy, table: Sequence[Sequence[float]], horizon: int, fast: bool = True) -> list[int]:
    kernel = policy.kernel
    choose, update = (compiled(kernel.choose), compiled(kernel.update)) if fast else (kernel.choose, kernel.update)
    state = states.new_state(policy, len(table), horizon)
    arms = np.arange(len(table))
    pulls = [0] * len(table)
    chosen = []
    for t in range(1, horizon + 1):
        arm = int(choose(policy.params, state, t, KEY, arms))
        update(policy.params, state, t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        chosen.append(arm)
    return chosen
