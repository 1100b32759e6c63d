"""wSWA: SWA that starts anew."""

from rotting.policies.wswa import WSWA
from tests.helpers.games import play
from tests.reference import forgetting

Naive = forgetting.WSWA  # what the common tests compare the policy with


def test_wswa_starts_anew_at_rounds_that_are_powers_of_two() -> None:
    table = [[1.0] * 100, [0.0] * 100]
    chosen = play(WSWA(alpha=1e-6), table, 63)
    assert [t for t, arm in enumerate(chosen, 1) if arm == 1] == [3, 5, 9, 17, 33]
