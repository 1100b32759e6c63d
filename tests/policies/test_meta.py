"""META: replays, sets of arms, and episodes."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rotting.kit import log, uniform
from rotting.live import policy_state as states
from rotting.policies.meta import META
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.ucb1 import UCB1
from rotting.policies.uniform import Uniform
from rotting.simulation.simulate import simulate
from tests.helpers.games import (
    KEY,
    assert_equals_reference,
    assert_equals_reference_on_ties,
    assert_equals_reference_while_arms_change,
)
from tests.helpers.variants import HORIZON
from tests.policies.test_master import swaps
from tests.reference.policy import Bounded, Draws


class Replay:
    """A set of arms, from its first round on; the first one of an episode is its master set and has no end."""

    def __init__(self, n_arms: int, start: int, end: float = math.inf) -> None:
        self.start, self.end, self.arms = start, end, set(range(n_arms))


class Naive(Bounded):
    """Suk, Kpotufe 2022. Draw 0 of a round is for the replay, draw 1 for the arm."""

    def __init__(
        self, n_arms: int, *, horizon: int, C: float, P: float, uniform: Draws, low: float = 0.0, high: float = 1.0
    ) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.T, self.C, self.P, self.uniform = horizon, C, P, uniform
        self.stack: list[Replay] = []
        self.episodes, self.replays = 0, 0
        self.now: list[int] = []  # A, and available
        self.size = [0] * n_arms
        self.log: list[tuple[int, int, float, list[int]]] = []  # of the episode: round, arm, x, A

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        there = self.available(arms)
        if not self.stack or not self.stack[0].arms:
            self.stack, self.log = [Replay(self.n_arms, t)], []
            self.episodes += 1
        while t > self.stack[-1].end:
            self.stack.pop()
        since = t - self.stack[0].start
        if since > 0:
            below = 1.0
            for j in range(math.ceil(log(float(self.T)) / log(2.0) - 1e-9), 0, -1):
                below *= 1 - min(1.0, self.P / math.sqrt(2.0**j * since))
                if self.uniform(t, 0) < 1 - below:
                    self.stack.append(Replay(self.n_arms, t, t + 2**j))
                    self.replays += 1
                    break
        self.now = [i for i in there if i in self.stack[-1].arms] or there
        arm = self.now[int(self.uniform(t, 1) * len(self.now))]
        self.size[arm] = len(self.now)
        return arm

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        if not self.stack:
            self.stack = [Replay(self.n_arms, t)]
            self.episodes += 1
        self.size[arm] = self.size[arm] or self.n_arms
        self.log.append((t, arm, self.size[arm] * self.mapped(reward), self.now))
        for replay in self.stack:
            replay.arms -= {a for a in self.now if any(self.is_behind(a, b, replay.start) for b in self.now)}

    def is_behind(self, a: int, b: int, start: int) -> bool:
        """Whether arm a is too far behind arm b over rounds that begin with ``start`` or later, and end now."""
        K, now = float(self.n_arms), self.log[-1][0]
        firsts = {r for r, *_ in self.log if r >= start}
        bound = self.C * log(float(self.T))
        return a != b and any(self.gap(a, b, r) > bound * max(math.sqrt(K * (now - r)), K) for r in firsts)

    def gap(self, a: int, b: int, first: int) -> float:
        ahead = [x for r, arm, x, there in self.log if r >= first and arm == b and a in there]
        return math.fsum([*ahead, *(-x for r, arm, x, _ in self.log if r >= first and arm == a)])


VARIANTS = [
    META(horizon=HORIZON, C=0.2, low=-3.0, high=3.0, outside="clip"),
    META(horizon=40, C=0.05, P=0.3, low=-3.0, high=3.0, outside="clip"),
    META(horizon=10_000, C=0.02, P=0.05),
    META(horizon=2),
]


@pytest.mark.parametrize("policy", VARIANTS, ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: META) -> None:
    assert_equals_reference(policy, HORIZON, odd="coins")
    assert_equals_reference_while_arms_change(policy, HORIZON, "falling", "coins")
    assert_equals_reference_on_ties(policy, 40)


def test_arms_are_eliminated_and_replayed_and_episodes_begin() -> None:
    """Two arms change places after 150 rounds: the better one is found both times, since replays find the change."""
    policy = META(horizon=300, C=0.2, P=0.5)
    state = states.new_state(policy, 2, 300)
    slow = Naive(2, horizon=300, C=0.2, P=0.5, uniform=lambda t, draw: uniform(KEY, t, draw))
    chosen = []
    for t in range(1, 301):
        arm = int(policy.kernel.choose(policy.params, state, t, KEY, np.arange(2)))
        assert slow.choose(t) == arm
        assert [bool(gone) for gone in state.gone[:, 0]] == [i not in slow.stack[0].arms for i in range(2)]
        assert state.start[0] == slow.stack[0].start
        chosen.append(arm)
        policy.kernel.update(policy.params, state, t, arm, float(arm == (t > 150)))
        slow.update(t, arm, float(arm == (t > 150)))
    assert chosen[:150].count(0) > 90
    assert chosen[150:].count(1) > 90
    assert slow.replays > 10
    assert slow.episodes > 1


@pytest.mark.slow
def test_the_game_it_is_made_for_is_as_documented() -> None:
    T = 10_000
    policies = [META(horizon=T), Uniform(), META(horizon=T, C=0.3, P=0.1), SWUCB(tau=1_000), UCB1(sigma=0.5)]
    found = simulate(policies, swaps(T), runs=100, seed=1).regret[:, :, -1].mean(axis=1)
    text = (
        "was {:,.0f}, hardly less than that of drawing uniformly, {:,.0f}. With C = 0.3 and P = 0.1 it was {:,.0f}, for SW-UCB "
        "with a window of 1,000 rounds {:,.0f}, and for UCB1 {:,.0f}"
    )
    assert text.format(*found.tolist()) in " ".join(str(META.__doc__).split())
