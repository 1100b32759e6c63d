"""Rules for parameters, whose text is in error messages and in `rotting list`, and suggestions for misspelt words and names."""

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass

from rotting.errors import InvalidTypeError, InvalidValueError


@dataclass(frozen=True)
class Rule:
    """A number in an interval, whose ends may be open; a `whole` number is returned as an `int`.

    Example:
        >>> POSITIVE.check("alpha", 1.4)
        1.4
        >>> POSITIVE.check("alpha", -1)
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: alpha must be a positive finite number, got -1
    """

    text: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False

    def check(self, name: str, value: object) -> float:
        """Return `value` as a number, or raise an error that names parameter, rule and value."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise InvalidTypeError(name, f"be {self.text}", value)
        # Whole numbers do not become floats, which would round a seed of 30 digits.
        try:
            number = int(value) if isinstance(value, numbers.Integral) and self.whole else float(value)
        except OverflowError:
            number = math.inf
        # Neither NaN nor an infinite number is an integer.
        proper = not isinstance(number, float) or (number.is_integer() if self.whole else math.isfinite(number))
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        if not (proper and above and below):
            raise InvalidValueError(name, f"be {self.text}", value)
        return int(number) if self.whole else float(number)

    def show(self, value: float) -> float | str:
        """Return a checked value as the user wrote it."""
        return value


@dataclass(frozen=True)
class Option(Rule):
    """One of a few words; kernels get its position in the list, users see the word.

    Example:
        >>> kind = Option("one of 'bernoulli', 'gaussian'", words=("bernoulli", "gaussian"))
        >>> kind.check("kind", "gaussian"), kind.show(1)
        (1, 'gaussian')
    """

    words: tuple[str, ...] = ()

    def check(self, name: str, value: object) -> float:
        """Return the position of a word; a position is accepted as well."""
        if isinstance(value, str):
            if value not in self.words:
                raise InvalidValueError(name, f"be {self.text}", value, hint=suggest(value, self.words))
            return self.words.index(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(self.words):
            return value
        raise InvalidTypeError(name, f"be {self.text}", value)

    def show(self, value: float) -> str:
        """Return the word."""
        return self.words[int(value)]


def option(*words: str) -> Option:
    """Return the rule that a parameter is one of `words`."""
    return Option(f"one of {', '.join(map(repr, words))}", words=words)


@dataclass(frozen=True)
class NumberOrWord(Rule):
    """A number in an interval, or one of a few words; kernels get the number that stands for the word.

    Example:
        >>> SCALE.check("sigma", 0.5), SCALE.check("sigma", "estimate") == ESTIMATE, SCALE.show(ESTIMATE)
        (0.5, True, 'estimate')
        >>> SCALE.check("sigma", "guess")
        Traceback (most recent call last):
        ...
        rotting.errors.InvalidValueError: sigma must be a positive finite number or 'estimate', got 'guess'
    """

    words: tuple[tuple[str, float], ...] = ()

    def check(self, name: str, value: object) -> float:
        """Return the number, or the one that stands for the word."""
        if isinstance(value, str):
            known = dict(self.words)
            if value not in known:
                raise InvalidValueError(name, f"be {self.text}", value, hint=suggest(value, known))
            return known[value]
        for _, number in self.words:
            if value == number:  # `params` of another policy have this number
                return number
        return super().check(name, value)

    def show(self, value: float) -> float | str:
        """Return the number or the word."""
        return next((word for word, number in self.words if number == value), value)


LARGEST = 1e100  # of a reward, a mean or a standard deviation: sums and squares, and their rounding errors, stay finite

FINITE = Rule("a finite number")
FRACTION = Rule("a number in (0, 1]", low=0.0, open_low=True, high=1.0)
POSITIVE = Rule("a positive finite number", low=0.0, open_low=True)
SPREAD = Rule(f"a positive number of at most {LARGEST:g}", low=0.0, open_low=True, high=LARGEST)
NONNEGATIVE = Rule("a finite number, zero or more", low=0.0)
ABOVE_ONE = Rule("a finite number above 1", low=1.0, open_low=True)
PROBABILITY = Rule("a probability in [0, 1]", low=0.0, high=1.0)
PROPENSITY = Rule("a probability above 0, at most 1", low=0.0, open_low=True, high=1.0)
COUNT = Rule("a whole number, 1 or more", low=1, high=2**53, whole=True)
INDEX = Rule("a whole number, 0 or more", low=0, whole=True)
RUNS = 2**32  # the number of runs with different rewards
RUN = Rule("the number of a run, from 0 to 2^32 - 1", low=0, high=RUNS - 1, whole=True)


# The numbers that stand for words in `params`, which kernels read. They cannot be meant as values, since no scale is negative.
ESTIMATE, HALF_RANGE = -1e300, -2e300
SCALE = NumberOrWord("a positive finite number or 'estimate'", low=0.0, open_low=True, words=(("estimate", ESTIMATE),))
RANGE_SCALE = NumberOrWord(
    "a positive finite number, 'estimate' or 'range'",
    low=0.0,
    open_low=True,
    words=(("estimate", ESTIMATE), ("range", HALF_RANGE)),
)


positive, nonnegative, finite = POSITIVE.check, NONNEGATIVE.check, FINITE.check


def positive_int(name: str, value: object) -> int:
    """Check a whole number that is 1 or more."""
    return int(COUNT.check(name, value))


def nonnegative_int(name: str, value: object) -> int:
    """Check a whole number that is 0 or more."""
    return int(INDEX.check(name, value))


def run_number(name: str, value: object) -> int:
    """Check the number of a run."""
    return int(RUN.check(name, value))


def check_fields(instance: object, /, **rules: Rule) -> None:
    """Check fields of a frozen dataclass by their rules, and convert them to numbers."""
    for name, rule in rules.items():
        object.__setattr__(instance, name, rule.check(name, getattr(instance, name)))


def _letters(word: str) -> str:
    """Return a word in lower case, without hyphens and underscores, which people write in different ways."""
    return word.casefold().replace("-", "").replace("_", "")


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` with the same word in another spelling, else the closest one; empty if none is close.

    Example:
        >>> suggest("raw-ubc", ["raw-ucb", "fewa"])
        "; did you mean 'raw-ucb'?"
        >>> suggest("zzz", ["raw-ucb", "fewa"])
        ''
        >>> suggest("wSWA", ["SWA", "WSWA"])
        "; did you mean 'WSWA'?"
        >>> suggest("raw_ucb", ["FEWA", "RAWUCB"])
        "; did you mean 'RAWUCB'?"
    """
    import difflib  # noqa: PLC0415 - only mistakes need it

    listed = list(known)
    same = [each for each in listed if _letters(each) == _letters(word)]
    close = same or difflib.get_close_matches(word, listed, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def no_such_name(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a name that a module with lazy imports does not have; no hint is given for a private one.

    Python's own suggestion misses other spellings, such as `raw_ucb`, and is not part of the text, which notebooks show.

    Example:
        >>> print(no_such_name("rotting", "raw_ucb", ["FEWA", "RAWUCB"]))
        module 'rotting' has no attribute 'raw_ucb'; did you mean 'RAWUCB'?
    """
    hint = "" if name.startswith("_") else suggest(name, known)
    # With `name` but no `obj`, Python does not add a second suggestion to the traceback.
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)
