"""Records: what JSON cannot carry is refused, and a digest stands for one list of parts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.store.records import decode, digest, encode, encode_in_pieces

LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP

BAD: list[tuple[Any, type[Exception], str]] = [
    ([1], InvalidTypeError, "payload must be a dict that JSON can carry, got [1]"),
    (None, InvalidTypeError, "payload must be a dict that JSON can carry, got None"),
    ({"x": {1}}, InvalidTypeError, "payload must be a dict that JSON can carry, got {'x': {1}}"),
    ({"x": b"1"}, InvalidTypeError, "payload must be a dict that JSON can carry, got {'x': b'1'}"),
    ({"x": float("inf")}, InvalidValueError, "payload must hold finite numbers only, got {'x': inf}"),
    ({"x": "\ud800"}, InvalidValueError, "payload must hold valid Unicode only, got {'x': '\\ud800'}"),
    (LOOP, InvalidValueError, "payload must hold no reference to itself, got {'self': {...}}"),
]


@pytest.mark.parametrize(("payload", "error", "message"), BAD, ids=[message for *_, message in BAD])
def test_what_json_cannot_carry_is_refused(payload: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        encode("payload", payload)
    assert str(caught.value) == message


@pytest.mark.parametrize(("payload", "error", "message"), BAD, ids=[message for *_, message in BAD])
def test_what_json_cannot_carry_is_refused_in_pieces_too(payload: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        list(encode_in_pieces("payload", payload, 10))
    assert str(caught.value) == message


plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
keys = st.text(st.characters(codec="utf-8"))
nested = st.recursive(
    plain, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(keys, inner, max_size=5), max_leaves=30
)


@given(st.dictionaries(keys, nested, max_size=5), st.integers(1, 200))
def test_pieces_join_to_the_complete_text(payload: dict[Any, Any], size: int) -> None:
    pieces = list(encode_in_pieces("state", payload, size))
    assert decode(b"".join(pieces)) == decode(encode("state", payload))
    assert {len(piece) for piece in pieces[:-1]} <= {size}


def test_large_states_go_in_pieces_too() -> None:
    state = {"rewards": [0.125] * 30_000, "hulls": [[[1.5, 2.5]] * 500] * 5, "arms": {f"arm {k}": k for k in range(900)}}
    pieces = list(encode_in_pieces("state", state, 2**14))
    assert decode(b"".join(pieces)) == state
    assert max(map(len, pieces)) == 2**14


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_come_back_bit_for_bit(payload: dict[str, float]) -> None:
    back = decode(encode("payload", payload))
    assert {name: value.hex() for name, value in back.items()} == {name: value.hex() for name, value in payload.items()}


@given(st.lists(st.binary(max_size=3), max_size=4), st.lists(st.binary(max_size=3), max_size=4))
def test_different_parts_have_different_digests(some: list[bytes], others: list[bytes]) -> None:
    assert (digest(*some) == digest(*others)) == (some == others)
