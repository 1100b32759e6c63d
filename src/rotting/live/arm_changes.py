"""The methods of a bandit that add and remove arms."""

from typing import Literal

from rotting.common.rules import Rule
from rotting.errors import InvalidValueError
from rotting.live.arms import MAX_PRIOR_WEIGHT, Arm, check_arm
from rotting.live.bandit_view import BanditView

_WEIGHT = Rule(f"a whole number from 1 to {MAX_PRIOR_WEIGHT:,}", low=1, high=MAX_PRIOR_WEIGHT, whole=True)


class ArmChanges(BanditView[Arm]):
    """The methods of a bandit that add and remove arms."""

    def add_arm(
        self,
        arm: Arm,
        resume: bool = False,
        prior: tuple[float, int] | Literal["pooled"] | None = None,
    ) -> None:
        """Add an arm. As in the paper, a new arm is explored at the next decision.

        Parameters that depend on the number of arms are tuned again; what was learned stays. If a retired arm has this id, it
        is forgotten first: rewards of its pending decisions do not reach the new arm.

        Args:
            arm: its id.
            resume: `revive` the retired arm with this id instead of adding a new one.
            prior: a mean and a weight up to 10,000: the new arm starts as if it had paid this mean that many times. "pooled":
                the mean of all rewards so far, with weight 1. With a prior, the arm is not explored first.
        """
        check_arm(arm)
        with self._guard.lock:
            arms = self._state.arms
            if resume and prior is not None:
                raise InvalidValueError("prior", "be left out with resume, which keeps what was learned", prior)
            checked_prior = None if prior is None else self._checked_prior(prior)
            if arm in arms.active:
                raise InvalidValueError("arm", "be new", arm, hint=", which is there already")
            if resume and arm not in arms.retired:
                raise InvalidValueError("arm", "be one that was retired, to be revived", arm)
            if resume:
                self._state.revive(arms.names[arms.retired[arm]])
            else:
                self._state.add(arm, checked_prior)

    def _checked_prior(self, prior: object) -> tuple[float, int]:
        """Return the mean and the weight of a prior."""
        if self._state.learner.uses_propensity:
            rule = f"be left out for {self.policy!r}, which starts a new arm level with the best"
            raise InvalidValueError("prior", rule, prior)
        if isinstance(prior, str) and prior == "pooled":
            pending = self._state.pending
            if not pending.n_rewards:
                raise InvalidValueError("prior", "be a mean and a weight as long as there are no rewards", prior)
            return pending.reward_sum / pending.n_rewards, 1
        if not isinstance(prior, tuple | list) or len(prior) != 2:
            raise InvalidValueError("prior", "be a mean and a weight, or 'pooled'", prior)
        return self._reward_rule.check(prior[0], "mean"), int(_WEIGHT.check("weight", prior[1]))

    def remove_arm(self, arm: Arm, keep: bool = False) -> None:
        """Stop choosing `arm`: `retire` it with `keep=True`, otherwise `forget` it.

        Args:
            arm: its id.
            keep: keep what was learned about it, for `add_arm(arm, resume=True)`.
        """
        with self._guard.lock:
            self._state.arms.known(arm)
            (self.retire if keep else self.forget)(arm)

    def retire(self, arm: Arm) -> None:
        """Stop choosing `arm`, but keep what was learned about it for `revive`. Its pending decisions can still be rewarded.

        Args:
            arm: its id.
        """
        with self._guard.lock:
            arms = self._state.arms
            arm = arms.names[arms.known(arm)]
            arms.check_not_last(arm)
            self._state.retire(arm)

    def revive(self, arm: Arm) -> None:
        """Choose a retired arm again, with what was learned about it.

        Args:
            arm: its id.
        """
        self.add_arm(arm, resume=True)

    def forget(self, arm: Arm) -> None:
        """Forget everything about `arm`, active or retired. Rewards of its pending decisions will be "expired".

        The id may be used again for a new arm, which these rewards do not reach. To let them count, `retire` the arm first.

        Args:
            arm: its id.
        """
        with self._guard.lock:
            arms = self._state.arms
            arm = arms.names[arms.known(arm, retired=True)]
            arms.check_not_last(arm)
            self._state.forget(arm)
