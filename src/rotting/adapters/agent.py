"""An agent for Gymnasium environments that acts by a policy."""

from typing import Any, Protocol, SupportsFloat

from rotting.common.rules import nonnegative_int
from rotting.errors import InvalidTypeError
from rotting.live.bandit import Bandit
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policy import Policy


class Env(Protocol):
    """An environment for an agent: a finite number of actions, and Gymnasium's two methods."""

    action_space: Any

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[object, dict[str, Any]]:
        """Begin an episode."""

    def step(self, action: Any) -> tuple[object, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play a round."""


class Agent:
    """A policy that plays an environment with a finite number of actions. It ignores observations.

    On an `Environment`, a policy that draws no random numbers plays exactly run r of `simulate` in episode r.

    Args:
        policy: any policy except an oracle.
        env: a Gymnasium environment whose `action_space` is `Discrete`.
        seed: seed of the policy's own randomness, which differs from episode to episode.

    Example:
        >>> import rotting
        >>> from rotting.adapters import Agent, Environment
        >>> env = Environment(rotting.problems.two_arms(L=1.0, horizon=200))
        >>> agent = Agent(rotting.EffRAWUCB(), env)
        >>> observation, info = env.reset(seed=0)
        >>> for _ in range(200):
        ...     action = agent.act(observation)
        ...     observation, reward, terminated, truncated, info = env.step(action)
        ...     agent.learn(action, reward)
        >>> info == agent.play(seed=0)
        True
    """

    def __init__(self, policy: Policy, env: Env, seed: int = 0) -> None:
        space = env.action_space
        if not hasattr(space, "n"):
            raise InvalidTypeError("env", "have a finite number of actions (Discrete)", space)
        first = int(getattr(space, "start", 0))
        self.policy, self.env = policy, env
        self._actions, self._seed, self._episodes = range(first, first + int(space.n)), nonnegative_int("seed", seed), 0
        self.forget()

    def forget(self) -> None:
        """Forget everything that was learned, and begin an episode with other random numbers."""
        self._bandit = Bandit(self.policy, self._actions, derive_key(self._seed, f"episode {self._episodes}"))
        self._episodes += 1

    def act(self, observation: object = None) -> int:
        """Return the action to take now."""
        return self._bandit.pull()

    def learn(self, action: int, reward: SupportsFloat) -> None:
        """Learn what an action paid."""
        self._bandit.update(int(action), float(reward))

    def play(self, seed: int | None = None, options: dict[str, Any] | None = None) -> dict[str, Any]:
        """Forget everything, play an episode, and return its last `info`.

        Args:
            seed: passed to the environment's `reset`.
            options: passed to the environment's `reset`.
        """
        self.forget()
        observation, info = self.env.reset(seed=seed, options=options)
        done = False
        while not done:
            action = self.act(observation)
            observation, reward, terminated, truncated, info = self.env.step(action)
            self.learn(action, reward)
            done = terminated or truncated
        return info
