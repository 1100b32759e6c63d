"""One tree of exceptions: all are caught by one, and each is what Python would raise."""

import builtins
import inspect
import re

import pytest

from rotting import errors

EVERY = [value for value in vars(errors).values() if inspect.isclass(value) and value.__module__ == errors.__name__]


def test_all_are_exported() -> None:
    assert sorted(errors.__all__) == errors.__all__ == sorted(each.__name__ for each in EVERY)


@pytest.mark.parametrize("each", EVERY)
def test_one_name_catches_all_of_a_kind(each: type[Exception]) -> None:
    assert issubclass(each, errors.RottingError) != issubclass(each, errors.RottingWarning)


def drawn() -> dict[str, tuple[str, list[str]]]:
    """For each name of the tree in the docstring: the one it hangs from, and Python's own that its line names."""
    found: dict[str, tuple[str, list[str]]] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"    ([|` -]*)(\w+(?:Error|Warning))  +(.*)$", line)
        if match:
            depth = len(match[1]) // 4
            above = [*above[:depth], match[2]]
            own = [word for word in re.findall(r"\w+(?:Error|Warning)", match[3]) if hasattr(builtins, word)]
            found[match[2]] = (above[-2] if depth else "", own)
    return found


def test_the_tree_that_is_drawn_is_the_tree() -> None:
    tree = drawn()
    assert set(tree) == set(errors.__all__)
    for name, (parent, own) in tree.items():
        error = getattr(errors, name)
        if parent:
            assert getattr(errors, parent) in error.__bases__
        for each in own:
            assert issubclass(error, getattr(builtins, each)), (name, each)
