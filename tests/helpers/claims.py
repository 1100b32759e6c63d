"""Claims that are measured and wanted to lie in an interval."""

import math

from rotting.common.statistics import Interval
from rotting.report.claims import Claim


def claim(low: float | None, high: float | None, least: float = -math.inf, most: float = math.inf) -> Claim:
    return Claim("id", "source", "words", "quantity", Interval(1.0, low, high), least, most)
