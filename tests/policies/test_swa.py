"""SWA: turns first, then the best window."""

from rotting.policies.swa import SWA
from tests.helpers.games import play
from tests.reference import forgetting

Naive = forgetting.SWA  # what the common tests compare the policy with


def test_swa_takes_turns_and_then_the_best_window() -> None:
    table = [[1.0] * 6 + [0.0] * 94, [0.5] * 100, [0.4] * 100]
    chosen = play(SWA(M=2), table, 60)
    assert chosen[:6] == [0, 1, 2, 0, 1, 2]
    assert chosen[6:12] == [0] * 6  # four ones, a zero, then the window (1, 0) ties with arm 1 and wins
    assert set(chosen[12:]) == {1}
