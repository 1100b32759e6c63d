"""Numbers in texts: short ones in labels, counts with their nouns, and lists that end with a count."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)
Element = TypeVar("Element")

DIGITS = 4
_ALL_DIGITS = 17  # enough to distinguish all floats


def short(value: object, digits: int = DIGITS) -> str:
    """Return a float as text with this number of significant digits, or `str` of any other value.

    Whole numbers, and numbers with more than `digits` digits before the point, get at least six digits, so that labels do not
    mix `123500` and `1.235e+05`.

    Example:
        >>> short(0.4472135954999579), short(10_000.0), short("estimate")
        ('0.4472', '10000', 'estimate')
    """
    if not isinstance(value, float):
        return str(value)
    if digits >= _ALL_DIGITS:
        return repr(value)  # the fewest digits that are this float: 0.3, not 0.29999999999999999
    large = value.is_integer() or abs(value) >= 10**digits
    return f"{value:.{max(digits, 6) if large else digits}g}"


def short_texts(items: Iterable[Item], write: Callable[[Item, int], str] = short) -> dict[Item, str]:
    """Return a text for each item, with four digits, or as many more as it takes to distinguish it from other items.

    Args:
        items: numbers, or objects with numbers in their labels.
        write: `write(item, digits)` returns the text with this number of significant digits.

    Example:
        >>> short_texts([0.1, 0.123456, 0.123459]).values()
        dict_values(['0.1', '0.123456', '0.123459'])
    """
    left = list(dict.fromkeys(items))
    texts = {each: write(each, DIGITS) for each in left}
    for digits in range(DIGITS, _ALL_DIGITS + 1):
        written = {each: write(each, digits) for each in left}
        counts = Counter(written.values())
        texts |= {each: text for each, text in written.items() if counts[text] == 1}
        left = [each for each in left if counts[written[each]] > 1]
    return texts


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    Args:
        count: zero or more.
        noun: the singular.
        nouns: the plural, if it is not the singular with an s.

    Example:
        >>> plural(1, "run"), plural(2_000, "run"), plural(2, "policy", "policies")
        ('1 run', '2,000 runs', '2 policies')
    """
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def first_of(items: Sequence[Element], most: int) -> Sequence[Element]:
    """Return the first items, at most this number; all of them if a single one would be left out.

    Example:
        >>> first_of("abcd", 2), first_of("abc", 2)
        ('ab', 'abc')
    """
    return items if len(items) <= most + 1 else items[:most]


def word_list(words: Sequence[str], most: int) -> str:
    """Return words as a list in a sentence, the first of them by name and the others as a count, unless it is 1.

    Example:
        >>> word_list(["a", "b", "c", "d"], most=2), word_list(["a", "b", "c"], most=2), word_list(["a"], most=2)
        ('a, b and 2 more', 'a, b and c', 'a')
    """
    named = first_of(words, most)
    *before, last = named if len(named) == len(words) else [*named, f"{len(words) - len(named)} more"]
    return f"{', '.join(before)} and {last}" if before else last
