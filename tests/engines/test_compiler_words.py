"""What the compiler says, in plain words."""

import pytest

from rotting.engines.compiler_words import cause, is_about_a_dict, type_name


def refused(call: str) -> str:
    return f"Failed in nopython mode pipeline (step: frontend)\nNo implementation of function f:\n\n >>> {call}\n\nThere are"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (refused("setitem(array(float64, 1d, C), Literal[int](0), Literal[str](a))"), "str cannot be written into array"),
        (
            refused("setitem(State(array(int64, 1d, C), array(float64, 1d, C)), int64, int64)"),
            "int cannot be written into State",
        ),
        (
            refused("setitem(readonly array(float64, 1d, C), Literal[int](0), float64)"),
            "an array of a module must not be written to: what changes belongs into the state",
        ),
        (refused("getitem(Params(float64 x 1), unicode_type)"), "Params cannot be indexed by str"),
        (refused("add(none, int64)"), "None + int is not allowed in compiled code"),
        (refused("iadd(float64, unicode_type)"), "float + str is not allowed in compiled code"),
        (refused("zeros(Literal[str](a))"), "zeros(str) is not allowed in compiled code"),
        (refused("sqrt()"), "sqrt() is not allowed in compiled code"),
        (refused("exception_match(none, ZeroDivisionError)"), "only `except Exception` is allowed in compiled code"),
        ("Cannot unify Literal[int](1) and unicode_type for 'x.2', defined at", "x must keep its type, got int and str"),
        ("Unsupported array index type float64 in [float64]", "an index must be a whole number, got float"),
        ("Use of unsupported NumPy function 'numpy.polyfit' or", "numpy.polyfit is not allowed in compiled code"),
        ("Untyped global name 'open': Cannot determine", "open is not allowed in compiled code"),
        ("""Cannot bind 'args=(int64, int64) kws={}' to signature '(x)' due to""", "the function that is called takes (x)"),
        (
            "Cannot bind 'args=(int64) kws={}' to signature '(x: int = 3) -> int' due to",
            "the function that is called takes (x: int = 3)",
        ),
        ("module 'numpy' has no attribute 'nothere'", "numpy has no nothere"),
        ("Failed in x\n\nSomething new happened. Raised from /a.py (3)", "Something new happened"),
        ("", "it cannot be compiled"),
    ],
)
def test_the_cause_is_told_in_plain_words(text: str, words: str) -> None:
    assert cause(text) == words
    assert not is_about_a_dict(text)


def test_what_must_not_be_created_comes_before_the_call_that_creates_it() -> None:
    text = (
        refused("zeros(Literal[int](3))")
        + "\nNumbaTypeError: Only accept returning of array passed into the function as argument"
    )
    assert cause(text) == "nothing may be created in compiled code, neither arrays nor lists nor texts"


def test_a_dict_is_known() -> None:
    assert is_about_a_dict("DictType[int64,float64]")
    assert cause("DictType[int64,float64]") == "a dict is not allowed in compiled code"


@pytest.mark.parametrize(
    ("text", "name"),
    [("int64", "int"), ("uint8", "int"), ("boolean", "bool"), ("OptionalType(int64)", "number or None"), ("(n)", "(n)")],
)
def test_types_have_the_names_that_people_write(text: str, name: str) -> None:
    assert type_name(text) == name
