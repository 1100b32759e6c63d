"""Ada-ILTCB+: its choices, replays and restarts are those of the rule; how long it explores is as documented."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rotting.common.arrays import Floats
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.policies.ada_iltcb import AdaILTCB, add_probabilities
from rotting.policies.kernels.elementary import log
from rotting.policies.parts.doubling import doubling
from tests.conftest import INTERPRETED
from tests.helpers.games import (
    KEY,
    Player,
    assert_equals_reference,
    assert_equals_reference_on_ties,
    changing_arms,
    play,
    play_naive,
    reference,
    tables,
)
from tests.reference.exponential_weights import pick
from tests.reference.policy import Bounded, Draws


class Naive(Bounded):
    """Chen, Lee, Luo, Wei 2019, for policies that are arms: it keeps all rewards, and recomputes every estimate from them.

    Draw 0 starts a replay, draw 1 picks the order that is played, draw 2 the arm (see ``pick``). No first pulls.
    """

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int,
        delta: float,
        length: float,
        C: float,
        D: float,
        multiple: float,
        uniform: Draws,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_arms, low=low, high=high)
        self.T, self.C, self.D, self.multiple, self.uniform = horizon, C, D, multiple, uniform
        self.C0 = log(8 * horizon**3 * n_arms**2 / delta)
        self.L = math.ceil(length * n_arms * self.C0)
        self.history: list[tuple[int, int, float]] = []  # (round, arm, reward / probability)
        self.probabilities: dict[int, float] = {}  # of each arm, in the round that is played
        self.restarts: list[int] = []
        self.begin_epoch(1)

    def begin_epoch(self, t: int) -> None:
        self.blocks = [t]  # the first round of every block of the epoch
        self.replays: list[tuple[int, int]] = []  # (order, first round), of this block

    def nu(self, m: int) -> float:
        return min(1 / (2 * self.n_arms), math.sqrt(self.C0 / (self.n_arms * 2**m * self.L)))

    def regrets(self, first: int, last: int, arms: Sequence[int]) -> dict[int, float]:
        """How far the estimated mean of each arm, from round ``first`` to round ``last``, is behind the largest."""
        means = {i: math.fsum(x for t, arm, x in self.history if arm == i and first <= t <= last) for i in arms}
        top = max(means.values()) / (last - first + 1)
        return {i: top - total / (last - first + 1) for i, total in means.items()}

    def regrets_in_block(self, j: int, arms: Sequence[int]) -> dict[int, float]:
        return self.regrets(self.blocks[j], self.blocks[j + 1] - 1, arms)

    def distribution(self, m: int, arms: Sequence[int]) -> list[float]:
        """Q_m of the available arms; the best of them share what the others leave."""
        regret = dict.fromkeys(arms, 0.0) if m == 0 else self.regrets_in_block(m - 1, arms)
        nu = self.nu(m)
        q = {i: max(nu, 1 / (2 * self.n_arms + regret[i] / (self.C * nu))) for i in arms if regret[i] > 0}
        best = [i for i in arms if regret[i] == 0]
        rest = 1 - sum(q.values())
        return [q[i] if i in q else rest / len(best) for i in arms]

    def start_probability(self, m: int) -> float:
        j = len(self.blocks) - 1
        return 2 ** (-j / 2) * 2 ** (-m / 2) / self.L

    def orders(self, t: int, replays: Sequence[tuple[int, int]]) -> list[int]:
        """The orders that may be played in round t: those of the replays, or the block's own."""
        return sorted({m for m, first in replays if first <= t < first + 2**m * self.L}) or [len(self.blocks) - 1]

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        j = len(self.blocks) - 1
        Q = [self.distribution(m, arms) for m in range(j + 1)]
        # What may start in this round, and how likely it is.
        starts: list[tuple[list[tuple[int, int]], float]] = [([(m, t)], self.start_probability(m)) for m in range(j)]
        starts.append(([], 1 - sum(chance for _, chance in starts)))
        self.probabilities = dict.fromkeys(arms, 0.0)
        for started, chance in starts:
            orders = self.orders(t, self.replays + started)
            for m in orders:
                for i, q in zip(arms, Q[m], strict=True):
                    self.probabilities[i] += chance / len(orders) * q
        started = starts[pick([chance for _, chance in starts], range(j + 1), self.uniform(t, 0))][0]
        self.replays += started
        orders = self.orders(t, self.replays)
        return pick(Q[orders[int(self.uniform(t, 1) * len(orders))]], arms, self.uniform(t, 2))

    def differs(self, m: int, one: dict[int, float], other: dict[int, float]) -> bool:
        slack = self.D * self.n_arms * self.nu(m) * log(self.T)
        return any(max(one[i] - self.multiple * other[i], other[i] - self.multiple * one[i]) > slack for i in one)

    def differs_from_before(self, t: int) -> bool:
        arms, j = range(self.n_arms), len(self.blocks) - 1
        for m, first in self.replays:
            ends = first + 2**m * self.L - 1 == t
            if ends and self.differs(m, self.regrets(first, t, arms), self.regrets_in_block(j - 1, arms)):
                return True
        if not self.block_ends(t):
            return False
        regrets = self.regrets(self.blocks[-1], t, arms)
        return any(self.differs(m, regrets, self.regrets_in_block(m, arms)) for m in range(j))

    def block_ends(self, t: int) -> bool:
        j = len(self.blocks) - 1
        return t == self.blocks[-1] + (self.L if j == 0 else 2 ** (j - 1) * self.L) - 1

    def update(self, t: int, arm: int, reward: float) -> None:
        super().update(t, arm, reward)
        self.history.append((t, arm, self.mapped(reward) / self.probabilities[arm]))
        if self.differs_from_before(t):
            self.restarts.append(t)
            self.begin_epoch(t + 1)
        elif self.block_ends(t):
            self.blocks.append(t + 1)
            self.replays = []


