"""Numbers in labels are short, and tell apart what differs."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rotting.common.short_numbers import DIGITS, short, short_texts, word_list

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SOME = st.sampled_from([0.2**0.5, 1 / 3, 1.0, 12345.678, 1e-30])
CLOSE = st.builds(lambda value, apart: value * (1.0 + apart), SOME, st.sampled_from([0.0, 1e-5, -1e-5, 3e-9, 3e-16]))


@given(FLOATS)
def test_a_number_alone_is_written_with_four_digits(value: float) -> None:
    assert short_texts([value]) == {value: short(value)}
    if not value.is_integer():
        assert math.isclose(float(short(value)), value, rel_tol=10.0 ** (1 - DIGITS), abs_tol=1e-320)
        digits = 6 if abs(value) >= 10**DIGITS else DIGITS
        assert sum(each.isdigit() for each in short(value).partition("e")[0].lstrip("-0.")) <= digits


@given(st.lists(FLOATS | CLOSE, max_size=20))
def test_what_differs_differs_in_writing_with_the_fewest_digits(values: list[float]) -> None:
    texts = short_texts(values)
    assert set(texts) == set(values)
    assert len(set(texts.values())) == len(set(values))
    for value, text in texts.items():
        fewer = [short(value, digits) for digits in range(DIGITS, 18)]
        assert text in fewer
        for digits in range(DIGITS, DIGITS + fewer.index(text)):  # with fewer, it would be taken for another
            assert any(short(other, digits) == short(value, digits) for other in texts if other != value)


def test_whole_numbers_and_words_stay_as_they_are() -> None:
    assert short_texts([123456.0, 10_000.0, 7, 12_345_678, "estimate"]) == {
        123456.0: "123456",
        10_000.0: "10000",
        7: "7",
        12_345_678: "12345678",
        "estimate": "estimate",
    }


def test_numbers_that_differ_in_the_last_bit_are_written_as_python_writes_them() -> None:
    assert list(short_texts([0.3, 0.1 + 0.2]).values()) == ["0.3", "0.30000000000000004"]


def test_large_numbers_side_by_side_have_one_notation() -> None:
    assert list(short_texts([123456.4, 123500.0]).values()) == ["123456", "123500"]


def test_what_more_digits_do_not_tell_apart_stays_short() -> None:
    assert short_texts(["a", "b", "c"], lambda each, digits: f"{'one' if each != 'c' else 'two'} {digits}") == {
        "a": "one 4",
        "b": "one 4",
        "c": "two 4",
    }


def test_a_list_never_ends_with_one_more() -> None:
    words = [f"w{k}" for k in range(9)]
    for n in range(1, len(words) + 1):
        text = word_list(words[:n], most=4)
        assert "1 more" not in text
        assert text.count("w") == (n if n <= 5 else 4)
        assert text.endswith(f"{n - 4} more") == (n > 5)
