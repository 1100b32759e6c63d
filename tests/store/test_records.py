"""Records: what JSON cannot carry is refused, and a digest stands for one list of parts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.store.records import decode, digest, encode

LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP

BAD: list[tuple[Any, type[Exception], str]] = [
    ([1], InvalidTypeError, "payload must be a dict that JSON can carry, got [1]"),
    (None, InvalidTypeError, "payload must be a dict that JSON can carry, got None"),
    ({"x": {1}}, InvalidTypeError, "payload must be a dict that JSON can carry, got {'x': {1}}"),
    ({"x": b"1"}, InvalidTypeError, "payload must be a dict that JSON can carry, got {'x': b'1'}"),
    ({"x": float("inf")}, InvalidValueError, "payload must hold finite numbers only, got {'x': inf}"),
    ({"x": "\ud800"}, InvalidValueError, "payload must hold whole characters only, got {'x': '\\ud800'}"),
    (LOOP, InvalidValueError, "payload must hold nothing that holds itself, got {'self': {...}}"),
]


@pytest.mark.parametrize(("payload", "error", "message"), BAD, ids=[message for *_, message in BAD])
def test_what_json_cannot_carry_is_refused(payload: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        encode("payload", payload)
    assert str(caught.value) == message


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_come_back_bit_for_bit(payload: dict[str, float]) -> None:
    back = decode(encode("payload", payload))
    assert {name: value.hex() for name, value in back.items()} == {name: value.hex() for name, value in payload.items()}


@given(st.lists(st.binary(max_size=3), max_size=4), st.lists(st.binary(max_size=3), max_size=4))
def test_different_parts_have_different_digests(some: list[bytes], others: list[bytes]) -> None:
    assert (digest(*some) == digest(*others)) == (some == others)
