"""Numbers in labels: four significant digits, or as many more as tell one label from another."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)

DIGITS = 4
_ALL_DIGITS = 17  # which tell all floats apart


def short(value: object, digits: int = DIGITS) -> str:
    """Return a float with so many significant digits, and anything else as it is written; large numbers get 6 digits.

    Whole numbers and numbers of more than `digits` digits before the point count as large, so that labels side by side do not
    mix `123500` with `1.235e+05`.

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
    """Return a text for each item, with four digits, or the fewest more that tell it from those of items that are not equal.

    Args:
        items: numbers, or what has numbers in its label.
        write: `write(item, digits)`, the text with so many significant digits.

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
