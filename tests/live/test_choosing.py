"""What chooses: rewards that came early count at once, and are learned once."""

import pytest

from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.registry import make
from tests.live.test_pages import counted, plain


def test_early_rewards_are_learned_once_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(make("raw-ucb"), range(100))
    bandit.learn([(arm, (arm % 7) / 8) for arm in range(100)])
    _, late = (bandit.decide(arms=[5]) for _ in range(2))
    bandit.reward(late.id, 0.5)
    copies = counted(monkeypatch, states, "copy")
    bandit.decide(count=50)
    assert len(copies) == 1


def test_a_reward_between_two_decisions_counts_beside_an_early_one() -> None:
    """What was kept for the first decision is not used for the second."""
    bandit, twin = (Bandit(make("raw-ucb"), range(50)) for _ in range(2))
    for each in (bandit, twin):
        each.learn([(arm, (arm % 7) / 8) for arm in range(50)])
        made = [each.decide(arms=[arm]) for arm in (5, 5, 7)]
        each.reward(made[1].id, 0.5)
        if each is bandit:
            each.cancel(each.decide().id)
        else:
            each.cancel(each.decide(arms=[9]).id)
        each.reward(made[2].id, 1.0)
    assert plain(bandit.decide(count=20)) == plain(twin.decide(count=20))
