"""Claims for tests: an estimate, and the interval in which it should lie."""

import math

from rotting.common.statistics import Interval, NoInterval
from rotting.paper.report.claims import Claim


def claim(low: float, high: float, least: float = -math.inf, most: float = math.inf) -> Claim:
    return claim_about(Interval(1.0, low, high), least, most)


def claim_about(estimate: Interval, least: float = -math.inf, most: float = math.inf) -> Claim:
    return Claim("id", "source", "words", "quantity", estimate, least, most)


def missing_reason(estimate: Interval) -> str:
    """Return the reason why there is no interval."""
    assert isinstance(estimate, NoInterval)
    assert estimate[1:] == (None, None)
    return estimate.reason
