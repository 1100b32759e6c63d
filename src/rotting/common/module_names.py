"""Errors for misspelt names of a module, with a suggestion."""

import sys
from collections.abc import Iterable
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


def suggest_names(module: str, known: Iterable[str]) -> None:
    """Let a module suggest one of its public names `known` to callers who misspell it.

    Type checkers accept every name of a module that defines `__getattr__`. They do not see this one.
    """

    def refuse(name: str) -> NoReturn:
        raise no_such_name(module, name, known)

    vars(sys.modules[module])["__getattr__"] = refuse
