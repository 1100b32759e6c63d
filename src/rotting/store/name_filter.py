"""A Bloom filter that grows: it recognises most names that were never added.

Every idempotency key has to be looked up among the notes of a store. Nearly all keys are new, and the filter saves the look-up.

Each name sets four bits, all in one word of 64 bits, so that a look-up reads one word of each part. In a full part, the number
n of names in a word is about a Poisson variable with mean 3. The part takes a new name for a known one with a probability that
is the mean of `(1 - (1 - 1 / 64) ** (4 n)) ** 4`: one in 418. The probabilities of the parts add up: with 10,368 names two
parts are full, and the filter is wrong about one new name in 209; with 673,920 names, which fill four parts, about one in 105.
"""

from array import array
from collections.abc import Iterable

_FIRST = 384  # words of the first part; each later part has eight times as many
_GROWTH = 8
_NAMES = 3  # per word, on average, in a full part
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
        self._parts: list[array[int]] = []  # the newest, which is the largest, comes first
        self._free = 0  # the number of names that it still has room for
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name."""
        if not self._free:
            size = _GROWTH * len(self._parts[0]) if self._parts else _FIRST
            self._parts.insert(0, array("Q", bytes(8 * size)))
            self._free = _NAMES * size
        words = self._parts[0]
        self._free -= 1
        code = hash(name)
        words[(code >> 24) % len(words)] |= _PAIRS[code & 4095] | _PAIRS[code >> 12 & 4095]

    def may_have(self, name: str) -> bool:
        """Return False only if the name was never added."""
        code = hash(name)
        bits = _PAIRS[code & 4095] | _PAIRS[code >> 12 & 4095]
        for words in self._parts:  # noqa: SIM110 - `any` takes twice as long
            if words[(code >> 24) % len(words)] & bits == bits:
                return True
        return False
