"""GLR-UCB: what restarts, and what an offset does not change."""

from typing import Literal

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.kl_ucb import KLUCB
from tests.helpers.detection import UNBOUNDED, T, dyadic, restarts, samples_of, tables
from tests.helpers.games import play
from tests.reference import detectors

Naive = detectors.GLRUCB  # what the common tests compare the policy with


def test_an_offset_changes_no_choice_of_glr_ucb() -> None:
    """Dyadic rewards, so that the offset itself is exact."""
    steps = dyadic(8, (3, T)) - 2.0 * (np.arange(T) > T // 5)
    policy = GLRUCB(sigma=0.6)
    assert play(policy, steps.tolist(), T) == play(policy, (steps + 2.0**20).tolist(), T)


@pytest.mark.parametrize("restart", ["local", "global"])
def test_glr_with_an_infinite_threshold_is_its_index_without_forgetting(restart: Literal["local", "global"]) -> None:
    table = tables(UNBOUNDED[0], 3, T)["coins"]
    assert play(GLRKLUCB(delta=0, restart=restart), table.tolist(), T) == play(KLUCB(c=3.0), table.tolist(), T)
    noise = tables(UNBOUNDED[0], 3, T)["offset"]
    gaussian_ucb = KLUCB(kind="gaussian", c=3.0, sigma=0.7)
    assert play(GLRUCB(delta=0, sigma=0.7, restart=restart), noise.tolist(), T) == play(gaussian_ucb, noise.tolist(), T)
    assert restarts(GLRUCB(delta=0), noise, T) == 0 < restarts(GLRUCB(), noise, T)


def test_global_restart_forgets_every_arm_and_local_one_arm() -> None:
    for policy, left in [(GLRUCB(restart="local"), [0, 30]), (GLRUCB(restart="global"), [0, 0])]:
        state = states.new_state(policy, 2, 60)
        for t in range(1, 31):
            policy.kernel.update(policy.params, state, t, 1, 0.5)
        for t in range(31, 61):
            policy.kernel.update(policy.params, state, t, 0, 0.0 if t < 55 else 100.0)
            if samples_of(state)[0] == 0:
                break
        assert samples_of(state).tolist() == left
        assert state.restart.tolist() == [55, 55 if policy.restart == "global" else 0]
