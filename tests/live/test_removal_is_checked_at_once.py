"""`check_policy` notices a policy that pulls an arm in the very round after its removal, and never again."""

import pytest

from rotting.common.arrays import Ints
from rotting.errors import CheckError
from rotting.live.checks import _ROUNDS, check_policy
from rotting.policies import ucb1
from rotting.policy import Kernel, Policy

WHEN = 2 * _ROUNDS + 21  # the check removes an arm after twenty rounds of its last part


def once(p: ucb1.Params, s: ucb1.State, t: int, key: int, arms: Ints) -> int:
    return 0 if t == WHEN else int(arms[t % arms.size])


class PullsARemovedArm(Policy):
    """Takes turns, but for one round."""

    name = "pulls-a-removed-arm"
    kernel = Kernel(ucb1.Params, ucb1.init, once, ucb1.update)
    first_pulls = False


def test_a_single_pull_of_an_arm_that_was_just_removed_is_caught() -> None:
    with pytest.raises(CheckError, match="an arm that was removed must never be pulled"):
        check_policy(PullsARemovedArm())
