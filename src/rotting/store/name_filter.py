"""A Bloom filter that grows: it recognises most names that were never added.

Every idempotency key has to be looked up among the notes of a store. Nearly all keys are new, and the filter saves the look-up.

Each name sets four bits in one word of 64 bits, and takes 21 bits of memory. If its bits were spread over the filter, 16 would
do, but adding a name would take twice as long. The filter consists of parts. A full part takes one new name in 404 for a known
one: the mean of `(k / 64) ** 4`, where k is the number of bits set in a word. With 10,368 names two parts are full, and the
filter is wrong about one new name in 202; with 673,920 names, which fill four parts, about one in 101.
"""

from array import array
from collections.abc import Iterable

_FIRST_WORDS = 384  # of the first part; each later part has eight times as many
_GROWTH = 8
_NAMES_PER_WORD = 3  # in a full part, on average
_PAIRS = [1 << (pair & 63) | 1 << (pair >> 6) for pair in range(1 << 12)]  # two bits of a word, or twice the same one


class NameFilter:
    """A set of names that keeps only a few bits of each. It must be used by one thread at a time.

    Example:
        >>> names = NameFilter(["key:a"])
        >>> names.may_have("key:a"), names.may_have("key:b")
        (True, False)
    """

    __slots__ = ("_free", "_parts")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._parts: list[array[int]] = []  # the first one takes new names
        self._free = 0  # the number of names that it still has room for
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name."""
        if not self._free:
            size = _GROWTH * len(self._parts[0]) if self._parts else _FIRST_WORDS
            self._parts.insert(0, array("Q", [0]) * size)
            self._free = _NAMES_PER_WORD * size
        self._free -= 1
        code = hash(name)  # 24 bits choose the bits, the others the word; again in `may_have`, since a call would take longer
        words = self._parts[0]
        words[(code >> 24) % len(words)] |= _PAIRS[code & 4095] | _PAIRS[code >> 12 & 4095]

    def include(self, other: "NameFilter") -> None:
        """Add all names of another filter, which must not be used any more."""
        if other._free > self._free:  # noqa: SLF001 - of this class
            self._parts, self._free = other._parts + self._parts, other._free  # noqa: SLF001
        else:
            self._parts += other._parts  # noqa: SLF001

    def may_have(self, name: str) -> bool:
        """Return False only if the name was never added."""
        code = hash(name)
        place, bits = code >> 24, _PAIRS[code & 4095] | _PAIRS[code >> 12 & 4095]
        for words in self._parts:  # noqa: SIM110 - `any` takes twice as long
            if words[place % len(words)] & bits == bits:
                return True
        return False
