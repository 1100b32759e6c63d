"""One tree of exceptions: all are caught by one, and each is what Python would raise."""

import builtins
import copy
import inspect
import multiprocessing
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting import errors
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError, PathExistsError, brief

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


def as_sent(error: InvalidArgumentError) -> InvalidArgumentError:
    found: InvalidArgumentError = pickle.loads(pickle.dumps(error))
    return found


VALUES = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.text(), st.lists(st.text()))
FORMS = [InvalidValueError, InvalidTypeError, PathExistsError]


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("again", [as_sent, copy.copy, copy.deepcopy])
@given(st.text(), st.text(), VALUES, st.none() | st.text(), st.text(), st.text())
def test_the_message_is_made_from_the_attributes_and_survives_a_copy(
    kind: type[InvalidArgumentError],
    again: Callable[[InvalidArgumentError], InvalidArgumentError],
    field: str,
    rule: str,
    value: object,
    got: str | None,
    hint: str,
    where: str,
) -> None:
    error = kind(field, rule, value, got, hint, where)
    for each in (error, again(error)):
        assert type(each) is kind
        assert (each.field, each.rule, each.value, each.hint, each.where) == (field, rule, value, hint, where)
        assert each.got == (brief(value) if got is None else got)
        assert str(each) == (f"{where}: " if where else "") + f"{field} must {rule}, got {each.got}{hint}"


def test_a_copy_keeps_notes() -> None:
    error = InvalidValueError("alpha", "be positive", -1)
    error.add_note("in the third policy")
    assert as_sent(error).__notes__ == ["in the third policy"]


def test_a_value_that_cannot_be_pickled_is_sent_as_text() -> None:
    error = InvalidTypeError("draw", "be a number", lambda: 0)
    found = as_sent(error)
    assert found.value == error.got
    assert str(found) == str(error)


def raise_in_another_process() -> None:
    raise InvalidTypeError("draw", "be a number", lambda: 0)


def test_an_error_comes_back_from_a_process_pool() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        error = pool.submit(raise_in_another_process).exception()
    assert isinstance(error, InvalidTypeError)
    assert str(error).startswith("draw must be a number, got <function")
    assert (error.field, error.rule) == ("draw", "be a number")


def test_another_field_hint_or_place_is_set_without_changing_the_rest() -> None:
    error = InvalidValueError("arm", "be new", "jazz", got="one", hint="; see add_arm", where="row 1")
    assert str(error.replace(field="arms")) == "row 1: arms must be new, got one; see add_arm"
    assert str(error.replace(hint="")) == "row 1: arm must be new, got one"
    assert str(error.replace(where="row 2")) == "row 2: arm must be new, got one; see add_arm"
    assert error.replace(where="").value == "jazz"
    assert str(error) == "row 1: arm must be new, got one; see add_arm"


class Mute:
    def __repr__(self) -> str:
        raise ZeroDivisionError


def test_a_value_is_shown_whatever_it_is() -> None:
    assert brief(Mute()) == "<Mute>"
    assert brief(Path("a" * 100)) == f"'{'a' * 100}'"
    assert brief("a" * 58) == repr("a" * 58)
    assert brief("a" * 59) == f"'{'a' * 39}... (61 characters)"
