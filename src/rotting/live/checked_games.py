"""Games that the checks of a policy play, with the rules that hold in every game."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import guarded_for
from rotting.engines.entry_points import EntryPoint
from rotting.engines.kernel_errors import check_choice, check_reason
from rotting.errors import CheckError
from rotting.kernels.random_numbers import normal_quantile, uniform
from rotting.kernels.readable_errors import with_readable_errors
from rotting.live import policy_state as states
from rotting.policy import Policy, Reason

Choose = Callable[..., int]
Update = Callable[..., None]

ROUNDS = 60
"""The rounds of a game."""
ARMS = 3
"""The arms of a game."""
KEY = 11
"""The key of the random numbers of the policy."""
_MAX_CAPACITY = 1 << 24  # far more than any policy needs for a few dozen rewards
_CHOSEN_BY_INDEX = 0.1  # smallest share of rounds; one that explores in turn still chooses the largest index by chance


def require(rule: str, kept: bool, where: object = "") -> None:
    """Raise a `CheckError` that names the rule and the place unless the rule is kept."""
    if not kept:
        place = str(where)  # an array cannot be compared with ""
        raise CheckError(f"{rule}{f' ({place})' if place else ''}")


def reward_table(n_arms: int, rounds: int) -> Floats:
    """Return rewards that wear out at different speeds, with noise and, in every fourth round, ties."""
    table = np.empty((n_arms, rounds))
    for i in range(n_arms):
        for n in range(rounds):
            noise = 0.0 if n % 4 == 0 else 0.3 * normal_quantile(uniform(i, n + 1, 0))
            table[i, n] = min(1.0, max(0.0, 0.9 - 0.2 * i * (n > rounds // (2 * n_arms)) + noise))
    return table


def require_same_arms(arms: Ints, given: Ints, t: int) -> None:
    """Require that the policy has not written to the array of available arms."""
    require("choose and explain must leave `arms` as they are", np.array_equal(arms, given), f"round {t}: {arms}")


class _Player:
    """A policy in a game: its functions and its state, which is enlarged when it is full."""

    def __init__(self, policy: Policy, choose: Choose, update: Update, n_arms: int, capacity: int) -> None:
        self._policy = policy
        self._choose = choose
        self._update = update
        self._capacity = capacity
        self.state = states.new_state(policy, n_arms, capacity)
        self._layout = _layout(self.state)

    def choose(self, t: int, arms: Ints) -> int:
        """Return the arm that the policy chooses."""
        given = arms.copy()
        arm: int = self._choose(self._policy.params, self.state, t, KEY, arms)
        require_same_arms(arms, given, t)
        check_choice(self._policy, arm, arms)
        return arm

    def learn(self, t: int, arms: Ints, arm: int, reward: float) -> None:
        """Update the state, and enlarge it if there is no room for the reward."""
        self._update(self._policy.params, self.state, t, arm, reward)
        while self._policy.kernel.enlarge is not None and self.state.full[0]:
            self._enlarge(t)
            again = self.choose(t, arms)
            require("a state that was enlarged must choose as before", arm == again, f"round {t}: {again} instead of {arm}")
            self._update(self._policy.params, self.state, t, arm, reward)
        kept = self._layout == _layout(self.state)
        require("choose and update must keep every array's shape and type", kept, f"round {t}")

    def _enlarge(self, t: int) -> None:
        enlarge = self._policy.kernel.enlarge
        assert enlarge is not None
        small, self._capacity = self._capacity, 2 * self._capacity
        require("enlarge must make room for an update", self._capacity < _MAX_CAPACITY, f"round {t}, capacity {small}")
        self.state = with_readable_errors(self._policy, enlarge, enlarge)(self._policy.params, self.state, self._capacity)
        require("enlarge must return a state that is not `full`", not self.state.full[0], f"round {t}")
        self._layout = _layout(self.state)


def play_game(
    policy: Policy, choose: Choose, update: Update, table: Floats, capacity: int, explain: Callable[..., Reason] | None = None
) -> tuple[list[int], NamedTuple]:
    """Play a game. If `explain` is given, every arm is explained before every choice, and the indices must fit the choices."""
    n_arms, rounds = table.shape
    player = _Player(policy, choose, update, n_arms, capacity)
    largest: list[bool] = []  # for each round in which the indices differ: whether the arm with the largest is chosen
    arms = np.arange(n_arms)
    pulls = [0] * n_arms
    chosen = []
    for t in range(1, rounds + 1):
        if policy.sees_means:
            player.state.means[:] = [table[i, pulls[i]] for i in range(n_arms)]
        indices = [] if explain is None else _indices(policy, explain, player.state, t, arms)
        arm = player.choose(t, arms)
        if indices and min(indices) < max(indices):  # not if one of them is NaN
            largest.append(indices[arm] == max(indices))
        player.learn(t, arms, arm, table[arm, pulls[arm]])
        pulls[arm] += 1
        chosen.append(int(arm))
    if not policy.randomised:
        require(
            "the chosen arm must have the largest index that explain returns, except in rounds that explore",
            sum(largest) >= _CHOSEN_BY_INDEX * len(largest),
            f"in {sum(largest)} of {len(largest)} rounds it has",
        )
    return chosen, player.state


def _indices(policy: Policy, explain: Callable[..., Reason], state: NamedTuple, t: int, arms: Ints) -> list[float]:
    """Return the index of every arm, as the policy explains it."""
    given = arms.copy()
    reasons = [explain(policy.params, state, t, arms, arm) for arm in range(arms.size)]
    require_same_arms(arms, given, t)
    for reason in reasons:
        check_reason(policy, reason)
    return [float(reason.value) for reason in reasons]


def _layout(state: NamedTuple) -> list[tuple[tuple[int, ...], object]]:
    return [(array.shape, array.dtype) for array in states.arrays(state)]


def compiled_kernels(policy: Policy) -> tuple[Choose, Update]:
    """Return `choose` and `update` of a policy, compiled."""
    kernel, state = policy.kernel, states.new_state(policy, ARMS, ROUNDS)
    choose = guarded_for(EntryPoint(kernel.choose, policy, (policy.params, state, 1, KEY, np.arange(ARMS))))
    return choose, guarded_for(EntryPoint(kernel.update, policy, (policy.params, state, 1, 0, 0.0)))


def interpreted_kernels(policy: Policy) -> tuple[Choose, Update]:
    """Return `choose` and `update` of a policy as Python runs them."""
    kernel = policy.kernel
    choose, update = (with_readable_errors(policy, each, each) for each in (kernel.choose, kernel.update))
    return choose, update


def same_state(a: NamedTuple, b: NamedTuple) -> bool:
    """Return whether two states have equal arrays."""
    pairs = zip(states.arrays(a), states.arrays(b), strict=True)
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)
