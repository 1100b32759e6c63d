"""Rate limits: requests per second of each caller."""

from collections import OrderedDict

_MAX_CALLERS = 10_000  # with more, the caller whose last request is oldest is forgotten


class Rates:
    """A token bucket for each caller, which holds the requests of one second.

    Args:
        rate: requests per second.

    Example:
        >>> rates = Rates(2.0)
        >>> [rates.wait("a", now) for now in (0.0, 0.0, 0.0, 0.5, 0.5)]
        [0.0, 0.0, 0.5, 0.0, 0.5]
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and the time of that count

    def wait(self, caller: str, now: float) -> float:
        """Count a request and return 0.0, or return how many seconds the caller must wait."""
        full = max(1.0, self._rate)
        left, since = self._buckets.pop(caller, (full, now))
        left = min(full, left + (now - since) * self._rate)
        allowed = left >= 1.0
        self._buckets[caller] = (left - 1.0 if allowed else left, now)
        if len(self._buckets) > _MAX_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self._rate
