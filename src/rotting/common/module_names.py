"""Errors for misspelt names of a module, with a suggestion."""

from collections.abc import Callable, Iterable
from typing import NoReturn

from rotting.common.rules import suggest


def no_such_name(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a name that a module does not have; no hint is given for a private one.

    Example:
        >>> print(no_such_name("rotting", "raw_ucb", ["FEWA", "RAWUCB"]))
        module 'rotting' has no attribute 'raw_ucb'; did you mean 'RAWUCB'?
    """
    hint = "" if name.startswith("_") else suggest(name, known)
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def getattr_with_suggestions(module: str, known: Iterable[str]) -> Callable[[str], NoReturn]:
    """Return a `__getattr__` for a module, whose errors suggest one of the public names `known`."""

    def get(name: str) -> NoReturn:
        raise no_such_name(module, name, known)

    return get
