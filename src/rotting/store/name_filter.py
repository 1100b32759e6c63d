"""A Bloom filter that grows: it recognises most names that were never added.

Every idempotency key has to be looked up among the notes of a store. Nearly all keys are new, and the filter saves the look-up.

A full part takes a share of `(1 - exp(-_PROBES / _BITS)) ** _PROBES` of all new names for known ones, one in 418. These shares
add up: with 9,216 names two parts are full, and the filter is wrong about one new name in 209; with 600,000 names, which fill
four parts, about one in 105.
"""

from collections.abc import Iterable

_FIRST = 1_024  # the number of names that the first part has room for; each later part has room for eight times as many
_GROWTH = 8
_BITS = 16  # per name
_PROBES = 4  # the number of bits that are set for each name
_HALF = (1 << 32) - 1


class NameFilter:
    """A set of names that keeps only a few bits of each. It must be used by one thread at a time.

    Example:
        >>> names = NameFilter(["key:a"])
        >>> names.may_have("key:a"), names.may_have("key:b")
        (True, False)
    """

    __slots__ = ("_free", "_parts")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._parts: list[tuple[bytearray, int]] = []  # the newest, which is the largest, comes first
        self._free = 0  # the number of names that it still has room for
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name."""
        if not self._free:
            self._free = self._parts[0][1] // _BITS * _GROWTH if self._parts else _FIRST
            self._parts.insert(0, _new_part(self._free))
        bits, size = self._parts[0]
        self._free -= 1
        code = hash(name)
        place, step = code & _HALF, code >> 32 | 1
        for _ in range(_PROBES):
            place = (place + step) % size
            bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, name: str) -> bool:
        """Return False only if the name was never added."""
        code = hash(name)
        step = code >> 32 | 1
        first = (code & _HALF) + step
        for bits, size in self._parts:
            place = first % size
            if bits[place >> 3] & 1 << (place & 7) and _has_all(bits, size, place, step):  # most new names end here
                return True
        return False


def _has_all(bits: bytearray, size: int, place: int, step: int) -> bool:
    """Return whether the bits of a name are set that follow its first one."""
    for _ in range(_PROBES - 1):
        place = (place + step) % size
        if not bits[place >> 3] & 1 << (place & 7):
            return False
    return True


def _new_part(names: int) -> tuple[bytearray, int]:
    """Return the bits of an empty Bloom filter for a number of names, and the number of bits."""
    return bytearray(names * _BITS // 8), names * _BITS
