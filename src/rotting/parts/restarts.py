"""What policies that restart on an alarm share: which arms restart, and exploration in turn."""

from rotting.common.arrays import Ints
from rotting.common.rules import option
from rotting.parts.presence import Presence, arm_of_rank

RESTART = option("local", "global")
GLOBAL = 1


def round_robin(s: Presence, period: float, elapsed: int, arms: Ints) -> int:
    """Return the arm whose turn it is, number `elapsed mod period` of those present, if it is one of `arms`; else -1.

    Args:
        s: which arms are present.
        period: a whole number, of any size.
        elapsed: rounds since the exploration began.
        arms: the available arms.
    """
    turn = elapsed if elapsed < period else elapsed % int(period)
    arm = arm_of_rank(s, turn)
    for i in arms:
        if i == arm:
            return int(i)
    return -1
