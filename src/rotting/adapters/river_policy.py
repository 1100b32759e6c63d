"""A policy as a bandit policy for River."""

from river.bandit.base import ArmID, RewardObj
from river.bandit.base import Policy as RiverBandit

from rotting.common.rules import nonnegative_int
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import check_learner
from rotting.policy import Policy


class RiverPolicy(RiverBandit):
    """A policy with River's methods, for `river.bandit.evaluate` and for River's own loops. Arms may come and go.

    If `river.bandit.evaluate` plays an `Environment`, a policy that draws no random numbers makes the same choices as in
    `simulate`.

    Args:
        policy: any policy except an oracle.
        reward_obj: River's statistic of an arm's rewards, for `ranking`; a mean by default.
        burn_in: pulls of each arm before the policy decides. The policies of this library try every arm by themselves.
        seed: seed of the policy's own randomness.

    Example:
        >>> import rotting
        >>> from river import bandit
        >>> from rotting.adapters import Environment, RiverPolicy
        >>> env = Environment(rotting.problems.two_arms(L=1.0, horizon=100))
        >>> trace = list(bandit.evaluate([RiverPolicy(rotting.RAWUCB()), bandit.UCB(delta=1)], env, n_episodes=2, seed=0))
        >>> len(trace), [step["arm"] for step in trace[:6:2]]
        (400, [0, 1, 0])
    """

    def __init__(self, policy: Policy, reward_obj: RewardObj | None = None, burn_in: int = 0, seed: int = 0) -> None:
        check_learner(policy)
        super().__init__(reward_obj=reward_obj, burn_in=nonnegative_int("burn_in", burn_in))
        self.policy = policy
        self.seed = nonnegative_int("seed", seed)
        self._bandit: Bandit[ArmID] | None = None  # made when the arms are known

    def _bandit_with(self, arms: list[ArmID]) -> Bandit[ArmID]:
        """Return the bandit, after adding those of these arms that it does not have."""
        if self._bandit is None:
            self._bandit = Bandit(self.policy, arms, self.seed)
        known = {*self._bandit.arms}
        for arm in arms:
            if arm not in known:
                self._bandit.add_arm(arm)
        return self._bandit

    def _pull(self, arm_ids: list[ArmID]) -> ArmID:
        return self._bandit_with(list(arm_ids)).pull(arm_ids)

    def update(self, arm_id: ArmID, *reward_args: float, **reward_kwargs: float) -> None:
        """Learn what an arm paid."""
        reward = reward_args[0] if reward_args else next(iter(reward_kwargs.values()))
        self._bandit_with([arm_id]).update(arm_id, reward)
        super().update(arm_id, *reward_args, **reward_kwargs)  # type: ignore[no-untyped-call]