HORIZON = 120 if INTERPRETED else 300
RANGE: dict[str, Any] = {"low": -3.0, "high": 3.0, "outside": "clip"}
SMALL = [  # of several blocks in a game, with replays; the last two have epochs, too
    AdaILTCB(horizon=HORIZON, length=0.01, **RANGE),
    AdaILTCB(horizon=HORIZON, length=0.03, C=0.5, **RANGE),
    AdaILTCB(horizon=HORIZON, length=0.05, C=0.01, D=0.05, multiple=1.5, **RANGE),
    AdaILTCB(horizon=HORIZON, length=0.01, C=1.0, D=0.1, multiple=1.0, delta=1.0, **RANGE),
]


@pytest.mark.parametrize("policy", SMALL, ids=repr)
def test_choices_with_small_constants_equal_the_reference(policy: AdaILTCB) -> None:
    assert_equals_reference(policy, HORIZON, odd="coins")


@pytest.mark.parametrize("policy", SMALL, ids=repr)
def test_choices_among_some_arms_equal_the_reference(policy: AdaILTCB) -> None:
    table = tables(4, HORIZON)["noise"].tolist()
    games = [f(policy, table, HORIZON, available=changing_arms) for f in (play, play_naive)]
    assert games[0] == games[1]


@pytest.mark.parametrize("policy", SMALL, ids=repr)
def test_ties_with_small_constants_equal_the_reference(policy: AdaILTCB) -> None:
    assert_equals_reference_on_ties(policy, 60)


