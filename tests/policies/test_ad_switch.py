"""AdSwitch: a good arm that changes."""

from typing import Any

import numpy as np
import pytest

from rotting.live import policy_state as states
from rotting.policies.ad_switch import AdSwitch
from tests.helpers.games import KEY, compiled_kernels, reference


def in_steps(*steps: tuple[float, int]) -> list[float]:
    """These values, each for so many pulls, and the last of them on and on."""
    return [value for value, times in steps for _ in range(times)] + [steps[-1][0]] * 200


GOOD_ARMS = {
    "falls": in_steps((0.9, 25), (0.0, 1)),
    "rises": in_steps((0.1, 25), (1.0, 1)),
    "rises, and falls below its first level": in_steps((0.4, 5), (0.9, 30), (0.5, 5), (0.0, 1)),
    "falls, and rises above its first level": in_steps((0.6, 5), (0.1, 30), (0.5, 5), (1.0, 1)),
}


@pytest.mark.parametrize("name", GOOD_ARMS)
def test_a_good_arm_that_changes_begins_an_episode(name: str) -> None:
    """No arm is ever bad at this C1, so that nothing else begins one. Episodes are those of the reference, round by round."""
    policy, table, horizon = AdSwitch(horizon=3, C1=100.0), [GOOD_ARMS[name], in_steps((0.5, 1))], 120
    slow: Any = reference(policy, 2)
    state = states.new_state(policy, 2, horizon)
    choose, update = compiled_kernels(policy)
    pulls = [0, 0]
    for t in range(1, horizon + 1):
        arm = int(choose(policy.params, state, t, KEY, np.arange(2)))
        assert arm == slow.choose(t), t
        update(policy.params, state, t, arm, table[arm][pulls[arm]])
        slow.update(t, arm, table[arm][pulls[arm]])
        pulls[arm] += 1
        assert state.episode.tolist() == [slow.episode, slow.start], t
    assert slow.episode > 1
    assert not slow.bad
