"""EFF-RAW-UCB: a few windows, and a state that hardly grows."""

from rotting.live.bandit import Bandit
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.raw_ucb import RAWUCB
from tests.reference import windows

Naive = windows.EffRAWUCB  # what the common tests compare the policy with


def test_constant_rewards_have_the_index_of_the_longest_window_kept() -> None:
    """Of a constant arm the tightest window is the longest: N for RAW-UCB, the largest power of two for the grid of 2."""
    for pulls in (1, 2, 3, 7, 8, 40):
        exact, efficient = Bandit(RAWUCB(), arms=[0]), Bandit(EffRAWUCB(m=2), arms=[0])
        for _ in range(pulls):
            exact.update(0, 0.5)
            efficient.update(0, 0.5)
        assert exact.explain()[0].window == pulls
        assert efficient.explain()[0].window == 2 ** (pulls.bit_length() - 1)
        assert efficient.explain()[0].index >= exact.explain()[0].index