def test_every_round_is_the_reference_s() -> None:
    """Blocks, replays, restarts and propensities are those of the reference; the games have many of each."""
    met = dict.fromkeys(("blocks", "replays", "overlaps", "restarts after a replay", "restarts after a block"), 0)
    for policy in SMALL:
        for table in tables(3, HORIZON).values():
            slow: Any = reference(policy, 3)
            player, paid, restarts = Player(policy, 3, HORIZON), [0, 0, 0], 0
            for t in range(1, HORIZON + 1):
                arm = player.choose(t, np.arange(3))
                assert arm == slow.choose(t), t
                state = player.state
                assert (state.block[0], state.block[1]) == (len(slow.blocks) - 1, slow.blocks[-1]), t
                assert [(m, r) for r in range(slow.blocks[-1], t + 1) if (m := int(state.started[r])) >= 0] == slow.replays, t
                assert state.propensity[arm] == pytest.approx(slow.probabilities[arm], rel=1e-12), t
                met["overlaps"] += len(slow.orders(t, slow.replays)) > 1
                ends, replays = slow.block_ends(t), len(slow.replays)
                player.update(t, arm, float(table[arm, paid[arm]]))
                slow.update(t, arm, float(table[arm, paid[arm]]))
                paid[arm] += 1
                if len(slow.restarts) > restarts:
                    restarts += 1
                    met["restarts after a block" if ends else "restarts after a replay"] += 1
                met["blocks"] += ends
                met["replays"] += replays * ends
    assert min(met.values()) > 5, met


@pytest.mark.parametrize("policy", [AdaILTCB(horizon=1_000, length=0.01, C=1.0), *SMALL[2:]], ids=repr)
def test_variants_keep_the_contract(policy: AdaILTCB) -> None:
    """Small constants: the check plays many blocks, replays and epochs."""
    check_policy(AdaILTCB(**{**policy.shown_params(), "horizon": 1_000}))


def distribution(policy: AdaILTCB, state: Any, m: int) -> Floats:
    out = np.zeros(state.known.size)
    add_probabilities(policy.params, state, m, 1.0, np.arange(out.size), out)
    return out


@pytest.mark.parametrize("n_arms", [1, 2, 7])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_probabilities_solve_the_optimisation_problem(n_arms: int, C: float) -> None:
    """Low regret and low variance, for estimates of any size: those by inverse propensities can be far above 1."""
    policy, rng = AdaILTCB(horizon=1_000, C=C), np.random.default_rng(n_arms)
    state = states.new_state(policy, n_arms, 100)
    policy.kernel.choose(policy.params, state, 1, KEY, np.arange(n_arms))
    for m in range(4):
        nu = math.sqrt(math.log(8e9 * n_arms**2 / 0.05) / (n_arms * 2**m * int(state.block[2])))
        for scale in (0.0, 0.01, 1.0, 30.0):
            state.mean[:, m] = scale * rng.random(n_arms)
            regret = state.mean[:, m].max() - state.mean[:, m]
            q = distribution(policy, state, m)
            assert q.sum() == pytest.approx(1.0)
            assert (q >= nu * (1 - 1e-12)).all()
            assert (1 / q <= (2 * n_arms + regret / (C * nu)) * (1 + 1e-12)).all()
            Q = (q - nu) / (1 - n_arms * nu)  # what nu is mixed into
            assert (Q * regret).sum() <= 2 * n_arms * C * nu


@pytest.mark.parametrize(("n_arms", "horizon", "rounds"), [(2, 10_000, 10_910), (10, 100_000, 70_751), (10, 1_000_000, 81_804)])
def test_it_explores_as_long_as_documented(n_arms: int, horizon: int, rounds: int) -> None:
    policy, arms = AdaILTCB(horizon=horizon), np.arange(n_arms)
    state = states.new_state(policy, n_arms, horizon)
    policy.kernel.choose(policy.params, state, 1, KEY, arms)
    assert state.block[2] == rounds
    assert distribution(policy, state, 0).tolist() == pytest.approx([1 / n_arms] * n_arms)
    assert f"{rounds:,}" in str(AdaILTCB.__doc__)


@pytest.mark.parametrize(("m", "share"), [(1, 0.57), (5, 0.62)])
def test_the_best_arm_is_played_as_often_as_documented(m: int, share: float) -> None:
    policy = AdaILTCB(horizon=1_000_000)
    state = states.new_state(policy, 10, 100)
    policy.kernel.choose(policy.params, state, 1, KEY, np.arange(10))
    state.mean[0, m] = 0.5
    assert distribution(policy, state, m)[0] == pytest.approx(share, abs=0.005)
    assert f"{share:.0%}".replace("%", " %") in str(AdaILTCB.__doc__)


