"""The words in which a log is judged: whether an arm wears out, and along which clock all of them do."""

from typing import Final, Literal

Clock = Literal["pulls", "time", "both"]
"""What wears arms out: their own pulls, time, or both."""
Hypothesis = Literal["none", Clock]
"""What the rewards of a log are compared with."""
Decay = Literal[Hypothesis, "cannot tell"]
"""The verdict on a log."""
ArmVerdict = Literal["wears out", "steady", "rises", "too few"]
"""The verdict on an arm."""
CANNOT_TELL: Final = "cannot tell"
