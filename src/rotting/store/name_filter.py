"""A filter that knows most names that were never added: a Bloom filter that grows.

A store is asked for the note of every idempotency key. Nearly all keys are new, and the filter says so without the store.
"""

_FIRST = 1_024  # names that the first part has room for; each part after it has room for eight times as many
_GROWTH = 8
_BITS = 16  # for each name: about one new name in 400 is taken for a known one
_PROBES = 4  # bits that are set for each name
_HALF = (1 << 32) - 1


class NameFilter:
    """Names that were added, of which few bits are kept. It must be used by one thread at a time.

    Example:
        >>> names = NameFilter()
        >>> names.add("key:a")
        >>> names.may_have("key:a"), names.may_have("key:b")
        (True, False)
    """

    __slots__ = ("_free", "_parts")

    def __init__(self) -> None:
        self._parts = [_part(_FIRST)]  # the newest, which is the largest, comes first
        self._free = _FIRST  # names that it still has room for

    def add(self, name: str) -> None:
        """Add a name."""
        bits, size = self._parts[0]
        if not self._free:
            self._free = size // _BITS * _GROWTH
            bits, size = part = _part(self._free)
            self._parts.insert(0, part)
        self._free -= 1
        code = hash(name)
        place, step = code & _HALF, code >> 32 | 1
        for _ in range(_PROBES):
            place = (place + step) % size
            bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, name: str) -> bool:
        """Return False only if the name was never added."""
        code = hash(name)
        first, step = code & _HALF, code >> 32 | 1
        for bits, size in self._parts:
            place = first
            for _ in range(_PROBES):
                place = (place + step) % size
                if not bits[place >> 3] & 1 << (place & 7):
                    break
            else:
                return True
        return False


def _part(names: int) -> tuple[bytearray, int]:
    """Return the bits of a Bloom filter for so many names, and how many there are."""
    return bytearray(names * _BITS // 8), names * _BITS