def test_no_change_is_large_enough_for_the_default_tests() -> None:
    """Before order 7, of which replays begin after 128 L rounds."""
    policy = AdaILTCB(horizon=1_000_000)
    K = 10
    needed = [policy.D * K * math.sqrt(1 / (K * 2**m * policy.length * K)) * math.log(policy.horizon) for m in range(8)]
    assert min(needed[:7]) > 1 > needed[7]


def test_a_change_of_the_best_arm_begins_a_new_epoch() -> None:
    """Rewards without noise; the arms change places in round 1,000 of 2,000."""
    policy = AdaILTCB(horizon=2_000, length=0.5, C=1.0, D=0.1, multiple=1.0)
    player, epochs = Player(policy, 2, 2_000, fast=not INTERPRETED), []
    for t in range(1, 2_001):
        arm = player.choose(t, np.arange(2))
        if player.state.block[0] == 0 and player.state.block[1] == t:
            epochs.append(t)
        player.update(t, arm, float((arm == 0) == (t < 1_000)))
    assert epochs[0] == 1
    assert len(epochs) > 1


def test_an_arm_that_is_added_begins_an_epoch_and_one_that_leaves_does_not() -> None:
    policy = AdaILTCB(horizon=1_000, length=0.05, C=1.0)
    bandit = Bandit(policy, arms=["a", "b"])

    def play_on(rounds: int) -> dict[Any, float]:
        for _ in range(rounds):
            bandit.update(arm := bandit.pull(), float(arm == "a"))
        found: dict[Any, float] = bandit.propensities()
        return found

    assert play_on(60)["a"] > 0.6
    bandit.add_arm("c")
    assert bandit.propensities() == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    assert play_on(60)["a"] > 0.5
    bandit.remove_arm("b")
    assert bandit.propensities()["a"] > 0.6


def test_a_state_that_was_reset_plays_as_a_new_one() -> None:
    """Also where it had replays in the rounds that come again, and other blocks."""
    policy, arms = SMALL[3], np.arange(3)
    player, fresh = Player(policy, 3, HORIZON), Player(policy, 3, HORIZON)
    for t in range(1, HORIZON):
        player.update(t, player.choose(t, arms), float(t % 5))
    assert (player.state.started >= 0).any()
    assert policy.kernel.reset is not None
    policy.kernel.reset(policy.params, player.state, HORIZON)
    for t in range(1, HORIZON):
        arm = player.choose(t, arms, key=8)
        assert arm == fresh.choose(t, arms, key=8), t
        for each in (player, fresh):
            each.update(t, arm, float(t % 3 - arm))


def test_every_game_of_the_doubled_policy_begins_with_nothing() -> None:
    """The first game is that of the policy; at the start of the others, all arms are alike."""
    policy = AdaILTCB(horizon=30, length=0.02, C=0.1)
    table = tables(3, 90)["coins"]
    assert play(doubling(policy), table.tolist(), 30) == play(policy, table.tolist(), 30)
    bandit = Bandit(doubling(policy), arms=[0, 1, 2])
    for t in range(1, 91):
        if t - 1 in {30, 90}:
            assert bandit.propensities() == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
        bandit.update(arm := bandit.pull(), float(arm == 0))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"horizon": 1}, "horizon must be a whole number, 2 or more, got 1"),
        ({"delta": 0}, r"delta must be a number in \(0, 1\], got 0"),
        ({"length": 0}, "length must be a positive number of at most 1e6, got 0"),
        ({"length": 2e6}, "length must be a positive number of at most 1e6, got 2000000.0"),
        ({"C": -1}, "C must be a positive finite number, got -1"),
        ({"D": math.inf}, "D must be a positive finite number, got inf"),
        ({"multiple": 0}, "multiple must be a positive finite number, got 0"),
        ({"low": 1.0}, "low must be below high"),
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AdaILTCB(**{"horizon": 100, **params})
